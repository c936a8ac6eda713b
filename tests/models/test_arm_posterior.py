from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.helpers import compiled_only, make_covariance, make_points

from numbo.kernels.covariance import MATERN52, RBF
from numbo.models import ArmPosterior, SparseGP
from numbo.models import arm_posterior as module


def model(arms, points, atoms, values=None, counts=None, family=RBF, noise=1e-2):
    gp = SparseGP(make_covariance(family, arms.shape[1], False, noise=noise), arms[atoms])
    gp.condition(arms[points], counts)
    gp.set_values(np.sin(7 * arms[points].sum(axis=1)) if values is None else values)
    return gp, atoms[gp.kept]


def full(gp, arms, beta, excluded=()):
    """Every bound computed anew, and the first of the largest."""
    mean, variance = gp.mean_variance(arms)
    bound = mean + beta * np.sqrt(gp.regularization * variance)
    bound[list(excluded)] = -np.inf
    return int(np.argmax(bound))


@compiled_only
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), beta=st.sampled_from([0.0, 0.5, 3.0]), core=st.floats(0.0, 1.0))
def test_the_lazy_choice_is_the_choice_of_a_full_evaluation(seed, beta, core):
    """Through several batches, dictionaries and repeats, whatever part of the dictionary the ceiling was made of."""
    rng = np.random.default_rng(seed)
    arms = make_points(300, 2, seed=seed)
    arms[150:160] = arms[:10]  # repeated arms: the first of equal ones is chosen
    posterior = ArmPosterior(arms)
    points = np.unique(rng.integers(300, size=12))
    counts = rng.integers(1, 4, len(points)).astype(float)
    for _ in range(4):
        atoms = points[rng.random(len(points)) < 0.7]
        atoms = points[:1] if len(atoms) == 0 else atoms
        gp, atoms = model(arms, points, atoms, counts=counts.copy())
        posterior.condition(gp, points, atoms, rng.random(len(atoms)) < core)
        excluded = np.zeros(300, dtype=bool)
        excluded[rng.integers(300, size=20)] = True
        posterior.start(beta, excluded)
        mean, batch = gp.mean_variance(arms)[0], []
        for _ in range(6):
            arm = posterior.choose()
            bound = mean + beta * np.sqrt(gp.regularization * gp.mean_variance(arms)[1])
            bound[excluded] = -np.inf
            assert bound[arm] == pytest.approx(bound.max(), rel=1e-9, abs=1e-9)
            assert not excluded[arm]
            assert not 150 <= arm < 160 or excluded[arm - 150]
            batch.append(arm)
            posterior.observe(gp.add(arms[arm], mean[arm]))
        counts = np.append(counts + 1.0, np.ones(len(set(batch) - set(points.tolist()))))
        points = np.concatenate([points, [a for a in dict.fromkeys(batch) if a not in points]]).astype(np.int64)


@compiled_only
def test_few_arms_are_computed():
    arms = make_points(20_000, 2)
    points = np.arange(0, 20_000, 500)
    gp, atoms = model(arms, points, points, noise=1e-4)
    posterior = ArmPosterior(arms)
    posterior.condition(gp, points, atoms, np.ones(len(atoms), dtype=bool))
    posterior.start(2.0)
    assert posterior.choose() == full(gp, arms, 2.0)
    assert 0 < posterior._effort < 2_000


def test_uncertainty_sampling_leaves_the_mean_out():
    arms = make_points(200, 2)
    points = np.arange(15)
    gp, atoms = model(arms, points, points, values=100.0 * arms[points, 0])
    posterior = ArmPosterior(arms)
    posterior.condition(gp, points, atoms, np.ones(len(atoms), dtype=bool))
    posterior.start(0.0, by_variance=True)
    variance = gp.mean_variance(arms)[1]
    arm = posterior.choose()
    assert arm == int(np.argmax(variance))
    assert posterior.variance(arm) == pytest.approx(gp.regularization * variance[arm])


@compiled_only
@pytest.mark.parametrize("keep_columns", [True, False])
@pytest.mark.parametrize("family", [RBF, MATERN52])
def test_ratios_are_the_definition(family, keep_columns, monkeypatch):
    arms = make_points(300, 2)
    points, atoms, others = np.arange(70), np.arange(66), np.array([3, 70, 70, 299])
    gp, kept = model(arms, points, atoms, family=family)
    if not keep_columns:
        monkeypatch.setattr(module, "COLUMN_BYTES", 0)  # which leaves room for 64
    posterior = ArmPosterior(arms)
    posterior.condition(gp, points, kept, np.ones(len(kept), dtype=bool))
    posterior.start(1.0)
    expected = (gp.cross(arms, arms[others]) ** 2).sum(axis=1) / gp.mean_variance(arms)[1]
    np.testing.assert_allclose(posterior.ratios(others), expected, rtol=1e-6)
    assert posterior.choose() == full(gp, arms, 1.0)


def test_columns_are_kept_within_their_room(monkeypatch):
    monkeypatch.setattr(module, "COLUMN_BYTES", 0)  # which leaves room for 64
    arms = make_points(150, 2)
    cov = make_covariance(RBF, 2, False)
    columns = module._Columns(np.ascontiguousarray(arms.T))
    for wanted in (range(30), range(20, 40), range(70, 110), [1, 100], [50, 50, 60], range(64)):
        rows = np.array(wanted)
        slots = columns.slots(cov, rows)
        np.testing.assert_allclose(columns.rows[slots], naive.gram(cov, arms[rows], arms))
    assert len(columns.rows) == 64
    assert columns.slots(cov, np.arange(65)) is None
    other = cov._replace(signal_variance=2.0)
    np.testing.assert_allclose(columns.rows[columns.slots(other, np.array([5]))], naive.gram(other, arms[[5]], arms))


def test_an_excluded_arm_is_never_chosen():
    arms = make_points(5, 2)
    points = np.arange(2)
    gp, atoms = model(arms, points, points)
    posterior = ArmPosterior(arms)
    posterior.condition(gp, points, atoms, np.ones(2, dtype=bool))
    posterior.start(1.0, np.array([True, False, True, True, False]))
    first = posterior.choose()
    posterior.exclude(first)
    second = posterior.choose()
    posterior.exclude(second)
    assert {first, second} == {1, 4}
    assert posterior.choose() == -1

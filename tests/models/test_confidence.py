"""Widths of confidence bounds: the formulas of the papers, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests import naive
from tests.helpers import make_covariance, make_points

from numbo.kernels.covariance import RBF
from numbo.models import SparseGP, confidence
from numbo.models.confidence import (
    Confidence,
    Information,
    information_of_arrivals,
    sparse_confidence,
    uniform_confidence,
    union_bound,
)

LAM = 0.0025


@pytest.mark.parametrize(("F", "delta"), [(1.0, 0.1), (3.0, 0.01)])
def test_the_width_of_bkb_is_that_of_theorem_2_or_of_the_reference_code(F, delta):
    schedule, d_eff, n, kappa2 = Confidence(F, delta), 7.5, 40, 1.3
    log = math.log(1.0 / delta)
    paper = 2.0 * math.sqrt(LAM * (3.0 * math.log(kappa2 * n) * d_eff + log))
    paper += (1.0 + math.sqrt(2.0)) * math.sqrt(LAM) * F
    assert schedule.bkb("paper", d_eff, n, kappa2, LAM) == pytest.approx(paper)
    reference = math.sqrt(LAM) * F + math.sqrt(LAM * (d_eff * math.log(n) + log))
    assert schedule.bkb("reference", d_eff, n, kappa2, LAM) == pytest.approx(reference)


@pytest.mark.parametrize("kind", ["paper", "reference"])
def test_before_the_first_observation_the_widths_are_finite(kind):
    assert math.isfinite(Confidence(1.0, 0.1).bkb(kind, 0.0, 0, 0.2, LAM))


@pytest.mark.parametrize(("F", "delta"), [(1.0, 0.1), (3.0, 0.01)])
def test_the_width_of_bbkb_is_its_own_times_the_threshold(F, delta):
    schedule, information, C = Confidence(F, delta), 12.0, 2.5
    log = math.log(1.0 / delta)
    beta = 2.0 * math.sqrt(LAM * (information + log)) + (1.0 + math.sqrt(2.0)) * math.sqrt(LAM) * F
    assert schedule.bbkb("paper", information, C, LAM) == pytest.approx(C * beta)
    reference = math.sqrt(LAM) * F + math.sqrt(LAM * (C * information + log))
    assert schedule.bbkb("reference", information, C, LAM) == pytest.approx(reference)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_the_information_of_a_history_is_the_sum_over_its_arrivals(weight, monkeypatch):
    """Each observation given those before it, however many are counted together."""
    rng = np.random.default_rng(0)
    Z, residual = rng.normal(size=(50, 4)), rng.random(50)
    V, expected = LAM * np.eye(4), 0.0
    for z, left in zip(Z, residual, strict=True):
        expected += math.log1p(weight * (left / LAM + z @ np.linalg.solve(V, z)))
        V += np.outer(z, z)
    for block in (7, 256):
        monkeypatch.setattr(confidence, "COUNTED_AT_ONCE", block)
        assert information_of_arrivals(Z, residual, LAM, weight) == pytest.approx(expected, rel=1e-9)


def test_information_is_carried_by_arrival_or_by_the_determinant():
    cov = make_covariance(RBF, 2, False, noise=LAM)
    X = make_points(12, 2)
    gp = SparseGP(cov, X)
    gp.condition(X, np.array([2.0, *np.ones(11)]))
    arrivals = np.array([3, 0, 5, 0, *range(6, 12), 1, 2, 4])
    K = naive.gram(cov, X[arrivals])
    assert Information().carried(gp, arrivals) == pytest.approx(np.linalg.slogdet(K / LAM + np.eye(13))[1], rel=1e-6)
    expected = 0.0
    for s in range(13):
        k = K[:s, s]
        variance = K[s, s] - k @ np.linalg.solve(K[:s, :s] + LAM * np.eye(s), k)
        expected += math.log1p(3.0 * variance / LAM)
    assert Information(by_arrival=True).carried(gp, arrivals) == pytest.approx(expected, rel=1e-6)


def test_the_union_bound_covers_points_batches_and_sides():
    """Independent deviations are the worst case: the chance that none of them is beyond the bound."""
    for delta, batches, points in ((0.9, 4, 300), (0.1, 4, 300), (0.1, 1, 50_000)):
        width = union_bound(delta, batches, points)
        assert width == pytest.approx(math.sqrt(2.0 * math.log(4.0 * batches * points / delta)))
        assert stats.norm.cdf(width, loc=0.0) ** (batches * points) >= 1.0 - delta / 2.0


def test_the_bound_at_a_point_is_bias_and_noise():
    delta, top, tau, F, R = 0.05, 0.02, 0.3, 2.0, 0.5
    expected = (2.0 + math.sqrt(top) / tau) * F + R / tau * math.sqrt(2.0 * math.log(1.0 / delta))
    assert sparse_confidence(delta, top, tau, F, R) == pytest.approx(expected)


def test_the_uniform_width_is_that_of_corollary_3_7():
    delta, top, tau, F, R, n, d, k_max = 0.05, 0.02, 0.3, 2.0, 0.5, 80, 3, 1.4
    noise = math.sqrt(n) * R / tau * math.sqrt(2.0 * math.log(4.0 * n / delta))
    norm = F * (1.0 + math.sqrt(n) * k_max / tau) + noise
    cover = d * (math.log(norm) + math.log(n))
    expected = (2.0 + math.sqrt(top) / tau) * F + R / tau * math.sqrt(2.0 * (cover + math.log(2.0 / delta)))
    assert uniform_confidence(delta, top, tau, F, R, n, d, k_max) == pytest.approx(expected)


def test_the_uniform_width_exceeds_the_pointwise_one_and_grows_with_the_dimension():
    point = sparse_confidence(0.1, 0.01, 0.1, 1.0, 0.1)
    widths = [uniform_confidence(0.1, 0.01, 0.1, 1.0, 0.1, 100, d, 1.0) for d in (1, 3, 10)]
    assert point < widths[0] < widths[1] < widths[2]

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive

from numbo.models import ExactGP, subsets
from numbo.selection import CRITERIA, Pool, select_subset

RNG = np.random.default_rng(0)
X = RNG.random((60, 3))
Y = np.sin(6 * X[:, 0]) + X[:, 1]


def pool(n=12, members=6, perturbation=0.0):
    model = ExactGP(np.zeros(3, dtype=bool), trend=False)
    model.theta[:] = [0.5, 0.5, 0.5, 0.0, np.log(0.05)]
    model.condition(X[:members], Y[:members])
    return Pool(X[:n], Y[:n], model, np.arange(n) < members, perturbation)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(st.integers(1, 60), st.lists(st.integers(0, 59), max_size=8, unique=True), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_size_forced_points_and_no_repeats(criterion, size, forced, seed):
    size = max(size, len(forced), 1)
    chosen = select_subset(X, Y, size, criterion=criterion, forced=forced, lengthscale=0.3, seed=seed)
    assert len(chosen) == size == len(set(chosen.tolist()))
    assert set(forced) <= set(chosen.tolist())
    assert ((chosen >= 0) & (chosen < 60)).all()
    again = select_subset(X, Y, size, criterion=criterion, forced=forced, lengthscale=0.3, seed=seed)
    np.testing.assert_array_equal(chosen, again)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_inputs_are_left_alone_and_units_do_not_matter(criterion):
    a, b = X * [1.0, 1e6, 1e-3] + 5.0, Y * 1e4
    before = a.copy(), b.copy()
    chosen = select_subset(a, b, 20, criterion=criterion, seed=1)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])
    np.testing.assert_array_equal(chosen, select_subset(X, Y, 20, criterion=criterion, seed=1))


def test_gradient_is_eq_3_for_members_and_for_each_other_point_added_to_them():
    p = pool()
    cov, noise = p.covariance, p.covariance.noise_variance
    members = np.flatnonzero(p.members)

    def literal(rows):
        K = naive.gram(cov, p.X[rows]) + noise * np.eye(len(rows))
        return -np.linalg.solve(K, p.y[rows])

    np.testing.assert_allclose(p.gradient[members], literal(members), rtol=1e-8)
    for i in np.flatnonzero(~p.members):
        assert p.gradient[i] == pytest.approx(literal([*members, i])[-1], rel=1e-8)


def test_sign_minimises_the_sum_of_cosines_exactly():
    p = pool()
    positive = p.gradient >= 0
    for size, forced in itertools.product((4, 7, 10), ([], [0, 3], [1, 2, 4])):
        chosen = CRITERIA["sign"](p, size, np.array(forced, dtype=np.int64), np.random.default_rng(0))
        imbalance = abs(int(np.where(positive[chosen], 1, -1).sum()))
        assert imbalance == naive.best_sign_imbalance(positive, size, forced)


@pytest.mark.parametrize("share", [0.5, 0.02, 0.98])
@pytest.mark.parametrize("at_once", [1, 7, 256])
def test_sign_computes_no_more_signs_than_it_needs_and_chooses_as_if_it_had_all(monkeypatch, share, at_once):
    monkeypatch.setattr(subsets, "SIGNS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    Z = rng.random((2000, 3))
    values = np.where(rng.random(2000) < share, 1.0, -1.0)
    p = pool()
    p = Pool(Z, values, p.model, np.zeros(2000, dtype=bool), 0.1)
    asked = []
    gradient_at = Pool.gradient_at
    monkeypatch.setattr(Pool, "gradient_at", lambda self, rows: asked.append(len(rows)) or gradient_at(self, rows))
    forced = np.arange(20)
    for seed in range(5):
        asked.clear()
        chosen = subsets.select_sign(p, 100, forced, np.random.default_rng(seed))
        computed = sum(asked)
        same = np.random.default_rng(seed)
        positive = p.gradient + same.normal(0.0, 0.1, 2000) >= 0.0
        rest = same.permutation(np.arange(20, 2000))
        plus = rest[positive[rest]]
        minus = rest[~positive[rest]]
        take = (80 - int(np.sum(np.where(positive[forced], 1, -1)))) // 2
        take = int(np.clip(take, max(0, 80 - len(minus)), min(80, len(plus))))
        np.testing.assert_array_equal(chosen, [*forced, *plus[:take], *minus[: 80 - take]])
        if share == 0.5:
            assert computed < 20 + 160 + at_once


def test_sign_breaks_ties_at_random_and_the_perturbation_turns_small_gradients():
    p = pool(n=40)
    none = np.empty(0, dtype=np.int64)
    draws = {tuple(sorted(CRITERIA["sign"](p, 10, none, np.random.default_rng(s)))) for s in range(10)}
    assert len(draws) > 5
    loud = pool(n=40, perturbation=1e6)  # all signs are noise now
    chosen = [CRITERIA["sign"](loud, 10, none, np.random.default_rng(s)) for s in range(200)]
    share = np.mean([np.mean(p.gradient[c] >= 0) for c in chosen])
    assert share == pytest.approx(np.mean(p.gradient >= 0), abs=0.05)


def test_nystrom_is_the_naive_rule_and_the_perturbation_changes_it():
    p = pool(n=30)
    none = np.empty(0, dtype=np.int64)
    chosen = CRITERIA["nystrom"](p, 8, none, np.random.default_rng(0))
    assert chosen.tolist() == naive.greedy_nystrom(p.covariance, p.X, 8, [], np.ones(30))
    loud = pool(n=30, perturbation=3.0)
    assert CRITERIA["nystrom"](loud, 8, none, np.random.default_rng(0)).tolist() != chosen.tolist()


def test_nystrom_covers_what_random_points_miss():
    clustered = np.concatenate([0.5 + 0.01 * RNG.random((180, 2)), RNG.random((20, 2))])
    y = clustered.sum(axis=1)
    far = set(range(180, 200))
    found = select_subset(clustered, y, 30, lengthscale=0.2)
    at_random = select_subset(clustered, y, 30, criterion="random", seed=0)
    assert len(far & set(found.tolist())) == 20 > len(far & set(at_random.tolist()))


def test_first_takes_the_oldest():
    assert select_subset(X, Y, 5, criterion="first", forced=[40, 2]).tolist() == [2, 40, 0, 1, 3]


BAD = [
    ({"criterion": "best"}, "'best'"),
    ({"size": 0}, "size"),
    ({"size": 61}, "60"),
    ({"size": 2, "forced": [0, 1, 2]}, "size must be an integer between 3"),
    ({"forced": [60]}, "forced"),
    ({"forced": [-1]}, "forced"),
    ({"lengthscale": -1.0}, "lengthscale"),
    ({"lengthscale": [1.0, np.nan, 1.0]}, "lengthscale"),
    ({"lengthscale": True}, r"^lengthscale must be a positive number or 3 of them, got True\.$"),
    ({"lengthscale": "0.5"}, r"^lengthscale must be a positive number or 3 of them, got '0\.5'\.$"),
    (
        {"lengthscale": [0.5, True, 0.5]},
        r"^lengthscale must be a positive number or 3 of them, got \[0\.5, True, 0\.5\]",
    ),
    ({"lengthscale": [0.5, 0.5]}, r"^lengthscale must be a positive number or 3 of them, got \[0\.5, 0\.5\]"),
    ({"noise_variance": 0.0}, "noise_variance"),
    ({"noise_variance": "1"}, r"^noise_variance must be a number above 0, got '1'\.$"),
    ({"perturbation": True}, r"^perturbation must be a number of at least 0, got True\.$"),
    ({"size": True}, r"^size must be an integer between 1 and 60, got True\.$"),
    ({"forced": [0.5]}, r"^forced must be a sequence of indices into X, got \[0\.5\]\.$"),
    ({"forced": ["a"]}, r"^forced must be a sequence of indices into X, got \['a'\]\.$"),
    ({"seed": "a"}, r"^seed must be .*, got 'a'\.$"),
    ({"X": [["a"]]}, r"^X must be an array \(n, d\) of numbers, and y one \(n,\)\.$"),
    ({"kernel": "linear"}, "'linear'"),
    ({"X": X[:, 0]}, "shapes"),
    ({"y": Y[:4]}, "shapes"),
    ({"X": X * np.nan}, "finite"),
]


@pytest.mark.parametrize(("changes", "words"), BAD)
def test_bad_input_gets_one_clear_sentence(changes, words):
    arguments = {"X": X, "y": Y, "size": 10} | changes
    with pytest.raises(ValueError, match=words) as error:
        select_subset(arguments.pop("X"), arguments.pop("y"), arguments.pop("size"), **arguments)
    assert "\n" not in str(error.value)


def test_infinite_and_missing_values_are_taken():
    y = Y.copy()
    y[:3] = [np.nan, np.inf, -np.inf]
    assert len(select_subset(X, y, 10, criterion="sign", seed=0)) == 10

from __future__ import annotations

import numpy as np
import pytest

from numbo.kernels.covariance import squared_distances
from numbo.models.noise import Noise
from numbo.models.outputs import Outputs
from numbo.models.surrogate import Surrogate
from numbo.search.near import LastNearest, condition_near, nearest, nearest_again
from numbo.trials import History

D, SIZE = 3, 12


def surrogate():
    return Surrogate(np.zeros(D, dtype=bool), kernel="matern52", trend=True, additive=True, winsorize=False)


def told(X):
    history = History(D)
    for x in X:
        history.add(x, -float(np.sum((x - 0.4) ** 2)), {}, -1)
    return history


@pytest.mark.parametrize("copies", [1, 5])
def test_members_are_the_nearest_whatever_the_last_ones_were(copies):
    """Also where points at the same distance compete for the last place."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((300, D)), copies, axis=0)[rng.permutation(300 * copies)]
    for n in (SIZE, SIZE + 1, 3 * SIZE, len(X) - 1, len(X)):
        seasoned, history = surrogate(), told(X[:n])
        for known in sorted({min(n, 30), n // 2, n}):  # the last members were chosen around other centers
            before = told(X[:known])
            center = before.best if known == n else known // 2
            condition_near(Outputs.of_one(seasoned), before, [Noise(before)], center, SIZE, LastNearest.of_none())
        covariance, center = seasoned.gp.covariance, history.X[history.best]
        for out in (np.arange(0), rng.choice(n, n // 3, replace=False)):
            found = nearest(covariance, history.X, center, SIZE, seasoned.members, out)[0]
            np.testing.assert_array_equal(found, nearest(covariance, history.X, center, SIZE, np.arange(0), out)[0])
            distances = squared_distances(covariance, history.X, center, np.inf)
            assert len(found) == min(n - len(out), SIZE)
            assert not np.isin(found, out).any()
            others = np.delete(distances, [*found, *out])
            assert distances[found].max() <= others.min(initial=np.inf)
            assert n - len(out) <= SIZE or (np.diff(distances[found]) >= 0.0).all()


@pytest.mark.parametrize("copies", [1, 5])
def test_a_search_that_starts_from_the_last_one_finds_the_same(copies):
    """Whether metric, center and rows that are left out stay the same or change, and also where distances tie."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.random((150, D)), copies, axis=0)[rng.permutation(150 * copies)]
    seasoned = surrogate()
    last = condition_near(Outputs.of_one(seasoned), told(X[:40]), [Noise(told(X[:40]))], 0, SIZE, LastNearest.of_none())
    covariance = seasoned.gp.covariance
    wider = covariance._replace(inverse_squared_lengthscales=covariance.inverse_squared_lengthscales[::-1].copy())
    out = np.arange(0)
    for n in range(41, len(X), 3):
        if n % 7 == 0:
            out = np.array([int(rng.integers(n)), *out])
        metric = wider if n % 100 > 50 else covariance
        center = 5 if n % 40 > 30 else 0
        last = nearest_again(metric, X[:n], center, SIZE, last, out, last.rows)
        found, unique = nearest(metric, X[:n], X[center], SIZE, np.arange(0), out)
        np.testing.assert_array_equal(last.rows, found)
        assert last.unique == unique

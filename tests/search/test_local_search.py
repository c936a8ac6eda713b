from __future__ import annotations

import numpy as np
import pytest

from numbo import Float, Space
from numbo.kernels.covariance import squared_distances
from numbo.models.noise import Noise
from numbo.models.surrogate import Surrogate
from numbo.search.local_search import LocalSearch
from numbo.trials import History

D, SIZE = 3, 12


def search():
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(D)})
    surrogate = Surrogate(space.categorical, kernel="matern52", trend=True, additive=True, winsorize=False)
    return LocalSearch(space, surrogate, SIZE)


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
        seasoned, fresh, history = search(), search(), told(X[:n])
        for known in sorted({min(n, 30), n // 2, n}):  # the last members were chosen around other centers
            before = told(X[:known])
            seasoned.region.center = before.best if known == n else known // 2
            seasoned.update(before, before.values(), Noise(before))
        one, other = fresh.surrogate.gp, seasoned.surrogate.gp
        one.theta, one.center, one.radius = other.theta, other.center, other.radius
        center = history.X[history.best]
        for out in (np.arange(0), rng.choice(n, n // 3, replace=False)):
            found = seasoned._members(history.X, center, out)
            np.testing.assert_array_equal(found, fresh._members(history.X, center, out))
            distances = squared_distances(seasoned.surrogate.gp.covariance, history.X, center, np.inf)
            assert len(found) == min(n - len(out), SIZE)
            assert not np.isin(found, out).any()
            others = np.delete(distances, [*found, *out])
            assert distances[found].max() <= others.min(initial=np.inf)
            assert n - len(out) <= SIZE or (np.diff(distances[found]) >= 0.0).all()

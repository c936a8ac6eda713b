"""A local search beside the global model: a GP on the observations nearest the incumbent, in a trust region.

Eriksson et al. (2019) restart such a search at random places, and each search forgets what the others saw. Here each
one sees all data near it, and starting points of three kinds take turns (`numbo.search.trust_region`).

The model is fitted in the units of the box around its data, so that priors and trend mean the same at every scale. Late
in a search, when the box is small, the trend is the quadratic model of classical trust-region methods (Conn, Scheinberg
& Vicente 2009, "Introduction to Derivative-Free Optimization", chapter 10), and the GP adds the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numbo._types import Array, ObservationIndices
from numbo.kernels.covariance import squared_distances
from numbo.models.noise import Noise
from numbo.models.surrogate import Surrogate
from numbo.search.gp_search import restore_surrogate
from numbo.search.trust_region import TrustRegion
from numbo.spaces import INACTIVE, Space
from numbo.trials.history import History

CANDIDATES = 256
#: Maximum expected number of coordinates of the incumbent that are changed at once (Eriksson et al. 2019, supplement).
PERTURBED = 20
#: From this many times the members on, looking at the last members first makes the search for the nearest faster.
MANY = 10
#: Under noise, the posterior stands on up to this many times as many observations as the model is fitted to.
NEAR = 4


class LocalSearch:
    """Trust region, local surrogate and candidates.

    Args:
        space, surrogate: the space, and an unfitted surrogate over it.
        size: maximum number of observations that the surrogate is conditioned on.
    """

    def __init__(self, space: Space, surrogate: Surrogate, size: int) -> None:
        self.space, self.surrogate, self.size = space, surrogate, size
        self.region = TrustRegion(space.d)
        self._waiting: list[tuple[int, int, int]] = []

    def tell(self, history: History, noise: Noise, i: int, y: float, origin: int) -> None:
        """Fold observation ``i`` with value ``y`` into the region; under noise, when the model has averaged it."""
        region, noisy = self.region, self.surrogate.averages(noise)
        center = history.X[region.center] if region.center >= 0 else np.zeros(region.d)
        active = int(np.count_nonzero(center != INACTIVE))
        if noisy and not region.scouting:
            self._waiting.append((i, origin, active))
        else:
            region.tell(i, y, origin, active, record=not noisy)

    def _judge(self, history: History) -> None:
        """Fold in what waits with the values that the model expects, and move to the best point by the model."""
        region, surrogate = self.region, self.surrogate
        number, best = region.number, int(surrogate.rows[np.argmax(surrogate.means)])
        at = np.array([best, region.center] + [i for i, _, _ in self._waiting])
        (best_mean, center_mean, *means) = surrogate.predict(history.X[at])[0].tolist()
        region.best = center_mean
        if region.record_center == region.center:
            region.record = center_mean
        for mean in means:
            i, origin, active = self._waiting.pop(0)
            region.tell(i, mean, origin, active)
        if region.number == number and best_mean > region.best:
            region.recenter(best, best_mean)

    def update(self, history: History, y: Array, noise: Noise) -> tuple[Array, Array] | None:
        """Condition the surrogate on the data near the incumbent; returns the corners (d,) and (d,) of the region.

        None if the region was given up.
        """
        center = history.X[self.region.center]
        covariance = self.surrogate.gp.covariance

        def rows() -> ObservationIndices:
            return _nearest(squared_distances(covariance, history.X, center, np.inf), NEAR * self.size)

        members = self._members(history.X, center, noise.copies)
        frame = self._frame(history.X[members]) if self.surrogate.refit_due(history.n) else None
        self.surrogate.update_all(history.X, y, members, rows, noise, frame, self.region.center)
        if self.surrogate.averages(noise) or self._waiting:
            number = self.region.number
            self._judge(history)
            if self.region.number != number:
                return None
            center = history.X[self.region.center]
        lengthscales = self.surrogate.gp.hyperparameters.lengthscales
        return self.region.box(center, lengthscales, ~self.space.categorical & (center != INACTIVE))

    def _members(self, X: Array, center: Array, copies: ObservationIndices) -> ObservationIndices:
        """The rows of ``X (n, d)`` nearest the ``center (d,)``, nearest first; all of them, in order, if they are few.

        Those of ``copies (c,)`` are left out.

        None of them is farther away than the farthest of the last members. Where points at the same distance make a
        choice of it which of them are nearest, it does not depend on what the last members were.
        """
        if len(X) - len(copies) <= self.size:
            return np.delete(np.arange(len(X)), copies)
        covariance, last = self.surrogate.gp.covariance, self.surrogate.members
        if len(X) > MANY * self.size and len(last) >= self.size:
            limit = squared_distances(covariance, X[last], center, np.inf).max()
            distances = squared_distances(covariance, X, center, limit)
            distances[copies] = np.inf
            within = np.flatnonzero(distances <= limit)
            near = within[_nearest(distances[within], self.size)]
            if len(near) == self.size == np.count_nonzero(distances[within] <= distances[near].max()):
                return near[np.lexsort((near, distances[near]))]
        distances = squared_distances(covariance, X, center, np.inf)
        distances[copies] = np.inf
        near = _nearest(distances, self.size)
        return near[np.lexsort((near, distances[near]))]

    def _frame(self, X: Array) -> tuple[Array, float]:
        """Center (d,) and half the longest side of the box around the points ``X (n, d)``."""
        active = X != INACTIVE
        low, high = X.min(axis=0, where=active, initial=1.0), X.max(axis=0, where=active, initial=0.0)
        low, high = np.minimum(low, high), np.maximum(low, high)  # what is nowhere active has its whole range
        longest = float(np.max((high - low)[~self.space.categorical], initial=0.0))
        return (low + high) / 2.0, longest / 2.0 if longest > 0.0 else 0.5

    def candidates(
        self, history: History, spread: Array, corners: tuple[Array, Array], rng: np.random.Generator
    ) -> Array:
        """Points (c, d) that differ from the incumbent in some coordinates, taken from ``spread (c, d)`` in the box."""
        lower, upper = corners
        center, anywhere = history.X[self.region.center], lower + (upper - lower) * spread
        asleep, count = center == INACTIVE, len(spread)
        awake = np.flatnonzero(~asleep)
        changed = rng.random(spread.shape) < min(1.0, PERTURBED / len(awake))
        changed[np.arange(count), awake[rng.integers(len(awake), size=count)]] = True
        points = np.where(changed | asleep, anywhere, center)
        return self.space.snap(np.concatenate([np.where(asleep, anywhere[:1], center), points]))

    def state_dict(self) -> dict[str, Any]:
        return {
            "region": self.region.state_dict(),
            "surrogate": self.surrogate.state_dict(),
            "waiting": list(self._waiting),
        }

    def restore(self, state: dict[str, Any], history: History) -> None:
        """Take in a `state_dict`."""
        self.region = TrustRegion(**state["region"])
        restore_surrogate(history, self.surrogate, state["surrogate"])
        self._waiting = [tuple(one) for one in state.get("waiting", ())]


def _nearest(distances: Array, count: int) -> ObservationIndices:
    """Rows of the ``count`` smallest of the ``distances (n,)``, in no order; of all of them if there are no more."""
    rows: ObservationIndices = np.arange(len(distances))
    return rows if len(rows) <= count else np.argpartition(distances, count)[:count]

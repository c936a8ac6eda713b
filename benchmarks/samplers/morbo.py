"""A peer for several objectives: MORBO (Daulton, Eriksson, Balandat & Bakshy 2022) with the models of BoTorch.

It needs ``pip install botorch``.

Several trust regions share what is observed. Their centers are the points of the front that add most volume, each
chosen after those of the other regions; a region's model is fitted to the points in a cube of twice its edge. The
points of a batch are chosen one after another: of a joint sample of the posteriors at candidates in each region, the
candidate that would add most volume to the front and to the sampled points chosen before. A region grows when its
points enlarge the volume, shrinks when they do not, and starts anew, around the best point of a random scalarisation,
when it is too small. (In the paper that is the best point of a model; here of those that are known.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
#: As in the paper's experiments, with batches for budgets of a few hundred points.
REGIONS = 5
BATCH = 4
SUCCESSES = 3
FIRST = 0.8
LONGEST = 1.6
SHORTEST = 0.01
#: Maximum number of candidates of a region, of points that a model is fitted to, and of steps of its fit.
CANDIDATES = 1000
FITTED = 300
STEPS = 50


class _Region:
    """A cube around a point of the front."""

    def __init__(self, center: int | None = None) -> None:
        self.length = FIRST
        self.good = 0
        self.bad = 0
        #: A center that is given stays until a point of the region is known.
        self.center = center
        self.stays = center is not None

    def told(self, better: bool, failures: int) -> bool:
        """Change the edge; whether it is now too small."""
        self.stays = False
        self.good = self.good + 1 if better else 0
        self.bad = 0 if better else self.bad + 1
        if self.good == SUCCESSES:
            self.length = min(2.0 * self.length, LONGEST)
            self.good = 0
        elif self.bad == failures:
            self.length = 0.5 * self.length
            self.bad = 0
        return self.length < SHORTEST


class MORBO:
    """Minimises several objectives over the unit cube.

    Args:
        d: number of dimensions.
        far: the reference point of the volume (k,).
        seed: of the initial design and of the samples.
    """

    def __init__(self, d: int, far: Sequence[float], seed: int) -> None:
        import torch
        from scipy.stats import qmc

        self._torch = torch
        self._d = d
        self._far = np.array(far)
        torch.manual_seed(seed)
        self._rng = np.random.default_rng(seed)
        self.X = np.empty((0, d))
        self.Y = np.empty((0, len(far)))
        self._regions = [_Region() for _ in range(REGIONS)]
        #: What is to be asked next, with the region that chose it; none chose the initial design.
        self._queue: list[tuple[Array, _Region | None]] = [
            (x, None) for x in qmc.Sobol(d, rng=seed).random(max(2 * d, 10))
        ]
        self._asked: _Region | None = None

    def ask(self) -> Array:
        """The next point (d,)."""
        if not self._queue:
            self._queue = self._batch()
        point, self._asked = self._queue.pop(0)
        return point

    def tell(self, x: Array, values: Sequence[float]) -> None:
        """The objectives at a point."""
        before = self._volume(self.Y) if len(self.Y) else 0.0
        self.X = np.vstack([self.X, x])
        self.Y = np.vstack([self.Y, values])
        if self._asked is None:
            return
        better = self._volume(self.Y) > before * (1.0 + 1e-9)
        if self._asked.told(better, max(10, math.ceil(self._d / 3))) and self._asked in self._regions:
            self._regions[self._regions.index(self._asked)] = self._anew()

    def _volume(self, Y: Array) -> float:
        import moocore

        return float(moocore.hypervolume(Y, ref=self._far))

    def _gains(self, Y: Array, front: Array) -> Array:
        """The volume that each row of (n, k) would add to the front."""
        import moocore

        base = self._volume(front) if len(front) else 0.0
        gains = np.zeros(len(Y))
        inside = np.flatnonzero((self._far > Y).all(axis=1))
        if len(front) and len(inside):
            inside = inside[~(front[:, None] <= Y[inside]).all(axis=2).any(axis=0)]
        for i in inside:
            gains[i] = moocore.hypervolume(np.vstack([front, Y[i]]), ref=self._far) - base
        return gains

    def _front(self) -> Indices:
        """The numbers of the points that no other dominates."""
        import moocore

        found: Indices = np.flatnonzero(moocore.is_nondominated(self.Y))
        return found

    def _anew(self) -> _Region:
        """A region around the best point of a random scalarisation, which stays until others are better."""
        weights = self._rng.dirichlet(np.ones(self.Y.shape[1]))
        low = self.Y.min(axis=0)
        high = self.Y.max(axis=0)
        scalars = np.max(weights * (self.Y - low) / (high - low + 1e-12), axis=1)
        return _Region(int(np.argmin(scalars)))

    def _place(self) -> None:
        """Centers: each adds most volume to those of the regions before it; any other where none adds some."""
        front = self._front()
        chosen = [r.center for r in self._regions if r.center is not None and r.stays]
        for region in self._regions:
            if region.stays:
                continue
            left = np.setdiff1d(front, chosen)
            left = left if len(left) else front
            gains = self._gains(self.Y[left], self.Y[chosen])
            best = int(np.argmax(gains)) if gains.max() > 0.0 else int(self._rng.integers(len(left)))
            region.center = int(left[best])
            chosen.append(region.center)

    def _fitted(self, near: Indices) -> list[Any]:
        """Models of the objectives at some points, each less its mean and over its spread."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X = self._torch.tensor(self.X[near])
        models = list[Any]()
        for y in self.Y[near].T:
            models.append(SingleTaskGP(X, self._torch.tensor((y - y.mean()) / (y.std() + 1e-12))[:, None]))
            mll = ExactMarginalLogLikelihood(models[-1].likelihood, models[-1])
            fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": STEPS}})
        return models

    def _samples(self, region: _Region, known: dict[bytes, list[Any]]) -> tuple[Array, Array]:
        """Candidates of a region (m, d), and joint samples of their objectives (batch, m, k).

        Regions of the same points share their models, which are ``known``.
        """
        center = self.X[region.center]
        away = np.abs(self.X - center).max(axis=1)
        near = np.argsort(away, kind="stable")[: max(int(np.sum(away <= region.length)), 2 * self._d)][:FITTED]
        near = np.sort(near)
        if near.tobytes() not in known:
            known[near.tobytes()] = self._fitted(near)
        models = known[near.tobytes()]
        points = self._candidates(center, region.length)
        columns = []
        for y, model in zip(self.Y[near].T, models, strict=True):
            with self._torch.no_grad():
                drawn = model.posterior(self._torch.tensor(points)).rsample(self._torch.Size([BATCH]))
            columns.append(drawn.numpy()[..., 0] * (y.std() + 1e-12) + y.mean())
        return points, np.stack(columns, axis=-1)

    def _candidates(self, center: Array, length: float) -> Array:
        """Points that differ from the center in some coordinates, in the region."""
        d = self._d
        count = min(CANDIDATES, 200 * d)
        spread = self._torch.quasirandom.SobolEngine(d, scramble=True, seed=len(self.X)).draw(count).double().numpy()
        low = np.clip(center - length / 2, 0, 1)
        high = np.clip(center + length / 2, 0, 1)
        changed = self._rng.random((count, d)) <= min(20.0 / d, 1.0)
        changed[np.arange(count), self._rng.integers(d, size=count)] = True
        points: Array = np.where(changed, low + (high - low) * spread, center)
        return points

    def _batch(self) -> list[tuple[Array, _Region | None]]:
        """The next points, and the regions that they are of."""
        self._place()
        known = dict[bytes, list[Any]]()
        samples = [self._samples(region, known) for region in self._regions]
        front = self.Y[self._front()]
        chosen = list[tuple[Array, _Region | None]]()
        for b in range(BATCH):
            gains = [self._gains(drawn[b], front) for _, drawn in samples]
            r = int(np.argmax([gain.max() for gain in gains]))
            if gains[r].max() <= 0.0:
                r = int(self._rng.integers(REGIONS))
            points, drawn = samples[r]
            i = int(np.argmax(gains[r])) if gains[r].max() > 0.0 else int(self._rng.integers(len(points)))
            front = np.vstack([front, drawn[b, i]])
            chosen.append((points[i], self._regions[r]))
        return chosen

"""A peer for searches under constraints: SCBO (Eriksson & Poloczek 2021) with the models of BoTorch.

It needs ``pip install botorch``.

One trust region around the best feasible point, or the one that violates least; candidates that differ from it in some
coordinates; one joint sample of the posteriors of objective and constraints; the best feasible candidate of the sample,
or the one that violates least. Batches of four, as in the paper's experiments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BATCH = 4
SUCCESSES = 10
LONGEST = 1.6
SHORTEST = 0.5**7
#: Maximum number of candidates of a batch.
CANDIDATES = 2000


class SCBO:
    """Minimises over the unit cube.

    Args:
        d: number of dimensions.
        seed: of the initial design and of the samples.
    """

    def __init__(self, d: int, seed: int) -> None:
        import torch

        self._torch = torch
        self._d = d
        torch.manual_seed(seed)
        self._start(seed)
        self.X = np.empty((0, d))
        self.Y = np.empty(0)
        self.C = np.empty((0, 0))

    def _start(self, seed: int) -> None:
        """A new region, with a design of its own."""
        from scipy.stats import qmc

        self._first = 0 if not hasattr(self, "X") else len(self.X)
        self._seed = seed
        self._length = 0.8
        self._good = 0
        self._bad = 0
        self._queue = list(qmc.Sobol(self._d, rng=seed).random(2 * self._d))

    def ask(self) -> Array:
        """The next point (d,)."""
        if not self._queue:
            self._queue = list(self._batch())
        point: Array = self._queue.pop(0)
        return point

    def tell(self, x: Array, value: float, limits: tuple[float, ...]) -> None:
        """The objective and the constraints at a point."""
        started = len(self.X) - self._first >= 2 * self._d
        before = self._best() if len(self.X) > self._first else (1, math.inf)
        C = self.C.reshape(len(self.X), len(limits))
        self.X = np.vstack([self.X, x])
        self.Y = np.append(self.Y, value)
        self.C = np.vstack([C, limits])
        if not started:
            return
        better = self._rank(len(self.X) - 1) < (before[0], before[1] - 1e-3 * abs(before[1]))
        self._good = self._good + 1 if better else 0
        self._bad = 0 if better else self._bad + 1
        if self._good == SUCCESSES:
            self._length = min(2.0 * self._length, LONGEST)
            self._good = 0
        elif self._bad >= BATCH * math.ceil(max(4.0 / BATCH, self._d / BATCH)):
            self._length = 0.5 * self._length
            self._bad = 0
        if self._length < SHORTEST:
            self._start(self._seed + 1)

    def _rank(self, i: int) -> tuple[int, float]:
        """The smaller, the better."""
        violation = float(np.maximum(self.C[i], 0.0).sum())
        return (1, violation) if violation > 0.0 else (0, float(self.Y[i]))

    def _best(self) -> tuple[int, float]:
        return min(self._rank(i) for i in range(self._first, len(self.X)))

    def _model(self, X: Any, y: Array) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        target = self._torch.tensor((y - y.mean()) / (y.std() + 1e-12))[:, None]
        model = SingleTaskGP(X, target)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _batch(self) -> Array:
        """The next batch (4, d)."""
        rows = np.arange(self._first, len(self.X))
        X = self.X[rows]
        center = self.X[min(rows.tolist(), key=self._rank)]
        tensor = self._torch.tensor(X)
        bilog = np.sign(self.C[rows]) * np.log1p(np.abs(self.C[rows]))
        columns = [self.Y[rows], *bilog.T]
        models = [self._model(tensor, column) for column in columns]
        points = self._candidates(center)
        with self._torch.no_grad():
            draws = [
                model.posterior(self._torch.tensor(points)).rsample(self._torch.Size([BATCH])).numpy()[..., 0]
                * (column.std() + 1e-12)
                + column.mean()
                for model, column in zip(models, columns, strict=True)
            ]
        chosen = []
        for values, *limits in zip(*draws, strict=True):
            violation = np.maximum(np.array(limits), 0.0).sum(axis=0)
            feasible = violation == 0.0
            score = np.where(feasible, values, np.inf) if feasible.any() else violation
            chosen.append(points[int(np.argmin(score))])
        return np.array(chosen)

    def _candidates(self, center: Array) -> Array:
        """Points that differ from the center in some coordinates, in the region."""
        d = self._d
        count = min(CANDIDATES, 200 * d)
        rng = np.random.default_rng(self._seed + len(self.X))
        spread = self._torch.quasirandom.SobolEngine(d, scramble=True, seed=len(self.X)).draw(count).double().numpy()
        low = np.clip(center - self._length / 2, 0, 1)
        high = np.clip(center + self._length / 2, 0, 1)
        changed = rng.random((count, d)) <= min(20.0 / d, 1.0)
        changed[np.arange(count), rng.integers(d, size=count)] = True
        points: Array = np.where(changed, low + (high - low) * spread, center)
        return points

"""Values of trials that were evaluated on some instances only, such as folds, seeds or data sets.

A report is the value at an instance then, and reports are no curve (in Optuna under `WilcoxonPruner`). A trial that was
stopped has the mean over the instances it saw, which says as much about them as about its parameters. So values are
compared by

    report = value of the trial + effect of the instance + noise

with the effects by least squares over all trials so far, and zero in the mean. A trial that saw every instance has its
mean, as it is (`benchmarks/results/single-runs.md`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from numbo._types import Array
from numbo.kernels.cholesky import cholesky_into, unwhiten_into, whiten_into
from numbo.kernels.sparse import inverse_factor

#: The effects are computed again when the number of trials has grown by this share.
GROWN = 0.05
#: Added to the diagonal of the normal equations: they determine effects up to a constant.
RIDGE = 1e-6
#: A value is the mean of its reports if it differs from it by this share of their largest size at most.
SAME = 1e-6
#: Larger reports are left as they are.
HUGE = 1e100


class Instances:
    """The effects of instances, from all trials that were added."""

    def __init__(self) -> None:
        self._place: dict[int, int] = {}
        #: The normal equations for the effects, with those of trials left out.
        self._normal = np.zeros((0, 0))
        self._right = np.zeros(0)
        self._effects = np.zeros(0)
        self._trials = 0
        self._solved_at = 0

    def value(self, told: float | None, reported: Mapping[int, float], *, complete: bool) -> float | None:
        """The value of a trial as if it had seen all instances so far; the trial is added.

        Args:
            told: its value, or the last one that it has reported if it was stopped; None for a failure.
            reported: its values at instances.
            complete: whether ``told`` was returned. It is given back as it is, unless it is the mean of the reports.
        """
        reports = {step: y for step, y in reported.items() if math.isfinite(y)}
        if told is None or not reports:
            return told
        values = np.array(list(reports.values()))
        largest = float(np.abs(values).max())
        if largest > HUGE:
            return told
        mean = math.fsum(reports.values()) / len(reports)
        if complete and abs(told - mean) > SAME * largest:
            return told
        self._add(reports, values - mean)
        if len(reports) == len(self._place):
            return told if complete else mean
        seen = [self._place[step] for step in reports]
        return mean - math.fsum(self._effects[seen]) / len(seen)

    def _add(self, reports: Mapping[int, float], deviations: Array) -> None:
        """Add a trial with its ``reports`` and their ``deviations (k,)`` from its mean."""
        for step in reports:
            self._place.setdefault(step, len(self._place))
        new = len(self._place) - len(self._right)
        self._normal = np.pad(self._normal, (0, new))
        self._right = np.pad(self._right, (0, new))
        self._effects = np.pad(self._effects, (0, new))
        seen = np.array([self._place[step] for step in reports])
        self._normal[np.ix_(seen, seen)] -= 1.0 / len(seen)
        self._normal[seen, seen] += 1.0
        self._right[seen] += deviations
        self._trials += 1
        if new or self._trials >= (1.0 + GROWN) * self._solved_at:
            self._effects = self._solved()
            self._solved_at = self._trials

    def _solved(self) -> Array:
        """The effects (I,), zero in the mean."""
        n = len(self._right)
        L = np.empty((n, n))
        whitened = np.empty(n)
        effects = np.empty(n)
        if not cholesky_into(self._normal + RIDGE * np.eye(n), n, L):
            raise np.linalg.LinAlgError("The normal equations of instances are not positive definite.")
        W, WT = inverse_factor(L)
        whiten_into(WT, n, self._right, whitened)
        unwhiten_into(W, n, whitened, effects)
        return effects - math.fsum(effects) / n

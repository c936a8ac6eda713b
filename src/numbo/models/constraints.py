"""Models of constraints: a surrogate of each, on the same points as that of the objective.

The value c of a constraint, which holds up to 0, is modelled as its *margin* ``-sign(c) log(1 + |c| / s)`` (the bilog
transform of Eriksson & Poloczek 2021, "Scalable Constrained Bayesian Optimization"), where s is a typical size of ``c``
(`numbo.trials.violations.scales_of`). The margin is linear near 0 and logarithmic far from it. A point is feasible with
the probability that all of its margins are at least 0. The log probabilities of constraints are added, which also works
if the product would underflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from numbo import _elementary
from numbo._plain import Kept
from numbo._types import Array, Indices, Mask, ObservationIndices
from numbo.kernels.acquisition import LOG_PROBABILITY, Acquisition, Term, acquisition_values
from numbo.models.gp import Frame
from numbo.models.moments import moments
from numbo.models.surrogate import Surrogate
from numbo.trials import Data, History
from numbo.trials.violations import scales_of

#: More constraints than this are modelled in groups, each by the largest of its values in units of their sizes. With
#: eight groups for 12 and 20 constraints, regrets after 20 trials were 3 and 12 times those with one model each.
MOST = 12
#: Numbers of terms that may occur, as kernels are compiled for each number; the last is with both terms of costs.
TERMS = (1, 2, 3, 5, 9, 1 + MOST, 3 + MOST)
#: If noise is more than this share of the variance of margins, the model has to agree that one holds. Not tuned.
NOISY_MARGIN = 0.01
#: The margin of a value of typical size.
TYPICAL = math.log(2.0)
#: If more than this share of values are exactly 0, these zeros are not measurements. Not tuned.
MANY_ZEROS = 0.1
#: A margin threshold that always holds.
NOTHING = -1e100


class Constraints(Kept):
    """The models of ``q`` constraints.

    Args:
        make: makes a surrogate.
        q: number of constraints; without any, nothing is made.

    Attributes:
        surrogates: one for each group of constraints.
    """

    _kept = ("surrogates",)

    def __init__(self, make: Callable[..., Surrogate] | None = None, q: int = 0) -> None:
        self._groups = [group for group in np.array_split(np.arange(q), MOST) if len(group)]
        self.surrogates = [] if make is None else [make(of=partial(margins_of, group)) for group in self._groups]

    def __len__(self) -> int:
        return len(self.surrogates)

    def update(self, history: History, members: ObservationIndices, frame: Callable[[], Frame] | None = None) -> None:
        """Condition each model on the ``members`` with known values; ``frame`` as in `Surrogate.update`.

        A constraint with less than two different known values has no model.
        """
        for surrogate in self.surrogates:
            margins = surrogate.of(history, history.n)
            rows = members[~np.isnan(margins.y[members])]
            if len(rows) < 2 or margins.y[rows].min() == margins.y[rows].max():
                surrogate.members = rows[:0]
                continue
            surrogate.update(margins, rows, frame() if frame is not None and surrogate.fits.due(history.n) else None)

    @property
    def _known(self) -> list[Surrogate]:
        """The surrogates that have data."""
        return [surrogate for surrogate in self.surrogates if len(surrogate.members)]

    def hallucinate(self, points: Array) -> None:
        """Make pending ``points (p, d)`` part of the posteriors, until the next update."""
        for surrogate in self._known:
            surrogate.hallucinate(Data.unknown(points))

    def release(self) -> None:
        """Forget the pending points."""
        for surrogate in self._known:
            surrogate.release()

    def terms(self) -> tuple[Term, ...]:
        """Terms for the log probability that each constraint holds."""
        return tuple(Term(one.posterior, Acquisition(LOG_PROBABILITY, _threshold(one))) for one in self._known)

    def weigh(self, objective: Term, *others: Term, feasible: bool) -> tuple[Term, ...]:
        """The terms to maximise: the objective's, the log probabilities that constraints hold, and ``others``.

        Without a ``feasible`` observation, only those after the first.
        """
        if not feasible and self._known:
            success = objective.acquisition.success
            objective = objective._replace(acquisition=Acquisition(LOG_PROBABILITY, NOTHING, success))
        return (objective, *self.padded(*others))

    def padded(self, *others: Term) -> tuple[Term, ...]:
        """`terms` and ``others``, padded by terms that are always 0: kernels are compiled for few numbers of terms."""
        terms = (*self.terms(), *others)
        if not terms:
            return ()
        nothing = Term(terms[0].posterior._replace(n=0), Acquisition(LOG_PROBABILITY, NOTHING))
        size = next(size for size in TERMS if size > len(terms))
        return (*terms, *[nothing] * (size - 1 - len(terms)))

    def log_probability(self, X: Array) -> Array:
        """The log probability (c,) that all constraints hold at ``X (c, d)``."""
        out = np.zeros(len(X))
        for term in self.terms():
            out += acquisition_values(term.posterior, term.acquisition, X)
        return out

    def met(self, history: History, rows: ObservationIndices) -> Mask:
        """Which of the observations ``rows (m,)`` meet all constraints.

        If a constraint is noisy, its mean less one standard deviation has to agree, since one of many values may just
        be lucky; also if its value is unknown. If no observation is left then, only the told values decide.
        """
        told = history.met[rows]
        if not self.surrogates:
            return told
        unknown = np.isnan(history.C[rows])
        both = told.copy()
        for group, one in zip(self._groups, self.surrogates, strict=True):
            asked = unknown[:, group].any(axis=1) | ((one.claimed_noise or 0.0) > NOISY_MARGIN)
            if len(one.members) and asked.any():
                margin = moments(one.posterior, history.X[rows[asked]])
                both[asked] &= margin.mean - margin.std >= _threshold(one)
        return both if both.any() else told


def margins_of(group: Indices, history: History, n: int) -> Data:
    """The margins of a ``group (g,)`` of constraints at the first ``n`` observations, NaN if unknown."""
    with np.errstate(over="ignore"):  # values may be of any size
        scaled = history.C[:n, group] / scales_of(history, n)[group]
    known = ~np.isnan(scaled).all(axis=1)
    margins = np.full(n, np.nan)
    margins[known] = _margin(np.fmax.reduce(scaled[known], axis=1))
    return Data.of(history.X[:n], margins)


def _margin(scaled: Array) -> Array:
    """The margins (n,) of values in units of their typical size.

    Infinite margins count as the best or worst finite one, and at least as a typical one. If many values are exactly 0,
    only violations are measured, and a value of 0 counts as a typical margin.
    """
    out = -np.sign(scaled) * _elementary.log1p(np.abs(scaled))
    finite = out[np.isfinite(out)]
    low = min(finite.min(initial=0.0), -TYPICAL)
    high = max(finite.max(initial=0.0), TYPICAL)
    zero = scaled == 0.0
    if len(zero) and np.mean(zero) > MANY_ZEROS:
        out[zero] = TYPICAL
    return np.clip(out, low, high)


def _threshold(surrogate: Surrogate) -> float:
    """The margin 0 in the units of a model."""
    return float(surrogate.transform.forward(np.zeros(1))[0])

"""Whether the errors that values were told with are far too large, by how much neighbouring values differ.

The values at two points differ by the noise of both and by the objective. If the errors are right, the sum over pairs
of squared differences, in units of the variances that were told, is thus rarely less than a chi-squared variable with
as many degrees of freedom. The pairs are points that are each other's nearest one, so no point is in two of them, and
how they are chosen does not depend on the values.

Errors that are far too large are common: the standard error of a mean over folds is not the noise of a search if all
trials have the same folds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbo._types import Array, Indices

if TYPE_CHECKING:
    from numbo.trials.history import History

#: The errors are looked at whenever this number of observations has come, by so many of the last ones. This and the
#: next constants were not tuned.
EVERY = 8
LAST = 256
#: They are contradicted if differences as small as those seen had less than this probability. On a flat function of one
#: parameter, with five kinds of noise, none of 400 runs of 160 observations each was at any of the looks.
DOUBT = 1e-3
#: The most times that they are halved.
MOST = 10


class Stated(NamedTuple):
    """How often the errors have to be halved until the values do not contradict them, by the first ``n`` ones."""

    n: int = 0
    halvings: int = 0


def stated(known: Stated | None, history: History) -> Stated:
    """The fold of `Stated` (`numbo.trials.History.fact`)."""
    n = history.n - history.n % EVERY
    if known is not None and known.n == n:
        return known
    variance = history.trials.variance[history.positions[:n]]
    rows = np.flatnonzero((variance > 0.0) & history.final[:n])[-LAST:]
    if history.several or not len(rows):
        return Stated(n)
    return Stated(n, halvings(history.X[rows], history.y[rows], variance[rows]))


def too_large(halvings: int) -> str:
    """What to tell a user of errors that values contradict, and that are halved so often."""
    times = 2**halvings
    return (
        f"The errors told by std are about {times} times too large, since values of neighbouring points differ much "
        f"less (perhaps all trials share their folds or seeds): they are divided by {times}."
    )


def halvings(X: Array, y: Array, variance: Array) -> int:
    """How often the roots of ``variance (n,)`` are halved until values ``y (n,)`` at ``X (n, d)`` may have them.

    Never once only: sums of a few values with heavy tails are mostly small.
    """
    one, other = neighbours(X)
    if not len(one):
        return 0
    scale = np.sqrt(variance[one] + variance[other])
    with np.errstate(over="ignore", invalid="ignore"):
        surprise = float(np.nan_to_num((y[one] / scale - y[other] / scale) ** 2, nan=np.inf).sum())
    found = 0
    while found < MOST and unlikely(surprise * 4.0**found, len(one)):
        found += 1
    return found if found > 1 else 0


def unlikely(total: float, count: int) -> bool:
    """Whether a chi-squared variable of ``count`` degrees of freedom is at most ``total`` with less than `DOUBT`.

    By Chernoff's bound on this probability, ``(r exp(1 - r)) ** (count / 2)`` where ``r = total / count < 1``.
    """
    ratio = total / count
    if ratio >= 1.0:
        return False
    return ratio == 0.0 or 0.5 * count * (math.log(ratio) + 1.0 - ratio) < math.log(DOUBT)


def neighbours(X: Array) -> tuple[Indices, Indices]:
    """Two rows (m,) of each pair of points ``X (n, d)`` that are each other's nearest one."""
    distance = np.zeros((len(X), len(X)))
    for column in X.T:
        distance += (column[:, None] - column) ** 2
    np.fill_diagonal(distance, np.inf)
    nearest = np.argmin(distance, axis=1)
    rows = np.arange(len(X))
    mutual = (nearest[nearest] == rows) & (rows < nearest)
    return rows[mutual], nearest[mutual]

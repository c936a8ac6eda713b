"""How much a user's beliefs count: less with each trial (Hvarfner et al. 2022, "piBO"), nothing once data disagree.

The utility of a point x, a logarithm, is that without beliefs plus ``b / n log pi(x)``: n is the number of trials, and
pi the density of what is believed. Beliefs count only while trials bear them out: those at higher densities are, by
rank correlation, not the worse ones. The first two, at the mode and at the usual point, decide how the start goes on.

Data disagree with a belief if the best trials are where it expects none, and those where it expects good values are
worse than most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from numbo._types import Array
from numbo.spaces.beliefs import Beliefs
from numbo.trials import History, best_first, scores_of

#: b, and the largest exponent. What they bring and cost: ``benchmarks/results/beliefs.md``.
STRENGTH = 2.0
LARGEST = 0.3
#: Data disagree if the densities at so many of the best trials, relative to a uniform one, have at most this geometric
#: mean, and the best trial at a density above 1 is worse than the median; from so many trials on.
BEST = 3
UNLIKELY = 0.2
LEAST = 8


def believed(beliefs: Beliefs, history: History) -> Array | None:
    """The logarithms (d, g) of densities that count for the next suggestion, times the exponent; None if none does."""
    if not borne_out(beliefs.values(history.X), scores_of(history)):
        return None
    misled = contradicted(beliefs, history)
    left = np.array([name not in misled for name in beliefs.columns])
    weights = left * min(LARGEST, STRENGTH / max(history.told + len(history.pending), 1))
    return weights[:, None] * beliefs.logs if (left & beliefs.logs.any(axis=1)).any() else None


def borne_out(logs: Array, scores: Array) -> bool:
    """Whether the scores (n,) do not fall with the log densities (n,) of what is believed, by rank correlation.

    With this in place of only `contradicted`, regrets with a wrong guess are a third after 10 trials of networks, and
    those with a good one the same: ``benchmarks/results/known.md``.
    """
    first, second = (np.unique(values, return_inverse=True)[1].reshape(-1) for values in (logs, scores))
    return len(logs) * int((first * second).sum()) >= int(first.sum()) * int(second.sum())


def contradicted(beliefs: Beliefs | None, history: History) -> tuple[str, ...]:
    """The names of the parameters whose beliefs the data disagree with: of all, or of those that mislead alone."""
    if beliefs is None:
        return ()
    single = beliefs.single(history.X)
    scores = scores_of(history)
    if disagree(np.nansum(single, axis=1), scores):
        return tuple(beliefs.names)
    columns = dict(zip(beliefs.columns, single.T, strict=True))
    active = {name: ~np.isnan(columns[name]) for name in beliefs.names}
    return tuple(name for name, rows in active.items() if disagree(columns[name][rows], scores[rows]))


def disagreement(names: Iterable[str]) -> str:
    """What a user is told of beliefs of these parameters that are `contradicted`."""
    return (
        f"Trials disagree with prior= of {', '.join(names)}: where it expects good values, they are worse than "
        "elsewhere. It does not count as long as they do."
    )


def disagree(logs: Array, scores: Array) -> bool:
    """Whether the scores (n,) disagree with the log densities (n,) of what is believed."""
    favoured = logs > 0.0
    if len(logs) < LEAST or not favoured.any():
        return False
    unlikely = np.mean(logs[best_first(scores)[:BEST]]) <= math.log(UNLIKELY)
    return bool(unlikely and scores[favoured].max() < np.median(scores))

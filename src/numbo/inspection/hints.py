"""What trials say back of what the user has said: ranges, parameters, beliefs, constraints; and of the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from numbo._types import Array, Indices, Mask
from numbo.models.trust import contradicted
from numbo.models.view import ModelView
from numbo.run.situation import Situation
from numbo.spaces import INACTIVE, Space
from numbo.spaces.allowed import Linear, described, met, names_in, parts_of

#: Numbers of trials from which on something is said of the best ones, and of parameters that do not matter. None of the
#: constants here was tuned.
LEAST = 20
LEAST_OF_RELEVANCE = 30
#: So many of the best trials are looked at, of which so many must be within a share of the range of its end.
BEST = 5
AT_END = 4
END = 0.02
#: Shares of the variation below which a parameter does not matter, and above which a bound does.
LITTLE = 0.01
SOME = 0.05
#: Number of points around each of the best trials, and how far away they are at most.
AROUND = 64
NEAR = 0.1
#: An optimum is a needle if errors of so much, as a share of the ranges, lose this share of the standard deviation of
#: the mean over the space.
ERROR = 0.02
NEEDLE = 0.25


class Hint(NamedTuple):
    """Something to look at.

    Attributes:
        kind: ``"bound"``, ``"irrelevant"``, ``"prior"``, ``"allowed"`` or ``"needle"``.
        names: of the parameters.
        words: what it is.
    """

    kind: str
    names: tuple[str, ...]
    words: str

    def __str__(self) -> str:
        return self.words


def hints_of(
    run: Situation, view: ModelView, rows: Indices, relevance: Mapping[str, float], unvaried: Mask, spread: float
) -> tuple[Hint, ...]:
    """All hints, given the observations ``rows`` that count, the best first; none of them for arms.

    Args:
        run, view: the data, and the model of the objective.
        rows: empty where there is no best one.
        relevance: shares of the parameters.
        unvaried: (d,) which parameters were not varied.
        spread: standard deviation of the mean over the space.
    """
    space = run.named_space
    if space is None:
        return ()
    found: list[Hint] = []
    if run.history.n >= LEAST and len(rows):
        found += _bounds(space, run.history.X[rows[:BEST]], relevance)
    if run.history.n >= LEAST_OF_RELEVANCE and any(relevance.values()):
        varied = [name for name, one in zip(space.names, unvaried.tolist(), strict=True) if not one]
        if idle := tuple(name for name in varied if relevance[name] < LITTLE):
            found.append(Hint("irrelevant", idle, f"hardly any effect so far, and could be fixed: {', '.join(idle)}"))
    if names := contradicted(space.beliefs, run.history):
        found.append(Hint("prior", names, f"trials disagree with what was believed of {', '.join(names)}"))
    if run.history.n >= LEAST and len(rows):
        found += _constraints(run, space, run.history.X[rows[:BEST]])
        found += _needle(space, view, run.history.X[rows[0]], spread)
    return tuple(found)


def _bounds(space: Space, X: Array, relevance: Mapping[str, float]) -> Iterator[Hint]:
    """Parameters that matter whose best values are at an end of their range."""
    for j, name in enumerate(space.names):
        if space.categorical[j] or space.sizes[j] <= 2.0 or relevance[name] < SOME or (X[:, j] == INACTIVE).any():
            continue
        width = max(END, 0.51 / space.sizes[j])
        for end, there in (("lower", X[:, j] <= width), ("upper", X[:, j] >= 1.0 - width)):
            if there[0] and np.count_nonzero(there) >= AT_END:
                yield Hint("bound", (name,), f"the best values of {name} are at its {end} bound: try a wider range")


def _constraints(run: Situation, space: Space, X: Array) -> Iterator[Hint]:
    """Known constraints that hold everywhere around the best trials; equalities do nowhere."""
    if space.allowed is None:
        return
    around = [space.decode(x) for x in _around(space, X, NEAR)]
    for one in space.allowed.constraints:
        exact = any(isinstance(part, Linear) and part.equal is not None for part in parts_of(one))
        unanswered = getattr(one, "missing", ())  # an adapter's function that asks for what no trial has
        if not (exact or unanswered) and all(met(one, params, space.names) for params in around):
            words = f"allowed: {described(one)} does not bind: all around the best trials meets it"
            yield Hint("allowed", names_in(one), words)


def _needle(space: Space, view: ModelView, x: Array, spread: float) -> Iterator[Hint]:
    """Whether small errors lose much, compared with how much values vary."""
    if not (space.relaxed & (x != INACTIVE)).any():
        return
    best = float(view.mean_sd(x[None]).mean[0])
    lost = best - float(np.mean(view.mean_sd(_around(space, x[None], ERROR)).mean))
    if lost > NEEDLE * spread > 0.0:
        words = (
            f"the optimum is a needle: errors of {ERROR:.0%} of the ranges lose {lost:.3g} on average; see "
            "best_predicted(tolerance=)"
        )
        yield Hint("needle", tuple(n for n, moved in zip(space.names, space.relaxed, strict=True) if moved), words)


def _around(space: Space, X: Array, far: float) -> Array:
    """Points at most so ``far`` from those in ``X (n, d)`` in the coordinates that are numbers."""
    steps = np.random.default_rng(0).uniform(-far, far, (len(X) * AROUND, X.shape[1]))
    base = np.repeat(X, AROUND, axis=0)
    moved = ~space.categorical & (base != INACTIVE)
    return space.snap(np.where(moved, np.clip(base + steps, 0.0, 1.0), base))

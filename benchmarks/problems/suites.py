"""All problems that samplers are compared on, by name, in suites."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from benchmarks.problems import branching, classic, early, few, long, noisy
from benchmarks.problems.problem import Problem

#: The suites that are ranked.
COMPARED = {
    "paper": classic.PAPER,
    "continuous": classic.CONTINUOUS,
    "mixed": classic.MIXED,
    "tabular": classic.TABULAR,
    "unseen": classic.UNSEEN,
}
SUITES = COMPARED | {
    "ripples": classic.RIPPLES,
    "failures": classic.FAILURES,
    "branching": list(branching.PROBLEMS),
    "noisy": [name for name in noisy.PROBLEMS if name not in noisy.ASIDE],
    "noisy-aside": list(noisy.ASIDE),
    "few": [name for name in few.PROBLEMS if name not in few.ASIDE],
    "few-aside": list(few.ASIDE),
    "early": [f"early-{name}" for name in early.OPEN],
    "early-aside": [f"early-{name}" for name in early.APART],
    "long": [name for name in long.PROBLEMS if name not in long.ASIDE],
    "long-aside": list(long.ASIDE),
}
_MAKERS: dict[str, Callable[[], Problem]] = (
    classic.PROBLEMS | branching.PROBLEMS | noisy.PROBLEMS | few.PROBLEMS | long.PROBLEMS
) | {f"early-{name}": partial(early.of, name, 0) for name in early.SEARCHES}
PROBLEMS = tuple(_MAKERS)


@cache
def make(name: str) -> Problem:
    """The problem of that name; tables and data sets are read on first use."""
    return _MAKERS[name]()

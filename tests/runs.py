"""Runs that know something, for parts of an optimizer that are tested on their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numbo.models.noise import Claims
from numbo.run.situation import Situation
from numbo.spaces import Domain
from numbo.trials import Ends, Goal


def new_run(
    space: Domain,
    *,
    directions: tuple[str, ...] = ("maximize",),
    constraints: tuple[str, ...] = (),
    avoid_repeats: bool | str = "auto",
    learn_failures: bool | str = "auto",
    seed: int = 0,
    ends: Callable[[], Ends] | None = None,
) -> Situation:
    """A run that knows nothing yet."""
    goal = Goal(directions, constraints)
    return Situation.begun(space, goal, avoid_repeats, learn_failures, np.random.default_rng(seed), ends)


def tell(
    run: Situation, params: Any, value: Any, *, origin: int = -1, constraints: Any = None, final: bool = True
) -> int:
    """What an optimizer does with a result before its algorithm sees it; returns the index of the observation."""
    x = run.space.encode(params)
    found = run.goal.constrained(constraints)
    return run.history.add(x, run.goal.outputs(value), params, origin, final=final, constraints=found)


def listen(run: Situation, *models: Sequence[Claims], asks: bool = False) -> None:
    """Let the models of each objective judge its noise, as an optimizer does once it has made them."""
    for known in ("noises", "available"):
        vars(run).pop(known, None)
    vars(run).update(claims=tuple(zip(*models, strict=True)), asks=asks)

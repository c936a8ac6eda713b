"""What a run has found, whichever framework it ran on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Ended(NamedTuple):
    """A trial that ended in time.

    Attributes:
        seconds: when it ended, from the moment when all workers were ready.
        config: its parameters, by the names of `study_network.suggest`.
        values: its objectives; none if it was pruned or failed.
        latency: seconds of an answer; infinite if it failed before it was measured.
        epochs: number of epochs that it was trained.
        pruned: whether it was stopped early.
    """

    seconds: float
    config: dict[str, Any]
    values: tuple[float, ...]
    latency: float
    epochs: int
    pruned: bool


class Run(NamedTuple):
    """A run, when its time is up.

    Attributes:
        trials: those that ended in time, in this order.
        recommended: configurations that the sampler recommends, if it has an opinion on that.
        training: the share of the workers' processor time that was spent on networks, if it is known.
    """

    trials: list[Ended]
    recommended: list[dict[str, Any]]
    training: float | None


def feasible(trials: Iterable[Ended], limit: float) -> list[Ended]:
    """Those that ran to their end and answer in time."""
    return [trial for trial in trials if trial.values and trial.latency <= limit]


def improvements(trials: Iterable[Ended], limit: float) -> list[Ended]:
    """Those that were better, when they ended, than all before."""
    found = list[Ended]()
    for trial in feasible(trials, limit):
        if not found or trial.values < found[-1].values:
            found.append(trial)
    return found

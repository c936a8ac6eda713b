"""Earlier runs of Ray Tune, as numbo's optimizers take them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ray.tune import ResultGrid
from ray.tune.utils import flatten_dict

from numbo.ray._domains import TuneSpace
from numbo.ray._snapshot import read_trials
from numbo.trials.earlier import EarlierStudy, earlier_studies


class EarlierRun(NamedTuple):
    """A run of Tune: its name, the config of each trial, and the last reported metrics, None if the trial failed."""

    name: str
    configs: Sequence[Mapping[str, Any]]
    metrics: Sequence[Mapping[str, Any] | None]


def read(given: Any) -> tuple[EarlierRun | EarlierStudy, ...]:
    """The runs of an argument ``earlier``: folders of runs, results of ``Tuner.fit``, or what the core takes.

    Raises:
        ValueError: if it is no sequence of these, or a folder has no trials.
    """
    single = str | Mapping | EarlierStudy | PathLike | ResultGrid
    if isinstance(given, single) or not isinstance(given, Iterable):
        raise ValueError(f'earlier must be a sequence of runs such as ["/path/of/run", results]; got {given!r}.')
    return tuple(one for number, item in enumerate(given) for one in _read_one(item, number))


def _read_one(given: Any, number: int) -> Sequence[EarlierRun | EarlierStudy]:
    if isinstance(given, ResultGrid):
        found = [(one.config or {}, None if one.error else flatten_dict(one.metrics or {})) for one in given]
        return [EarlierRun(f"run {number}", [config for config, _ in found], [one for _, one in found])]
    if not isinstance(given, str | PathLike):
        return earlier_studies([given])
    folder = Path(given).expanduser()
    trials = read_trials(folder)
    if not trials:
        raise ValueError(f"earlier must have folders of runs of Tune; {str(folder)!r} has no trials that can be read.")
    metrics = [None if t.status == "ERROR" or t.result is None else t.result | t.last for t in trials]
    return [EarlierRun(folder.name, [t.config for t in trials], metrics)]


def studies(
    runs: Iterable[EarlierRun | EarlierStudy], space: TuneSpace, metrics: list[str], directions: list[str]
) -> tuple[EarlierStudy, ...]:
    """The ``runs`` as studies of the parameters of a ``space``, and of ``metrics`` with their ``directions``."""
    return tuple(run if isinstance(run, EarlierStudy) else _study(run, space, metrics, directions) for run in runs)


def _study(run: EarlierRun, space: TuneSpace, names: list[str], directions: list[str]) -> EarlierStudy:
    values = [_values(metrics, names) for metrics in run.metrics]
    return EarlierStudy([space.known_params(config) for config in run.configs], values, None, directions, run.name)


def _values(metrics: Mapping[str, Any] | None, names: list[str]) -> Any:
    """The value of the metric, or the values of several; None if one is missing."""
    found = [math.nan if metrics is None else metrics.get(name, math.nan) for name in names]
    if any(not isinstance(value, Real) or math.isnan(value) for value in found):
        return None
    return found[0] if len(names) == 1 else found

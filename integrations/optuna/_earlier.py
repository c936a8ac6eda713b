"""Earlier studies of Optuna, as numbo's optimizers take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo import _checks
from numbo.optuna import _records
from numbo.optuna._distributions import holds
from numbo.optuna._unchanged import unchanged
from numbo.trials import Goal
from numbo.trials.earlier import EarlierStudy, earlier_studies

#: The internal value of a category that a distribution does not have.
ELSEWHERE = -1


def read(given: Any) -> tuple[EarlierStudy, ...]:
    """The studies of an argument ``earlier``: studies of Optuna, ``"storage-url#name"``, or what the core takes.

    Raises:
        ValueError: if it is no sequence of these, or a study cannot be loaded.
    """
    if isinstance(given, str | Mapping | Study | EarlierStudy) or not isinstance(given, Iterable):
        raise ValueError(f'earlier must be a sequence of studies such as [study, "storage-url#name"]; got {given!r}.')
    return earlier_studies([_read_one(one) for one in given])


def _read_one(given: Any) -> Any:
    if isinstance(given, str):
        return _of_study(_loaded(given))
    return _of_study(given) if isinstance(given, Study) else given


def _loaded(address: str) -> Study:
    """The study at ``"storage-url#name"``; the name may be left out if the storage has one study.

    A path of an SQLite file or a journal serves as well as a URL.
    """
    url, marked, name = address.rpartition("#")
    url, name = (url, name) if marked else (address, "")
    try:
        return optuna.load_study(study_name=name or None, storage=unchanged(url))
    except Exception as error:  # of any storage
        raise ValueError(
            f'earlier must have studies that can be loaded, such as "sqlite:///studies.db#name"; got {address!r}, and '
            f"{type(error).__name__}: {error}"
        ) from error


def _of_study(study: Study) -> EarlierStudy:
    directions = _records.directions_of(study)
    k = len(directions)
    ended = [t for t in study.get_trials(deepcopy=False) if t.state.is_finished()]
    std = [_std(trial) for trial in ended] if k == 1 else []
    return EarlierStudy(
        points=[trial.params for trial in ended],
        values=[_value(trial, k) for trial in ended],
        std=std if any(std) else None,
        directions=directions,
        name=study.study_name,
    )


def _value(trial: FrozenTrial, k: int) -> Any:
    """The value of a trial (`numbo.optuna._records.value_of`); None, too, if it does not meet a constraint."""
    violated = any(value > 0.0 for value in _records.constraints_of(trial).values())
    return None if violated else _records.value_of(trial, k)


def _std(trial: FrozenTrial) -> float:
    known = trial.user_attrs.get(_records.STD, 0.0)
    return float(known) if _checks.is_finite(known) and known >= 0.0 else 0.0


def internal(study: EarlierStudy, distributions: Mapping[str, BaseDistribution]) -> EarlierStudy:
    """A study with the numbers of the choices in place of categories."""
    choices = {name: d for name, d in distributions.items() if isinstance(d, CategoricalDistribution)}
    points = [_internal(point, choices) if isinstance(point, Mapping) else point for point in study.points]
    return replace(study, points=points)


def _internal(point: Mapping[str, Any], choices: Mapping[str, CategoricalDistribution]) -> dict[str, Any]:
    out = dict(point)
    for name in point.keys() & choices.keys():
        out[name] = ELSEWHERE
        with suppress(ValueError):
            out[name] = int(choices[name].to_internal_repr(point[name]))
    return out


def recalled(studies: Iterable[EarlierStudy], study: Study, name: str, distribution: BaseDistribution) -> Any:
    """The value of a parameter in the best trial of the first of the earlier ``studies`` that has it; None if none."""
    goal = Goal(_records.directions_of(study))
    found = (earlier.best_point(goal).get(name) for earlier in studies)
    return next((value for value in found if value is not None and holds(distribution, value)), None)

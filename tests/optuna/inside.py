"""What tests of the samplers look at, and what they write where Optuna itself would not."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial
from tests.helpers import Early

from numbo.optimizers import Snapshot
from numbo.optuna import GSSBOSampler
from numbo.optuna._samplers import NumboSampler
from numbo.optuna._view import StudyView


class EarlySampler(GSSBOSampler):
    """A sampler whose population search starts after three trials."""

    _optimizer = Early


def sampler_of(study: optuna.Study) -> NumboSampler:
    assert isinstance(study.sampler, NumboSampler)
    return study.sampler


def optimizer_of(study: optuna.Study) -> Snapshot:
    """A snapshot of the optimizer behind a study's sampler, with all finished and running trials."""
    return sampler_of(study).inspected(study)[0]


def asks_of(study: optuna.Study) -> list[int]:
    """The numbers of observations at which the present optimizer of a study was asked; a new optimizer has none."""
    asked_at: list[int] = sampler_of(study).explain(study).asked_at.tolist()
    return asked_at


def view_of(study: optuna.Study) -> StudyView:
    """The view that a study's sampler used last, as the last suggestion has left it."""
    return next(reversed(sampler_of(study)._views.values()))


def storage_of(study: optuna.Study) -> tuple[BaseStorage, int]:
    """The storage of a study and the study's number in it."""
    storage = study._storage
    return storage, storage.get_study_id_from_name(study.study_name)


def add_unchecked(study: optuna.Study, trial: FrozenTrial) -> None:
    """Add a trial that Optuna would refuse, as another program may."""
    storage, number = storage_of(study)
    storage.create_new_trial(number, template_trial=trial)


def set_system_attr(study: optuna.Study, trial: int, key: str, value: Any) -> None:
    """Write a system attribute of the trial with this number, as another program may."""
    storage, number = storage_of(study)
    storage.set_trial_system_attr(storage.get_trial_id_from_study_id_trial_number(number, trial), key, value)

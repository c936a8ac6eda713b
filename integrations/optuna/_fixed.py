"""Parameters with values given before a suggestion: by a queue, a `PartialFixedSampler`, or a trial run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import PartialFixedSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo.optuna._distributions import to_internal
from numbo.optuna._records import Identity, Published, read
from numbo.spaces import Space, Table


def fixed_params(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """Fixed values by name: those that the trial already has, enqueued ones, and those of samplers around this one.

    They take precedence in this order, as in Optuna. A trial that is begun again, or was added while it waits, has
    values of its own.
    """
    fixed: dict[str, Any] = {}
    sampler = getattr(study, "sampler", None)  # a Hyperband bracket does not provide it
    while isinstance(sampler, PartialFixedSampler):
        fixed = sampler._fixed_params | fixed
        sampler = sampler._base_sampler
    enqueued = trial.system_attrs.get("fixed_params")
    return fixed | (enqueued if isinstance(enqueued, dict) else {}) | trial.params


def inherited(trial: FrozenTrial, published: Published, given: Mapping[str, Any]) -> dict[str, Any]:
    """The internal values ``published`` for the trial that a ``trial`` repeats, if the ``given`` ones are among them.

    A worker died, and its trial is to be run again: it had a whole suggestion, but has only the values that were asked
    for. Other values, which somebody has changed, need others beside them.
    """
    repeats = published.trial not in (None, trial.number)
    same = all(published.params.get(name, value) == value for name, value in given.items())
    return published.params if repeats and same else {}


def within(
    fixed: Mapping[str, Any], distributions: Mapping[str, BaseDistribution], space: Space | Table
) -> dict[str, Any]:
    """The ``fixed`` values that lie within ``space``, the space of the ``distributions``, in its representation.

    Values out of range are left out here: Optuna refuses them with its own warning.
    """
    out = {}
    for name in distributions.keys() & fixed.keys():
        try:
            value = to_internal({name: fixed[name]}, distributions)[name]
        except ValueError:
            continue
        if space[name].contains(value):
            out[name] = value
    return out


def held(
    trial: FrozenTrial,
    identity: Identity,
    given: Mapping[str, Any],
    distributions: Mapping[str, BaseDistribution],
    space: Space | Table,
) -> dict[str, Any]:
    """The internal values that the suggestion for a ``trial`` has to have, by those that are ``given``."""
    fixed = within(given, distributions, space)
    rest = inherited(trial, read(trial, identity), fixed)
    return {name: value for name, value in rest.items() if space[name].contains(value)} | fixed

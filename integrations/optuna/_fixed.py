"""Parameters with values given before a suggestion: by a queue, a `PartialFixedSampler`, or a trial run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import PartialFixedSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo.optuna._distributions import to_internal
from numbo.optuna._records import Identity, read
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
    """The internal values that the suggestion for a ``trial`` has to have, by those that are ``given``.

    A worker died, and its trial is to be run again: it had a whole suggestion, but has only the values that were asked
    for. It gets the others, too, unless somebody has changed values: these need others beside them.
    """
    fixed = within(given, distributions, space)
    before = read(trial, identity)
    repeats = before.trial not in (None, trial.number)
    if not repeats or any(before.params.get(name, value) != value for name, value in fixed.items()):
        return fixed
    return {name: value for name, value in before.params.items() if space[name].contains(value)} | fixed

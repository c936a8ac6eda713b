"""Parameters with values given before a suggestion: enqueued ones, and those of a `PartialFixedSampler`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numbo.optuna._distributions import to_internal

from numbo.spaces import Space, Table
from optuna.distributions import BaseDistribution
from optuna.samplers import PartialFixedSampler
from optuna.study import Study
from optuna.trial import FrozenTrial


def fixed_params(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """Fixed values by name. Values enqueued for the trial take precedence, as in Optuna."""
    fixed: dict[str, Any] = {}
    sampler = getattr(study, "sampler", None)  # a Hyperband bracket does not provide it
    while isinstance(sampler, PartialFixedSampler):
        fixed = sampler._fixed_params | fixed
        sampler = sampler._base_sampler
    enqueued = trial.system_attrs.get("fixed_params")
    return fixed | enqueued if isinstance(enqueued, dict) else fixed


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

"""Parameters whose values are given before a suggestion: enqueued ones, and those of a `PartialFixedSampler`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numbo.optuna._distributions import to_internal

from numbo.spaces import Space
from optuna.distributions import BaseDistribution
from optuna.samplers import PartialFixedSampler
from optuna.study import Study
from optuna.trial import FrozenTrial


def fixed_params(study: Study, trial: FrozenTrial) -> dict[str, Any]:
    """Values by name. What was enqueued for the trial takes precedence, as it does in Optuna."""
    fixed: dict[str, Any] = {}
    sampler = getattr(study, "sampler", None)  # a bracket of Hyperband does not tell
    while isinstance(sampler, PartialFixedSampler):
        fixed = sampler._fixed_params | fixed
        sampler = sampler._base_sampler
    enqueued = trial.system_attrs.get("fixed_params")
    return fixed | enqueued if isinstance(enqueued, dict) else fixed


def within(fixed: Mapping[str, Any], distributions: Mapping[str, BaseDistribution], space: Space) -> dict[str, Any]:
    """Those of the ``fixed`` values that lie in ``space``, as it represents them; it is that of the ``distributions``.

    A value out of range is the business of whoever gave it: Optuna refuses it with a warning of its own.
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

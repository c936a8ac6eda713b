"""Translates Optuna's distributions and parameters to numbo's spaces and back. The only file that knows both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numbo.spaces import Categorical, Dimension, Float, Int, Space
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    check_distribution_compatibility,
)
from optuna.trial import FrozenTrial


def _dimension(distribution: BaseDistribution) -> Dimension:
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, IntDistribution):
        return Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(range(len(distribution.choices)))
    raise ValueError(f"Unknown distribution {distribution!r}; numbo supports Float, Int and CategoricalDistribution.")


def check_distributions(distributions: Any) -> dict[str, BaseDistribution]:
    """A copy of a user's search space.

    Raises:
        ValueError: if it does not map at least one name to a distribution.
    """
    if not isinstance(distributions, Mapping) or not distributions:
        raise ValueError(
            f'search_space must be None or a mapping such as {{"x": FloatDistribution(0, 1)}}, got {distributions!r}.'
        )
    for name, distribution in distributions.items():
        if not isinstance(name, str) or not isinstance(distribution, BaseDistribution):
            raise ValueError(
                "search_space must map names to distributions such as FloatDistribution(0, 1), got "
                f"{name!r}: {distribution!r}."
            )
    return dict(distributions)


def to_space(distributions: Mapping[str, BaseDistribution]) -> Space:
    """The space of the given distributions; categories are represented by their indices."""
    return Space({name: _dimension(distribution) for name, distribution in distributions.items()})


def to_internal(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """The ``params`` that have a distribution, as `to_space` represents them.

    Raises:
        ValueError: if a value is not a choice of its categorical distribution. Ranges are not checked here.
    """
    out = {}
    for name, distribution in distributions.items():
        if name not in params:
            continue
        value = params[name]
        if isinstance(distribution, CategoricalDistribution):
            value = int(distribution.to_internal_repr(value))
        out[name] = value
    return out


def to_external(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Inverse of `to_internal`, with Python numbers."""
    out = {}
    for name, distribution in distributions.items():
        value = params[name]
        if isinstance(distribution, CategoricalDistribution):
            out[name] = distribution.choices[value]
        else:
            out[name] = int(value) if isinstance(distribution, IntDistribution) else float(value)
    return out


class LatestSpace:
    """The search space of a study, updated as trials come in: O(1) per trial.

    It holds the parameters that every trial so far has had, each with its latest distribution. A parameter whose range
    changed in mid-study is therefore searched in its current range instead of being dropped. Parameters whose
    distribution keeps changing are dynamic by design, and those that have had distributions of two kinds (which Optuna
    refuses) cannot be searched: both are left to independent sampling. Trials without any parameters are ignored.
    """

    MAX_CHANGES = 8

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, BaseDistribution]] | None = None
        self._changes: dict[str, int] = {}

    def add(self, trial: FrozenTrial) -> None:
        found = trial.distributions
        if not found:
            return
        if self._latest is None:
            self._latest = {name: (trial.number, distribution) for name, distribution in found.items()}
            return
        for name in self._latest.keys() - found.keys():
            del self._latest[name]
        for name, (number, distribution) in list(self._latest.items()):
            try:
                check_distribution_compatibility(found[name], distribution)
            except ValueError:
                del self._latest[name]
                continue
            if found[name] != distribution:
                self._changes[name] = self._changes.get(name, 0) + 1
            if trial.number > number:
                self._latest[name] = (trial.number, found[name])

    @property
    def known(self) -> bool:
        """Whether any trial with parameters was added."""
        return self._latest is not None

    def distributions(self) -> dict[str, BaseDistribution]:
        """The space, sorted by name, without parameters that have only one value."""
        return {
            name: distribution
            for name, (_, distribution) in sorted((self._latest or {}).items())
            if not distribution.single() and self._changes.get(name, 0) <= self.MAX_CHANGES
        }

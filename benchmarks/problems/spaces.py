"""Search spaces in short, and their configurations at places of the unit cube."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.problems.problem import Array


def floats(**bounds: tuple[float, float]) -> dict[str, BaseDistribution]:
    """Real parameters by name."""
    return {name: FloatDistribution(*pair) for name, pair in bounds.items()}


def from_cube(space: Mapping[str, BaseDistribution], u: Array) -> dict[str, Any]:
    """The configuration at a place of the unit cube (d,): integers are rounded, categories have equal shares."""
    params = dict[str, Any]()
    for share, (name, distribution) in zip(u.tolist(), space.items(), strict=True):
        if isinstance(distribution, CategoricalDistribution):
            choices = distribution.choices
            params[name] = choices[min(int(share * len(choices)), len(choices) - 1)]
            continue
        assert isinstance(distribution, FloatDistribution | IntDistribution)
        low = distribution.low
        high = distribution.high
        value = low * (high / low) ** share if distribution.log else low + share * (high - low)
        params[name] = round(value) if isinstance(distribution, IntDistribution) else min(max(value, low), high)
    return params

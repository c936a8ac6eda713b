"""Ray Tune's search spaces <-> `numbo.Space`: the only place that knows Tune's domains.

A tuned value is identified by its path in the config: keys of nested dicts and positions in lists. Quantised ranges are
searched over the multiples of their step. Everything else is a constant, which Tune merges into the config itself; only
lists that contain a domain are suggested as a whole.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

from numbo.spaces import Categorical, Dimension, Float, Int, Space
from ray.tune.search import sample

Path: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Parameter:
    """A tuned value: its place in the config, how it is searched, and the step of a quantised range."""

    path: Path
    dimension: Dimension
    step: float | int | None = None

    def to_value(self, searched: Any) -> Any:
        """The config's value for a searched value."""
        if self.step is None:
            return searched
        exact = Decimal(repr(self.step)) * searched  # 3 * 0.1 is 0.3
        return int(exact) if isinstance(self.step, int) else float(exact)

    def to_searched(self, value: Any) -> Any:
        """The searched value for the config's ``value``, which may have been through Tune's JSON."""
        if isinstance(self.dimension, Categorical) and not self.dimension.contains(value):
            return next((choice for choice in self.dimension.choices if _plain(choice) == value), value)
        if self.step is None or not isinstance(value, Real):
            return value
        return round(float(value) / self.step) if math.isfinite(value) else value


class TuneSpace:
    """The domains of a Tune config as a `numbo.Space`.

    Args:
        config: a ``param_space``: domains and constants in nested dicts and lists.

    Raises:
        ValueError: if there is no domain, or one cannot be searched; the message says what to do instead.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self.parameters: dict[str, Parameter] = {}
        for path, domain in _walk(config, ()):
            name = "/".join(map(str, path))
            if name in self.parameters:  # {"a/b": ..., "a": {"b": ...}}
                name = repr(path)
            self.parameters[name] = _parameter(path, domain)
        if not self.parameters:
            raise ValueError("The search space has no domain such as tune.uniform(0, 1): there is nothing to tune.")
        self.space = Space({name: p.dimension for name, p in self.parameters.items()})

    def to_config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The nested config that suggests ``params``, without constants."""
        values = {p.path: p.to_value(params[name]) for name, p in self.parameters.items()}
        config: dict[str, Any] = _filled(self._config, (), values, False)
        return config

    def to_params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The searched values in ``config``, which may be nested or flat with "/", with or without constants."""
        found = {}
        for name, parameter in self.parameters.items():
            value = _get(config, parameter.path)
            if value is not _ABSENT:
                found[name] = parameter.to_searched(value)
        return found


_ABSENT = object()


def _plain(value: Any) -> Any:
    """``value`` as it comes out of JSON, where tuples become lists and keys strings."""
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else json.dumps(key): _plain(child) for key, child in value.items()}
    return value


def holds_domains(node: Any) -> bool:
    """Whether anything below ``node`` is to be tuned."""
    return next(_walk(node, ()), None) is not None


def _walk(node: Any, path: Path) -> Iterator[tuple[Path, sample.Domain]]:
    """All domains below ``node``, with their paths."""
    if isinstance(node, sample.Domain):
        yield path, node
    elif isinstance(node, Mapping):
        if set(node) == {"grid_search"}:
            raise ValueError(
                f"{_name(path)} is a grid_search, which a search algorithm cannot mix with its suggestions: use "
                "tune.choice with the same values, or omit search_alg."
            )
        for key, child in node.items():
            yield from _walk(child, (*path, key))
    elif isinstance(node, list | tuple):
        for i, child in enumerate(node):
            yield from _walk(child, (*path, i))


def _name(path: Path) -> str:
    return "param_space" + "".join(f"[{key!r}]" for key in path)


def _parameter(path: Path, domain: sample.Domain) -> Parameter:
    sampler, step = domain.get_sampler(), None
    if isinstance(sampler, sample.Quantized):
        sampler, step = sampler.get_sampler(), sampler.q
    log = isinstance(sampler, sample.LogUniform)
    if isinstance(domain, sample.Categorical) and not isinstance(sampler, sample.Grid):
        for choice in domain.categories:
            if holds_domains(choice):
                raise ValueError(
                    f"{_name(path)} is a choice between values that contain domains: give these domains names of their "
                    "own in param_space, and let the trainable use those that the choice calls for."
                )
        return Parameter(path, Categorical(domain.categories))
    if isinstance(domain, sample.Float) and isinstance(sampler, sample.Uniform | sample.LogUniform):
        if step is None:
            return Parameter(path, Float(float(domain.lower), float(domain.upper), log=log))
        return _quantised(path, domain.lower, domain.upper, float(step), log)
    if isinstance(domain, sample.Integer) and isinstance(sampler, sample.Uniform | sample.LogUniform):
        if step is None or step == 1:  # the upper bound is exclusive
            return Parameter(path, Int(int(domain.lower), int(domain.upper) - 1, log=log))
        return _quantised(path, domain.lower, domain.upper, int(step), log)  # here it is inclusive
    if isinstance(sampler, sample.Normal):
        raise ValueError(f"{_name(path)} has no bounds (tune.randn): use tune.uniform over the relevant range.")
    if isinstance(sampler, sample.Grid):
        raise ValueError(f"{_name(path)} is a grid_search: use tune.choice with the same values.")
    raise ValueError(
        f"{_name(path)} is {type(domain).__name__} {domain.domain_str}, which cannot be searched: use tune.uniform, "
        "loguniform, randint, choice or their quantised forms, and compute the rest in the trainable."
    )


def _quantised(path: Path, lower: float, upper: float, step: float | int, log: bool) -> Parameter:
    low, high = math.ceil(lower / step - 1e-9), math.floor(upper / step + 1e-9)
    if high < low:
        raise ValueError(f"{_name(path)} contains no multiple of its step {step!r} from {lower!r} to {upper!r}.")
    return Parameter(path, Int(max(low, 1) if log else low, high, log=log), step)


def _get(config: Any, path: Path) -> Any:
    """The value at ``path`` in a config whose nested keys may be joined by "/"; `_ABSENT` if there is none."""
    if not path:
        return config
    if isinstance(config, list | tuple):
        return _get(config[path[0]], path[1:]) if isinstance(path[0], int) and path[0] < len(config) else _ABSENT
    if isinstance(config, Mapping):
        for k in range(1, len(path) + 1):
            key = path[0] if k == 1 else "/".join(map(str, path[:k]))
            if key in config:
                found = _get(config[key], path[k:])
                if found is not _ABSENT:
                    return found
    return _ABSENT


def _filled(node: Any, path: Path, values: Mapping[Path, Any], whole: bool) -> Any:
    """``node`` with values for its domains; constants are left out, except those inside a list (``whole``)."""
    if isinstance(node, sample.Domain):
        value = values[path]
        kind: Any = type(value)  # an object that only equals itself must stay recognisable
        return value if kind.__eq__ is object.__eq__ else copy.deepcopy(value)
    if isinstance(node, Mapping):
        return {
            key: _filled(child, (*path, key), values, whole)
            for key, child in node.items()
            if whole or holds_domains(child)
        }
    if isinstance(node, list | tuple):
        return [_filled(child, (*path, i), values, True) for i, child in enumerate(node)]
    return copy.deepcopy(node)

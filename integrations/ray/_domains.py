"""Ray Tune's search spaces <-> `numbo.Space`: the only place that knows Tune's domains.

A tuned value is identified by its path in the config: keys of nested dicts and positions in lists. Quantised ranges are
searched over the multiples of their step. A choice with domains in its options is a *branch*: a parameter for the
option, and the domains of that option as conditional parameters. A domain that several options have in the same place
is one parameter. Options that are equal are one. Everything else is a constant, which Tune merges into the config
itself. Only lists that contain a domain, and options, are suggested as a whole.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from ray.tune.search import sample

from numbo import _checks
from numbo.ray._known import OfConfig as OfConfig  # searchers' files have it from here
from numbo.ray._known import inside
from numbo.spaces import Categorical, Dimension, Float, Int, Space, Table
from numbo.spaces.dimensions import SIMPLE
from numbo.spaces.known import NOTHING, Known
from numbo.spaces.table import ROW

Path: TypeAlias = tuple[Any, ...]
#: A domain in a ``param_space``: its place, and the place of the choice above it.
Found: TypeAlias = tuple[Path, sample.Domain, Path | None]
#: Penalty of an option for a value out of range; a missing value counts 1.
OUTSIDE = 1e6
#: The first of the two entries with which Tune marks what it fills in later (`ray.tune.impl.placeholder`).
PLACEHOLDERS = ("__fn_ph", "__ref_ph")


class Option(NamedTuple):
    """A step in the path of a domain: into the option with this number of the choice at this place."""

    number: int


@dataclass(frozen=True)
class Parameter:
    """A tuned value.

    Attributes:
        path: its place in the config.
        dimension: the dimension that is searched.
        step: of a quantised range.
        places: its paths in the ``param_space``, which pass through options of choices.
        options: of a branch, which are searched by their labels.
    """

    path: Path
    dimension: Dimension
    step: float | int | None = None
    places: tuple[Path, ...] = field(default=(), compare=False)
    options: tuple[Any, ...] = field(default=(), compare=False)

    def to_value(self, searched: Any) -> Any:
        """The config's value for a searched value; for a branch, the label of its option."""
        if self.step is None or not _checks.is_finite(searched):
            return searched  # a given value that is none of the range
        exact = Decimal(repr(self.step)) * searched  # 3 * 0.1 is 0.3
        return int(exact) if isinstance(self.step, int) else float(exact)

    def to_searched(self, value: Any) -> Any:
        """The searched value for the config's ``value``, which may come from Tune's JSON."""
        if self.options:
            assert isinstance(self.dimension, Categorical)
            lacking = [_lacking(option, value) for option in self.options]
            best = min(range(len(lacking)), key=lacking.__getitem__)
            return self.dimension.choices[best] if lacking[best] < math.inf else value
        if isinstance(self.dimension, Categorical) and not self.dimension.contains(value):
            return next((choice for choice in self.dimension.choices if _plain(choice) == value), value)
        if self.step is None or not isinstance(value, Real):
            return value
        return round(float(value) / self.step) if math.isfinite(value) else value


class Departure(NamedTuple):
    """An entry of a config that is not as in the ``param_space``.

    Attributes:
        path: where it is.
        value: what the config has there.
        instead: what the ``param_space`` has there: a constant, or a dict or list where the config has none; `_ABSENT`
            if it has nothing there.
    """

    path: Path
    value: Any
    instead: Any

    @property
    def name(self) -> str:
        return "/".join(map(str, self.path))

    @property
    def foreign(self) -> bool:
        """Whether the ``param_space`` has nothing of that name."""
        return self.instead is _ABSENT

    @property
    def misfit(self) -> bool:
        """Whether it takes the place of domains."""
        return holds_domains(self.instead)

    @property
    def filled_in(self) -> bool:
        """Whether Tune itself fills the value in: it is computed by ``sample_from``, or an object."""
        return isinstance(self.instead, tuple | list) and len(self.instead) == 2 and self.instead[0] in PLACEHOLDERS


class TuneSpace:
    """The domains of a Tune config as a `numbo.Space`.

    Args:
        config: a ``param_space``: domains and constants in nested dicts and lists. Or a table; then the number of a row
            is tuned.
        said: what the user says of the parameters; functions are those of configs.

    Raises:
        ValueError: if there is no domain, or a domain cannot be searched; the message says what to do instead. If
            something is said of a parameter that there is not, or that does not fit to it.
    """

    #: What else the ``param_space`` of the run has, if the domains are those of a searcher.
    _beside: Mapping[str, Any] = {}

    def __init__(self, config: Mapping[str, Any] | Table, said: Known = NOTHING) -> None:
        table = config if isinstance(config, Table) else None
        self._config = _without_twins(config if table is None else {ROW: sample.Integer(0, len(table)).uniform()})
        self.parameters = _named(_found(self._config, (), None))
        if not self.parameters:
            raise ValueError("The search space has no domain such as tune.uniform(0, 1): there is nothing to tune.")
        named = {name: parameter.dimension for name, parameter in self.parameters.items()}
        if table is None:
            self.space: Space | Table = Space(named, **inside(said, self)._asdict())
        elif said.names:
            argument = "prior" if said.prior else "default"
            raise ValueError(f"{argument} is of parameters, and the rows of a Table have none.")
        else:
            self.space = table.restricted(said.allowed) if said.allowed else table

    def to_config(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The nested config that suggests ``params``, without constants, except in options and lists."""
        values: dict[Path, Any] = {}
        for name in self.parameters.keys() & params.keys():
            parameter = self.parameters[name]
            value = params[name]
            number = parameter.dimension.choices.index(value) if parameter.options else None  # type: ignore[union-attr]
            found = parameter.to_value(value) if number is None else Option(number)
            values |= dict.fromkeys(parameter.places, found)
        config: dict[str, Any] = _filled(self._config, (), values, False)
        return config

    def to_params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The searched values in ``config``, which may be nested or flat with "/", with or without constants."""
        found: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if self._active(parameter, found) and (value := _value_of(config, parameter)) is not _ABSENT:
                found[name] = parameter.to_searched(value)
        return found

    def known_params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The values in a ``config`` of another space for the parameters of this one, whether they lie in it or not."""
        found: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if (value := _value_of(config, parameter)) is not _ABSENT:
                with suppress(ValueError, TypeError):
                    found[name] = parameter.to_searched(value)
        return found

    def in_run(self, param_space: Mapping[str, Any]) -> TuneSpace:
        """This space in a run with the constants of a ``param_space``."""
        twin = copy.copy(self)
        twin._beside = dict(param_space)
        return twin

    def departures(self, config: Mapping[str, Any]) -> list[Departure]:
        """What in ``config``, nested or flat with "/", has no domain and is not as in the ``param_space``."""
        return list(_departures(config, _merged(self._config, self._beside), ()))

    def foreign(self, config: Mapping[str, Any]) -> list[str]:
        """The names in ``config``, nested or flat with "/", that are neither domains nor constants."""
        return [found.name for found in self.departures(config) if found.foreign]

    def constants(self, config: Mapping[str, Any]) -> dict[Path, Any]:
        """The values in ``config`` for constants that are others in the ``param_space``, by their paths."""
        found = [one for one in self.departures(config) if not (one.foreign or one.misfit or one.filled_in)]
        return {one.path: one.value for one in found}

    def unknown(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Values of branches in ``params`` that do not match any of their options."""
        branches = {name: params[name] for name, one in self.parameters.items() if one.options and name in params}
        return {name: value for name, value in branches.items() if not self.space[name].contains(value)}

    def missing(self, params: Mapping[str, Any]) -> list[str]:
        """Names of the values that are missing in ``params``."""
        return [name for name, p in self.parameters.items() if name not in params and self._active(p, params)]

    @staticmethod
    def _active(parameter: Parameter, params: Mapping[str, Any]) -> bool:
        when: Any = parameter.dimension.when or {}
        return all(params.get(parent, _ABSENT) in labels for parent, labels in when.items())


def _value_of(config: Mapping[str, Any], parameter: Parameter) -> Any:
    """The value of a parameter in ``config``, which may be nested or flat with "/"; `_ABSENT` if it has none."""
    value = _get(config, parameter.path)
    if value is _ABSENT and parameter.options:
        value = _nested(config, "/".join(map(str, parameter.path)) + "/")
    return value


def _without_twins(node: Any, place: Path = ()) -> Any:
    """``node`` with choices between different options: of equal ones, which some write as weights, the first stays."""
    if not holds_domains(node, place):
        return node
    if isinstance(node, Mapping):
        return {key: _without_twins(child, (*place, key)) for key, child in node.items()}
    if isinstance(node, list | tuple):
        return [_without_twins(child, (*place, i)) for i, child in enumerate(node)]
    if not isinstance(node, sample.Categorical) or isinstance(node.get_sampler(), sample.Grid):
        return node
    domain = copy.copy(node)
    domain.categories = _different([_without_twins(option, place) for option in node.categories])
    return domain


def _different(options: Sequence[Any]) -> list[Any]:
    """The ``options`` without those that are equal to an earlier one."""
    found: list[Any] = []
    simple: set[Any] = set()  # for many texts or numbers
    for option in options:
        if type(option) in SIMPLE and option == option:
            if (type(option), option) in simple:
                continue
            simple.add((type(option), option))
        elif any(_equal(option, other) for other in found):
            continue
        found.append(option)
    return found


def _equal(a: Any, b: Any) -> bool:
    """Whether two nodes of a ``param_space`` are equal and of one type; domains are if they are searched alike."""
    if type(a) is not type(b):
        return False
    if isinstance(a, sample.Domain | sample.Sampler):
        return _equal(vars(a), vars(b))
    if isinstance(a, Mapping):
        return bool(a.keys() == b.keys()) and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return Categorical([a, _ABSENT]).contains(b)


def named(values: Mapping[Path, Any]) -> dict[str, Any]:
    """Values of a config by the names of their paths."""
    return {"/".join(map(str, path)): value for path, value in values.items()}


def check_runnable(points: Iterable[Mapping[str, Any]], space: TuneSpace) -> None:
    """Check that Tune can run the ``points_to_evaluate``.

    Raises:
        ValueError: for a point with a value that Tune fills in, or another structure than the ``param_space``.
    """
    for i, point in enumerate(points):
        for found in space.departures(point):
            if found.filled_in:
                raise ValueError(
                    f"points_to_evaluate[{i}] has a value for {found.name!r}, which Tune itself fills in, as "
                    f"sample_from or an object of the param_space: leave it out, got {found.value!r}."
                )
            if found.misfit:
                kind = "dict" if isinstance(found.instead, Mapping) else "list"
                raise ValueError(
                    f"points_to_evaluate[{i}] must have a {kind} for {found.name!r}, as in the search space, got "
                    f"{found.value!r}."
                )


def _found(node: Any, place: Path, parent: Path | None) -> Iterator[Found]:
    """All domains at or below ``node``; choices come before the domains in their options."""
    for at, domain in _walk(node, place):
        yield at, domain, parent
        if _branches(domain, at):
            for i, option in enumerate(domain.categories):
                yield from _found(option, (*at, Option(i)), at)


def _branches(domain: sample.Domain, place: Path) -> bool:
    """Whether the choice at ``place`` has options that contain domains."""
    return (
        isinstance(domain, sample.Categorical)
        and not isinstance(domain.get_sampler(), sample.Grid)
        and any(holds_domains(option, place) for option in domain.categories)
    )


def _named(found: Iterable[Found]) -> dict[str, Parameter]:
    """The parameters of all domains, by names that are their paths."""
    out: dict[str, Parameter] = {}
    owners: dict[Path, str] = {}
    for place, domain, parent in found:
        path = tuple(key for key in place if not isinstance(key, Option))
        parameter = _parameter(path, domain)
        label = ""
        above = ""
        if parent is not None:
            above = owners[parent]
            label = out[above].dimension.choices[place[len(parent)].number]  # type: ignore[union-attr]
            parameter = _under(parameter, {above: [label]})
        if twin := next((name for name, other in out.items() if above and _alike(other, parameter, above)), None):
            labels = [*out[twin].dimension.when[above], label]
            out[twin] = replace(_under(out[twin], {above: labels}), places=(*out[twin].places, place))
            continue
        name = "/".join(map(str, path))
        if name in out:  # {"a/b": ..., "a": {"b": ...}}, or another option's
            name = f"{name} where {above} is {label}" if above else repr(path)
        out[name] = replace(parameter, places=(place,))
        owners[place] = name
    return out


def _under(parameter: Parameter, when: Mapping[str, list[str]]) -> Parameter:
    return replace(parameter, dimension=replace(parameter.dimension, when=when))


def _alike(a: Parameter, b: Parameter, parent: str) -> bool:
    """Whether two parameters are the same, in different options of the choice ``parent``."""
    when: Any = a.dimension.when
    return when is not None and parent in when and not a.options and _under(a, {}) == _under(b, {})


def _labels(options: Sequence[Any]) -> list[str]:
    """The labels of the options of a branch, made of their simple constants."""
    labels = []
    for i, option in enumerate(options):
        label = "" if isinstance(option, Mapping | list | tuple | sample.Domain) else str(option)
        if isinstance(option, Mapping):
            label = ", ".join(str(v) for v in option.values() if isinstance(v, str | Real | None))
        labels.append(label or f"option {i}")
    return [label if labels.count(label) == 1 else f"{label} ({i})" for i, label in enumerate(labels)]


def _lacking(option: Any, value: Any) -> float:
    """Number of entries of ``option`` missing in ``value``, plus `OUTSIDE` for each out of range; inf for a
    mismatch."""
    if isinstance(option, sample.Domain):
        parameter = _parameter((), option)
        return 0.0 if parameter.dimension.contains(parameter.to_searched(value)) else OUTSIDE
    if isinstance(option, Mapping):
        if not isinstance(value, Mapping):
            return math.inf
        keys = {key if key in value else _in_json(key): key for key in option}
        if not value.keys() <= keys.keys():
            return math.inf
        below = sum(_lacking(option[keys[key]], child) for key, child in value.items())
        return below + len(option) - len(value)
    if isinstance(option, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(option):
            return math.inf
        return float(sum(map(_lacking, option, value)))
    return 0.0 if Categorical([option, _ABSENT]).contains(value) or _plain(option) == value else math.inf


_ABSENT = object()


def _plain(value: Any) -> Any:
    """``value`` after a round trip through JSON, where tuples become lists and keys strings."""
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    if isinstance(value, Mapping):
        return {_in_json(key): _plain(child) for key, child in value.items()}
    return value


def _in_json(key: Any) -> Any:
    """A key of a config after a round trip through JSON, where numbers, booleans and None are text."""
    return json.dumps(key) if isinstance(key, int | float | None) else key


def holds_domains(node: Any, place: Path = ()) -> bool:
    """Whether ``node``, which is at ``place``, contains a domain."""
    return next(_walk(node, place), None) is not None


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
    return "param_space" + "".join(f"[{key!r}]" for key in path if not isinstance(key, Option))


def _parameter(path: Path, domain: sample.Domain) -> Parameter:
    sampler = domain.get_sampler()
    step = None
    if isinstance(sampler, sample.Quantized):
        step = sampler.q
        sampler = sampler.get_sampler()
    log = isinstance(sampler, sample.LogUniform)
    if isinstance(domain, sample.Categorical) and not isinstance(sampler, sample.Grid):
        if _branches(domain, path):
            return Parameter(path, Categorical(_labels(domain.categories)), options=tuple(domain.categories))
        return Parameter(path, Categorical(domain.categories))
    if isinstance(domain, sample.Float) and isinstance(sampler, sample.Uniform | sample.LogUniform):
        if step is None:
            return Parameter(path, Float(float(domain.lower), float(domain.upper), log=log))
        return _quantised(path, domain.lower, domain.upper, float(step), log)
    if isinstance(domain, sample.Integer) and isinstance(sampler, sample.Uniform | sample.LogUniform):
        if step is None or step == 1:  # the upper bound is exclusive
            return Parameter(path, Int(int(domain.lower), int(domain.upper) - 1, log=log))
        return _quantised(path, domain.lower, domain.upper, int(step), log)  # the upper bound is inclusive in this case
    if isinstance(sampler, sample.Normal):
        raise ValueError(f"{_name(path)} has no bounds (tune.randn): use tune.uniform over the relevant range.")
    if isinstance(sampler, sample.Grid):
        raise ValueError(f"{_name(path)} is a grid_search: use tune.choice with the same values.")
    raise ValueError(
        f"{_name(path)} is {type(domain).__name__} {domain.domain_str}, which cannot be searched: use tune.uniform, "
        "loguniform, randint, choice or their quantised forms, and compute the rest in the trainable."
    )


def _quantised(path: Path, lower: float, upper: float, step: float | int, log: bool) -> Parameter:
    low = math.ceil(lower / step - 1e-9)
    high = math.floor(upper / step + 1e-9)
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
            key = key if key in config else _in_json(key)
            if key in config:
                found = _get(config[key], path[k:])
                if found is not _ABSENT:
                    return found
    return _ABSENT


def _nested(config: Mapping[str, Any], prefix: str) -> Any:
    """The entries below ``prefix`` of a config with keys joined by "/", as nested dicts; `_ABSENT` if there are
    none."""
    out: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(key, str) and key.startswith(prefix):
            *way, last = key.removeprefix(prefix).split("/")
            reduce(lambda node, step: node.setdefault(step, {}), way, out)[last] = value
    return out or _ABSENT


def _departures(config: Any, space: Any, path: Path) -> Iterator[Departure]:
    """What in ``config`` is not as in the ``space`` at ``path``, apart from values of domains."""
    if isinstance(space, sample.Domain):
        return
    listed = isinstance(space, list | tuple) and holds_domains(space)
    below: Mapping[Any, Any] = dict(enumerate(space)) if listed else space
    fits = isinstance(config, Mapping) or (listed and isinstance(config, list | tuple))
    if not (listed or isinstance(space, Mapping)):
        if not _same(space, config):
            yield Departure(path, config, space)
    elif not fits:
        yield Departure(path, config, space)
    else:
        for key, value in config.items() if isinstance(config, Mapping) else enumerate(config):
            found, rest = _below(below, key, value)
            if found is _ABSENT:
                yield Departure((*path, key), value, _ABSENT)
            else:
                yield from _departures(rest, below[found], (*path, found))


def _below(space: Mapping[Any, Any], key: Any, value: Any) -> tuple[Any, Any]:
    """The key in ``space`` of an entry of a config whose nested keys may be joined by "/", and what is below it."""
    for known in space:
        if key == known or key == _in_json(known):
            return known, value
    for known in space:
        if isinstance(key, str) and key.startswith(prefix := f"{_in_json(known)}/"):
            return known, {key.removeprefix(prefix): value}
    return _ABSENT, value


def _same(constant: Any, value: Any) -> bool:
    """Whether a config's ``value``, which may come from Tune's JSON, is that of a ``constant``."""
    return any(Categorical([one, _ABSENT]).contains(value) for one in (constant, _plain(constant)))


def _merged(a: Any, b: Any) -> Any:
    """The nested dicts ``a`` with the entries of ``b``, which count where both have some."""
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return b
    return {**a, **{key: _merged(a[key], child) if key in a else child for key, child in b.items()}}


def put(config: Any, path: Path, value: Any) -> None:
    """Set the value at a ``path`` of a nested config."""
    for key in path[:-1]:
        if isinstance(config, dict) and not isinstance(config.get(key), dict | list):
            config[key] = {}
        config = config[key]
    config[path[-1]] = copy.deepcopy(value)


def _filled(node: Any, path: Path, values: Mapping[Path, Any], whole: bool) -> Any:
    """``node`` with values for its domains; constants are left out, except within lists and options (``whole``)."""
    if isinstance(node, sample.Domain):
        value = values[path]
        if isinstance(value, Option):
            return _filled(node.categories[value.number], (*path, value), values, True)
        kind: Any = type(value)  # objects that are equal only to themselves must not be copied
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

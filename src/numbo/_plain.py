"""Copies of the parts of an optimizer, and their state as plain data: numbers, text, arrays, and containers of them.

A part names the attributes that it keeps in a state (`Kept`), or declares them as `Saved`. All else follows from
its settings and the data, and is built again by whoever restores it.
"""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")
#: The type of an attribute that is part of a state.
Saved = Annotated[T, "saved"]
#: The declared types of the attributes of a class; finding them takes longer than restoring most parts.
_kinds_of: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


class Kept:
    """A part whose state is in some of its attributes: plain data, named tuples, dataclasses, and other parts.

    What follows from these, its settings and the data is built again when it is restored (`_rebuild`).
    """

    #: The names of these attributes, and of those that the class declares as `Saved`. In the state they have no
    #: underscores before them. What is no such value at first has to be declared, as lists of values have.
    _kept: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._kept = (*cls._kept, *(name for name, kind in inspect.get_annotations(cls).items() if _is_saved(kind)))

    def state_dict(self) -> dict[str, Any]:
        """The state that does not follow from settings and data, as plain data."""
        return state_of(self, self._kept)

    def restore(self, state: Mapping[str, Any], data: Any = None) -> None:
        """Restore a `state_dict`; ``data`` are those that its parts were given at that time, or more of them."""
        restore(self, state, data)

    def _rebuild(self, state: Mapping[str, Any], data: Any) -> None:
        """Build what follows from ``state`` and ``data`` by the original steps, so that every bit is the same again."""


def _is_saved(kind: Any) -> bool:
    """Whether an annotation is `Saved`: text, where annotations are not evaluated, or a type."""
    return kind.startswith("Saved[") if isinstance(kind, str) else "saved" in getattr(kind, "__metadata__", ())


def copied(part: T) -> T:
    """A copy of a ``part`` with its own dicts, lists, arrays and parts that have a ``__copy__``; the rest is shared."""
    twin: T = object.__new__(type(part))
    for name, value in vars(part).items():
        own = isinstance(value, dict | list) or hasattr(type(value), "__copy__")
        vars(twin)[name] = copy.copy(value) if own else value
    return twin


def state_of(part: Any, kept: Iterable[str]) -> dict[str, Any]:
    """The attributes of a ``part`` that are ``kept``, as plain data."""
    return {name.lstrip("_"): plain(getattr(part, name)) for name in kept}


def restore(part: Any, state: Mapping[str, Any], data: Any) -> None:
    """Set the attributes of a ``part`` that are kept to those of its `state_of`, and build the others."""
    kinds = _kinds_of(type(part))
    for name in part._kept:
        now = getattr(part, name)
        setattr(part, name, _restored(now, state[name.lstrip("_")], kinds.get(name, type(now)), data))
    part._rebuild(state, data)


def plain(value: Any) -> Any:
    """A ``value`` as plain data, which later changes of it do not change."""
    if value is None or isinstance(value, float | int):
        return value
    if isinstance(value, Kept):
        return value.state_dict()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | deque):
        return [plain(one) for one in value]
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def _restored(now: Any, state: Any, kind: Any, data: Any) -> Any:
    """An attribute, which is ``now`` or another one of its ``kind``, from its state; parts are restored in place."""
    if isinstance(now, Kept) and state is not None:
        now.restore(state, data)
        return now
    if isinstance(now, tuple | list) and now and all(isinstance(one, Kept) for one in now):
        return type(now)(_restored(one, saved, type(one), data) for one, saved in zip(now, state, strict=True))
    return deque(state, maxlen=now.maxlen) if isinstance(now, deque) else revived(kind, state)


def revived(kind: Any, state: Any) -> Any:
    """The value of a ``kind``, a type or an annotation, of which `plain` made the ``state``."""
    if state is None or isinstance(state, float | int):
        return state
    inner = next((one for one in get_args(kind) if one is not NoneType), None)
    if get_origin(kind) in (Union, UnionType):
        return revived(inner, state)
    if get_origin(kind) is list:
        return [revived(inner, one) for one in state]
    if is_dataclass(kind):
        kinds = _kinds_of(kind)
        return kind(**{name: revived(kinds[name], value) for name, value in state.items()})  # type: ignore[operator]
    if hasattr(kind, "_fields"):
        return kind(*map(revived, _kinds_of(kind).values(), state))
    return copy.deepcopy(state)

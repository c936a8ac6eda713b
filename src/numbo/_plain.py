"""Copies of the parts of an optimizer, and their state as plain data: numbers, text, arrays, and containers of them.

A part names the attributes that it keeps in a state (`Kept`). All else follows from its settings and the data, and is
built again by whoever restores it.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

T = TypeVar("T")


class Kept:
    """A part whose state is in some of its attributes: plain data, named tuples, dataclasses, and other parts."""

    #: The names of these attributes. In the state they have no underscores before them.
    _kept: ClassVar[tuple[str, ...]] = ()

    def state_dict(self) -> dict[str, Any]:
        """The state that does not follow from settings and data, as plain data."""
        return state_of(self, self._kept)

    def restore(self, state: dict[str, Any], data: Any = None) -> None:
        """Restore a `state_dict`; ``data`` are those that its parts were given at that time, or more of them."""
        restore(self, self._kept, state, data)


def copied(part: T, own: tuple[type, ...] = (dict, list)) -> T:
    """A copy of a ``part`` with copies of its attributes of some types; all others are shared."""
    twin: T = object.__new__(type(part))
    for name, value in vars(part).items():
        vars(twin)[name] = copy.copy(value) if isinstance(value, own) else value
    return twin


def state_of(part: Any, kept: Iterable[str]) -> dict[str, Any]:
    """The attributes of a ``part`` that are ``kept``, as plain data."""
    return {name.lstrip("_"): plain(getattr(part, name)) for name in kept}


def restore(part: Any, kept: Iterable[str], state: Mapping[str, Any], data: Any = None) -> None:
    """Set the attributes of a ``part`` that are ``kept`` to those of a `state_of`."""
    for name in kept:
        setattr(part, name, like(getattr(part, name), state[name.lstrip("_")], data))


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


def like(now: Any, state: Any, data: Any = None) -> Any:
    """What `plain` made the ``state`` of, where it is of the same kind as ``now``; parts are restored in place."""
    if isinstance(now, Kept):
        now.restore(state, data)
        return now
    if isinstance(now, tuple | list) and now and all(isinstance(one, Kept) for one in now):
        return type(now)(like(one, saved, data) for one, saved in zip(now, state, strict=True))
    state = copy.deepcopy(state)
    if state is None:
        return None
    if is_dataclass(now):
        return type(now)(**state)  # type: ignore[misc]
    if isinstance(now, deque):
        return deque(state, maxlen=now.maxlen)
    return type(now)(*state) if hasattr(now, "_fields") else state

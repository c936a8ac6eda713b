"""Griffe extension: the reference shows a setting's default, not how it is checked."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, ExprCall, Extension


class Defaults(Extension):
    """The value of a field that is ``checked(default, ...)`` is ``default``."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        value = attr.value
        if isinstance(value, ExprCall) and str(value.function) == "checked":
            attr.value = value.arguments[0]

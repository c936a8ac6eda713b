"""Griffe extension: the reference shows what ``help`` does.

A setting has its default, not how it is checked, and a class its completed docstring.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Attribute, Class, ExprCall, Extension


class Defaults(Extension):
    """A field that is ``checked(default, ...)`` has the value ``default``."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        value = attr.value
        if isinstance(value, ExprCall) and str(value.function) == "checked":
            attr.value = value.arguments[0]

    def on_class_instance(self, *, cls: Class, **_: Any) -> None:
        module = cls.module.canonical_path
        if cls.docstring is None or not module.startswith("numbo."):
            return
        made = getattr(import_module(module), cls.name, None)
        if made is not None and made.__doc__:
            cls.docstring.value = inspect.cleandoc(made.__doc__)

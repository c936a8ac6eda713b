"""Griffe extension: the reference shows what ``help`` does.

A setting has its default, not how it is checked; a class or a method has its completed
docstring.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Attribute, Class, ExprCall, Extension, Function


class Defaults(Extension):
    """A field that is ``checked(default, ...)`` has the value ``default``."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        value = attr.value
        if isinstance(value, ExprCall) and str(value.function) == "checked":
            attr.value = value.arguments[0]

    def on_class_instance(self, *, cls: Class, **_: Any) -> None:
        _complete(cls, cls.name)

    def on_function_instance(self, *, func: Function, **_: Any) -> None:
        if func.parent is not None and func.parent.is_class:
            _complete(func, f"{func.parent.name}.{func.name}")


def _complete(of: Class | Function, path: str) -> None:
    """Give a class or a method of numbo the docstring that it has at run time."""
    module = of.module.canonical_path
    if of.docstring is None or not module.startswith("numbo."):
        return
    made: Any = import_module(module)
    for name in path.split("."):
        made = getattr(made, name, None)
    if made is not None and made.__doc__:
        of.docstring.value = inspect.cleandoc(made.__doc__)

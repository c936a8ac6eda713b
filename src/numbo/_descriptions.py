"""Arguments are described once: a class describes those that are its own, and completes them by those of others.

`completed` puts the docstring of a class together when the class is made, and `as_in` those of methods, so that
``help`` and the reference show all arguments. Without docstrings (``python -OO``) there is nothing to do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

#: The sections of a docstring, in their order.
SECTION = re.compile(r"^(Args|Attributes|Raises|Warns):$", re.MULTILINE)
ENTRY = re.compile(r"^    (\w+): ", re.MULTILINE)


def sections(doc: str) -> dict[str, str]:
    """The text of each section of a cleaned docstring; what comes before the first has an empty name."""
    parts = SECTION.split(doc)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> dict[str, str]:
    """The description of each name of a section, with the name and the indentation."""
    matches = list(ENTRY.finditer(section))
    ends = [*(match.start() for match in matches[1:]), len(section)]
    return {match[1]: section[match.start() : end].rstrip() for match, end in zip(matches, ends, strict=False)}


def complete(cls: type, *others: type) -> None:
    """Complete the docstring of a class (`completed`) for the arguments of its constructor."""
    cls.__doc__ = completed(cls, inspect.signature(cls).parameters, others)


def completed(cls: type, names: Iterable[str], others: Iterable[type] = ()) -> str | None:
    """The docstring of a class, with a description of each argument of these ``names`` in their order.

    A description is the class's own, or that of the first of its bases that has one, or else of the ``others``. So are
    the sections of what it raises and warns.
    """
    own = vars(cls).get("__doc__")
    if own is None:
        return None
    sources = [one for one in (*cls.__mro__[1:], *others) if one.__module__.startswith("numbo.")]
    return _together([own, *(doc for one in sources if (doc := vars(one).get("__doc__")))], names)


def as_in(other: type) -> Callable[[type[T]], type[T]]:
    """Decorate a class that has methods of another one in its own terms, so that these complete their docstrings.

    An argument that neither describes is the same as in a method before it.
    """

    def decorate(cls: type[T]) -> type[T]:
        before: list[str] = []
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_") and (own := method.__doc__):
                like = getattr(other, name, None)
                docs = [own, like.__doc__] if like is not None and like.__doc__ else [own]
                method.__doc__ = _together(docs, inspect.signature(method).parameters, before)
                before.append(own)
        return cls

    return decorate


def _together(docs: Sequence[str], names: Iterable[str], of_arguments: Sequence[str] = ()) -> str:
    """The first of several docstrings with the sections of the others, and the arguments ``of_arguments``, too."""
    known = [sections(inspect.cleandoc(doc)) for doc in docs]
    more = [sections(inspect.cleandoc(doc)) for doc in of_arguments]
    arguments = _first_of(entries(parts.get("Args", "")) for parts in [*known, *more])
    whole = _first_of(known[:1] + [{name: p[name] for name in ("Raises", "Warns") if name in p} for p in known[1:]])
    listed = "\n".join(arguments[name] for name in names if name in arguments)
    whole["Args"] = f"\n{listed}\n" if listed else ""
    order = ["Args", "Attributes", "Raises", "Warns"]
    told = {name: whole.get(name, "").strip("\n").rstrip() for name in order}
    return "\n\n".join([whole[""].rstrip(), *(f"{name}:\n{text}" for name, text in told.items() if text)]) + "\n"


def _first_of(found: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """For each name the text of the first that has one."""
    out: dict[str, str] = {}
    for texts in found:
        out = dict(texts) | out
    return out

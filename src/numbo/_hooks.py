"""What is done before each suggestion, by those who stand above the optimizers.

Kernels are compiled in the background by processes that run optimizers, which therefore cannot know of it. `numbo` lets
it be done before anybody asks, however an optimizer was imported or restored.
"""

from __future__ import annotations

from collections.abc import Callable

_first: Callable[[type], None] | None = None


def do_before_ask(action: Callable[[type], None]) -> None:
    """Let ``action`` be called with the class of an optimizer before each of its suggestions."""
    global _first
    _first = action


def before_ask(algorithm: type) -> None:
    """Do what was asked for with `do_before_ask`."""
    if _first is not None:
        _first(algorithm)

"""An action before each suggestion, set by a package above the optimizers.

Kernels are compiled in the background by processes that run optimizers. So optimizers must not import the module that
starts these processes. `numbo` sets it as an action here, which works however an optimizer was imported or restored.
"""

from __future__ import annotations

from collections.abc import Callable

_first: Callable[[type], None] | None = None


def do_before_ask(action: Callable[[type], None]) -> None:
    """Let ``action`` be called with the class of an optimizer before each of its suggestions."""
    global _first
    _first = action


def before_ask(algorithm: type) -> None:
    """Call the action that `do_before_ask` has set."""
    if _first is not None:
        _first(algorithm)

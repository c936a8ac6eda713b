"""Fast Bayesian optimization for Optuna and Ray Tune: Gaussian-process samplers at a few milliseconds a suggestion.

    from numbo import GSSBO, Space, Float            # the core: ask and tell
    from numbo.optuna import GSSBOSampler            # as an Optuna sampler
    from numbo.ray import GSSBOSearch                # as a Ray Tune searcher
    import numbo.plot                                # what the model believes

Names are loaded when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from numbo import _hooks

if TYPE_CHECKING:
    from numbo.optimizers import (
        BBKB,
        BKB,
        GPUCB,
        GSSBO,
        SBPE,
        BBKBSettings,
        BKBSettings,
        GPUCBSettings,
        GSSBOSettings,
        SBPESettings,
    )
    from numbo.selection import select_subset
    from numbo.spaces import Arms, Categorical, Float, Guess, Int, Linear, Mixture, Nonzero, Order, Space, Table
    from numbo.trials.earlier import EarlierStudy
    from numbo.warming.first_use import warmup

__version__ = "1.0.0"
__all__ = [
    "BBKB",
    "BKB",
    "GPUCB",
    "GSSBO",
    "SBPE",
    "Arms",
    "BBKBSettings",
    "BKBSettings",
    "Categorical",
    "EarlierStudy",
    "Float",
    "GPUCBSettings",
    "GSSBOSettings",
    "Guess",
    "Int",
    "Linear",
    "Mixture",
    "Nonzero",
    "Order",
    "SBPESettings",
    "Space",
    "Table",
    "select_subset",
    "warmup",
]

#: Where names are that are not in `numbo.optimizers`.
_HOMES = {
    **dict.fromkeys(("Arms", "Categorical", "Float", "Guess", "Int", "Linear", "Mixture"), "numbo.spaces"),
    **dict.fromkeys(("Nonzero", "Order", "Space", "Table"), "numbo.spaces"),
    "EarlierStudy": "numbo.trials.earlier",
    "select_subset": "numbo.selection",
    "warmup": "numbo.warming.first_use",
}


def _compile_ahead(algorithm: type) -> None:
    from numbo.warming.ahead import compile_ahead

    compile_ahead(algorithm)


_hooks.do_before_ask(_compile_ahead)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'numbo' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "numbo.optimizers")), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]

"""Modules of the folder ``examples``, which is no package."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any


@cache
def example(name: str) -> Any:
    """The module of that name; those that it imports are found beside it."""
    folder = str(Path(__file__).parents[2] / "examples")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)

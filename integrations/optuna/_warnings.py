"""Warnings that name the user's line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

#: Packages whose lines lie between the user's and a warning.
BETWEEN = ("numbo", "optuna")


def warn(message: str) -> None:
    """Warn at the line that called Optuna or numbo."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] in BETWEEN:
        frame = frame.f_back
        level += 1
    warnings.warn(message, UserWarning, stacklevel=level)

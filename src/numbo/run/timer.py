"""The time that is left of a time limit."""

from __future__ import annotations

import time
from typing import Any


class Timer:
    """What is left of a ``limit`` in seconds, from the first trial on, pauses included.

    A trial that begins once it is over begins it anew: a framework that keeps the limit starts none after it, so that
    it has been called again. A pickle keeps what has been used, but does not count while nobody uses it.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._used = 0.0
        self._since: float | None = None

    def begin(self) -> None:
        """A trial begins."""
        if self.left() <= 0.0:
            self._used = 0.0
            self._since = None
        if self._since is None:
            self._since = time.monotonic()

    def left(self) -> float:
        """The seconds that are left, at least 0."""
        since = 0.0 if self._since is None else time.monotonic() - self._since
        return max(self.limit - self._used - since, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {"limit": self.limit, "_used": self.limit - self.left(), "_since": None}

"""The first use on a machine, when kernels are compiled and cached for all later processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numba.core import event

from numbo.kernels.acquisition import predict
from numbo.optimizers import BBKB, BKB, GPUCB, GSSBO, SBPE
from numbo.spaces import Categorical, Float, Int, Space


def cache_path() -> str | None:
    """The folder where compiled kernels are cached; None if no folder is writable."""
    stats = getattr(predict, "stats", None)
    return None if stats is None else stats.cache_path


class _FirstCompilation(event.Listener):
    """Calls ``log`` once, when the first kernel of numbo has to be compiled."""

    def __init__(self) -> None:
        self.log: Callable[[str], Any] | None = None

    def on_start(self, event: Any) -> None:
        module = getattr(event.data["dispatcher"].py_func, "__module__", None) or ""  # None for a jitclass, for example
        if self.log is not None and module.startswith("numbo."):
            log, self.log = self.log, None
            place = cache_path()
            where = f" and caches them in {place}" if place else ", in every process, as no cache folder is writable"
            log(f"numbo compiles its kernels for this machine{where}. The first suggestions take 10 to 30 seconds.")

    def on_end(self, event: Any) -> None:
        """Required by the interface; nothing to do."""


_listener = _FirstCompilation()
event.register("numba:compile", _listener)  # type: ignore[no-untyped-call]


def announce_compilation(log: Callable[[str], Any]) -> None:
    """If kernels have to be compiled, announce it through ``log`` instead of pausing silently."""
    _listener.log = log


def warmup() -> float:
    """Compile all kernels, or load them from the cache, so that no suggestion has to wait; returns the seconds taken.

    Worth a line in an image build: it takes half a minute once, and a second or two when kernels are cached.
    """
    started = time.perf_counter()
    space = Space({"x": Float(0.0, 1.0), "units": Int(1, 100), "act": Categorical(["relu", "tanh"])})
    table = [[i / 40.0, (i % 7) / 7.0] for i in range(40)]
    optimizers = [
        GSSBO(space, n_initial=5, buffer_size=16, seed=0),
        GSSBO(space, n_initial=5, buffer_size=16, seed=0, preset="paper"),
        GSSBO(space, n_initial=5, buffer_size=16, seed=0, criterion="nystrom"),
        GPUCB(space, n_initial=5, seed=0),
        BKB(space, n_initial=5, seed=0),
        BBKB(space, n_initial=5, seed=0),
        SBPE(space, n_initial=5, seed=0, horizon=30),
        BBKB(arms=table, seed=0, kernel="rbf", lengthscale=0.3, noise_std=0.1),
        SBPE(arms=table, seed=0, horizon=30),
    ]
    for optimizer in optimizers:
        for i in range(30):
            optimizer.tell(optimizer.ask(), (7 * i) % 11)
        optimizer.ask(2)
        optimizer.explain()
    return time.perf_counter() - started

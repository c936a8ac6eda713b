"""A running hash of everything that an optimizer returns."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


class Fingerprint:
    """A running hash of values, and its state at each mark."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.marks: list[str] = []

    def add(self, *values: Any) -> None:
        for one in values:
            self._hash.update(one.tobytes() if isinstance(one, np.ndarray) else repr(one).encode())

    def mark(self) -> None:
        self.marks.append(self._hash.hexdigest()[:12])


def look(print_: Fingerprint, opt: Any, probes: list[Any], objectives: int = 1) -> None:
    """Add everything that inspection of the optimizer returns."""
    several = objectives > 1
    known = opt.front() if several else opt.best
    if not known:
        return
    told = opt.explain()
    seen = opt.snapshot()
    print_.add(known, told.members, told.relevance, told.lengthscales, told.noise_std, told.buffer_size, told.beta)
    print_.add(told.batch_sizes, told.effective_dimension, told.region, told.n_told, told.n_pending)
    for one in (opt, seen):
        print_.add(*one.predict(probes))
        if not several:
            print_.add(one.best_predicted())
    print_.add(opt.acquisition_values(probes), opt.trouble)
    if several:
        print_.add(seen.front(), opt.hypervolumes([3.0] * objectives))
    if opt.constraints:
        print_.add(opt.predict_feasible(probes))

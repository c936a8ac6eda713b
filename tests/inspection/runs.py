"""Runs of all algorithms, to be looked into."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import configured, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, Space

SPACE = Space({"x": Float(-2.0, 2.0), "k": Int(1, 9), "act": Categorical(["relu", "tanh"])})
ALGORITHMS = {
    "GSSBO": lambda **k: configured(GSSBO, SPACE, **k),
    "GSSBO-subset": lambda **k: configured(GSSBO, SPACE, buffer_size=20, **k),
    "paper": lambda **k: configured(GSSBO, SPACE, preset="paper", **k),
    "GPUCB": lambda **k: configured(GPUCB, SPACE, **k),
    "BKB": lambda **k: configured(BKB, SPACE, **k),
    "BBKB": lambda **k: configured(BBKB, SPACE, **k),
    "SBPE": lambda **k: configured(SBPE, SPACE, horizon=60, **k),
}
algorithms = pytest.mark.parametrize("make", list(ALGORITHMS.values()), ids=list(ALGORITHMS))
ARMS = np.random.default_rng(3).random((60, 2))


def objective(p):
    return (p["x"] - 0.5) ** 2 + 0.1 * abs(p["k"] - 4) + 0.3 * (p["act"] == "tanh")


def run(make, n, noise=0.0, **settings):
    opt, rng = make(seed=seeded(0), **settings), np.random.default_rng(seeded(0))
    sign = -1.0 if settings.get("direction") == "maximize" else 1.0
    for _ in range(n):
        p = opt.ask()
        opt.tell(p, sign * objective(p) + noise * rng.normal())
    return opt

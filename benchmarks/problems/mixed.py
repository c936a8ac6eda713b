"""Problems of parameters of several kinds: two made up, a network that is trained, and choices that matter in pairs."""

from __future__ import annotations

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.problems import functions
from benchmarks.problems.examples import example
from benchmarks.problems.problem import Params, Problem


def ackley_mixed() -> Problem:
    """Ackley's function of ten switches (fifty in Bliek et al. 2021) and three reals, with a shifted optimum."""
    space: dict[str, BaseDistribution] = {f"s{i}": CategoricalDistribution(["off", "on"]) for i in range(10)}
    space |= {f"x{i}": FloatDistribution(-1.0, 1.0) for i in range(3)}
    target = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1], dtype=float)
    center = np.array([0.31, -0.42, 0.13])

    def value(params: Params) -> float:
        switches = np.array([params[f"s{i}"] == "on" for i in range(10)], dtype=float)
        reals = np.array([params[f"x{i}"] for i in range(3)])
        return functions.ackley(np.concatenate([switches - target, reals - center]))

    return Problem(space, value)


def training_mixed() -> Problem:
    """A smooth stand-in for a training run: 12 parameters, such as logarithmic rates, widths and an optimiser."""
    space: dict[str, BaseDistribution] = {
        "rate": FloatDistribution(1e-5, 1.0, log=True),
        "decay": FloatDistribution(1e-7, 1e-1, log=True),
        "dropout": FloatDistribution(0.0, 0.9),
        "momentum": FloatDistribution(0.0, 0.999),
        "smoothing": FloatDistribution(0.0, 0.5, step=0.05),
        "layers": IntDistribution(1, 8),
        "width": IntDistribution(16, 2048, log=True),
        "batch": IntDistribution(8, 512, log=True),
        "warmup": IntDistribution(0, 20),
        "optimizer": CategoricalDistribution(["sgd", "adam", "lamb"]),
        "activation": CategoricalDistribution(["relu", "gelu", "tanh", "silu"]),
        "schedule": CategoricalDistribution(["constant", "cosine", "step"]),
    }
    best_rate = {"sgd": -1.2, "adam": -3.1, "lamb": -2.3}
    penalty = {"sgd": 0.06, "adam": 0.0, "lamb": 0.03, "relu": 0.03, "gelu": 0.0, "tanh": 0.12, "silu": 0.01}
    penalty |= {"constant": 0.08, "cosine": 0.0, "step": 0.03}

    def value(p: Params) -> float:
        rate = np.log10(p["rate"]) - best_rate[p["optimizer"]] - 0.5 * (np.log2(p["batch"]) - 6.0) * np.log10(2.0)
        size = p["layers"] * np.log2(p["width"]) - 36.0
        loss = 0.25 * rate**2 / (1.0 + 0.2 * rate**2) + 4e-4 * size**2
        loss += 0.5 * (p["dropout"] - 0.2 - 0.004 * max(size, 0.0)) ** 2 + 0.02 * (np.log10(p["decay"]) + 4.0) ** 2
        loss += (0.3 if p["optimizer"] == "sgd" else 0.05) * (p["momentum"] - 0.9) ** 2
        loss += (
            0.4 * (p["smoothing"] - 0.1) ** 2 + (4e-4 if p["schedule"] != "constant" else 1e-4) * (p["warmup"] - 5) ** 2
        )
        return float(loss + penalty[p["optimizer"]] + penalty[p["activation"]] + penalty[p["schedule"]])

    return Problem(space, value)


def network() -> Problem:
    """The network search of the GSSBO paper; the value is the test error, whose minimum is unknown."""
    diabetes = example("diabetes")
    data = diabetes.load()
    space: dict[str, BaseDistribution] = {
        "batch": IntDistribution(32, 128),
        "rate": FloatDistribution(1e-6, 1.0, log=True),
        "decay": FloatDistribution(1e-6, 1.0, log=True),
        "hidden": IntDistribution(1, 8),
    }
    return Problem(space, lambda p: diabetes.final_error(data, **p))


def categories(seed: int, d: int, k: int) -> Problem:
    """``d`` unordered choices of ``k`` each, with effects of single choices and of pairs of neighbours."""
    rng = np.random.default_rng(seed)
    alone = rng.gamma(1.0, 1.0, (d, k))
    pairs = rng.gamma(0.5, 1.0, (d, k, k))
    space = {f"c{i}": CategoricalDistribution([f"v{j}" for j in range(k)]) for i in range(d)}
    # minimum around the ring by dynamic programming: fix the first choice, then optimise the others
    cost = alone[:, None, :] + pairs  # cost[i, a, b]: choice b of i after choice a of its neighbour i - 1
    best = np.inf
    for first in range(k):
        reach = np.full(k, np.inf)
        reach[first] = 0.0
        for i in range(1, d):
            reach = (reach[:, None] + cost[i]).min(axis=0)
        best = min(best, float((reach + cost[0][:, first]).min()))

    def value(params: Params) -> float:
        c = [int(params[f"c{i}"][1:]) for i in range(d)]
        return float(sum(cost[i, c[i - 1], c[i]] for i in range(d)))

    return Problem(space, value, best)

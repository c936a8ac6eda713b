"""Families of problems on which two versions of numbo are compared (`benchmarks.compare.versions`).

Most problems have an instance for each seed of a run: another place of the optimum, another rotation. None of them, and
none of their numbers, is ever chosen by what a sampler makes of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.problems import early, few, functions, long, rough
from benchmarks.problems.classic import FAILURES
from benchmarks.problems.mixed import categories
from benchmarks.problems.problem import Array, Params, Problem, failing, moved
from benchmarks.problems.suites import make

#: The problem of a seed.
Maker = Callable[[int], Problem]
#: Degrees of freedom of noise with heavy tails.
FREEDOM = 3
#: The highest chance of success where outcomes are 0 or 1.
HIGHEST = 0.95


@dataclass(frozen=True)
class Family:
    """Problems with what their runs have in common: trials, when they are looked at, seeds, trials asked at once."""

    problems: Mapping[str, Maker]
    checkpoints: tuple[int, ...] = (50, 100, 300)
    seeds: int = 4
    width: int = 1
    #: Regrets below this share of the spread of the first values count as this share.
    floor: float = 1e-9
    #: Index of the last checkpoint of a quick comparison.
    quick: int = 1


def _known(*names: str) -> dict[str, Maker]:
    """Problems of the other suites, which are the same for all seeds."""
    return {name: partial(_same, name) for name in names}


def _same(name: str, seed: int) -> Problem:
    return make(name)


def _moved(function: Callable[[Array], float], d: int, low: float, high: float, *, rotate: bool = False) -> Maker:
    return lambda seed: moved(function, d, low, high, 1000 + seed, rotate=rotate)


def _turned(maker: Callable[[int, int], Callable[[Array], float]], d: int, low: float, high: float) -> Maker:
    """Functions that need a seed of their own, rotated."""
    return lambda seed: moved(maker(d, 2000 + 2 * seed), d, low, high, 1000 + seed, rotate=True)


# -- mixed spaces ------------------------------------------------------------------------------------------------------


def lattice(function: Callable[[Array], float], d: int, low: int, high: int, seed: int, reals: int = 0) -> Problem:
    """``d`` integers from ``low`` to ``high``, the last ``reals`` of them real; the origin is at a random point."""
    rng = np.random.default_rng(3000 + seed)
    names = [f"x{i}" for i in range(d)]
    margin = (high - low) // 5
    center = rng.integers(low + margin, high - margin + 1, d).astype(float)
    center[d - reals :] = rng.uniform(low + margin, high - margin, reals)
    space: dict[str, BaseDistribution] = {n: IntDistribution(low, high) for n in names}
    space |= {n: FloatDistribution(float(low), float(high)) for n in names[d - reals :]}
    return Problem(space, lambda p: function(np.array([p[n] for n in names]) - center))


def _integers(function: Callable[[Array], float], d: int, low: int, high: int, reals: int = 0) -> Maker:
    return lambda seed: lattice(function, d, low, high, seed, reals)


def kinds(seed: int) -> Problem:
    """A bowl in four reals for each of five kinds, with a height of ``0.3`` times its place in a random order."""
    rng = np.random.default_rng(3100 + seed)
    centers = rng.uniform(-1.5, 1.5, (5, 4))
    heights = 0.3 * rng.permutation(5)
    space: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(-2.0, 2.0) for i in range(4)}
    space["kind"] = CategoricalDistribution([f"k{i}" for i in range(5)])

    def value(p: Params) -> float:
        k = int(p["kind"][1:])
        return float(np.sum((np.array([p[f"x{i}"] for i in range(4)]) - centers[k]) ** 2) + heights[k])

    return Problem(space, value)


# -- models whose errors tie -------------------------------------------------------------------------------------------


@cache
def _halves(data: str) -> Any:
    """Standardised training and test data, up to 300 rows each."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    size = min(300, len(X) // 2)
    split = train_test_split(X, y, train_size=size, test_size=size, random_state=0, stratify=y)
    scaler = StandardScaler().fit(split[0])
    return scaler.transform(split[0]), scaler.transform(split[1]), split[2], split[3]


def _judged(model: Any, data: str, loss: bool) -> float:
    """The share of errors on the test data, or, with ``loss``, the log loss, at most 10."""
    from sklearn.metrics import log_loss

    train, test, of_train, of_test = _halves(data)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model.fit(train, of_train)
        if loss:
            return float(min(log_loss(of_test, model.predict_proba(test)), 10.0))
        return float(1.0 - model.score(test, of_test))


def _model(module: str, name: str, data: str, space: dict[str, BaseDistribution], *, loss: bool = False) -> Maker:
    """A search of the settings of a model of scikit-learn; the lowest error is unknown."""

    def value(params: Params) -> float:
        import importlib

        kind = getattr(importlib.import_module(f"sklearn.{module}"), name)
        fixed = {key: 0 for key in ("random_state",) if key in kind().get_params()}
        return _judged(kind(**params, **fixed), data, loss)

    return lambda seed: Problem(space, value)


SVC: dict[str, BaseDistribution] = {
    "C": FloatDistribution(1e-3, 1e3, log=True),
    "gamma": FloatDistribution(1e-5, 1e1, log=True),
}
TREE: dict[str, BaseDistribution] = {
    "criterion": CategoricalDistribution(["gini", "entropy"]),
    "splitter": CategoricalDistribution(["best", "random"]),
    "max_depth": IntDistribution(1, 15),
    "min_samples_split": IntDistribution(2, 60, log=True),
    "min_samples_leaf": IntDistribution(1, 40, log=True),
    "max_features": FloatDistribution(0.05, 1.0),
}
NEIGHBOURS: dict[str, BaseDistribution] = {
    "n_neighbors": IntDistribution(1, 60, log=True),
    "weights": CategoricalDistribution(["uniform", "distance"]),
    "metric": CategoricalDistribution(["euclidean", "manhattan", "chebyshev", "cosine"]),
}
SGD: dict[str, BaseDistribution] = {
    "alpha": FloatDistribution(1e-6, 1e1, log=True),
    "eta0": FloatDistribution(1e-5, 1e1, log=True),
    "power_t": FloatDistribution(0.05, 1.0),
    "l1_ratio": FloatDistribution(0.0, 1.0),
    "penalty": CategoricalDistribution(["l2", "l1", "elasticnet"]),
    "learning_rate": CategoricalDistribution(["constant", "invscaling", "adaptive"]),
    "max_iter": IntDistribution(2, 20),
}
LOGISTIC: dict[str, BaseDistribution] = {
    "C": FloatDistribution(1e-5, 1e4, log=True),
    "tol": FloatDistribution(1e-5, 1e-1, log=True),
    "max_iter": IntDistribution(2, 50, log=True),
    "fit_intercept": CategoricalDistribution([True, False]),
}


# -- noise -------------------------------------------------------------------------------------------------------------


def _chance(names: list[str], chance: Callable[[Array], float], space: dict[str, BaseDistribution]) -> Problem:
    """Outcomes of 1 with a chance, of which one minus the outcome is told."""

    def value(params: Params) -> float:
        return 1.0 - chance(np.array([params[n] for n in names], dtype=float))

    def told(params: Params, rng: np.random.Generator) -> float:
        return float(rng.random() < value(params))

    return Problem(space, value, 1.0 - HIGHEST, told=told, recommended=True)


def successes(seed: int) -> Problem:
    """A grid of 15 x 15; the chance of success is ``0.95 exp(-r^2 / (2 * 5^2))``, r from a random point of the grid."""
    center = np.random.default_rng(4000 + seed).integers(2, 13, 2)
    space: dict[str, BaseDistribution] = {n: IntDistribution(0, 14) for n in "ab"}
    return _chance(["a", "b"], lambda x: HIGHEST * np.exp(-np.sum((x - center) ** 2) / 50.0), space)


def successes_3(seed: int) -> Problem:
    """The unit cube; the chance of success is ``0.95 exp(-r^2 / (2 * 0.35^2))``, r from a random point."""
    center = np.random.default_rng(4100 + seed).uniform(0.2, 0.8, 3)
    space: dict[str, BaseDistribution] = {n: FloatDistribution(0.0, 1.0) for n in "abc"}
    return _chance(["a", "b", "c"], lambda x: HIGHEST * np.exp(-np.sum((x - center) ** 2) / 0.245), space)


def successes_5(seed: int) -> Problem:
    """The unit cube in five dimensions; the chance is ``0.95 * 2 / (1 + exp(2 r))``, with a tip at a random point."""
    center = np.random.default_rng(4200 + seed).uniform(0.2, 0.8, 5)
    space: dict[str, BaseDistribution] = {n: FloatDistribution(0.0, 1.0) for n in "abcde"}
    return _chance(list("abcde"), lambda x: 2.0 * HIGHEST / (1.0 + np.exp(2.0 * np.linalg.norm(x - center))), space)


def heavy_tailed(maker: Maker, scale: float, seed: int) -> Problem:
    """A problem with ``scale`` times Student's t of `FREEDOM` degrees of freedom added to its values."""
    problem = maker(seed)

    def told(params: Params, rng: np.random.Generator) -> float:
        return problem.function(params) + scale * rng.standard_t(FREEDOM)

    return replace(problem, told=told, recommended=True)


# -- families ----------------------------------------------------------------------------------------------------------


def _failing(maker: Maker, fails: Callable[[Array], bool] | None, rate: float) -> Maker:
    return lambda seed: failing(maker(seed), fails, rate)


SMOOTH: dict[str, Maker] = {
    **_known("branin-2", "hartmann-6", "goldstein-price-2", "powell-20", "rosenbrock-8"),
    "levy-6": _moved(lambda x: functions.levy(x + 1.0), 6, -10.0, 10.0),
    "zakharov-6": _moved(functions.zakharov, 6, -5.0, 10.0),
    "dixon-price-5": _moved(functions.dixon_price, 5, -10.0, 10.0),
    "ellipsoid-10-rotated": _moved(functions.ellipsoid, 10, -5.0, 5.0, rotate=True),
    "rosenbrock-5-rotated": _moved(lambda x: functions.rosenbrock(x + 1.0), 5, -5.0, 5.0, rotate=True),
    "ill-conditioned-8-rotated": _moved(long.ill_conditioned, 8, -5.0, 5.0, rotate=True),
    "different-powers-12-rotated": _moved(long.different_powers, 12, -5.0, 5.0, rotate=True),
}
ROUGH: dict[str, Maker] = {
    "rastrigin-5-rotated": _moved(functions.rastrigin, 5, -5.12, 5.12, rotate=True),
    "rastrigin-10-rotated": _moved(functions.rastrigin, 10, -5.12, 5.12, rotate=True),
    "rastrigin-20-rotated": _moved(functions.rastrigin, 20, -5.12, 5.12, rotate=True),
    "rastrigin-10-skewed": _turned(rough.skewed_rastrigin, 10, -5.0, 5.0),
    "two-funnels-10-rotated": _moved(long.two_funnels, 10, -5.0, 5.0, rotate=True),
    "schaffer-f7-10": _turned(lambda d, s: rough.skewed_schaffer(d, s, 0.5), 10, -5.0, 5.0),
    "schaffer-f7-10-ill-conditioned": _turned(lambda d, s: rough.skewed_schaffer(d, s, 1.5), 10, -5.0, 5.0),
    "step-ellipsoid-5": _turned(rough.step_ellipsoid, 5, -5.0, 5.0),
    "step-ellipsoid-10": _turned(rough.step_ellipsoid, 10, -5.0, 5.0),
    "weierstrass-6-rotated": _moved(long.weierstrass, 6, -5.0, 5.0, rotate=True),
    "griewank-rosenbrock-6": _moved(long.griewank_rosenbrock, 6, -5.0, 5.0),
    "schwefel-6": _moved(rough.schwefel, 6, -5.0, 5.0),
    "peaks-5-rotated": _turned(long.peaks, 5, -5.0, 5.0),
    "salomon-6": _moved(functions.salomon, 6, -10.0, 10.0),
    "alpine-8": _moved(functions.alpine, 8, -10.0, 10.0),
    "ripples-5": _moved(rough.ripples, 5, -10.0, 10.0),
    "stairs-6": _moved(rough.stairs, 6, -8.0, 8.0),
    "katsuura-4-rotated": _moved(rough.katsuura, 4, -5.0, 5.0, rotate=True),
}
INTEGERS: dict[str, Maker] = {
    **_known("ackley-mixed-13", "training-12", "nas-imagenet", "hpobench-segment"),
    "categories-8": lambda seed: categories(3200 + seed, 8, 4),
    "switches-20": lambda seed: categories(3300 + seed, 20, 2),
    "kinds-5": kinds,
    "ellipsoid-6-integers": _integers(functions.ellipsoid, 6, -20, 20),
    "rastrigin-5-integers": _integers(lambda x: functions.rastrigin(0.3 * x), 5, -15, 15),
    "rosenbrock-4-integers": _integers(lambda x: functions.rosenbrock(0.1 * x + 1.0), 4, -30, 30),
    "griewank-6-half-integers": _integers(functions.griewank, 6, -50, 50, reals=3),
    "levy-8-half-integers": _integers(lambda x: functions.levy(x + 1.0), 8, -10, 10, reals=4),
}
REAL: dict[str, Maker] = {
    **_known("hpobench-vehicle", "hpobench-kc1"),
    "ackley-4-rounded": _moved(few.rounded, 4, -10.0, 10.0),
    "svm-iris": _model("svm", "SVC", "iris", SVC),
    "svm-cancer": _model("svm", "SVC", "breast_cancer", SVC),
    "tree-cancer": _model("tree", "DecisionTreeClassifier", "breast_cancer", TREE),
    "tree-digits-loss": _model("tree", "DecisionTreeClassifier", "digits", TREE, loss=True),
    "neighbours-digits": _model("neighbors", "KNeighborsClassifier", "digits", NEIGHBOURS),
    "sgd-digits-300": _model("linear_model", "SGDClassifier", "digits", SGD),
    "sgd-cancer": _model("linear_model", "SGDClassifier", "breast_cancer", SGD),
    "logistic-cancer-loss": _model("linear_model", "LogisticRegression", "breast_cancer", LOGISTIC, loss=True),
    "logistic-wine": _model("linear_model", "LogisticRegression", "wine", LOGISTIC),
}
NOISY: dict[str, Maker] = {
    **_known("branin-2-noise-30%", "hartmann-6-noise-10%", "levy-6-noise-30%", "ackley-6-noise-1%"),
    **_known("rosenbrock-4-noise-10%", "training-12-noise-30%", "hpobench-vehicle-once"),
    "successes-grid": successes,
    "successes-3": successes_3,
    "successes-5": successes_5,
    "branin-2-heavy-tails": partial(heavy_tailed, partial(_same, "branin-2"), 10.0),
    "ackley-4-heavy-tails": partial(heavy_tailed, _moved(functions.ackley, 4, -10.0, 10.0), 0.5),
    "hartmann-6-heavy-tails": partial(heavy_tailed, partial(_same, "hartmann-6"), 0.05),
}
FAILING: dict[str, Maker] = {
    **_known(*FAILURES),
    "branin-2-fails-30%": _failing(partial(_same, "branin-2"), None, 0.3),
    "hartmann-6-corner-fails": _failing(partial(_same, "hartmann-6"), lambda x: bool(np.sum(x) > 4.0), 0.0),
    "ellipsoid-6-rotated-fails-20%": _failing(_moved(functions.ellipsoid, 6, -5.0, 5.0, rotate=True), None, 0.2),
}
BATCHES: dict[str, Maker] = {
    name: (SMOOTH | ROUGH)[name]
    for name in (
        *("branin-2", "hartmann-6", "levy-6", "rosenbrock-8", "ellipsoid-10-rotated"),
        *("rastrigin-5-rotated", "two-funnels-10-rotated", "schaffer-f7-10", "step-ellipsoid-5", "alpine-8"),
    )
}
LONG: dict[str, Maker] = {
    **_known("levy-20", "rastrigin-20", "powell-20"),
    "rastrigin-20-rotated": ROUGH["rastrigin-20-rotated"],
    "step-ellipsoid-20": _turned(rough.step_ellipsoid, 20, -5.0, 5.0),
    "ellipsoid-20-rotated": _moved(functions.ellipsoid, 20, -5.0, 5.0, rotate=True),
    "schaffer-f7-20": _turned(lambda d, s: rough.skewed_schaffer(d, s, 0.5), 20, -5.0, 5.0),
    "ackley-20-rotated": _moved(functions.ackley, 20, -20.0, 20.0, rotate=True),
}
#: Programs whose models take more than 30 ms to train are left out.
PROGRAMS = ("jenatton", "deep-tree", "layers", "training", "machine-learning", "stages")

FAMILIES: dict[str, Family] = {
    "smooth": Family(SMOOTH),
    "rough": Family(ROUGH),
    "mixed": Family(INTEGERS, floor=1e-6),
    "real": Family(REAL, (30, 60, 150), floor=1e-3),
    "early": Family({n: partial(early.of, n) for n in early.OPEN}, early.CHECKPOINTS, floor=1e-3),
    "early-apart": Family({n: partial(early.of, n) for n in early.APART}, early.CHECKPOINTS, floor=1e-3),
    "branching": Family(_known(*PROGRAMS), (50, 100, 200), floor=1e-6),
    "noisy": Family(NOISY, floor=1e-3),
    "failures": Family(FAILING, (50, 100, 200)),
    "batches": Family(BATCHES, (48, 104, 304), width=8),
    "long": Family(LONG, (200, 400, 1000), seeds=3),
}

"""Bayesmark: hyperparameters of scikit-learn's models, in 16 rounds of 8 trials (Turner et al. 2021).

A problem ``MODEL_DATASET_METRIC`` is the mean loss of a model over five folds of four fifths of a data set. Losses are
noisy where a model is. A run is scored by its smallest loss, from 0 for the best that the authors of Bayesmark ever
found to 1 for the median of random search; 1 is the most and -1 the least. The score is ``100 (1 - mean)``, as in the
black-box optimization challenge at NeurIPS 2020. The two ends and the losses of random search are those recorded for
the challenge, with scikit-learn 0.20. What has changed since is done here as it was then: `folds`, `log_loss`,
``normalize``, and one classifier for each class. The data on Boston are gone, and so is the AdaBoost of that time for
classes (`GONE`).

Random search draws points as Bayesmark does, so that its losses must agree with those recorded (`agreement`).
"""

from __future__ import annotations

import json
import logging
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit

from benchmarks import processes
from benchmarks.storage import load

Array = NDArray[np.float64]
Params = dict[str, Any]

RECORDED = Path(__file__).parents[1] / "data" / "bayesmark" / "recorded.json"
ROUNDS = 16
WIDTH = 8
#: Of Bayesmark: nine models, six data sets, two losses each.
PROBLEMS = 108
FOLDS = 5
CLASSES = ("breast", "digits", "iris", "wine")
#: scikit-learn 1.6 removed the algorithm SAMME.R.
GONE = frozenset(f"ada_{data}_{metric}" for data in CLASSES for metric in ("acc", "nll"))


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """What the authors recorded, by problem.

    ``best`` is the smallest loss of all their runs, ``clip`` the median loss of random search, ``mean (16,)`` the
    expected smallest loss of random search after each round, where none counts as more than ``clip``, and ``signature
    (5,)`` the losses at five points (`signature`).
    """
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text())
    return found


def problems() -> list[str]:
    """The names of the problems that are left, sorted."""
    return sorted(recorded().keys() - GONE)


def noisy(problem: str) -> bool:
    """Whether a loss at one point differs from one time to the next by more than an optimizer of weights leaves."""
    model, data, metric = problem.split("_")
    return model.startswith(("DT", "RF", "MLP", "ada")) or (model == "SVM" and metric == "nll" and data in CLASSES)


# -- spaces --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A number between ``low`` and ``high``, searched on a scale: ``"linear"``, ``"log"`` or ``"logit"``."""

    low: float
    high: float
    scale: str = "linear"
    whole: bool = False

    def on_scale(self, value: Any) -> Any:
        return {"linear": float, "log": np.log, "logit": logit}[self.scale](value)

    def off_scale(self, place: float) -> float | int:
        value = {"linear": float, "log": np.exp, "logit": expit}[self.scale](place)
        value = min(max(float(value), self.low), self.high)
        return round(value) if self.whole else value


def _whole(low: int, high: int, scale: str = "linear") -> Parameter:
    return Parameter(low, high, scale, whole=True)


def _log(low: float, high: float) -> Parameter:
    return Parameter(low, high, "log")


def _logit(low: float, high: float) -> Parameter:
    return Parameter(low, high, "logit")


#: Number of a switch: below and above a half.
SWITCH = _whole(0, 1)

_NEIGHBOURS = {"n_neighbors": _whole(1, 25), "p": _whole(1, 4)}
_MACHINE = {"C": _log(1.0, 1e3), "gamma": _log(1e-4, 1e-3), "tol": _log(1e-5, 1e-1)}
_TREE = {
    "max_depth": _whole(1, 15),
    "max_features": _logit(0.01, 0.99),
    "min_impurity_decrease": Parameter(0.0, 0.5),
    "min_samples_leaf": _logit(0.01, 0.49),
    "min_samples_split": _logit(0.01, 0.99),
    "min_weight_fraction_leaf": _logit(0.01, 0.49),
}
_NETWORK = {
    "alpha": _log(1e-5, 1e1),
    "batch_size": _whole(10, 250),
    "hidden_layer_sizes": _whole(50, 200),
    "learning_rate_init": _log(1e-5, 1e-1),
    "tol": _log(1e-5, 1e-1),
    "validation_fraction": _logit(0.1, 0.9),
}
_ADAM = _NETWORK | {"beta_1": _logit(0.5, 0.99), "beta_2": _logit(0.9, 1.0 - 1e-6), "epsilon": _log(1e-9, 1e-6)}
_SGD = _NETWORK | {"momentum": _logit(0.001, 0.999), "power_t": _logit(0.1, 0.9)}
_BOOST = {"learning_rate": _log(1e-4, 1e1), "n_estimators": _whole(10, 100)}
_LOGISTIC = {"C": _log(1e-2, 1e2), "intercept_scaling": _log(1e-2, 1e2)}
_LINEAR = {"alpha": _log(1e-2, 1e2), "fit_intercept": SWITCH, "max_iter": _whole(10, 5000, "log"), "normalize": SWITCH}
_SPACES = {"kNN": _NEIGHBOURS, "SVM": _MACHINE, "DT": _TREE, "RF": _TREE, "MLP-adam": _ADAM, "MLP-sgd": _SGD}
_SPACES |= {"ada": _BOOST}
_CLASSIFIED = _SPACES | {"lasso": _LOGISTIC, "linear": _LOGISTIC}
_REGRESSED = _SPACES | {
    "lasso": _LINEAR | {"positive": SWITCH, "tol": _log(1e-5, 1e-1)},
    "linear": _LINEAR | {"tol": _log(1e-4, 1e-1)},
}


def space_of(problem: str) -> dict[str, Parameter]:
    """The parameters of a problem, sorted by name."""
    model, data, _ = problem.split("_")
    return dict(sorted((_CLASSIFIED if data in CLASSES else _REGRESSED)[model].items()))


def drawn(space: dict[str, Parameter], rng: np.random.Generator | np.random.RandomState, count: int) -> list[Params]:
    """Points as Bayesmark draws them: uniform on the scales, and rounded, so that the ends have half the weight."""
    ends = np.array([(p.on_scale(p.low), p.on_scale(p.high)) for p in space.values()])
    places = rng.uniform(ends[:, 0], ends[:, 1], size=(count, len(space)))
    return [{name: p.off_scale(u) for (name, p), u in zip(space.items(), row, strict=True)} for row in places]


# -- losses --------------------------------------------------------------------------------------------------------


@cache
def data_of(name: str) -> tuple[Array, NDArray[Any]]:
    """The four fifths ``(n, d)`` and ``(n,)`` of a data set that are trained and validated on."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    loader = getattr(datasets, f"load_{'breast_cancer' if name == 'breast' else name}")
    X, _, y, _ = train_test_split(*loader(return_X_y=True), test_size=0.2, random_state=0, shuffle=True)
    return X, y


def folds(y: NDArray[Any], classes: bool) -> NDArray[np.int_]:
    """The fold ``(n,)`` in which each row is left out: runs of rows, with classes those of each class.

    scikit-learn had these folds until 0.22.
    """
    out = np.empty(len(y), dtype=int)
    for group in [np.flatnonzero(y == c) for c in np.unique(y)] if classes else [np.arange(len(y))]:
        for i, part in enumerate(np.array_split(group, FOLDS)):
            out[part] = i
    return out


def log_loss(probabilities: Array, y: NDArray[np.int_]) -> float:
    """The mean of the negative logarithms of ``probabilities (n, classes)`` of the labels ``y (n,)``, kept from 0."""
    kept = np.clip(probabilities, 1e-15, 1.0 - 1e-15)
    return float(-np.mean(np.log(kept[np.arange(len(y)), y] / kept.sum(axis=1))))


def _classifier(model: str, metric: str, classes: int, params: Params, state: int) -> Any:
    from sklearn import ensemble, linear_model, multiclass, neighbors, neural_network, svm, tree

    fixed: Params = {"random_state": state}
    if model == "kNN":
        return neighbors.KNeighborsClassifier(**params)
    if model == "SVM":  # probabilities take time, and leave the labels as they are
        return svm.SVC(kernel="rbf", probability=metric == "nll", **params, **fixed)
    if model == "DT":
        return tree.DecisionTreeClassifier(**params, **fixed)
    if model == "RF":
        return ensemble.RandomForestClassifier(n_estimators=10, **params, **fixed)
    if model == "ada":
        return ensemble.AdaBoostClassifier(**params, **fixed)
    if model in ("lasso", "linear"):
        first = model == "lasso"
        penalty = {"l1_ratio": float(first)} if _takes_ratio() else {"penalty": "l1" if first else "l2"}
        one = linear_model.LogisticRegression(solver="liblinear", **penalty, **params, **fixed)
        return one if classes == 2 else multiclass.OneVsRestClassifier(one)
    return neural_network.MLPClassifier(early_stopping=True, **_solver(model), **params, **fixed)


def _regressor(model: str, params: Params, state: int) -> Any:
    from sklearn import ensemble, linear_model, neighbors, neural_network, svm, tree

    fixed: Params = {"random_state": state}
    if model == "kNN":
        return neighbors.KNeighborsRegressor(**params)
    if model == "SVM":
        return svm.SVR(kernel="rbf", **params)
    if model == "DT":
        return tree.DecisionTreeRegressor(**params, **fixed)
    if model == "RF":
        return ensemble.RandomForestRegressor(n_estimators=10, **params, **fixed)
    if model == "ada":
        return ensemble.AdaBoostRegressor(**params, **fixed)
    if model in ("lasso", "linear"):
        return (linear_model.Lasso if model == "lasso" else linear_model.Ridge)(**params)
    activation = "tanh" if model == "MLP-sgd" else "relu"
    return neural_network.MLPRegressor(activation=activation, early_stopping=True, **_solver(model), **params, **fixed)


def _solver(model: str) -> Params:
    if model == "MLP-adam":
        return {"solver": "adam"}
    return {"solver": "sgd", "learning_rate": "invscaling", "nesterovs_momentum": True}


@cache
def _takes_ratio() -> bool:
    """Whether ``l1_ratio`` says which penalty a logistic regression has, as in scikit-learn from 1.8 on."""
    import sklearn

    return tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)


def loss(problem: str, params: Params, rng: np.random.Generator) -> float:
    """The mean loss over the folds; infinite if a model fails or does not predict finite values."""
    model, data, metric = problem.split("_")
    classes = data in CLASSES
    (X, y) = data_of(data)
    params = {name: bool(v) if space_of(problem)[name] == SWITCH else v for name, v in params.items()}
    normalize = params.pop("normalize", False) and params["fit_intercept"]
    out = folds(y, classes)
    losses = []
    for i in range(FOLDS):
        train = X[out != i]
        test = X[out == i]
        labels = y[out != i]
        truth = y[out == i]
        if normalize:  # columns of length one
            mean = train.mean(axis=0)
            length = np.linalg.norm(train - mean, axis=0)
            train = (train - mean) / length
            test = (test - mean) / length
        state = int(rng.integers(2**31))
        try:
            if not classes:
                off = _regressor(model, params, state).fit(train, labels).predict(test) - truth
                losses.append(float(np.mean(np.abs(off) if metric == "mae" else off**2)))
            else:
                fitted = _classifier(model, metric, len(np.unique(y)), params, state).fit(train, labels)
                if metric == "nll":
                    losses.append(log_loss(fitted.predict_proba(test), truth))
                else:
                    losses.append(-float(np.mean(fitted.predict(test) == truth)))
        except ValueError:
            return float("inf")
    mean_loss = float(np.mean(losses))
    return mean_loss if np.isfinite(mean_loss) else float("inf")


def signature(problem: str) -> Array:
    """The losses ``(5,)`` at the five points whose losses are recorded."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = drawn(space_of(problem), np.random.RandomState(0), 5)
        return np.array([loss(problem, point, rng) for point in points])


# -- runs ----------------------------------------------------------------------------------------------------------

Ask = Callable[[], Params]
Tell = Callable[[list[float]], None]


def _unscaled(space: dict[str, Parameter], point: Params) -> Params:
    """A point of an optimizer, to which a parameter on the logit scale is its place on this scale."""
    return {name: p.off_scale(point[name]) if p.scale == "logit" else point[name] for name, p in space.items()}


def _bounds(parameter: Parameter) -> tuple[float, float]:
    if parameter.scale == "logit":
        return float(logit(parameter.low)), float(logit(parameter.high))
    return parameter.low, parameter.high


def _gssbo(space: dict[str, Parameter], seed: int) -> tuple[Ask, Tell]:
    from numbo import GSSBO, Categorical, Float, Int, Space

    def dimension(p: Parameter) -> Categorical | Float | Int:
        if p == SWITCH:
            return Categorical([0, 1])
        low, high = _bounds(p)
        return Int(int(low), int(high), p.scale == "log") if p.whole else Float(low, high, p.scale == "log")

    logging.getLogger("numbo").setLevel(logging.ERROR)
    opt = GSSBO(Space({name: dimension(p) for name, p in space.items()}), seed=seed)
    points: list[Params] = []

    def ask() -> Params:
        points.append(opt.ask())
        return _unscaled(space, points[-1])

    def tell(losses: list[float]) -> None:
        for point, value in zip(points, losses, strict=True):
            opt.tell(point, value if np.isfinite(value) else None)
        points.clear()

    return ask, tell


def _tpe(space: dict[str, Parameter], seed: int) -> tuple[Ask, Tell]:
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

    import optuna

    def distribution(p: Parameter) -> BaseDistribution:
        if p == SWITCH:
            return CategoricalDistribution([0, 1])
        low, high = _bounds(p)
        if p.whole:
            return IntDistribution(int(low), int(high), p.scale == "log")
        return FloatDistribution(low, high, p.scale == "log")

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True))
    distributions = {name: distribution(p) for name, p in space.items()}
    trials: list[optuna.Trial] = []

    def ask() -> Params:
        trials.append(study.ask(fixed_distributions=distributions))
        return _unscaled(space, trials[-1].params)

    def tell(losses: list[float]) -> None:
        for trial, value in zip(trials, losses, strict=True):
            if np.isfinite(value):
                study.tell(trial, value)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
        trials.clear()

    return ask, tell


def _random(space: dict[str, Parameter], seed: int) -> tuple[Ask, Tell]:
    rng = np.random.default_rng(seed)
    return lambda: drawn(space, rng, 1)[0], lambda losses: None


OPTIMIZERS: dict[str, Callable[[dict[str, Parameter], int], tuple[Ask, Tell]]] = {
    "GSSBO": _gssbo,
    "TPE": _tpe,
    "Random": _random,
}


def run_one(optimizer: str, problem: str, seed: int) -> dict[str, Any]:
    """One run: the smallest loss after each round, and all losses if they are those of random search."""
    warnings.simplefilter("ignore")
    space = space_of(problem)
    begun = time.perf_counter()
    number = zlib.crc32(f"{problem} {seed}".encode())
    ask, tell = OPTIMIZERS[optimizer](space, number)
    rng = np.random.default_rng([number, 1])
    losses: list[float] = []
    asks: list[float] = []
    for _ in range(ROUNDS):
        points = []
        for _ in range(WIDTH):
            before = time.perf_counter()
            points.append(ask())
            asks.append(1e3 * (time.perf_counter() - before))
        found = [loss(problem, point, rng) for point in points]
        tell(found)
        losses += found
    rounds = np.minimum.accumulate(losses)[WIDTH - 1 :: WIDTH]
    row = {
        "optimizer": optimizer,
        "problem": problem,
        "seed": seed,
        "best": [_written(value) for value in rounds],
        "failed": int(np.sum(np.isinf(losses))),
        "ask_ms": float(np.median(asks)),
        "mean_ask_ms": float(np.mean(asks)),
        "seconds": round(time.perf_counter() - begun, 3),
    }
    return row | ({"losses": [_written(value) for value in losses]} if optimizer == "Random" else {})


def _written(value: float) -> float | None:
    return float(f"{value:.9g}") if np.isfinite(value) else None


def _read(values: list[float | None]) -> Array:
    return np.array([np.inf if value is None else value for value in values])


def run(path: Path, optimizers: list[str], names: list[str], seeds: int, jobs: int) -> None:
    """Run what is missing in ``path``; seeds vary slowest, optimizers fastest."""
    done = {(row["optimizer"], row["problem"], row["seed"]) for row in load(path)}
    todo = [(o, p, seed) for seed in range(seeds) for p in names for o in optimizers if (o, p, seed) not in done]
    processes.record(path, run_one, todo, jobs)


# -- the report ----------------------------------------------------------------------------------------------------


def scaled(problem: str, losses: Any) -> Array:
    """Losses with 0 for the best that is recorded and 1 for the median of random search, kept from -1 to 1."""
    best = recorded()[problem]["best"]
    clip = recorded()[problem]["clip"]
    return np.clip((np.asarray(losses, dtype=float) - best) / (clip - best), -1.0, 1.0)


def expected_smallest(values: Array, count: int) -> float:
    """The mean over all choices of ``count`` from ``values (n,)`` of the smallest of them."""
    left = np.arange(len(values))[::-1]  # values that are larger, in the order of their size
    at_least = left >= count - 1
    logs = gammaln(left[at_least] + 1) - gammaln(left[at_least] - count + 2)
    weights = np.exp(logs - logs.max())
    return float(np.sort(values)[at_least] @ weights / weights.sum())


@dataclass(frozen=True)
class Agreement:
    """Random search here and as recorded, on one problem."""

    median: float
    #: Share of the losses below the recorded median, and of those at most as large.
    below: float
    at_most: float
    #: The expected best scaled loss of a round: here, its standard error, and as recorded.
    here: float
    error: float
    there: float
    trials: int

    @property
    def holds(self) -> bool:
        """Whether both differ by at most 3.5 standard errors, and 0.02 for the best of a round."""
        leeway = 3.5 * 0.5 / np.sqrt(self.trials)
        at_median = self.below <= 0.5 + leeway and self.at_most >= 0.5 - leeway
        return bool(at_median and abs(self.here - self.there) <= 3.5 * self.error + 0.02)


def agreement(problem: str, losses: Array) -> Agreement:
    """Compare ``losses (n,)`` of random search with those recorded."""
    record = recorded()[problem]
    near = 1e-6 * abs(record["clip"])
    values = scaled(problem, losses)
    rng = np.random.default_rng(0)
    again = [expected_smallest(rng.choice(values, len(values)), WIDTH) for _ in range(200)]
    return Agreement(
        median=float(np.median(losses)),
        below=float(np.mean(losses < record["clip"] - near)),
        at_most=float(np.mean(losses <= record["clip"] + near)),
        here=expected_smallest(values, WIDTH),
        error=float(np.std(again)),
        there=float(scaled(problem, record["mean"][0])),
        trials=len(losses),
    )


def agreements(path: Path) -> dict[str, Agreement]:
    """Random search here and as recorded, by problem."""
    losses: dict[str, list[Array]] = {}
    for row in load(path):
        if "losses" in row:
            losses.setdefault(row["problem"], []).append(_read(row["losses"]))
    return {problem: agreement(problem, np.concatenate(losses[problem])) for problem in sorted(losses)}


def curves(path: Path) -> dict[str, dict[str, dict[int, Array]]]:
    """The smallest scaled losses ``(16,)`` by optimizer, problem and seed: those seeds that all optimizers have."""
    found: dict[tuple[str, int], dict[str, Array]] = {}
    for row in load(path):
        found.setdefault((row["problem"], row["seed"]), {})[row["optimizer"]] = scaled(
            row["problem"], _read(row["best"])
        )
    names = sorted({name for one in found.values() for name in one}, key=list(OPTIMIZERS).index)
    out: dict[str, dict[str, dict[int, Array]]] = {name: {} for name in names}
    for (problem, seed), one in sorted(found.items()):
        if len(one) == len(names):
            for name in names:
                out[name].setdefault(problem, {})[seed] = one[name]
    return out


def score(losses: Any) -> float:
    """``100 (1 - mean)`` of scaled losses."""
    return float(100.0 * (1.0 - np.mean(losses)))


def interval(losses: Array) -> tuple[float, float]:
    """The 90 % interval of the score of ``losses (problems,)`` by resampling problems."""
    rng = np.random.default_rng(0)
    drawn_again = losses[rng.integers(len(losses), size=(2000, len(losses)))].mean(axis=1)
    low, high = np.quantile(100.0 * (1.0 - drawn_again), (0.05, 0.95))
    return float(low), float(high)


def _table(rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows[1:]] + [""]


def _score_table(found: dict[str, dict[str, dict[int, Array]]], names: list[str]) -> list[list[str]]:
    """Scores on some problems by optimizer, and those recorded of random search."""
    marks = [2, 4, 8, ROUNDS]
    rows = [["optimizer", *(f"{mark} rounds" for mark in marks), "median", "worst seed", "seeds"]]
    for name, runs in found.items():
        means = np.array([np.mean(list(runs[problem].values()), axis=0) for problem in names])
        low, high = interval(means[:, -1])
        texts = [f"{score(means[:, mark - 1]):.2f}" for mark in marks]
        seeds = set.intersection(*(set(runs[problem]) for problem in names))
        worst = min(score([runs[problem][seed][-1] for problem in names]) for seed in seeds)
        texts[-1] += f" ({low:.2f} to {high:.2f})"
        rows.append([name, *texts, f"{score(np.median(means[:, -1])):.2f}", f"{worst:.2f}", str(len(seeds))])
    means = np.array([scaled(problem, recorded()[problem]["mean"]) for problem in names])
    low, high = interval(means[:, -1])
    texts = [f"{score(means[:, mark - 1]):.2f}" for mark in marks]
    texts[-1] += f" ({low:.2f} to {high:.2f})"
    return [*rows, ["Random, recorded", *texts, f"{score(np.median(means[:, -1])):.2f}", "", ""]]


def _against_first(found: dict[str, dict[str, dict[int, Array]]], names: list[str]) -> list[list[str]]:
    """How much better the first optimizer is than each other one, on the same problems."""
    rows = [["GSSBO less", "difference of scores", "better on", "equal on", "worse on"]]
    means = {
        name: np.array([np.mean([curve[-1] for curve in runs[problem].values()]) for problem in names])
        for name, runs in found.items()
    }
    first = means.pop("GSSBO", None)
    for name, other in means.items() if first is not None else ():
        off = first - other
        low, high = interval(1.0 + off)
        signs = [str(int(np.sum(chosen))) for chosen in (off < -1e-9, np.abs(off) <= 1e-9, off > 1e-9)]
        rows.append([name, f"{-100.0 * off.mean():.2f} ({low:.2f} to {high:.2f})", *signs])
    return rows


def write_report(path: Path) -> None:
    """Write the tables beside the results; scores are on problems that all optimizers did, if random search agrees."""
    found = curves(path)
    agreed = agreements(path)
    done = sorted(set.intersection(*(set(runs) for runs in found.values())))
    names = [problem for problem in done if problem in agreed and agreed[problem].holds]
    lines = ["# Results: Bayesmark", "", "Written by `python -m benchmarks bayesmark`.", ""]
    lines += [
        f"Scores after rounds of {WIDTH} trials: 100 for the best loss that the authors of Bayesmark found with any",
        "method, 0 for the median loss of random search. The mean over problems of the mean over seeds; after the last",
        "round its 90 % interval by resampling problems, the median over problems and the worst seed. TPE has",
        "`constant_liar=True`. The last line is the random search of the authors, the only method that they recorded",
        "by problem. As in Bayesmark, the smallest loss counts also where a model is noisy: scores there may exceed",
        "100, and they gain from many trials close to the best.",
        "",
    ]
    absent = [problem for problem in problems() if problem not in done]
    if absent:
        lines += [f"Not run by all optimizers: {', '.join(absent)}.", ""]
    if names:
        title = f"## Scores, {len(names)} of {PROBLEMS} problems"
        lines += [title, "", *_table(_score_table(found, names))]
        if {"GSSBO"} < found.keys():
            lines += ["## GSSBO on the same problems", "", *_table(_against_first(found, names))]
        lines += ["## Scores after the last round by model and noise", ""]
        rows = [["model", "problems", *found, "Random, recorded"]]
        groups = {model: [p for p in names if p.startswith(f"{model}_")] for model in sorted(_CLASSIFIED)}
        groups |= {"noisy": [p for p in names if noisy(p)], "not noisy": [p for p in names if not noisy(p)]}
        for title, some in groups.items():
            if some:
                texts = [row[4].split(" ")[0] for row in _score_table(found, some)[1:]]
                rows.append([title, str(len(some)), *texts])
        lines += _table(rows)
    lines += ["## Problems: whether random search agrees, and losses after the last round", ""]
    lines += [
        "The median of all losses of random search, here and as recorded; the shares of those here that are below the",
        "recorded one, and at most as large; the expected best of a round, from 0 for the best loss to 1 for the",
        "recorded median, with its standard error. Problems agree if the shares and the best of a round do, within 3.5",
        "standard errors and, for the best of a round, 0.02; the others are not in the scores. Losses after the last",
        "round are on the same scale, from -1 to 1.",
        "",
    ]
    if agreed:
        off = float(np.mean([one.here - one.there for one in agreed.values()]))
        error = float(np.sqrt(np.sum([one.error**2 for one in agreed.values()]))) / len(agreed)
        holding = sum(one.holds for one in agreed.values())
        lines += [
            f"{holding} of {len(agreed)} agree. The best of a round is off by {off:.4f} ± {error:.4f} on average.",
            "",
        ]
    rows = [["problem", "median", "recorded", "below", "at most", "best of a round", "recorded", "agrees", *found]]
    for problem, one in agreed.items():
        row = [problem, f"{one.median:.4g}", f"{recorded()[problem]['clip']:.4g}"]
        row += [f"{one.below:.2f}", f"{one.at_most:.2f}", f"{one.here:.3f} ± {one.error:.3f}", f"{one.there:.3f}"]
        ends = [[curve[-1] for curve in runs.get(problem, {}).values()] for runs in found.values()]
        rows.append([*row, "yes" if one.holds else "**no**", *(f"{np.mean(end):.3f}" if end else "" for end in ends)])
    lines += _table(rows)
    times: dict[str, list[tuple[float, ...]]] = {}
    keys = ("ask_ms", "mean_ask_ms", "seconds", "failed")
    for measured in load(path):
        times.setdefault(measured["optimizer"], []).append(tuple(measured[key] for key in keys))
    lines += ["## Time of a suggestion, and trials that failed", ""]
    rows = [["optimizer", "median ms", "mean ms", "mean seconds of a run", "failed, mean"]]
    for name, runs_of in times.items():
        medians, means, seconds, failed = np.array(runs_of).T
        texts = [f"{np.median(medians):.1f}", f"{means.mean():.1f}", f"{seconds.mean():.1f}", f"{failed.mean():.2f}"]
        rows.append([name, *texts])
    lines += _table(rows)
    path.with_suffix(".md").write_text("\n".join(lines))

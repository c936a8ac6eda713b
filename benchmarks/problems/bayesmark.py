"""Bayesmark's problems: hyperparameters of scikit-learn's models (Turner et al. 2021).

A problem ``MODEL_DATASET_METRIC`` is the mean loss of a model over five folds of four fifths of a data set. Losses are
noisy where a model is. What the authors of Bayesmark recorded for the black-box optimization challenge at NeurIPS 2020
was found with scikit-learn 0.20. What has changed since is done here as it was then: `folds`, `log_loss`,
``normalize``, and one classifier for each class. The data on Boston are gone, and so is the AdaBoost of that time for
classes (`GONE`).
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from benchmarks.problems.problem import Array

Params = dict[str, Any]

RECORDED = Path(__file__).parents[1] / "data" / "bayesmark" / "recorded.json"
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
MODELS = sorted(_CLASSIFIED)


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

"""Problems for studies of 10 to 100 trials: half functions of 2 to 8 dimensions, half searches for hyperparameters.

The functions are those of the collection of Surjanovic & Bingham (2013). The searches train models of scikit-learn on
its data sets, or read one repeat at random of the tables of `tables`, whose value is the mean over repeats.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.problems import functions, tables
from benchmarks.problems.problem import Array, Params, Problem, box, marked, moved

Space = dict[str, BaseDistribution]

CHECKPOINTS = (10, 20, 50, 100)


# -- functions -----------------------------------------------------------------------------------------------------


def beale(x: Array) -> float:
    a, b = x
    return float((1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2)


def goldstein_price(x: Array) -> float:
    """The logarithm of the function."""
    a, b = x
    first = 1.0 + (a + b + 1.0) ** 2 * (19.0 - 14.0 * a + 3.0 * a**2 - 14.0 * b + 6.0 * a * b + 3.0 * b**2)
    second = 30.0 + (2.0 * a - 3.0 * b) ** 2 * (18.0 - 32.0 * a + 12.0 * a**2 + 48.0 * b - 36.0 * a * b + 27.0 * b**2)
    return float(np.log(first * second))


_SHEKEL = np.array(
    [
        [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 5.0, 8.0, 6.0, 7.0],
        [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 3.0, 1.0, 2.0, 3.6],
        [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 5.0, 8.0, 6.0, 7.0],
        [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 3.0, 1.0, 2.0, 3.6],
    ]
)
_SHEKEL_BETA = np.array([1.0, 2.0, 2.0, 4.0, 4.0, 6.0, 3.0, 7.0, 5.0, 5.0]) / 10.0


def shekel(x: Array) -> float:
    return float(-np.sum(1.0 / (np.sum((x[:, None] - _SHEKEL) ** 2, axis=0) + _SHEKEL_BETA)))


def trid(x: Array) -> float:
    return float(np.sum((x - 1.0) ** 2) - np.sum(x[1:] * x[:-1]))


def rounded(x: Array) -> float:
    """Ackley's function to one digit, as a score with few values."""
    return float(np.round(functions.ackley(x), 1))


# -- models of scikit-learn ----------------------------------------------------------------------------------------


@cache
def _data(name: str) -> tuple[Array, Array]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(1).permutation(len(X))[:400]
    return X[rows], y[rows]


def scaled(*steps: Any) -> Any:
    """A pipeline of standardised inputs and the ``steps`` after them."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), *steps)


def mean_score(model: Any, X: Array, y: Array, scoring: str) -> float:
    """The mean score in threefold cross-validation, without the warnings of models that do not converge."""
    from sklearn.model_selection import cross_val_score

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return float(np.mean(cross_val_score(model, X, y, cv=3, scoring=scoring)))


def _loss(model: Any, data: str, scoring: str) -> float:
    """One minus the mean score in threefold cross-validation after scaling, at most 1."""
    return 1.0 - max(mean_score(scaled(model), *_data(data), scoring), 0.0)


SVM: Space = {
    "C": FloatDistribution(1e-3, 1e3, log=True),
    "gamma": FloatDistribution(1e-6, 1e1, log=True),
    "kernel": CategoricalDistribution(["rbf", "poly", "sigmoid"]),
    "coef0": FloatDistribution(0.0, 3.0),
}


def svm(data: str, p: Params) -> float:
    from sklearn.svm import SVC

    return _loss(SVC(**p, max_iter=2000), data, "accuracy")


BOOSTING: Space = {
    "learning_rate": FloatDistribution(1e-3, 1.0, log=True),
    "n_estimators": IntDistribution(5, 80, log=True),
    "max_depth": IntDistribution(1, 6),
    "subsample": FloatDistribution(0.2, 1.0),
    "max_features": FloatDistribution(0.1, 1.0),
    "min_samples_leaf": IntDistribution(1, 50, log=True),
    "loss": CategoricalDistribution(["squared_error", "absolute_error", "huber"]),
}


def boosting(p: Params) -> float:
    from sklearn.ensemble import GradientBoostingRegressor

    return _loss(GradientBoostingRegressor(**p, random_state=0), "diabetes", "r2")


FOREST: Space = {
    "n_estimators": IntDistribution(2, 40, log=True),
    "max_depth": IntDistribution(1, 15),
    "max_features": FloatDistribution(0.02, 1.0, log=True),
    "min_samples_leaf": IntDistribution(1, 20),
    "criterion": CategoricalDistribution(["gini", "entropy"]),
    "bootstrap": CategoricalDistribution([True, False]),
}


def forest(p: Params) -> float:
    from sklearn.ensemble import RandomForestClassifier

    return _loss(RandomForestClassifier(**p, random_state=0), "breast_cancer", "accuracy")


NETWORK: Space = {
    "width": IntDistribution(2, 64, log=True),
    "depth": IntDistribution(1, 3),
    "rate": FloatDistribution(1e-5, 1.0, log=True),
    "decay": FloatDistribution(1e-7, 1e1, log=True),
    "momentum": FloatDistribution(0.0, 0.99),
    "batch": IntDistribution(8, 128, log=True),
    "activation": CategoricalDistribution(["relu", "tanh", "logistic"]),
}


def network(p: Params) -> float:
    """Log loss of a network on wines after 20 epochs of stochastic gradient descent."""
    from sklearn.metrics import log_loss
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    X, y = _data("wine")
    X = StandardScaler().fit_transform(X)
    model = MLPClassifier(
        hidden_layer_sizes=(p["width"],) * p["depth"],
        solver="sgd",
        learning_rate_init=p["rate"],
        alpha=p["decay"],
        momentum=p["momentum"],
        batch_size=min(p["batch"], 100),
        activation=p["activation"],
        max_iter=20,
        random_state=0,
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = model.fit(X[:100], y[:100]).predict_proba(X[100:])
        except ValueError:  # it diverged
            return 5.0
    return float(min(log_loss(y[100:], np.nan_to_num(found, nan=1.0 / 3.0), labels=[0, 1, 2]), 5.0))


ELASTIC: Space = {
    "penalty": FloatDistribution(1e-4, 1e3, log=True),
    "ratio": FloatDistribution(0.0, 1.0),
    "degree": IntDistribution(1, 2),
    "scale": FloatDistribution(1e-2, 1e2, log=True),
}


def elastic(p: Params) -> float:
    from sklearn.linear_model import ElasticNet
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer

    model = make_pipeline(
        QuantileTransformer(n_quantiles=max(2, int(100 / (1.0 + p["scale"])))),
        PolynomialFeatures(p["degree"], include_bias=False),
        ElasticNet(alpha=p["penalty"], l1_ratio=p["ratio"], max_iter=200),
    )
    return _loss(model, "diabetes", "r2")


# -- the suite -----------------------------------------------------------------------------------------------------


_MAKERS: dict[str, Callable[[], Problem]] = {
    "beale-2": lambda: box(beale, 2, -4.5, 4.5),
    "goldstein-price-2": lambda: box(goldstein_price, 2, -2.0, 2.0, float(np.log(3.0))),
    "shekel-4": lambda: box(shekel, 4, 0.0, 10.0, -10.536443153483528),
    "dixon-price-5": lambda: moved(functions.dixon_price, 5, -10.0, 10.0, 206),
    "zakharov-6": lambda: moved(functions.zakharov, 6, -5.0, 10.0, 201),
    "rosenbrock-3": lambda: box(functions.rosenbrock, 3, -2.0, 2.0),
    "levy-5-rotated": lambda: moved(lambda x: functions.levy(x + 1), 5, -10.0, 10.0, 202, rotate=True),
    "ackley-4-rounded": lambda: moved(rounded, 4, -10.0, 10.0, 203),
    "svm-wine": lambda: Problem(SVM, partial(svm, "wine")),
    "boosting-diabetes": lambda: Problem(BOOSTING, boosting),
    "forest-cancer": lambda: Problem(FOREST, forest),
    "network-wine": lambda: Problem(NETWORK, network),
    "hpobench-car-once": partial(tables.once, "HPOBench", "car"),
    "hpobench-phoneme-once": partial(tables.once, "HPOBench", "phoneme"),
    "hpolib-naval_propulsion-once": partial(tables.once, "HPOLib", "naval_propulsion"),
    "trid-6": lambda: box(trid, 6, -36.0, 36.0, -50.0),
    "griewank-3": lambda: moved(functions.griewank, 3, -10.0, 10.0, 204),
    "styblinski-tang-8": lambda: box(functions.styblinski_tang, 8, -5.0, 5.0, -39.16616570377142 * 8),
    "ellipsoid-6-rotated": lambda: moved(functions.ellipsoid, 6, -5.0, 5.0, 205, rotate=True),
    "svm-digits": lambda: Problem(SVM, partial(svm, "digits")),
    "elastic-diabetes": lambda: Problem(ELASTIC, elastic),
    "hpobench-australian-once": partial(tables.once, "HPOBench", "australian"),
    "hpolib-parkinsons_telemonitoring-once": partial(tables.once, "HPOLib", "parkinsons_telemonitoring"),
}
#: Tables and data sets are read when a problem is made.
PROBLEMS: dict[str, Callable[[], Problem]] = {n: partial(marked, make, CHECKPOINTS) for n, make in _MAKERS.items()}
#: Those that were no help in choosing settings.
ASIDE = (
    "trid-6",
    "griewank-3",
    "styblinski-tang-8",
    "ellipsoid-6-rotated",
    "svm-digits",
    "elastic-diabetes",
    "hpobench-australian-once",
    "hpolib-parkinsons_telemonitoring-once",
)

"""Searches that people run for thirty trials: models of scikit-learn, a controller, a forecast.

Values are errors, losses and costs as programs report them: some tie, some are skewed, some are flat over half of the
space. Lists of categories begin with the usual choice where there is one. A search is put aside (`APART`) if its place
in the alphabet is even; settings are chosen on the others only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.problems.few import mean_score, scaled
from benchmarks.problems.problem import Array, Params, Problem

CHECKPOINTS = (10, 20, 30, 50, 100)
#: The largest value; a program that diverges reports it.
WORST = 1e6
#: Rows of data.
ROWS = 300


def real(low: float, high: float) -> BaseDistribution:
    return FloatDistribution(low, high)


def scale(low: float, high: float) -> BaseDistribution:
    return FloatDistribution(low, high, log=True)


def whole(low: int, high: int, *, log: bool = False) -> BaseDistribution:
    return IntDistribution(low, high, log=log)


def one(*choices: Any) -> BaseDistribution:
    return CategoricalDistribution(choices)


@cache
def data(name: str) -> tuple[Array, Array]:
    """Inputs and outputs, up to `ROWS` in random order."""
    from sklearn import datasets

    made: dict[str, Callable[[], tuple[Array, Array]]] = {
        "friedman": lambda: datasets.make_friedman1(ROWS, n_features=7, noise=1.0, random_state=1),
        "moons": lambda: datasets.make_moons(ROWS, noise=0.18, random_state=2),
        "classes": lambda: datasets.make_classification(
            ROWS, 12, n_informative=5, n_classes=3, flip_y=0.05, class_sep=0.8, random_state=3
        ),
    }
    X, y = made[name]() if name in made else getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(4).permutation(len(X))[:ROWS]
    return X[rows], y[rows]


def loss(name: str, model: Any, scoring: str) -> float:
    """Minus the mean score of a model in threefold cross-validation; accuracies and R^2 are told as 1 minus that."""
    try:
        score = mean_score(model, *data(name), scoring)
    except ValueError as error:
        if "non-finite" not in str(error):
            raise
        return WORST
    value = -score if scoring.startswith("neg") else 1.0 - score
    return min(value, WORST) if math.isfinite(value) else WORST


SEARCHES: dict[str, Problem] = {}


def search(name: str, **space: BaseDistribution) -> Callable[[Callable[[Params], float]], Callable[[Params], float]]:
    def named(function: Callable[[Params], float]) -> Callable[[Params], float]:
        SEARCHES[name] = Problem(space, function, checkpoints=CHECKPOINTS)
        return function

    return named


# -- classifiers -------------------------------------------------------------------------------------------------------


@search(
    "logistic-classes", C=scale(1e-4, 1e4), l1_ratio=real(0.0, 1.0), tol=scale(1e-5, 1e-1),
    max_iter=whole(3, 60, log=True), class_weight=one(None, "balanced"), fit_intercept=one(True, False),
)  # fmt: skip
def logistic(p: Params) -> float:
    from sklearn.linear_model import LogisticRegression

    return loss("classes", scaled(LogisticRegression(**p, solver="saga", random_state=0)), "neg_log_loss")


@search(
    "svm-digits", C=scale(1e-3, 1e3), gamma=scale(1e-6, 1e1), kernel=one("rbf", "poly", "sigmoid"),
    shrinking=one(True, False), degree=whole(1, 5),
)  # fmt: skip
def svm(p: Params) -> float:
    from sklearn.svm import SVC

    return loss("digits", scaled(SVC(**p, max_iter=1000)), "accuracy")


@search(
    "components-neighbours-digits", components=whole(1, 40, log=True), whiten=one(False, True),
    n_neighbors=whole(1, 40, log=True), weights=one("uniform", "distance"), p=real(1.0, 4.0),
)  # fmt: skip
def components(p: Params) -> float:
    from sklearn.decomposition import PCA
    from sklearn.neighbors import KNeighborsClassifier

    rest = {k: v for k, v in p.items() if k not in ("components", "whiten")}
    first = PCA(p["components"], whiten=p["whiten"], random_state=0)
    return loss("digits", scaled(first, KNeighborsClassifier(**rest)), "accuracy")


@search(
    "trees-breast-cancer", n_estimators=whole(3, 25, log=True), max_features=real(0.05, 1.0), max_depth=whole(1, 12),
    min_samples_leaf=whole(1, 50, log=True), criterion=one("gini", "entropy"), bootstrap=one(True, False),
)  # fmt: skip
def trees(p: Params) -> float:
    from sklearn.ensemble import RandomForestClassifier

    return loss("breast_cancer", RandomForestClassifier(**p, random_state=0), "neg_log_loss")


@search(
    "boosted-stumps-classes", n_estimators=whole(2, 30, log=True), learning_rate=scale(1e-3, 3.0),
    max_depth=whole(1, 5), min_samples_leaf=whole(1, 40, log=True),
)  # fmt: skip
def stumps(p: Params) -> float:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=p["max_depth"], min_samples_leaf=p["min_samples_leaf"], random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=p["n_estimators"], learning_rate=p["learning_rate"], random_state=0)
    return loss("classes", model, "accuracy")


@search(
    "network-breast-cancer", hidden=whole(2, 64, log=True), alpha=scale(1e-6, 1e1),
    learning_rate_init=scale(1e-5, 1.0), batch_size=whole(8, 128, log=True), epochs=whole(2, 20, log=True),
    activation=one("relu", "tanh", "logistic"), beta_1=real(0.5, 0.99),
)  # fmt: skip
def network(p: Params) -> float:
    from sklearn.neural_network import MLPClassifier

    rest = {k: v for k, v in p.items() if k not in ("hidden", "epochs")}
    model = MLPClassifier(hidden_layer_sizes=(p["hidden"],), max_iter=p["epochs"], random_state=0, **rest)
    return loss("breast_cancer", scaled(model), "neg_log_loss")


@search(
    "pipeline-wine", scaler=one("standard", "minmax", "robust", "none"), selected=whole(1, 13), C=scale(1e-4, 1e3),
    score=one("f_classif", "mutual_info_classif", "chi2"), loss=one("squared_hinge", "hinge"),
)  # fmt: skip
def pipeline(p: Params) -> float:
    from sklearn import feature_selection
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, RobustScaler, StandardScaler
    from sklearn.svm import LinearSVC

    scalers = {"standard": StandardScaler(), "minmax": MinMaxScaler(), "robust": RobustScaler()}
    score = {
        "f_classif": feature_selection.f_classif,
        "mutual_info_classif": partial(feature_selection.mutual_info_classif, random_state=0),
        "chi2": lambda X, y: feature_selection.chi2(X - X.min(), y),
    }[p["score"]]
    select = feature_selection.SelectKBest(score, k=p["selected"])
    model = LinearSVC(C=p["C"], loss=p["loss"], max_iter=200, random_state=0)
    return loss("wine", make_pipeline(scalers.get(p["scaler"], FunctionTransformer()), select, model), "accuracy")


@search("weighted-neighbours-wine", n_neighbors=whole(1, 30), **{f"w{j}": real(0.0, 1.0) for j in range(13)})
def weighted_neighbours(p: Params) -> float:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import FunctionTransformer

    weights = np.array([p[f"w{j}"] for j in range(13)])
    return loss(
        "wine",
        scaled(FunctionTransformer(lambda X: X * weights), KNeighborsClassifier(p["n_neighbors"])),
        "accuracy",
    )


@search(
    "nystroem-digits", n_components=whole(5, 150, log=True), gamma=scale(1e-5, 1.0), alpha=scale(1e-7, 1e-1),
    kernel=one("rbf", "laplacian", "sigmoid"), penalty=one("l2", "l1", "elasticnet"), average=one(False, True),
)  # fmt: skip
def nystroem(p: Params) -> float:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier

    features = Nystroem(kernel=p["kernel"], gamma=p["gamma"], n_components=p["n_components"], random_state=0)
    model = SGDClassifier(
        alpha=p["alpha"], penalty=p["penalty"], average=p["average"], max_iter=10, tol=None, random_state=0
    )
    return loss("digits", scaled(features, model), "accuracy")


@search("bernoulli-digits", alpha=scale(1e-4, 1e2), binarize=real(0.0, 3.0), fit_prior=one(True, False))
def bernoulli(p: Params) -> float:
    from sklearn.naive_bayes import BernoulliNB

    return loss("digits", scaled(BernoulliNB(**p)), "neg_log_loss")


@search(
    "discriminant-digits", components=whole(2, 50), shrinkage=real(0.0, 1.0), solver=one("lsqr", "eigen"),
    tol=scale(1e-6, 1e-1),
)  # fmt: skip
def discriminant(p: Params) -> float:
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    model = LinearDiscriminantAnalysis(solver=p["solver"], shrinkage=p["shrinkage"], tol=p["tol"])
    return loss("digits", scaled(PCA(p["components"], random_state=0), model), "accuracy")


@search(
    "clusters-moons", eps=scale(1e-2, 3.0), min_samples=whole(1, 40, log=True), metric=one("euclidean", "manhattan")
)
def clusters(p: Params) -> float:
    from sklearn.cluster import DBSCAN
    from sklearn.metrics import adjusted_rand_score

    X, y = data("moons")
    return 1.0 - float(adjusted_rand_score(y, DBSCAN(**p).fit_predict(X)))


@search(
    "quadratic-wine", reg_param=real(0.0, 1.0), components=whole(1, 13), whiten=one(False, True),
    svd_solver=one("full", "randomized"),
)  # fmt: skip
def quadratic(p: Params) -> float:
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    first = PCA(p["components"], whiten=p["whiten"], svd_solver=p["svd_solver"], random_state=0)
    return loss("wine", scaled(first, QuadraticDiscriminantAnalysis(reg_param=p["reg_param"])), "neg_log_loss")


# -- regressions -------------------------------------------------------------------------------------------------------


@search(
    "kernel-ridge-diabetes", alpha=scale(1e-5, 1e3), gamma=scale(1e-5, 1e1),
    kernel=one("rbf", "laplacian", "polynomial", "sigmoid"), degree=whole(1, 5), coef0=real(0.0, 3.0),
)  # fmt: skip
def kernel_ridge(p: Params) -> float:
    from sklearn.kernel_ridge import KernelRidge

    return loss("diabetes", scaled(KernelRidge(**p)), "neg_root_mean_squared_error")


@search(
    "svm-friedman", C=scale(1e-3, 1e4), gamma=scale(1e-5, 1e1), epsilon=scale(1e-3, 1e1),
    kernel=one("rbf", "poly", "sigmoid", "linear"), coef0=real(0.0, 2.0),
)  # fmt: skip
def svm_regression(p: Params) -> float:
    from sklearn.svm import SVR

    return loss("friedman", scaled(SVR(**p, max_iter=2000)), "neg_root_mean_squared_error")


@search(
    "tree-friedman", max_depth=whole(1, 20), min_samples_split=whole(2, 60, log=True),
    min_samples_leaf=whole(1, 60, log=True), max_features=real(0.1, 1.0), ccp_alpha=scale(1e-5, 1.0),
    criterion=one("squared_error", "absolute_error"), splitter=one("best", "random"),
)  # fmt: skip
def tree(p: Params) -> float:
    from sklearn.tree import DecisionTreeRegressor

    return loss("friedman", DecisionTreeRegressor(**p, random_state=0), "r2")


@search(
    "boosting-friedman", learning_rate=scale(1e-3, 1.0), n_estimators=whole(5, 60, log=True), max_depth=whole(1, 6),
    subsample=real(0.2, 1.0), max_features=real(0.1, 1.0), min_samples_leaf=whole(1, 50, log=True),
    loss=one("squared_error", "absolute_error", "huber", "quantile"),
)  # fmt: skip
def boosting(p: Params) -> float:
    from sklearn.ensemble import GradientBoostingRegressor

    return loss("friedman", GradientBoostingRegressor(**p, random_state=0), "neg_root_mean_squared_error")


@search(
    "sgd-diabetes", alpha=scale(1e-7, 1e1), eta0=scale(1e-6, 1.0), power_t=real(0.05, 0.9), epsilon=scale(1e-3, 1e2),
    l1_ratio=real(0.0, 1.0), max_iter=whole(1, 60, log=True), penalty=one("l2", "l1", "elasticnet"),
    learning_rate=one("invscaling", "optimal", "constant", "adaptive"),
    loss=one("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"),
)  # fmt: skip
def sgd(p: Params) -> float:
    from sklearn.linear_model import SGDRegressor

    return loss("diabetes", scaled(SGDRegressor(**p, tol=None, random_state=0)), "neg_mean_squared_error")


@search(
    "network-friedman", first=whole(2, 48, log=True), second=whole(2, 48, log=True), alpha=scale(1e-7, 1e1),
    learning_rate_init=scale(1e-4, 1.0), batch_size=whole(8, 128, log=True), epochs=whole(4, 40, log=True),
    momentum=real(0.0, 0.99), activation=one("relu", "tanh", "identity"), solver=one("adam", "sgd"),
    nesterovs_momentum=one(True, False),
)  # fmt: skip
def deep(p: Params) -> float:
    from sklearn.neural_network import MLPRegressor

    rest = {k: v for k, v in p.items() if k not in ("first", "second", "epochs")}
    model = MLPRegressor(hidden_layer_sizes=(p["first"], p["second"]), max_iter=p["epochs"], random_state=0, **rest)
    return loss("friedman", scaled(model), "neg_root_mean_squared_error")


@search("weighted-ridge-diabetes", alpha=scale(1e-3, 1e2), **{f"w{j}": scale(1e-3, 3.0) for j in range(10)})
def weighted_ridge(p: Params) -> float:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.preprocessing import FunctionTransformer

    weights = np.array([p[f"w{j}"] for j in range(10)])
    model = KernelRidge(alpha=p["alpha"], kernel="rbf", gamma=1.0)
    return loss("diabetes", scaled(FunctionTransformer(lambda X: X * weights), model), "r2")


@search(
    "splines-friedman", n_knots=whole(2, 25), degree=whole(1, 4), alpha=scale(1e-5, 1e4),
    knots=one("uniform", "quantile"), extrapolation=one("constant", "linear", "continue"),
)  # fmt: skip
def splines(p: Params) -> float:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import SplineTransformer

    curves = SplineTransformer(**{k: v for k, v in p.items() if k != "alpha"})
    return loss("friedman", scaled(curves, Ridge(p["alpha"])), "neg_root_mean_squared_error")


@search(
    "elastic-net-diabetes", degree=whole(1, 2), alpha=scale(1e-5, 1e2), l1_ratio=real(0.01, 1.0),
    max_iter=whole(2, 60, log=True), positive=one(False, True), selection=one("cyclic", "random"),
)  # fmt: skip
def elastic_net(p: Params) -> float:
    from sklearn.linear_model import ElasticNet
    from sklearn.preprocessing import PolynomialFeatures

    model = ElasticNet(**{k: v for k, v in p.items() if k != "degree"}, random_state=0)
    return loss("diabetes", scaled(PolynomialFeatures(p["degree"]), model), "neg_mean_squared_error")


# -- others ------------------------------------------------------------------------------------------------------------


@search(
    "controller", proportional=scale(1e-3, 1e3), integral=scale(1e-4, 1e3), derivative=scale(1e-4, 1e2),
    smoothing=scale(1e-3, 1.0), limit=scale(1.0, 100.0),
)  # fmt: skip
def controller(p: Params) -> float:
    """Time-weighted error and effort of a PID controller of a damped spring with dead time, over ten seconds."""
    step, place, speed, total, slope, last = 0.02, 0.0, 0.0, 0.0, 0.0, 1.0
    delayed = [0.0] * 8
    cost = 0.0
    for i in range(500):
        error = 1.0 - place
        total += error * step
        slope += p["smoothing"] * ((error - last) / step - slope)
        last = error
        drive = p["proportional"] * error + p["integral"] * total + p["derivative"] * slope
        delayed.append(min(max(drive, -p["limit"]), p["limit"]))
        force = delayed.pop(0)
        speed += step * (force - 2.0 * place - 0.4 * speed)
        place += step * speed
        if not abs(place) < 1e3:
            return WORST
        cost += step * (i * step * abs(error) + 1e-4 * force**2)
    return cost


@search(
    "forecast", level=real(0.0, 1.0), trend=real(0.0, 1.0), season=real(0.0, 1.0), damping=real(0.5, 1.0),
    period=whole(2, 30), kind=one("additive", "multiplicative"), power=real(-0.5, 1.0),
)  # fmt: skip
def forecast(p: Params) -> float:
    """Root mean square error, one step ahead, of exponential smoothing of a series with trend and a period of 12."""
    rng = np.random.default_rng(5)
    t = np.arange(168)
    raw = np.exp(4.7 + 0.008 * t + 0.15 * np.sin(2 * np.pi * t / 12) + 0.05 * np.cos(np.pi * t / 3))
    raw = raw * (1.0 + 0.04 * rng.normal(size=len(t)))
    lam = p["power"]
    y = np.log(raw) if abs(lam) < 1e-3 else (raw**lam - 1.0) / lam
    n, added = p["period"], p["kind"] == "additive"
    level, slope = float(y[:n].mean()), 0.0
    seasons = [float(v - level if added else v / level) for v in y[:n]]
    errors = []
    for i in range(n, len(y)):
        old, s = level + p["damping"] * slope, seasons[i - n]
        guess = old + s if added else old * s
        back = math.exp(guess) if abs(lam) < 1e-3 else max(lam * guess + 1.0, 1e-9) ** (1.0 / lam)
        errors.append(min(abs(back - raw[i]), 1e4))
        new = p["level"] * (y[i] - s if added else y[i] / (s or 1e-9)) + (1.0 - p["level"]) * old
        slope = p["trend"] * (new - level) + (1.0 - p["trend"]) * p["damping"] * slope
        level = float(min(max(new, -1e6), 1e6))
        fresh = y[i] - level if added else y[i] / (level or 1e-9)
        seasons.append(p["season"] * float(min(max(fresh, -1e6), 1e6)) + (1.0 - p["season"]) * s)
    return float(np.sqrt(np.mean(np.square(errors[-100:]))))


def of(name: str, seed: int) -> Problem:
    """The search, which is the same for all seeds."""
    return SEARCHES[name]


OPEN = sorted(SEARCHES)[::2]
APART = sorted(SEARCHES)[1::2]

"""Problems whose space branches: define-by-run programs, which ask a trial for what the values so far call for.

Half of them have known optima, the others train models on the data sets that scikit-learn and R's MASS come with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.trial import BaseTrial

from benchmarks.problems.examples import example
from benchmarks.problems.problem import Array, Problem, program

Program = Callable[[BaseTrial], float]

# -- functions with known optima ---------------------------------------------------------------------------------------


def jenatton(trial: BaseTrial) -> float:
    """The tree of Jenatton et al. (2017), section 5.1: four leaves, two shared parameters; the minimum is 0.1."""
    first = trial.suggest_categorical("b1", [0, 1])
    second = trial.suggest_categorical(f"b{2 + first}", [0, 1])
    leaf = 2 * first + second
    x = trial.suggest_float(f"x{4 + leaf}", -1.0, 1.0)
    shared = trial.suggest_float(f"r{8 + first}", 0.0, 1.0)
    return x**2 + 0.1 * (leaf + 1) + shared


def deep_tree(trial: BaseTrial) -> float:
    """Jenatton et al.'s construction, five levels deep: 32 leaves, and a shared parameter in each inner node."""
    rng = np.random.default_rng(5)
    node = 1
    value = 0.0
    centers = rng.uniform(-0.8, 0.8, 64)
    offsets = rng.permutation(32) / 32.0
    for _ in range(5):
        value += 0.1 * abs(trial.suggest_float(f"shared_{node}", -1.0, 1.0) - centers[node])
        node = 2 * node + int(trial.suggest_categorical(f"side_{node}", [0, 1]))
    x = trial.suggest_float(f"x_{node}", -1.0, 1.0)
    return float(value + (x - centers[node]) ** 2 + offsets[node - 32])


def layers(trial: BaseTrial) -> float:
    """One to eight layers, each with a width and a dropout rate of its own; four of them are right."""
    n = trial.suggest_int("layers", 1, 8)
    loss = 0.05 * (n - 4) ** 2
    for i in range(n):
        width = np.log2(trial.suggest_int(f"width_{i}", 4, 512, log=True))
        dropout = trial.suggest_float(f"dropout_{i}", 0.0, 0.8)
        loss += (0.02 * (width - 7.0 + i) ** 2 + 0.5 * (dropout - 0.1 * (i + 1)) ** 2) / n
    return float(loss)


def training(trial: BaseTrial) -> float:
    """A stand-in for a training run: optimiser, schedule and regulariser, nested, with settings of their own."""
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", "lbfgs"])
    rate = np.log10(trial.suggest_float("rate", 1e-5, 1.0, log=True))
    loss = 0.1 * (rate - {"sgd": -1.0, "adam": -3.0, "lbfgs": -0.3}[optimizer]) ** 2
    if optimizer == "sgd":
        momentum = trial.suggest_float("momentum", 0.0, 0.99)
        loss += (momentum - 0.9) ** 2
        if momentum > 0.5:
            loss += 0.0 if trial.suggest_categorical("nesterov", [False, True]) else 0.05
    elif optimizer == "adam":
        loss += 0.15 + (trial.suggest_float("beta_1", 0.5, 0.999) - 0.88) ** 2
        loss += (trial.suggest_float("beta_2", 0.5, 0.9999) - 0.98) ** 2
    else:
        loss += 0.3 + 0.001 * (trial.suggest_int("history", 2, 30) - 12) ** 2
    schedule = trial.suggest_categorical("schedule", ["constant", "cosine", "steps"])
    loss += {"constant": 0.1, "cosine": 0.0, "steps": 0.04}[schedule]
    if schedule == "cosine":
        loss += 2e-4 * (trial.suggest_int("warmup", 0, 50) - 17) ** 2
    if schedule == "steps":
        for i in range(trial.suggest_int("steps", 1, 3)):
            loss += 0.05 * (trial.suggest_float(f"factor_{i}", 0.01, 1.0) - 0.3) ** 2
    if trial.suggest_categorical("regulariser", ["none", "decay"]) == "decay":
        decay = np.log10(trial.suggest_float("decay", 1e-8, 1e-1, log=True))
        return float(loss + 0.02 * (decay + 4.0) ** 2)
    return float(loss + 0.08)


def machine_learning(trial: BaseTrial) -> float:
    """A stand-in for automatic machine learning: three stages with 5, 5 and 10 kinds, of two parameters each."""
    rng = np.random.default_rng(7)
    loss = 0.0
    for stage, kinds in (("clean", 5), ("select", 5), ("model", 10)):
        offsets = rng.permutation(kinds) / kinds
        centers = rng.uniform(0.1, 0.9, (kinds, 2))
        k = int(trial.suggest_categorical(stage, list(range(kinds))))
        a, b = (trial.suggest_float(f"{stage}_{k}_{name}", 0.0, 1.0) for name in "ab")
        scale = 1.0 if stage == "model" else 0.3
        loss += scale * (offsets[k] + 4.0 * (a - centers[k, 0]) ** 2 + 2.0 * abs(b - centers[k, 1]))
    return float(loss)


def stages(trial: BaseTrial) -> float:
    """A process that goes on where it has gone well: a stage begins if the one before has reached a limit."""
    loss = 3.0
    for i in range(5):
        heat = trial.suggest_float(f"heat_{i}", 0.0, 1.0)
        time = trial.suggest_float(f"time_{i}", 0.0, 1.0)
        loss -= 0.6 * np.exp(-10.0 * (heat - 0.2 - 0.12 * i) ** 2 - 5.0 * (time - 0.7 + 0.1 * i) ** 2)
        if heat < 0.1 + 0.12 * i:
            break
    return float(loss)


# -- models that are trained -------------------------------------------------------------------------------------------


@cache
def _data(name: str) -> tuple[Array, Array]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:300]
    return X[rows], y[rows]


def _score(model: Any, data: str, *, regression: bool = False) -> float:
    """One minus the mean accuracy, or R^2, in twofold cross-validation."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    X, y = _data(data)
    folds = (KFold if regression else StratifiedKFold)(2, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(model, X, y, cv=folds, error_score=0.0)
    return float(1.0 - max(float(np.mean(scores)), 0.0))


def classifier(trial: BaseTrial) -> Any:
    """A classifier of one of five kinds, which have two to four settings."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    kind = trial.suggest_categorical("model", ["svm", "forest", "neighbours", "linear", "tree"])
    if kind == "svm":
        kernel = trial.suggest_categorical("kernel", ["linear", "rbf", "poly"])
        settings: dict[str, Any] = {"C": trial.suggest_float("svm_C", 1e-3, 1e3, log=True), "kernel": kernel}
        if kernel != "linear":
            settings["gamma"] = trial.suggest_float("gamma", 1e-5, 1e1, log=True)
        if kernel == "poly":
            settings["degree"] = trial.suggest_int("degree", 2, 4)
        return SVC(max_iter=2000, **settings)
    if kind == "forest":
        return RandomForestClassifier(
            n_estimators=trial.suggest_int("trees", 2, 20),
            max_depth=trial.suggest_int("forest_depth", 1, 12),
            max_features=trial.suggest_float("features", 0.05, 1.0),
            random_state=0,
        )
    if kind == "neighbours":
        weights = trial.suggest_categorical("weights", ["uniform", "distance"])
        p = trial.suggest_float("p", 1.0, 4.0)
        return KNeighborsClassifier(trial.suggest_int("neighbours", 1, 40), weights=weights, p=p)
    if kind == "linear":
        return LogisticRegression(C=trial.suggest_float("linear_C", 1e-4, 1e4, log=True), max_iter=100)
    return DecisionTreeClassifier(
        max_depth=trial.suggest_int("tree_depth", 1, 12),
        min_samples_leaf=trial.suggest_int("leaf", 1, 30),
        random_state=0,
    )


def pipeline(data: str) -> Program:
    """A scaler, a projection or selection of features, and a classifier, each of several kinds."""

    def search(trial: BaseTrial) -> float:
        from sklearn.decomposition import PCA
        from sklearn.feature_selection import SelectKBest
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

        steps: list[Any] = []
        scaler = trial.suggest_categorical("scaler", ["none", "standard", "minmax", "robust"])
        if scaler != "none":
            steps.append({"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}[scaler]())
        width = _data(data)[0].shape[1]
        features = trial.suggest_categorical("features_by", ["none", "pca", "k_best"])
        if features == "pca":
            steps.append(PCA(trial.suggest_int("components", 1, width), random_state=0))
        if features == "k_best":
            steps.append(SelectKBest(k=trial.suggest_int("k", 1, width)))
        return _score(make_pipeline(*steps, classifier(trial)), data)

    return search


def regressor(trial: BaseTrial) -> float:
    """A regression model of one of five kinds, behind a scaler, on scikit-learn's diabetes data."""
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import ElasticNet, Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    kind = trial.suggest_categorical("model", ["ridge", "net", "svr", "kernel", "boosting", "neighbours"])
    model: Any
    if kind == "ridge":
        model = Ridge(trial.suggest_float("ridge", 1e-4, 1e4, log=True))
    elif kind == "net":
        model = ElasticNet(
            trial.suggest_float("penalty", 1e-4, 1e2, log=True), l1_ratio=trial.suggest_float("ratio", 0.0, 1.0)
        )
    elif kind == "svr":
        c = trial.suggest_float("svr_C", 1e-1, 1e4, log=True)
        epsilon = trial.suggest_float("epsilon", 0.1, 100.0, log=True)
        model = SVR(C=c, epsilon=epsilon, gamma=trial.suggest_float("svr_gamma", 1e-5, 1.0, log=True), max_iter=5000)
    elif kind == "kernel":
        kernel = trial.suggest_categorical("kernel", ["rbf", "laplacian", "polynomial"])
        gamma = trial.suggest_float("kernel_gamma", 1e-6, 1.0, log=True)
        degree = trial.suggest_int("kernel_degree", 1, 3) if kernel == "polynomial" else 3
        alpha = trial.suggest_float("kernel_alpha", 1e-4, 1e2, log=True)
        model = KernelRidge(alpha=alpha, kernel=kernel, gamma=gamma, degree=degree)
    elif kind == "boosting":
        model = GradientBoostingRegressor(
            n_estimators=trial.suggest_int("stages", 5, 60),
            learning_rate=trial.suggest_float("rate", 1e-2, 1.0, log=True),
            max_depth=trial.suggest_int("depth", 1, 5),
            subsample=trial.suggest_float("subsample", 0.3, 1.0),
            random_state=0,
        )
    else:
        model = KNeighborsRegressor(trial.suggest_int("neighbours", 1, 60), p=trial.suggest_float("p", 1.0, 4.0))
    return _score(make_pipeline(StandardScaler(), model), "diabetes", regression=True)


def network(trial: BaseTrial) -> float:
    """Test loss of a network with one to six hidden layers on the Pima diabetes data."""
    widths = [trial.suggest_int(f"width_{i}", 2, 32, log=True) for i in range(trial.suggest_int("layers", 1, 6))]
    activation = trial.suggest_categorical("activation", ["tanh", "relu"])
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam"])
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    momentum = trial.suggest_float("momentum", 0.0, 0.99) if optimizer == "sgd" else 0.0
    decay = 0.0
    if trial.suggest_categorical("regulariser", ["none", "decay"]) == "decay":
        decay = trial.suggest_float("decay", 1e-6, 1e-1, log=True)
    return float(example("deep_diabetes").loss_of(widths, activation, optimizer, rate, momentum, decay))


#: Programs and their smallest values, 0 where these are unknown.
PROGRAMS: dict[str, tuple[Program, float]] = {
    "jenatton": (jenatton, 0.1),
    "deep-tree": (deep_tree, 0.0),
    "layers": (layers, 0.0),
    "training": (training, 0.0),
    "machine-learning": (machine_learning, 0.0),
    "stages": (stages, 0.0),
    "pipeline-wine": (pipeline("wine"), 0.0),
    "pipeline-cancer": (pipeline("breast_cancer"), 0.0),
    "pipeline-digits": (pipeline("digits"), 0.0),
    "regression": (regressor, 0.0),
    "network": (network, 0.0),
}
PROBLEMS: dict[str, Callable[[], Problem]] = {name: partial(program, *found) for name, found in PROGRAMS.items()}

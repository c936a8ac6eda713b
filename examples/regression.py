"""Pipelines of scikit-learn for its diabetes data, from nested settings.

Shared by the examples.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVR

SCALERS = {"none": None, "standard": StandardScaler, "minmax": MinMaxScaler}


@cache
def data() -> tuple[Any, Any]:
    """442 patients, ten measurements each, and their disease after a year."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y


def build(config: Mapping[str, Any]) -> Pipeline:
    """The pipeline that ``config`` describes: scaling, features and model."""
    steps: list[Any] = []
    if config["scaler"] != "none":
        steps.append(SCALERS[config["scaler"]]())
    features, model = config["features"], dict(config["model"])
    if features["by"] == "pca":
        steps.append(PCA(features["components"]))
    elif features["by"] == "test":
        steps.append(SelectKBest(f_regression, k=features["k"]))
    kind = model.pop("kind")
    if kind == "svm":
        kernel = model.pop("kernel")
        steps.append(
            SVR(
                **model,
                kernel=kernel["name"],
                gamma=kernel.get("gamma", 1.0),
                max_iter=10_000,
            )
        )
    elif kind == "linear":
        steps.append(ElasticNet(**model))
    elif kind == "neighbours":
        steps.append(KNeighborsRegressor(**model))
    else:
        steps.append(GradientBoostingRegressor(**model, random_state=0))
    return make_pipeline(*steps)


def error(config: Mapping[str, Any]) -> float:
    """Mean absolute error in fivefold cross-validation."""
    X, y = data()
    folds = KFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # a support vector machine that has not converged is judged as it is
        warnings.simplefilter("ignore")
        return float(
            -cross_val_score(
                build(config), X, y, cv=folds, scoring="neg_mean_absolute_error"
            ).mean()
        )

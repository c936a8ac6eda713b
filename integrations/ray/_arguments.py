"""Checks of what users and Tune pass to a searcher, each with a one-sentence error message."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from numbers import Real
from typing import Any, Literal, TypeAlias

from ray.tune.result import AUTO_RESULT_KEYS, DONE
from ray.tune.result import TRAINING_ITERATION as ITERATION
from ray.tune.utils import flatten_dict

from numbo import _checks

#: What Tune calls the direction of an objective, and how a bound is met.
Mode: TypeAlias = Literal["min", "max"]
Relation: TypeAlias = Literal["<=", ">="]
RELATIONS = {"<=": 1.0, ">=": -1.0}
MODES = ("min", "max")
#: Names of the entries that Tune adds to each result.
OF_TUNE = {*AUTO_RESULT_KEYS, DONE}
#: Maximum number of metrics that a message lists.
NAMED = 10


def check_objectives(searcher: str, metric: Any, mode: Any, *, several: bool) -> tuple[Any, Any]:
    """The metric and the mode of a searcher, each a string or None; or those of several objectives, as two lists."""
    for name, value in (("metric", metric), ("mode", mode)):
        if not several and not isinstance(value, str | None):
            one = f"{searcher} has one objective, and GSSBOSearch takes several"
            raise ValueError(f"{name} must be one string, got {value!r}: {one}.")
    if isinstance(metric, str | None):
        if _in_order(mode):
            raise ValueError(f"metric must hold as many metrics as mode has modes, got {metric!r} and {mode!r}.")
        if mode is not None and (not isinstance(mode, str) or mode not in MODES):
            raise ValueError(f"mode must be 'min' or 'max', got {mode!r}.")
        return metric, mode
    metrics = list(metric) if _in_order(metric) else []
    valid = 2 <= len(metrics) <= _checks.MOST_OBJECTIVES and all(isinstance(one, str) for one in metrics)
    if not valid or len(set(metrics)) < len(metrics):
        raise ValueError(
            f"metric must be one string, or a list of 2 to {_checks.MOST_OBJECTIVES} different ones, got {metric!r}."
        )
    modes = list(mode) if _in_order(mode) else []
    if len(modes) != len(metrics) or any(one not in MODES for one in modes):
        raise ValueError(f"mode must hold 'min' or 'max' for each of the metrics {metrics}, got {mode!r}.")
    return metrics, modes


def _in_order(value: Any) -> bool:
    """Whether a value is an ordered collection, such as a list or an array."""
    return isinstance(value, Collection) and not isinstance(value, str | Mapping | Set)


def check_points(points: Any) -> list[dict[str, Any]]:
    """Copies of the ``points_to_evaluate``."""
    points = [] if points is None else points
    if isinstance(points, Mapping | str) or not isinstance(points, Iterable):
        raise ValueError(f'points_to_evaluate must be a list of configs such as [{{"x": 0.5}}], got {points!r}.')
    points = list(points)
    for point in points:
        if not isinstance(point, Mapping):
            raise ValueError(f'points_to_evaluate must hold configs such as {{"x": 0.5}}, got {point!r}.')
    return [dict(point) for point in points]


def check_rewards(rewards: Any, n: int, k: int, wanted: Collection[str]) -> list[Any] | None:
    """A copy of the ``evaluated_rewards`` of ``k`` objectives, one for each of the ``n`` points.

    Each is a number, a tuple of ``k > 1`` numbers, or a mapping with the ``wanted`` metrics.
    """
    if rewards is None:
        return None
    if isinstance(rewards, Mapping | str) or not isinstance(rewards, Iterable):
        raise ValueError(f"evaluated_rewards must be a list of {of(k)} or of mappings of metrics, got {rewards!r}.")
    out: list[Any] = []
    for reward in rewards:
        if _are_metrics(reward):
            out.append(check_rewarded(flatten_dict(dict(reward)), wanted))
        elif k == 1 and _checks.is_number(reward):
            out.append(float(reward))
        elif k > 1 and are_values(reward, k):
            out.append(tuple(map(float, reward)))
        else:
            example = '{"loss": 0.5, "latency": 12.0}'
            raise ValueError(
                f"evaluated_rewards must hold {of(k)}, or mappings of metrics such as {example}, got {reward!r}."
            )
    if len(out) != n:
        raise ValueError(f"evaluated_rewards must hold a value for each of the {n} points_to_evaluate, got {len(out)}.")
    return out


def are_values(value: Any, k: int) -> bool:
    """Whether a value is a sequence of ``k`` numbers."""
    found = list(value) if _in_order(value) else []
    return len(found) == k and all(_checks.is_number(one) for one in found)


def check_reported(values: Any, k: int) -> list[Any]:
    """A copy of the ``intermediate_values`` of an evaluated point with ``k`` objectives."""
    found = list(values) if _in_order(values) else None
    if found is None or not all(_checks.is_number(one) if k == 1 else are_values(one, k) for one in found):
        raise ValueError(f"intermediate_values must be a sequence of {of(k)}, or None, got {values!r}.")
    return found


def of(k: int) -> str:
    """The words for values of ``k`` objectives in a message."""
    return "numbers" if k == 1 else f"sequences of {k} numbers"


def check_rewarded(reward: dict[str, Any], wanted: Iterable[str]) -> dict[str, Any]:
    """A mapping among the ``evaluated_rewards``, checked to have a number for each of the ``wanted`` metrics."""
    for metric in wanted:
        if not isinstance(reward.get(metric), Real):
            raise ValueError(
                "evaluated_rewards that are mappings must have numbers for the objective's metric and those of the "
                f"constraints, but {reward!r} has none for {metric!r}."
            )
    return reward


def check_metrics(metrics: Any, limited: Iterable[str]) -> dict[str, Any]:
    """The ``metrics`` of an evaluated point, flat; metrics with limits are numbers, None, or missing."""
    if not _are_metrics(metrics):
        raise ValueError(
            f'metrics must be a mapping of reported metrics such as {{"latency": 12.0}}, or None, got {metrics!r}.'
        )
    found: dict[str, Any] = flatten_dict(dict(metrics))
    for metric in limited:
        if not isinstance(found.get(metric), Real | None):
            raise ValueError(f"metrics[{metric!r}] must be a number, got {found[metric]!r}.")
    return found


def _are_metrics(value: Any) -> bool:
    """Whether a value is a mapping with names as keys."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def agreed(searcher: str, goal: Mapping[str, tuple[str | None, str | None]]) -> list[str]:
    """Metric and mode of a run; for each, ``goal`` has the searcher's value and Tune's.

    Raises:
        ValueError: if one of them is missing, or the two values differ.
    """
    missing = [name for name, pair in goal.items() if pair == (None, None)]
    if missing:
        raise ValueError(no_goal(searcher, missing))
    for name, (own, asked) in goal.items():
        if own is not None and asked is not None and own != asked:
            raise ValueError(
                f"TuneConfig has {name}={asked!r}, but this {searcher} was made for, or has already searched with, "
                f"{name}={own!r}: pass the same {name} to both, or use a new {searcher}."
            )
    return [str(own or asked) for own, asked in goal.values()]


def check_agreement(searcher: str, own: Mapping[str, str], metric: Any, mode: Any) -> None:
    """Check metric and mode of the `TuneConfig` for a searcher with several objectives, with ``own`` modes by metric.

    Raises:
        ValueError: unless they are one of the metrics, with its mode or without a mode, or neither is given.
    """
    if metric is None and mode is None:
        return
    if metric is None:
        said = f"mode={mode!r} only, for"
    elif metric not in own:
        said = f"metric={metric!r}, which is none of the metrics {list(own)} of"
    elif mode not in (None, own[metric]):
        said = f"mode={mode!r} for metric={metric!r}, but the mode is {own[metric]!r} in"
    else:
        return
    raise ValueError(
        f"TuneConfig has {said} this {searcher}: pass one of its metrics with its mode to TuneConfig, for Tune to "
        "report the best result by, or neither."
    )


def check_run(metric: Any, mode: Any) -> None:
    """Check that metric and mode of the `TuneConfig` are one string each, or None."""
    for name, value in (("metric", metric), ("mode", mode)):
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"TuneConfig has {name}={value!r}, but Tune itself has one {name}: pass several metrics and modes to "
                "GSSBOSearch, and one of them with its mode to TuneConfig, or neither."
            )


def no_goal(searcher: str, missing: list[str], *, table: bool = False) -> str:
    """Error message for a missing metric or mode; Tune passes on its own only with a ``param_space``."""
    example = {"metric": 'metric="loss"', "mode": 'mode="min"'}
    wanted = " and ".join(example[name] for name in missing)
    where = f"{searcher}, as there is no param_space" if table else f"TuneConfig, or to {searcher}"
    return f"{searcher} has no {' and no '.join(missing)}: pass {wanted} to {where}."


def lacks_values(missing: list[str], foreign: list[str]) -> str:
    """Error message for a config that lacks tuned values; ``foreign`` are its names that are not in the space."""
    instead = f"; {foreign} are not in the search space" if foreign else ""
    return f"parameters must have values for all domains of the search space, but lack {missing}{instead}."


def no_space(searcher: str) -> str:
    """Error message for a missing search space."""
    return (
        f"{searcher} has no search space: give the Tuner a param_space with a domain such as tune.uniform(0, 1), or "
        f"pass space= to {searcher}."
    )


def check_constraints(constraints: Any) -> dict[str, tuple[str, float]]:
    """A copy of the ``constraints``: a relation and a bound for each metric."""
    example = '{"latency": ("<=", 20.0)}'
    if not isinstance(constraints, Mapping | None):
        raise ValueError(f"constraints must be a mapping of metrics such as {example}, got {constraints!r}.")
    out = {}
    for metric, limit in (constraints or {}).items():
        pair = isinstance(limit, Sequence) and len(limit) == 2
        valid = pair and isinstance(limit[0], str) and limit[0] in RELATIONS and _checks.is_finite(limit[1])
        if not (valid and isinstance(metric, str)):
            raise ValueError(
                f"constraints must give '<=' or '>=' and a finite bound for each metric, such as {example}; "
                f"got {metric!r}: {limit!r}."
            )
        out[metric] = limit[0], float(limit[1])
    return out


def violation(limit: tuple[str, float], value: Any) -> float | None:
    """The amount by which a metric violates its limit, 0 or less if it does not; None if it was not reported."""
    if value is None:
        return None
    relation, bound = limit
    try:
        return (float(value) - bound) * RELATIONS[relation]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def lacks(what: str, metric: str, result: Mapping[str, Any]) -> str:
    """Warning that a ``result`` has no value of a ``metric`` with a limit."""
    return (
        f"{what} without the metric {metric!r}, which has a constraint, and counts as one that meets it. "
        f"Its last metrics: {_names_like(metric, result)}."
    )


def never_reported(metric: str, result: Mapping[str, Any]) -> str:
    """Warning that a trial that ended with this ``result`` has never reported its objective."""
    return (
        f"A trial ended and never reported the metric {metric!r}: it counts as failed. "
        f"Its last metrics: {_names_like(metric, result)}."
    )


def _names_like(metric: str, result: Mapping[str, Any]) -> str:
    """The names of the numbers in a ``result``, those like ``metric`` first."""
    names = numbers_of(result)
    close = difflib.get_close_matches(metric, names)  # including Tune's own names
    found = close + sorted(set(names) - {*close} - OF_TUNE)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return (", ".join(map(repr, found[:NAMED])) + more) or "none"


def numbers_of(result: Mapping[str, Any]) -> list[str]:
    """The names of the numbers in a result, other than those of its config."""
    return [
        name
        for name, value in result.items()
        if isinstance(name, str) and hasattr(value, "__float__") and not name.startswith("config/")
    ]


def number_of(reported: Any) -> float | None:
    """The reported value as a double, None if it is no number."""
    try:
        return float(reported)
    except (TypeError, ValueError, OverflowError):
        return None


def iteration_of(result: Mapping[str, Any] | None) -> int:
    """How many results a trial has reported, 0 if unknown."""
    found = (result or {}).get(ITERATION)
    return int(float(found)) if isinstance(found, Real) and math.isfinite(found) else 0

"""The searchers under any order of Tune's calls, without a running Ray: reports, repeats, strangers, and restores."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ray import tune
from ray.tune.search import Searcher
from tests.helpers import LONGER, trials_told

from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch

SEARCHERS = {"GSSBO": GSSBOSearch, "BKB": BKBSearch, "BBKB": BBKBSearch, "SBPE": SBPESearch}
DOMAINS = {
    "rate": (lambda: tune.loguniform(1e-300, 1e300), lambda v: 1e-300 <= v <= 1e300),
    "wide": (lambda: tune.uniform(-1e300, 1e300), lambda v: -1e300 <= v <= 1e300),
    "tiny": (lambda: tune.uniform(1.0, 1.0 + 1e-12), lambda v: 1.0 <= v <= 1.0 + 1e-12),
    "units": (lambda: tune.lograndint(1, 2**40), lambda v: type(v) is int and 1 <= v < 2**40),
    "step": (lambda: tune.qrandint(-10, 90, 20), lambda v: v in (-10, 10, 30, 50, 70, 90) or v in range(0, 91, 20)),
    "one": (lambda: tune.choice(["only"]), lambda v: v == "only"),
    "act": (lambda: tune.choice(["a", None, 1, (2, 3)]), lambda v: v in ["a", None, 1, (2, 3)]),
}
REPORTS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e300, -1e300, 5e-324, math.nan, math.inf, None, "text", 10**400]),
)
ITERATIONS = st.one_of(st.integers(-1, 5), st.sampled_from([None, "3", math.nan, math.inf]))
LIMITS = {
    "none": {},
    "at most": {"time": ("<=", 20.0)},
    "at least": {"size": (">=", -1e300)},
    "both": {"size": (">=", 0.0), "time": ("<=", 1e-300)},
}
METRICS = st.dictionaries(st.sampled_from(["time", "size", "sise", 3]), REPORTS)
GOALS = st.lists(st.sampled_from(["min", "max"]), min_size=1, max_size=3)
EVENTS = st.one_of(
    st.tuples(st.just("suggest")),
    st.tuples(st.just("complete"), st.integers(0, 30), REPORTS, METRICS, st.booleans()),
    st.tuples(st.just("result"), st.integers(0, 30), REPORTS, METRICS, ITERATIONS),
    st.tuples(st.just("pause"), st.integers(0, 30)),
    st.tuples(st.just("unpause"), st.integers(0, 30)),
    st.tuples(st.just("stop"), st.integers(0, 30)),
    st.tuples(st.just("known"), REPORTS, METRICS),
    st.tuples(st.just("restore")),
)


def said(result):
    """What a result has values of."""
    return {name: value for name, value in (result or {}).items() if value is not None}


def values_of(metrics, result):
    """The values of all objectives, None for a failure."""
    try:
        values = [float((result or {})[metric]) for metric in metrics]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return None if any(map(math.isnan, values)) else values


def constrained(limits, result):
    """What is to be known of the constraints, by the letter: NaN for nothing, infinity for what is no number."""
    out = []
    for metric, (relation, bound) in limits.items():
        value = (result or {}).get(metric)
        try:
            number = math.nan if value is None else float(value)
        except (ValueError, OverflowError):
            number = math.nan
        by = number - bound if relation == "<=" else bound - number
        out.append(math.nan if value is None else math.inf if math.isnan(by) else by)
    return out


@pytest.mark.allows_fallback  # reports that are no numbers are warned of
@pytest.mark.parametrize("name", sorted(SEARCHERS))
@given(
    names=st.lists(st.sampled_from(sorted(DOMAINS)), min_size=1, unique=True),
    events=st.lists(EVENTS, min_size=10, max_size=40),
    modes=GOALS,
    bounds=st.sampled_from(sorted(LIMITS)),
)
@settings(max_examples=40 * LONGER, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_order_of_calls_breaks_a_searcher(name, names, events, modes, bounds, tmp_path_factory):
    space = {"net": {n: DOMAINS[n][0]() for n in names}, "fixed": 5}
    limits = LIMITS[bounds] if name == "GSSBO" else {}  # the others refuse them
    constraints = {"constraints": limits} if limits else {}
    goal = {"metric": "loss", "mode": modes[0]}
    metrics = ["loss"]
    if name == "GSSBO" and len(modes) > 1:  # of which some have bounds as well
        metrics = ["loss", "time", "size"][: len(modes)]
        goal = {"metric": metrics, "mode": modes}
    searcher = SEARCHERS[name](space, seed=0, n_initial=3, **goal, **constraints)
    configs, live, reported, known, values = {}, set(), {}, [], []
    for i, event in enumerate(events):
        told = searcher.optimizer.n_told
        if event[0] in ("suggest", "restore"):
            twin = searcher
            if event[0] == "restore":
                path = str(tmp_path_factory.mktemp("state") / "searcher")
                searcher.save(path)
                searcher = SEARCHERS[name](**goal)
                searcher.restore(path)
                assert searcher.optimizer.n_told == told
            config = searcher.suggest(f"t{i}")
            if twin is not searcher:
                assert twin.suggest(f"t{i}") == config
            if config == Searcher.FINISHED:
                continue
            assert config.keys() == {"net"}  # Tune fills in what is fixed
            assert all(DOMAINS[n][1](config["net"][n]) for n in names)
            configs[f"t{i}"] = config
            live.add(f"t{i}")
        elif event[0] == "known":
            if not configs:
                continue
            result = {m: v for m, v in event[2].items() if isinstance(m, str) and isinstance(v, Real | None)}
            found = values_of(metrics, result | {"loss": event[1]})
            value = found if found is None or len(metrics) > 1 else found[0]
            searcher.add_evaluated_point(next(iter(configs.values())), value, metrics=result)
            assert searcher.optimizer.n_told == told + 1
            known.append(constrained(limits, result))
            values.append(found)
        else:
            # mostly one that runs; perhaps one that was over long ago, or was never asked for
            trial = [*sorted(live), *configs, "stranger"][event[1] % (len(live) + len(configs) + 1)]
            result = {"loss": event[2], "config": configs.get(trial, {})} | event[3] if len(event) > 2 else None
            if event[0] == "result":
                searcher.on_trial_result(trial, result | {"training_iteration": event[4]})
                if trial in live:
                    reported[trial] = reported.get(trial, {}) | said(result)
            elif event[0] in ("pause", "unpause"):
                getattr(searcher, f"on_{event[0]}")(trial)
            else:
                error = event[0] == "complete" and event[4]
                searcher.on_trial_complete(trial, result, error=error)
                last = reported.get(trial, {}) | said(result)
                if trial in live and last:
                    known.append(constrained(limits, last))
                    values.append(None if error else values_of(metrics, last))
                live.discard(trial)
                searcher.on_trial_complete(trial, result)
                assert searcher.optimizer.n_told == len(known)  # each trial that said anything, once
    trials = trials_told(searcher.optimizer)
    np.testing.assert_array_equal(trials["C"], np.array(known).reshape(len(known), len(limits)))
    failed = np.isnan(trials["Y"]).any(axis=1)
    assert failed.tolist() == [found is None for found in values]
    signs = [1.0 if mode == "max" else -1.0 for mode in modes[: len(metrics)]]
    for t, found in enumerate(values):
        if found is not None and trials["final"][t]:
            np.testing.assert_array_equal(trials["Y"][t], np.multiply(signs, found))
    assert len(searcher.optimizer.pending) == len(live)
    if len(metrics) > 1:
        best = [params for params, _ in searcher.optimizer.front()]
        assert len(searcher.front()) == len(best)
    else:
        best = [] if searcher.optimizer.best is None else [searcher.optimizer.best[0]]
    met = ~(failed | (trials["C"] > 0.0).any(axis=1))
    if len(metrics) > 1:
        met &= trials["final"]  # a front has no trials that were stopped
    sure = met
    if len(metrics) > 1:  # of a constraint that is unknown, others at the same point may say that it is violated
        sure = met & ~np.isnan(trials["C"]).any(axis=1)
    assert sure.any() <= bool(best) <= met.any()
    for point in best:
        assert any(met[t] for t, params in enumerate(trials["params"]) if params == point)

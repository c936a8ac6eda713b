"""The searchers under any order of Tune's calls, without a running Ray: reports, repeats, strangers, and restores."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch
from ray.tune.search import Searcher

from ray import tune

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
    mode=st.sampled_from(["min", "max"]),
    bounds=st.sampled_from(sorted(LIMITS)),
)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_order_of_calls_breaks_a_searcher(name, names, events, mode, bounds, tmp_path_factory):
    space = {"net": {n: DOMAINS[n][0]() for n in names}, "fixed": 5}
    limits = LIMITS[bounds] if name == "GSSBO" else {}  # the others refuse them
    constraints = {"constraints": limits} if limits else {}
    searcher = SEARCHERS[name](space, metric="loss", mode=mode, seed=0, n_initial=3, **constraints)
    configs, live, reported, known = {}, set(), {}, []
    for i, event in enumerate(events):
        told = searcher.optimizer.n_told
        if event[0] in ("suggest", "restore"):
            twin = searcher
            if event[0] == "restore":
                path = str(tmp_path_factory.mktemp("state") / "searcher")
                searcher.save(path)
                searcher = SEARCHERS[name](metric="loss", mode=mode)
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
            value = event[1] if isinstance(event[1], float) else None
            metrics = {m: v for m, v in event[2].items() if isinstance(m, str) and isinstance(v, Real | None)}
            searcher.add_evaluated_point(next(iter(configs.values())), value, metrics=metrics)
            assert searcher.optimizer.n_told == told + 1
            known.append(constrained(limits, metrics))
        else:
            # mostly one that runs; perhaps one that was over long ago, or was never asked for
            trial = [*sorted(live), *configs, "stranger"][event[1] % (len(live) + len(configs) + 1)]
            result = {"loss": event[2], "config": configs.get(trial, {})} | event[3] if len(event) > 2 else None
            if event[0] == "result":
                reported[trial] = result | {"training_iteration": event[4]}
                searcher.on_trial_result(trial, reported[trial])
                if trial not in live:
                    del reported[trial]
            elif event[0] in ("pause", "unpause"):
                getattr(searcher, f"on_{event[0]}")(trial)
            else:
                searcher.on_trial_complete(trial, result, error=event[0] == "complete" and event[4])
                last = result or reported.get(trial)
                if trial in live and last:
                    known.append(constrained(limits, last))
                live.discard(trial)
                searcher.on_trial_complete(trial, result)
                assert searcher.optimizer.n_told == len(known)  # each trial that said anything, once
    trials = searcher.optimizer._run.history.trials
    np.testing.assert_array_equal(trials.C, np.array(known).reshape(len(known), len(limits)))
    assert len(searcher.optimizer.pending) == len(live)
    if (best := searcher.optimizer.best) is not None:
        rows = [t for t, params in enumerate(trials.params) if params == best[0] and not trials.failed[t]]
        assert any(not (trials.C[t] > 0.0).any() for t in rows)

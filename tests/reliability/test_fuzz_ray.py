"""The searchers under any order of Tune's calls, without a running Ray: reports, repeats, strangers, and restores."""

from __future__ import annotations

import math

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
EVENTS = st.one_of(
    st.tuples(st.just("suggest")),
    st.tuples(st.just("complete"), st.integers(0, 30), REPORTS, st.booleans()),
    st.tuples(st.just("result"), st.integers(0, 30), REPORTS, ITERATIONS),
    st.tuples(st.just("pause"), st.integers(0, 30)),
    st.tuples(st.just("unpause"), st.integers(0, 30)),
    st.tuples(st.just("stop"), st.integers(0, 30)),
    st.tuples(st.just("known"), REPORTS),
    st.tuples(st.just("restore")),
)


@pytest.mark.allows_fallback  # reports that are no numbers are warned of
@pytest.mark.parametrize("name", sorted(SEARCHERS))
@given(
    names=st.lists(st.sampled_from(sorted(DOMAINS)), min_size=1, unique=True),
    events=st.lists(EVENTS, min_size=5, max_size=40),
    mode=st.sampled_from(["min", "max"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_order_of_calls_breaks_a_searcher(name, names, events, mode, tmp_path_factory):
    space = {"net": {n: DOMAINS[n][0]() for n in names}, "fixed": 5}
    searcher = SEARCHERS[name](space, metric="loss", mode=mode, seed=0, n_initial=3)
    configs = {}
    for i, event in enumerate(events):
        told = searcher.optimizer.n_told
        if event[0] == "suggest":
            config = searcher.suggest(f"t{i}")
            if config == Searcher.FINISHED:
                continue
            assert config.keys() == {"net"}  # Tune fills in what is fixed
            assert all(DOMAINS[n][1](config["net"][n]) for n in names)
            configs[f"t{i}"] = config
        elif event[0] == "known" and configs:
            value = event[1] if isinstance(event[1], float) else None
            searcher.add_evaluated_point(next(iter(configs.values())), value)
            assert searcher.optimizer.n_told == told + 1
        elif event[0] == "restore":
            path = str(tmp_path_factory.mktemp("state") / "searcher")
            searcher.save(path)
            searcher = SEARCHERS[name](metric="loss", mode=mode)
            searcher.restore(path)
            assert searcher.optimizer.n_told == told
        elif len(event) > 1 and isinstance(event[1], int):
            trial = f"t{event[1]}"  # perhaps one that was never asked for, or was over long ago
            result = {"loss": event[2], "config": configs.get(trial, {})} if len(event) > 2 else None
            if event[0] == "result":
                searcher.on_trial_result(trial, result | {"training_iteration": event[3]})
            elif event[0] in ("pause", "unpause"):
                getattr(searcher, f"on_{event[0]}")(trial)
            else:
                searcher.on_trial_complete(trial, result, error=event[0] == "complete" and event[3])
                again = searcher.optimizer.n_told
                assert told <= again <= told + 1
                if trial in configs:
                    searcher.on_trial_complete(trial, result)
                    assert searcher.optimizer.n_told == again

"""The samplers under any study: spaces that change and branch, trials that fail, any history, several views of one."""

from __future__ import annotations

import math
import pickle

import numpy as np
import optuna
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from tests.harness.programs import NAMED
from tests.optuna.inside import EarlySampler, set_system_attr, view_of

import numbo.optuna
from numbo.optuna import BBKBSampler, BKBSampler, CurvePruner, GPUCBSampler, GSSBOSampler, SBPESampler

SAMPLERS = {
    "GSSBO": GSSBOSampler,
    "GSSBO-population": EarlySampler,
    "GPUCB": GPUCBSampler,
    "BKB": BKBSampler,
    "BBKB": BBKBSampler,
    "SBPE": SBPESampler,
}
#: What a parameter may become; Optuna refuses to change its kind, its logarithm and its choices.
RANGES = {
    "float": [(0.0, 1.0), (-1e300, 1e300), (2.0, 2.0), (1.0, 1.0 + 1e-12), (-1e-300, 1e-300)],
    "log": [(1e-300, 1e300), (1e-5, 1e-1), (3.0, 3.0)],
    "int": [(0, 9), (4, 4), (-(2**53), 2**53)],
    "int log": [(1, 2**53), (1, 3)],
}
#: So wide that neighbouring values share a coordinate; a condition cannot tell them apart.
WIDE = [FloatDistribution(-1e300, 1e300), IntDistribution(-(2**53), 2**53), IntDistribution(1, 2**53, log=True)]
CHOICES = {"mixed": ["a", None, 1, 2.5, True], "one": ["only"], "many": [f"c{i}" for i in range(60)]}
KINDS = {
    "float": lambda r: FloatDistribution(*r),
    "log": lambda r: FloatDistribution(*r, log=True),
    "int": lambda r: IntDistribution(*r),
    "int log": lambda r: IntDistribution(*r, log=True),
}
STEPPED = [FloatDistribution(-1.0, 0.8, step=0.3), IntDistribution(-7, 98, step=5)]
PARAMETERS = st.one_of(
    *(st.tuples(st.just(kind), st.sampled_from(r).map(KINDS[kind])) for kind, r in RANGES.items()),
    *(st.just((name, CategoricalDistribution(c))) for name, c in CHOICES.items()),
    *(st.just((f"step{i}", d)) for i, d in enumerate(STEPPED)),
)
SPACES = st.lists(PARAMETERS, min_size=1, max_size=5, unique_by=lambda p: p[0]).map(dict)
VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=True), st.sampled_from([0.0, 1e300, -1e300, 5e-324, math.inf, -math.inf])
)
#: Of up to three objectives; a study takes as many as it has.
SEVERAL = st.tuples(VALUES, VALUES, VALUES)
OUTCOMES = st.one_of(st.tuples(st.just("value"), SEVERAL), st.sampled_from([("fail",), ("prune",), ("abandon",)]))
#: What a trial reports before it ends, in this order; Optuna keeps the first value at a step, numbo the last ones.
REPORTED = st.one_of(VALUES, st.just(math.nan))
REPORTS = st.lists(st.tuples(st.integers(0, 9), st.tuples(REPORTED, VALUES, VALUES)), max_size=5)
#: Constraints of a trial, of Optuna's older kind; NaN is refused there.
LIMITS = st.one_of(st.none(), st.lists(st.floats(allow_nan=False), max_size=3))
EVENTS = st.one_of(
    st.tuples(st.just("trial"), SPACES, st.booleans(), OUTCOMES, REPORTS, LIMITS),
    st.tuples(st.just("add"), SPACES, SEVERAL, st.integers(0, 2)),
    st.sampled_from([("pickle",), ("other",), ("reseed",), ("look",)]),
)
DIRECTIONS = st.lists(st.sampled_from(["minimize", "maximize"]), min_size=1, max_size=3)


def finish(study, trial, outcome):
    k = len(study.directions)
    if outcome[0] == "value":
        study.tell(trial, outcome[1][:k])
    elif outcome[0] == "fail":
        study.tell(trial, state=TrialState.FAIL)
    elif outcome[0] == "prune":
        report(trial, 1, (1.0, 2.0, 3.0))
        study.tell(trial, state=TrialState.PRUNED)


def report(trial, step, values):
    k = len(trial.study.directions)
    if k == 1:
        trial.report(values[0], step)
        trial.should_prune()
    else:
        numbo.optuna.report(trial, values[:k], step)
        numbo.optuna.should_prune(trial, n_startup_trials=1)


def feasible(trial):
    return all(c <= 0.0 for c in trial.system_attrs.get("constraints") or ())


def look(study):
    """At the front; as long as no parameter is known there is none."""
    try:
        front = numbo.optuna.front(study)
    except ValueError as error:
        if "nothing to look at" not in str(error):
            raise
        return
    k = len(study.directions)
    assert len({t.number for t, _ in front}) == len(front)
    for trial, values in front:
        assert trial.state == TrialState.COMPLETE
        assert len(values) == k
        assert not any(math.isnan(value) for value in values)
        assert study.trials[trial.number].params == trial.params
    told = view_of(study).desk.told
    for trial in [trial for trial, _ in front if trial.number in told][:1]:  # others may be out of range
        try:
            mean, std = numbo.optuna.predict(study, trial.params)
        except ValueError as error:
            wide = [name for t in study.trials for name, d in t.distributions.items() if d in WIDE]
            if not any(f"active where {name}" in str(error) for name in wide):
                raise
            continue
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
    volumes = numbo.optuna.hypervolumes(study, (1.0, -1.0, 0.0)[:k])
    assert (volumes[1:] >= volumes[:-1]).all()


def check(trial, space):
    for name, distribution in space.items():
        value = trial.params[name]
        create_trial(params={name: value}, distributions={name: distribution}, value=0.0)  # refuses others
        if isinstance(distribution, FloatDistribution):
            assert type(value) is float
        elif isinstance(distribution, IntDistribution):
            assert type(value) is int


def suggest(trial, name, d):
    if isinstance(d, CategoricalDistribution):
        return trial.suggest_categorical(name, d.choices)
    how = trial.suggest_float if isinstance(d, FloatDistribution) else trial.suggest_int
    return how(name, d.low, d.high, log=d.log) if d.log else how(name, d.low, d.high, step=d.step)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(SAMPLERS))
@given(events=st.lists(EVENTS, min_size=1, max_size=25), directions=DIRECTIONS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_study_breaks_a_sampler(name, events, directions):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    make = lambda: SAMPLERS[name](seed=0, n_startup_trials=3, warn_independent_sampling=False)  # noqa: E731
    k = len(directions) if name in ("GSSBO", "GPUCB") else 1
    study = optuna.create_study(sampler=make(), directions=directions[:k], pruner=CurvePruner(n_startup_trials=1))
    for event in events:
        if event[0] == "trial":
            _, space, define_by_run, outcome, reports, limits = event
            if define_by_run:
                trial = study.ask()
                for parameter, distribution in space.items():
                    suggest(trial, parameter, distribution)
            else:
                trial = study.ask(fixed_distributions=space)
            check(trial, space)
            for step, values in reports:
                report(trial, step, values)
            if limits is not None:
                set_system_attr(study, trial.number, "constraints", limits)
            finish(study, trial, outcome)
        elif event[0] == "add":
            _, space, values, which = event
            low = {n: d.choices[0] if isinstance(d, CategoricalDistribution) else d.low for n, d in space.items()}
            state = [TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED][which]
            reported = {3: 0.5, 7: math.nan} if which == 2 and k == 1 else {}
            attrs = {"numbo:report:3": list(values[:k]), "numbo:report:7": [math.nan] * k} if which and k > 1 else {}
            study.add_trial(
                create_trial(
                    params=low,
                    distributions=space,
                    values=values[:k] if which == 0 else None,
                    state=state,
                    intermediate_values=reported,
                    user_attrs=attrs,
                )
            )
        elif event[0] == "pickle":
            study.sampler = pickle.loads(pickle.dumps(study.sampler))
        elif event[0] == "other":
            study.sampler = make()
        elif event[0] == "look":
            look(study)
        else:
            study.sampler.reseed_rng()
    look(study)
    finished = [t for t in study.trials if t.state == TrialState.COMPLETE and feasible(t)]
    # before they had names, Optuna did not count a trial without constraints among the feasible ones
    if finished and k == 1 and NAMED:
        values = [t.value for t in finished]
        assert study.best_value == (min(values) if directions[0] == "minimize" else max(values))

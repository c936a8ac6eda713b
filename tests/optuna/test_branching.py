"""Define-by-run programs: whatever they ask for, and in which order trials come and go."""

from __future__ import annotations

import json
import warnings

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import optimizer_of, view_of

from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler, _records
from numbo.optuna._distributions import KnownSpace, to_internal
from numbo.spaces.trees import holds

SAMPLERS = [GSSBOSampler, GPUCBSampler, BBKBSampler, lambda **kw: SBPESampler(horizon=40, **kw)]

# -- programs ----------------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c", "d", "e", "f"])
leaves = st.one_of(
    st.tuples(st.just("float"), names, st.booleans()),
    st.tuples(st.just("int"), names, st.booleans()),
    st.tuples(st.just("within"), names, names),
)


def statements(block):
    return st.one_of(
        leaves,
        st.tuples(st.just("branch"), st.sampled_from(["p", "q"]), st.lists(block, min_size=2, max_size=3)),
        st.tuples(st.just("beyond"), names, block),
        st.tuples(st.just("loop"), names),
        st.tuples(st.just("number"), block),
    )


programs = st.recursive(
    st.lists(leaves, max_size=3), lambda block: st.lists(statements(block), max_size=4), max_leaves=12
)


def play(program, trial, numbers):
    """Run a program; ``numbers`` has the numeric values so far, by name."""
    for kind, name, *rest in [(s[0], s[1], *s[2:]) if len(s) > 1 else s for s in program]:
        if kind == "float":
            numbers[name] = trial.suggest_float(f"float_{name}_{rest[0]}", 0.1, 2.0, log=rest[0])
        elif kind == "int":
            numbers[name] = trial.suggest_int(f"int_{name}_{rest[0]}", 1, 9, log=rest[0])
        elif kind == "within":  # its range depends on another value
            numbers[name] = trial.suggest_float(f"within_{name}", 0.0, 1.0 + numbers.get(rest[0], 0.0))
        elif kind == "branch":
            (blocks,) = rest
            i = trial.suggest_categorical(f"branch_{name}_{len(blocks)}", list(range(len(blocks))))
            play(blocks[i], trial, numbers)
        elif kind == "beyond":
            if numbers.get(name, 0.0) > 1.0:
                play(rest[0], trial, numbers)
        elif kind == "loop":
            for i in range(trial.suggest_int(f"loop_{name}", 0, 3)):
                numbers[name] = trial.suggest_float(f"width_{name}_{i}", 0.0, 1.0)
        elif trial.number % 3 == 0:  # used by no rule of the parameters
            play(name, trial, numbers)


def run(program, sampler, ends):
    study = optuna.create_study(sampler=sampler)
    for end in ends:
        trial = study.ask()
        numbers = {}
        play(program, trial, numbers)
        if end == "tell":
            study.tell(trial, sum(v * v for v in numbers.values()) + len(trial.params))
        elif end == "prune":
            trial.report(1.0, 0)
            study.tell(trial, state=TrialState.PRUNED)
        elif end == "fail":
            study.tell(trial, state=TrialState.FAIL)
        elif end == "enqueue":
            study.enqueue_trial({"float_a_True": 0.5, "loop_b": 2, "width_b_1": 0.3})
    return study


def inferred(trials, chunk):
    known = KnownSpace()
    for i in range(0, len(trials), chunk):
        known.add(trials[i : i + chunk])
    return known.searched()


@settings(max_examples=40)
@given(
    program=programs,
    ends=st.lists(st.sampled_from(["tell"] * 6 + ["prune", "fail", "leave", "enqueue"]), min_size=25, max_size=25),
    seed=st.integers(0, 99),
)
def test_any_program_and_any_order_of_events(program, ends, seed):
    study = run(program, GSSBOSampler(seed=0, n_startup_trials=5, warn_independent_sampling=False), ends)
    for trial in study.trials:
        # refuses values that are not in their distributions
        optuna.create_trial(params=trial.params, distributions=trial.distributions, value=0.0)
    complete = [t for t in study.trials if t.state == TrialState.COMPLETE]
    found = inferred(complete, 1)
    shuffled = [complete[i] for i in np.random.default_rng(seed).permutation(len(complete))]
    assert inferred(shuffled, 7) == found  # in another process
    distributions = found.distributions
    values = [to_internal(trial.params, distributions) for trial in complete]
    columns = sorted(distributions)
    rows = np.array([[v.get(name, np.nan) for name in columns] for v in values]).reshape(len(values), len(columns))
    for name, condition in found.conditions.items():
        active = holds(condition.alternatives, columns, rows)
        assert active.tolist() == [name in v for v in values]


# -- spaces ------------------------------------------------------------------------------------------------------------

DECLARED = {
    "optimizer": CategoricalDistribution(["adam", "sgd", "rmsprop"]),
    "momentum": (FloatDistribution(0.0, 1.0), {"optimizer": ["sgd", "rmsprop"]}),
    "layers": IntDistribution(1, 3),
    "width_2": (IntDistribution(1, 8), {"layers": (">=", 2)}),
    "width_3": (IntDistribution(1, 8), {"layers": 3, "optimizer": "sgd"}),
}


def network(trial):
    optimizer = trial.suggest_categorical("optimizer", ["adam", "sgd", "rmsprop"])
    layers = trial.suggest_int("layers", 1, 3)
    out = (layers - 2) ** 2 + (
        0.0 if optimizer == "adam" else abs(trial.suggest_float("momentum", 0.0, 1.0) - 0.7) - 1.0
    )
    if layers >= 2:
        out += 0.1 * abs(trial.suggest_int("width_2", 1, 8) - 5)
    if layers == 3 and optimizer == "sgd":
        out += 0.1 * trial.suggest_int("width_3", 1, 8)
    return out


@pytest.fixture(params=SAMPLERS)
def make(request):
    return lambda **kw: request.param(seed=seeded(0), n_startup_trials=5, **kw)


def suggested(study):
    """The parameters that each trial was to use."""
    published = (t.system_attrs.get(f"{_records.KEY}:0", '{"params": {}}') for t in study.trials)
    return [json.loads(text)["params"].keys() for text in published]


def test_declared_conditions_hold_from_the_first_trial(make):
    study = optuna.create_study(sampler=make(search_space=DECLARED))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study.optimize(network, n_trials=20)
    assert suggested(study) == [t.params.keys() for t in study.trials]


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"a": (FloatDistribution(0, 1),)}, "search_space must map names to distributions .* or to pairs"),
        ({"a": (FloatDistribution(0, 1), {"b": 1})}, "when of 'a' must name other dimensions of the space, got 'b'"),
        (DECLARED | {"a": (FloatDistribution(0, 1), {"optimizer": "lion"})}, "must ask for values that 'optimizer'"),
        ({n: (IntDistribution(0, 1), {m: 1}) for n, m in ("ab", "ba")}, "must not lead back to the same dimension"),
    ],
)
def test_bad_declarations_are_refused(make, space, words):
    with pytest.raises(ValueError, match=words) as error:
        make(search_space=space)
    assert "\n" not in str(error.value)


@over_seeds()
def test_inferred_conditions_are_those_of_the_program(make):
    study = optuna.create_study(sampler=make())
    study.optimize(network, n_trials=40)
    explained = study.sampler.explain()
    assert explained.conditions["momentum"] == "optimizer is sgd or rmsprop", MOSTLY
    assert explained.conditions["width_2"] == "layers >= 2", MOSTLY
    assert explained.inferred
    assert "conditions  as far as the trials show: " in str(explained)
    assert "momentum where optimizer is sgd or rmsprop" in str(explained)
    assert study.best_params["layers"] == 2, MOSTLY
    late = list(zip(suggested(study), study.trials, strict=True))[-15:]
    assert all(keys == trial.params.keys() for keys, trial in late), MOSTLY


def test_what_is_inactive_is_refused_in_the_words_of_the_study(make):
    study = optuna.create_study(sampler=make(search_space=DECLARED))
    study.optimize(network, n_trials=12)
    point = {"optimizer": "sgd", "momentum": 0.5, "layers": 1}
    study.sampler.predict(point)
    for params, words in (
        (
            point | {"optimizer": "adam"},
            "must not name 'momentum', which is active only where optimizer is sgd or",
        ),
        (point | {"layers": 2}, "must name 'width_2', which is active where layers >= 2"),
        ({"layers": 1}, "must name 'optimizer'"),
    ):
        with pytest.raises(ValueError, match=words) as error:
            study.sampler.predict(params)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("sampler", SAMPLERS[:3])  # S-BPE repeats points that it has not ruled out
def test_running_trials_differ_in_what_is_active(sampler):
    space = {
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "k": (IntDistribution(1, 6), {"kind": "a"}),
        "m": (IntDistribution(1, 6), {"kind": ["a", "b"]}),
    }
    study = optuna.create_study(sampler=sampler(search_space=space, seed=seeded(0)))

    def play(trial):
        kind = trial.suggest_categorical("kind", ["a", "b", "c"])
        k = trial.suggest_int("k", 1, 6) if kind == "a" else 0
        return k + (trial.suggest_int("m", 1, 6) if kind != "c" else 9)

    study.optimize(play, n_trials=8)
    running = [study.ask() for _ in range(16)]
    for trial in running:
        play(trial)
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 24


def test_a_branch_that_is_always_pruned_is_modelled(make):
    def program(trial):
        kind = trial.suggest_categorical("kind", ["long", "short"])
        value = (trial.suggest_float(kind, 0.0, 1.0) - 0.3) ** 2
        trial.report(value, 0)
        if kind == "short":
            raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=make())
    for kind in ("long", "short"):
        study.enqueue_trial({"kind": kind})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study.optimize(program, n_trials=15)
    assert study.sampler.explain().conditions == {"short": "kind is short"}


def test_a_parent_with_one_choice_is_kept_in_the_conditions(make):
    space = {
        "only": CategoricalDistribution(["a"]),
        "z": FloatDistribution(0.0, 1.0),
        "m": (FloatDistribution(0.0, 1.0), {"only": "a", "z": (">", 0.5)}),
    }

    def program(trial):
        trial.suggest_categorical("only", ["a"])
        return trial.suggest_float("m", 0.0, 1.0) if trial.suggest_float("z", 0.0, 1.0) > 0.5 else 1.0

    study = optuna.create_study(sampler=make(search_space=space))
    study.optimize(program, n_trials=15)
    assert study.sampler.explain().conditions == {"m": "only is a and z > 0.5"}
    assert study.sampler.explain().n_told == 15


def test_trials_that_contradict_a_declaration_are_left_out_with_the_reason(make):
    space = {"kind": CategoricalDistribution(["a", "b"]), "m": (FloatDistribution(0.0, 1.0), {"kind": "a"})}
    study = optuna.create_study(sampler=make(search_space=space))
    study.enqueue_trial({"kind": "a"})
    with pytest.warns(UserWarning, match="trial 0: params must name 'm', which is active where kind is a") as caught:
        study.optimize(lambda trial: float(trial.suggest_categorical("kind", ["a", "b"]) == "a"), n_trials=3)
    assert len(caught) == 1


def test_what_is_chosen_late_makes_no_point_that_others_have(make):
    def program(trial):
        n = trial.suggest_int("n", 1, 40)
        return (n - 3) ** 2 + (trial.suggest_int("m", 0, n) - 2) ** 2

    study = optuna.create_study(sampler=make())
    study.optimize(program, n_trials=12)
    running = [study.ask() for _ in range(8)]
    for trial in running:
        program(trial)
    assert len({tuple(trial.params.items()) for trial in running}) == 8


def svm_mlp_or_gbm(trial):
    """Boosted trees always fail, and share a parameter with the networks, which are best."""
    model = trial.suggest_categorical("model", ["svm", "mlp", "gbm"])
    if model == "svm":
        return 0.3 + (np.log10(trial.suggest_float("c", 1e-3, 1e3, log=True)) - 0.5) ** 2
    rate = np.log10(trial.suggest_float("rate", 1e-4, 1.0, log=True))
    if model == "gbm":
        raise RuntimeError
    return (rate + 2.0) ** 2 + abs(trial.suggest_int("units", 4, 64) - 32) / 32


@pytest.mark.parametrize("cls", [GSSBOSampler, GPUCBSampler, BKBSampler])
@over_seeds()
def test_a_branch_that_always_fails_is_left_though_it_shares_a_parameter(cls):
    study = optuna.create_study(sampler=cls(seed=seeded(0)))
    study.optimize(svm_mlp_or_gbm, n_trials=40, catch=RuntimeError)
    failed = study.get_trials(states=[TrialState.FAIL])
    assert len(failed) < 15, MOSTLY  # all but six, as long as failures were no evidence
    view = view_of(study)
    assert sorted([*view.desk.told, 39]) == list(range(40))  # nothing but the last trial is unknown
    assert view.searched.words()["rate"] == "model is mlp or gbm"


@over_seeds()
def test_where_trials_fail_is_said_in_the_words_of_the_study():
    """Categories are numbers inside. The warning comes once; to whoever comes later the explanation says the same."""
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0)))
    for _ in range(9):
        study.enqueue_trial({"model": "gbm"})
        study.enqueue_trial({"model": "mlp"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.optimize(svm_mlp_or_gbm, n_trials=24, catch=RuntimeError)
    told = [str(found.message) for found in caught if "all failed" in str(found.message)]
    assert len(told) == 1
    assert told[0].startswith("The last 5 trials where model is gbm all failed: look for an error in the objective")
    found = study.sampler.explain()
    assert found.n_failed == len(study.get_trials(states=[TrialState.FAIL])) >= 9
    assert str(found.failing) == "model is gbm"
    assert found.success > 0.9, MOSTLY
    later = GSSBOSampler(seed=seeded(1))
    assert str(later.explain(study).failing) == "model is gbm"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what failed long ago is no news
        optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=later).ask()


def test_what_running_trials_have_asked_for_is_known():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    for model in ("svm", "mlp"):
        study.enqueue_trial({"model": model})
    study.optimize(svm_mlp_or_gbm, n_trials=8, catch=RuntimeError)
    study.enqueue_trial({"model": "gbm"})
    running = study.ask()
    with pytest.raises(RuntimeError):
        svm_mlp_or_gbm(running)
    other = study.ask()
    other.suggest_categorical("model", ["svm", "mlp", "gbm"])
    view = view_of(study)
    assert view.searched.words()["rate"] == "model is mlp or gbm"
    assert view.desk.optimizer.holds(running.number)
    fresh = type(view)()
    trials = study.get_trials(deepcopy=False)
    fresh.sync(trials)
    assert fresh.known_space(trials, other.number) == view.searched  # by another process, too


def test_trials_that_run_at_once_are_different_points_whatever_the_rules():
    """Up to now the rate was asked for where act is tanh; trials that still run ask for it elsewhere, too."""

    def program(trial):
        act = trial.suggest_categorical("act", ["relu", "tanh"])
        layers = trial.suggest_int("layers", 1, 3)
        rate = trial.suggest_float("rate", 0.0, 1.0, step=0.25) if act == "tanh" or layers > 1 else 1.0
        return rate - layers - 2.0 * (act == "relu")

    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    for rate in (0.0, 0.25, 0.5, 0.75, 1.0):
        study.enqueue_trial({"act": "tanh", "layers": 1 + round(rate), "rate": rate})
        study.enqueue_trial({"act": "relu", "layers": 1})
    study.optimize(program, n_trials=10)
    running = []
    for at_once in (8, *[1] * 8):
        asked = [study.ask() for _ in range(at_once)]
        for trial in asked:
            program(trial)
        running += asked
    assert len({tuple(sorted(trial.params.items())) for trial in running}) == 16


@over_seeds()
def test_where_a_declaration_is_wrong_the_search_goes_on():
    """Each trial with a small y contradicts it. Nothing was learned of them, and one y was suggested for ever."""
    space = {"x": (FloatDistribution(0.0, 1.0), {"y": (">", 0.5)}), "y": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=space))
    with pytest.warns(
        UserWarning, match=r"^1 of . finished trials contradict the conditions of search_space="
    ) as caught:
        study.optimize(
            lambda t: t.suggest_float("x", 0.0, 1.0) + abs(t.suggest_float("y", 0.0, 1.0) - 0.4), n_trials=40
        )
    assert len(caught) == 1
    assert optimizer_of(study).n_told == 40
    assert len({trial.params["y"] for trial in study.trials}) > 30, MOSTLY


@over_seeds()
def test_a_failure_that_contradicts_a_declaration_counts_where_it_fits():
    space = {"kind": CategoricalDistribution(["a", "b"]), "m": (FloatDistribution(0.0, 1.0), {"kind": "a"})}
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0), search_space=space))

    def program(trial):
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return trial.suggest_float("m", 0.0, 1.0)
        trial.suggest_float("m", 0.0, 1.0)  # not as declared
        raise RuntimeError

    study.optimize(program, n_trials=20, catch=RuntimeError)
    assert len(study.get_trials(states=[TrialState.FAIL])) < 8, MOSTLY
    assert optimizer_of(study).n_told == 20


def test_a_range_that_follows_from_a_value_is_part_of_the_space(make):
    def program(trial):
        if trial.suggest_categorical("kind", ["slow", "fast"]) == "slow":
            return 1.0 + trial.suggest_float("rate", 1e-5, 1e-3, log=True)
        return abs(trial.suggest_float("rate", 1e-2, 1.0, log=True) - 0.1)

    study = optuna.create_study(sampler=make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        study.optimize(program, n_trials=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study.optimize(program, n_trials=12)
    assert study.sampler.explain().n_told == 20
    for trial in study.trials[8:]:
        published = json.loads(trial.system_attrs[f"{_records.KEY}:0"])["params"]
        assert published["rate"] == trial.params["rate"]


# -- a program that changes --------------------------------------------------------------------------------------------


def first_day(trial):
    x = trial.suggest_float("x", 0, 1)
    model = trial.suggest_categorical("model", ["svm", "mlp"])
    if model == "svm":
        return (x - 0.3) ** 2 + 1.0 + trial.suggest_float("c", 0, 1)
    return (x - 0.3) ** 2 + 1.0 + trial.suggest_float("rate", 0, 1)


def second_day(trial):
    """A category more, which Optuna takes under another name only."""
    x = trial.suggest_float("x", 0, 1)
    model = trial.suggest_categorical("model2", ["svm", "mlp", "gbm"])
    if model == "gbm":
        return (x - 0.3) ** 2 + trial.suggest_float("depth", 0, 1)
    return (x - 0.3) ** 2 + 1.0 + trial.suggest_float("c" if model == "svm" else "rate", 0, 1)


@pytest.mark.parametrize("make", [GSSBOSampler, GPUCBSampler, BKBSampler])
@over_seeds()
def test_a_parameter_that_got_another_name_is_forgotten_with_what_depended_on_it(make):
    study = optuna.create_study(sampler=make(seed=seeded(0)))
    study.optimize(first_day, n_trials=20)
    with pytest.warns(UserWarning, match=r"used parameters that later ones do not, \['model'\]"):
        study.optimize(second_day, n_trials=25)
    searched = view_of(study).searched
    assert searched.distributions.keys() >= {"x", "model2"}
    assert "model" not in searched.distributions
    assert searched.since == {"model2": 20}
    for name, condition in searched.conditions.items():
        assert condition.parents == {"model2"}, name
    assert optimizer_of(study).n_told == 45  # what fits of the first day is learned
    second = study.trials[20:]
    assert {trial.params["model2"] for trial in second} == {"svm", "mlp", "gbm"}, MOSTLY
    assert study.best_trial.params["model2"] == "gbm", MOSTLY
    assert len({tuple(trial.params.items()) for trial in second}) >= 20, MOSTLY


@over_seeds()
def test_trials_that_fail_while_every_other_one_is_given_do_not_stay_in_one_half():
    """The first points come from a sequence of which every fourth one may be in the same half."""
    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0)))
    for k in range(120):
        if k % 4:
            study.enqueue_trial({"x": 0.5, "y": 0.5, "z": 0.5})
        trial = study.ask()
        for name in "xyz":
            trial.suggest_float(name, 0, 1)
        study.tell(trial, state=TrialState.FAIL)
    own = np.array([[trial.params[name] for name in "xyz"] for trial in study.trials[::4]])
    above = (own > 0.5).mean(axis=0)
    assert ((above > 0.1) & (above < 0.9)).all(), MOSTLY


def test_a_declared_parameter_that_no_trial_asks_for_is_left_out_until_one_does():
    space = {name: FloatDistribution(0, 1) for name in ("x", "extra")} | {"one": IntDistribution(3, 3)}
    study = optuna.create_study(sampler=GSSBOSampler(search_space=space, seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=10)
    assert set(view_of(study).searched.distributions) == {"x", "extra"}
    running = [study.ask() for _ in range(8)]
    with pytest.warns(UserWarning, match=r"search_space= has \['extra'\], which no trial so far has asked for"):
        first = running[0].suggest_float("x", 0, 1)
    asked = {first} | {trial.suggest_float("x", 0, 1) for trial in running[1:]}
    assert len(asked) == 8  # they do not differ in what is not asked for
    assert set(view_of(study).searched.distributions) == {"x"}
    study.tell(running[0], 0.5)
    trial = running[1]
    with pytest.warns(UserWarning, match="'extra' independently.*no trial has asked for it before"):
        trial.suggest_float("extra", 0, 1)
    study.tell(trial, 0.25)
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    assert set(view_of(study).searched.distributions) == {"x", "extra"}

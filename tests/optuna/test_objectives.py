"""Studies of several objectives: what is told, from where, and what is made of it."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import add_unchecked, optimizer_of, view_of
from tests.optuna.test_processes import told_by_two

import numbo.optuna
from numbo import GPUCB, GSSBO, Float
from numbo.optuna import GPUCBSampler, GSSBOSampler, Table

SAMPLERS = pytest.mark.parametrize("sampler", [GSSBOSampler, GPUCBSampler])
SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
DIRECTIONS = ("minimize", "maximize")
STORAGES = {
    "memory": lambda path: InMemoryStorage(),
    "journal": lambda path: JournalStorage(JournalFileBackend(str(path / "journal"))),
    "sqlite": lambda path: RDBStorage(f"sqlite:///{path}/study.db"),
}


def trade_off(x, y):
    """Near to one of two points, and far from the other: the front is the line between them."""
    return (x - 0.2) ** 2 + (y - 0.5) ** 2, -((x - 0.8) ** 2) - (y - 0.5) ** 2


def objective(trial):
    return trade_off(trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0))


def new_study(sampler, storage=None, directions=DIRECTIONS):
    return optuna.create_study(study_name="s", sampler=sampler, directions=directions, storage=storage)


def values_of(study):
    return [t.values for t in study.trials]


@SAMPLERS
@over_seeds()
def test_the_front_is_found_and_is_the_studys_own(sampler):
    study = new_study(sampler(seed=seeded(0)))
    study.optimize(objective, n_trials=40)
    assert len(study.best_trials) > 12, MOSTLY
    assert (
        np.mean([abs(t.params["y"] - 0.5) < 0.05 and 0.15 < t.params["x"] < 0.85 for t in study.best_trials]) > 0.8
    ), MOSTLY
    optimizer = optimizer_of(study)
    assert optimizer.directions == DIRECTIONS
    assert optimizer.observations[1].tolist() == values_of(study)
    assert sorted(v for _, v in optimizer.front()) == sorted(tuple(t.values) for t in study.best_trials)


@pytest.mark.parametrize(("sampler", "core"), [(GSSBOSampler, GSSBO), (GPUCBSampler, GPUCB)])
@pytest.mark.parametrize("storage", STORAGES)
def test_suggestions_are_those_of_the_optimizer_in_any_storage(sampler, core, storage, tmp_path):
    twin = core({name: Float(0.0, 1.0) for name in SPACE}, directions=DIRECTIONS, seed=4, n_initial=5)
    study = new_study(sampler(seed=4, n_startup_trials=5, search_space=SPACE), STORAGES[storage](tmp_path))
    for number in range(16):
        trial = study.ask()
        values = objective(trial)
        suggestion = twin.suggest((4, number), position=number)
        assert trial.params == twin.space.decode(suggestion.x)
        twin.learn(trial.params, values, origin=suggestion.origin, key=number)
        study.tell(trial, values)


@SAMPLERS
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_two_to_five_objectives(sampler, k):
    directions = ["minimize", "maximize", "minimize", "minimize", "maximize"][:k]
    study = new_study(sampler(seed=0), directions=directions)

    def many(trial):
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        near = [(x - j / k) ** 2 + (y - j % 2) ** 2 for j in range(k)]
        return [-v if d == "maximize" else v for v, d in zip(near, directions, strict=True)]

    study.optimize(many, n_trials=14)
    mean, std = study.sampler.predict([{"x": 0.5, "y": 0.5}, {"x": 0.1, "y": 0.9}], study)
    assert mean.shape == std.shape == (2, k)
    mean, std = study.sampler.predict({"x": 0.5, "y": 0.5}, study)
    expected = many(optuna.trial.FixedTrial({"x": 0.5, "y": 0.5}))
    np.testing.assert_allclose(mean, expected, atol=0.1)


@SAMPLERS
@pytest.mark.parametrize("storage", STORAGES)
def test_a_study_that_is_loaded_again_goes_on_in_the_same_way(sampler, storage, tmp_path):
    """What an interrupted study would have done, to the bit; in memory it is the sampler that is new."""
    at = STORAGES[storage](tmp_path)
    study = new_study(sampler(seed=2, search_space=SPACE), at)
    study.optimize(objective, n_trials=14)
    again = optuna.load_study(study_name="s", storage=at, sampler=sampler(seed=2, search_space=SPACE))
    told, known = optimizer_of(study), optimizer_of(again)
    np.testing.assert_array_equal(told.observations[0], known.observations[0])
    np.testing.assert_array_equal(told.observations[1], known.observations[1])
    assert told.front() == known.front()
    again.optimize(objective, n_trials=4)


@SAMPLERS
@pytest.mark.parametrize("files", [False, True])
def test_studies_that_begin_alike_are_told_apart_by_all_directions(sampler, files, tmp_path):
    one = sampler(seed=0, search_space=SPACE)
    ways = [("minimize", "maximize"), ("minimize", "minimize"), ("maximize", "maximize")]
    storages = [f"sqlite:///{tmp_path}/{i}.db" if files else None for i in range(len(ways))]
    studies = [new_study(one, s, directions) for s, directions in zip(storages, ways, strict=True)]
    studies[0].optimize(objective, n_trials=8)
    for study in studies[1:]:
        study.add_trials(studies[0].trials)
    for study, directions in zip(studies, ways, strict=True):
        study.ask(SPACE)
        optimizer = optimizer_of(study)
        assert optimizer.directions == directions
        assert optimizer.observations[1].tolist() == values_of(studies[0])[:8]
    alone = optuna.create_study(sampler=one)
    alone.add_trials(create_trial(params=t.params, distributions=SPACE, value=1.0) for t in studies[0].trials[:8])
    alone.ask(SPACE)
    assert optimizer_of(alone).directions == ("minimize",)


@SAMPLERS
def test_trials_that_failed_were_added_enqueued_and_copied(sampler):
    other = new_study(optuna.samplers.RandomSampler(seed=0))
    other.optimize(objective, n_trials=6)
    study = new_study(sampler(seed=0))
    study.add_trials(other.trials)
    study.add_trial(create_trial(params={"x": 0.5, "y": 0.5}, distributions=SPACE, values=[math.inf, 0.0]))
    study.add_trial(create_trial(params={"x": 0.4, "y": 0.5}, distributions=SPACE, state=TrialState.FAIL))
    pruned = create_trial(params={"x": 0.3, "y": 0.5}, distributions=SPACE, state=TrialState.PRUNED)
    study.add_trial(pruned)
    study.enqueue_trial({"x": 0.25})
    study.enqueue_trial({"x": 0.75, "y": 0.125})

    def often_fails(trial):
        values = objective(trial)
        if trial.number % 4 == 3:
            raise RuntimeError
        return (math.nan, 0.0) if trial.number % 4 == 1 else values

    study.optimize(often_fails, n_trials=20, catch=RuntimeError)
    study.ask(SPACE)
    optimizer = optimizer_of(study)
    points, values = optimizer.observations
    assert [study.trials[i].params["x"] for i in (9, 10)] == [0.25, 0.75]
    assert len(points) == 29
    failed = [t.state != TrialState.COMPLETE for t in study.trials[:29]]
    numbers = view_of(study).desk.told
    assert np.isnan(values).all(axis=1).tolist() == [failed[n] for n in numbers]
    assert [tuple(p) for p in points] == [tuple(study.trials[n].params.values()) for n in numbers]


@SAMPLERS
def test_a_trial_with_fewer_values_is_left_out(sampler):
    """Optuna refuses it, but a storage takes it."""
    study = new_study(sampler(seed=0, search_space=SPACE))
    wrong = create_trial(params={"x": 0.5, "y": 0.5}, distributions=SPACE, values=[1.0])
    add_unchecked(study, wrong)
    with pytest.warns(UserWarning, match="1 of 1 finished trials are not learned"):
        study.optimize(objective, n_trials=12)
    assert optimizer_of(study).n_told == 12


@SAMPLERS
@over_seeds()
def test_constraints_at_the_same_time(sampler):
    study = new_study(sampler(seed=seeded(0), constraints_func=lambda t: (t.params["x"] - 0.5,)))
    study.optimize(objective, n_trials=40)
    assert len(study.best_trials) > 8, MOSTLY  # of feasible trials
    best = [t.params["x"] for t in study.best_trials]
    assert max(best) <= 0.5
    assert max(best) > 0.48, MOSTLY
    assert study.sampler.predict_feasible({"x": 0.9, "y": 0.5}, study) < 0.1, MOSTLY
    assert sorted(v for _, v in optimizer_of(study).front()) == sorted(tuple(t.values) for t in study.best_trials)


@SAMPLERS
@over_seeds()
def test_branches_and_parameters_that_come_later_are_sampled_by_the_model(sampler):
    study = new_study(sampler(seed=seeded(0)))

    def branching(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        b = trial.suggest_categorical("kind", ["a", "b"]) == "b"
        y = trial.suggest_float("y", 0.0, 1.0) if b else 0.9
        late = trial.suggest_float("late", 0.0, 1.0) if trial.number > 12 else 0.5
        near, far = trade_off(x, y)
        return near + (late - 0.5) ** 2, far

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(branching, n_trials=36)
    assert optimizer_of(study).space.conditions.keys() >= {"y"}, MOSTLY
    assert sum(t.params["kind"] == "b" for t in study.best_trials) > 0.7 * len(study.best_trials), MOSTLY


@SAMPLERS
@pytest.mark.filterwarnings("ignore:PartialFixedSampler")
def test_inside_a_sampler_that_fixes_a_parameter(sampler):
    study = new_study(optuna.samplers.PartialFixedSampler({"y": 0.25}, sampler(seed=0)))
    study.optimize(objective, n_trials=15)
    assert {t.params["y"] for t in study.trials} == {0.25}
    assert len({t.params["x"] for t in study.trials}) == 15


@SAMPLERS
def test_several_threads_choose_nothing_alike(sampler):
    study = new_study(sampler(seed=0, avoid_repeats=True))
    study.optimize(objective, n_trials=36, n_jobs=4)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert len({tuple(t.params.values()) for t in study.trials}) == 36


WORKER = """
import sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
from numbo.optuna import GSSBOSampler
from optuna.storages.journal import JournalFileBackend
storage = optuna.storages.JournalStorage(JournalFileBackend(sys.argv[1]))
sampler = GSSBOSampler(seed=0, n_startup_trials=6, avoid_repeats=True, warn_independent_sampling=False)
study = optuna.load_study(study_name="s", storage=storage, sampler=sampler)
def f(t):
    x = t.suggest_float("x", -3, 3); k = t.suggest_int("k", 0, 9); c = t.suggest_categorical("c", ["a", "b"])
    return (x - 1) ** 2 + abs(k - 4), -(x + 1) ** 2 - (c == "a")
study.optimize(f, n_trials=15)
print(study.sampler.explain(study).asked_at[-1])
"""


def test_two_processes_share_a_study(tmp_path):
    path = tmp_path / "study"
    study = new_study(None, JournalStorage(JournalFileBackend(str(path))))
    told = told_by_two(WORKER, path)
    trials = study.get_trials()
    assert [t.state for t in trials] == [TrialState.COMPLETE] * 30
    assert len({tuple(t.params.values()) for t in trials}) == 30  # equal seeds, no equal suggestions
    assert max(told) > 18  # each process learned from the other


def test_a_pickled_sampler_goes_on():
    study = new_study(GSSBOSampler(seed=0))
    study.optimize(objective, n_trials=12)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(objective, n_trials=3)
    assert optimizer_of(study).directions == DIRECTIONS


def test_one_direction_in_a_list_is_one_objective():
    one = optuna.create_study(sampler=GSSBOSampler(seed=0), directions=["maximize"])
    other = optuna.create_study(sampler=GSSBOSampler(seed=0), direction="maximize")
    for study in (one, other):
        study.optimize(lambda t: objective(t)[1], n_trials=15)
    assert [t.params for t in one.trials] == [t.params for t in other.trials]
    assert one.sampler.best_predicted(one) == other.sampler.best_predicted(other)


@over_seeds()
def test_choices_and_a_table():
    table = Table({"size": np.arange(60.0) % 12, "rate": np.arange(60.0) // 12})
    study = new_study(GSSBOSampler(seed=seeded(0), search_space=table), directions=["minimize", "minimize"])

    def by_row(trial):
        row = table.suggest(trial)
        return (row["size"] - 4.0) ** 2 + row["rate"], (row["size"] - 8.0) ** 2 + row["rate"]

    study.optimize(by_row, n_trials=30)
    assert {t.values[0] for t in study.best_trials} >= {0.0}, MOSTLY
    choices = {"c": CategoricalDistribution([f"c{i}" for i in range(6)])}
    study = new_study(
        GSSBOSampler(seed=seeded(0), search_space=choices), directions=["minimize", "maximize", "minimize"]
    )
    study.optimize(lambda t: [float(t.suggest_categorical("c", choices["c"].choices)[1])] * 3, n_trials=12)
    assert len({t.params["c"] for t in study.trials}) == 6


@SAMPLERS
@over_seeds()
def test_without_noise_the_front_is_that_of_the_study(sampler):
    study = new_study(sampler(seed=seeded(0), constraints_func=lambda t: (t.params["x"] - 0.6,)))
    study.optimize(objective, n_trials=25)
    study.add_trial(study.best_trials[0])  # a copy of a trial is another one, which is no better
    front = numbo.optuna.front(study)
    numbers = {t.number for t, _ in front}
    assert len(numbers) == len(front) > 5, MOSTLY
    assert {t.number for t in study.best_trials} - {25} == numbers
    assert all(tuple(t.values) == values for t, values in front)
    assert [v for _, v in front] == sorted(v for _, v in front)
    front[0][0].params.clear()
    assert study.sampler.front()[0][0].params  # what was returned is a copy
    volumes = numbo.optuna.hypervolumes(study, (0.7, -0.7))
    assert len(volumes) == 26
    feasible = [t.values if t.params["x"] <= 0.6 else None for t in study.trials]
    for n in (1, 5, 12, 26):
        points = np.array([(v[0], -v[1]) for v in feasible[:n] if v is not None and v[0] < 0.7 and v[1] > -0.7])
        expected = 0.0
        low = 0.7
        for near, far in sorted(points.tolist()):  # of two objectives, a staircase
            if far < low:
                expected += (0.7 - near) * (low - far)
                low = far
        assert volumes[n - 1] == pytest.approx(expected)


@SAMPLERS
def test_trials_that_are_not_learned_are_on_the_front_if_they_are_best(sampler):
    study = new_study(sampler(seed=0, search_space=SPACE))
    study.optimize(objective, n_trials=12)
    study.enqueue_trial({"x": 5.0, "y": 0.1})
    with pytest.warns(UserWarning, match="is out of range"):
        study.optimize(lambda trial: (objective(trial), (-1.0, 1.0))[1], n_trials=1)
    study.add_trial(optuna.trial.create_trial(params={}, distributions={}, values=[-2.0, 0.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        front = numbo.optuna.front(study)
        volumes = numbo.optuna.hypervolumes(study, (1.0, -1.0))
    assert [trial.number for trial, _ in front] == [13, 12]
    assert len(volumes) == 14
    assert volumes[-1] == pytest.approx(2.0 * 2.0 + 1.0 * 1.0)


@over_seeds()
def test_fronts_of_noisy_trials_are_by_expected_values():
    rng = np.random.default_rng(seeded(0))
    study = new_study(GSSBOSampler(seed=seeded(0)))
    study.optimize(lambda t: tuple(np.add(objective(t), 0.05 * rng.normal(size=2)).tolist()), n_trials=70)
    front = numbo.optuna.front(study)
    assert len({t.number for t, _ in front}) == len(front)
    true = np.array([trade_off(**t.params) for t, _ in front])
    found = np.array([values for _, values in front])
    lucky = np.array([np.subtract(t.values, trade_off(**t.params)) * (1, -1) for t in study.best_trials])
    assert abs(np.mean((found - true) * (1, -1))) < 0.6 * abs(np.mean(lucky)), MOSTLY
    order = np.argsort(found[:, 0])
    assert (np.diff(found[order, 1]) > 0.0).all()  # a trade-off


@over_seeds()
def test_pruned_trials_are_not_on_the_front_and_hide_nothing():
    """What they have reported may be better than anything that was reached: time that is saved, say."""
    study = new_study(GSSBOSampler(seed=seeded(0), search_space=SPACE), directions=["minimize", "minimize"])

    def timed(trial):
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        numbo.optuna.report(trial, (x, y - x), 1)
        if y > 0.6:
            raise optuna.TrialPruned
        return x, 1.0 + y - x

    study.optimize(timed, n_trials=20)
    assert sum(t.state == TrialState.PRUNED for t in study.trials) > 3, MOSTLY
    states = {t.number: t.state for t in study.trials}
    front = numbo.optuna.front(study)
    assert {states[t.number] for t, _ in front} == {TrialState.COMPLETE}
    # where reports seem to be noise, the front is that of expected values
    assert {t.number for t, _ in front} == {t.number for t in study.best_trials}, MOSTLY
    volumes = numbo.optuna.hypervolumes(study, (1.0, 1.0))
    assert volumes[-1] <= 0.5


@SAMPLERS
def test_looking_inside(sampler):
    study = new_study(sampler(seed=0))
    study.optimize(objective, n_trials=15)
    second = numbo.optuna.explain(study, objective=1)
    assert second.relevance.keys() == SPACE.keys()
    assert str(second) != str(numbo.optuna.explain(study)) == str(study.sampler.explain(objective=0))
    mean, std = numbo.optuna.predict(study, {"x": 0.3, "y": 0.4})
    assert mean.shape == std.shape == (2,)
    many = numbo.optuna.predict(study, [{"x": 0.3, "y": 0.4}] * 3)
    np.testing.assert_allclose(many[0], [mean] * 3)
    with pytest.raises(ValueError, match=r"^objective must be an integer from 0 to 1, got 2"):
        numbo.optuna.explain(study, objective=2)
    with pytest.raises(ValueError, match=r"^reference must be 2 finite numbers"):
        numbo.optuna.hypervolumes(study, (1.0,))
    one = r" is for studies of one objective, and this one has 2"
    with pytest.raises(ValueError, match=f"^best_predicted{one}: front has the best trials"):
        numbo.optuna.best_predicted(study, anywhere=True)
    with pytest.raises(ValueError, match=f"^best_predicted_trial{one}: front has the best trials"):
        numbo.optuna.best_predicted_trial(study)
    with pytest.raises(ValueError, match=f"^predict_end{one}"):
        numbo.optuna.predict_end(study, study.trials[0])


def test_the_front_of_one_objective_is_the_best_trial():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    study.optimize(lambda t: objective(t)[0], n_trials=15)
    assert numbo.optuna.front(study) == [(study.best_trial, (study.best_value,))]
    assert str(numbo.optuna.explain(study, objective=0)) == str(numbo.optuna.explain(study))
    with pytest.raises(ValueError, match=r"^objective must be 0, as there is one objective, got 1"):
        numbo.optuna.explain(study, objective=1)


@pytest.mark.parametrize("k", [1, 2])
def test_before_the_first_success_there_is_no_front(k):
    study = new_study(GSSBOSampler(seed=0, search_space=SPACE), directions=DIRECTIONS[:k])
    assert numbo.optuna.front(study) == []
    study.tell(study.ask(SPACE), state=TrialState.FAIL)
    assert numbo.optuna.front(study) == []
    assert numbo.optuna.hypervolumes(study, (1.0, 1.0)[:k]).tolist() == [0.0]


def test_plots_of_optuna_show_what_was_found():
    pytest.importorskip("plotly", reason="pip install plotly")
    study = new_study(GSSBOSampler(seed=0))
    study.optimize(objective, n_trials=20)
    front = optuna.visualization.plot_pareto_front(study)
    best = front.data[-1]
    assert sorted(zip(best.x, best.y, strict=True)) == sorted(tuple(t.values) for t in study.best_trials)
    (history,) = optuna.visualization.plot_hypervolume_history(study, (1.0, -1.0)).data
    np.testing.assert_allclose(history.y, numbo.optuna.hypervolumes(study, (1.0, -1.0)))

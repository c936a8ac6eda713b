"""Values under `WilcoxonPruner`, where a report is the value at an instance."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from numbo.optuna import GSSBOSampler
from numbo.optuna._instances import GROWN, Instances

SPACE = {"x": FloatDistribution(0.0, 1.0)}


def ended(reports: dict[int, float], *, value: float | None = None, pruned: bool = False) -> FrozenTrial:
    mean = float(np.mean(list(reports.values()))) if reports else 0.0
    return create_trial(
        params={"x": 0.5},
        distributions=SPACE,
        value=None if pruned else mean if value is None else value,
        intermediate_values=reports,
        state=TrialState.PRUNED if pruned else TrialState.COMPLETE,
    )


def naive(trials: list[dict[int, float]]) -> list[float]:
    """Values of the trials by least squares on values and effects together, with effects of zero in the mean."""
    instances = sorted({step for reports in trials for step in reports})
    rows, values = [], []
    for k, reports in enumerate(trials):
        for step, y in reports.items():
            row = np.zeros(len(trials) + len(instances))
            row[k] = 1.0
            row[len(trials) + instances.index(step)] = 1.0
            rows.append(row)
            values.append(y)
    of_effects = np.r_[np.zeros(len(trials)), np.ones(len(instances))]
    found = np.linalg.lstsq(np.array([*rows, of_effects]), np.array([*values, 0.0]), rcond=None)[0]
    return found[: len(trials)].tolist()


def some(rng: np.random.Generator, instances: int, seen: int, value: float) -> dict[int, float]:
    steps = rng.permutation(instances)[:seen]
    return {int(step): value + 3.0 * float(step) + 0.1 * rng.normal() for step in steps}


def test_values_are_those_of_least_squares_over_trials_and_instances():
    rng = np.random.default_rng(0)
    reports = [some(rng, 8, 8, 1.0), *(some(rng, 8, int(rng.integers(1, 8)), rng.normal()) for _ in range(12))]
    assert (1.0 + GROWN) * (len(reports) - 1) <= len(reports)  # effects are computed with each trial
    known = Instances()
    values = [known.value(ended(one)) for one in reports]
    for k in range(1, len(reports) + 1):
        assert values[k - 1] == pytest.approx(naive(reports[:k])[-1], abs=1e-4)


def test_a_trial_that_saw_few_instances_has_the_value_of_its_parameters():
    """The mean of what it saw is up to 28 away from it."""
    rng = np.random.default_rng(1)
    known = Instances()
    for value in (1.0, 2.0, 0.0):
        known.value(ended(some(rng, 20, 20, value)))
    for value in rng.normal(size=30):
        found = known.value(ended(some(rng, 20, 3, value)))
        assert found == pytest.approx(value + 3.0 * 9.5, abs=0.5)


def test_it_does_not_matter_whether_a_stopped_trial_returns_its_mean_or_is_pruned():
    rng = np.random.default_rng(2)
    whole, part = some(rng, 5, 5, 1.0), some(rng, 5, 2, 2.0)
    returned, pruned = Instances(), Instances()
    for known in (returned, pruned):
        known.value(ended(whole))
    assert returned.value(ended(part)) == pruned.value(ended(part, pruned=True))


def test_values_that_no_instance_explains_are_as_told():
    known = Instances()
    whole = {0: 1.0, 1: 4.0, 2: 7.0}
    assert known.value(ended(whole)) == 4.0
    assert known.value(ended({0: 2.0}, value=17.0)) == 17.0, "not the mean of its reports"
    assert known.value(ended({}, value=3.0)) == 3.0
    assert known.value(ended({0: 1e300, 1: -1e300}, value=0.0)) == 0.0
    assert known.value(ended({0: float("nan"), 1: float("inf")}, value=3.0)) == 3.0
    assert known.value(ended({}, pruned=True)) is None
    assert known.value(ended({0: 2.0})) == pytest.approx(2.0 + 3.0, abs=1e-4)


@pytest.mark.parametrize("pruned", [False, True])
def test_a_study_under_the_wilcoxon_pruner_learns_values_and_no_curves(pruned: bool):
    """The noise of partial means is some 1.0 without the effects of instances, and here .1 at most."""
    rng = np.random.default_rng(3)
    effects = rng.normal(size=12)
    true = {}

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        true[x] = (x - 0.3) ** 2 + float(effects.mean())
        values: list[float] = []
        for i in rng.permutation(12):
            values.append((x - 0.3) ** 2 + float(effects[i]) + 0.02 * rng.normal())
            trial.report(values[-1], int(i))
            if trial.should_prune():
                if pruned:
                    raise optuna.TrialPruned
                break
        return float(np.mean(values))

    sampler = GSSBOSampler(seed=0)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.WilcoxonPruner())
    study.optimize(objective, n_trials=25)
    assert any(len(trial.intermediate_values) < 12 for trial in study.trials), "nothing was stopped"
    predicted = sampler.predict([trial.params for trial in study.trials], study)
    errors = [abs(float(mean) - true[t.params["x"]]) for mean, t in zip(predicted[0], study.trials, strict=True)]
    assert max(errors) < 0.1
    with pytest.raises(ValueError, match="report"):
        sampler.predict_end(study.trials[0], study)


def test_a_study_that_is_loaded_without_its_pruner_is_understood_as_before(tmp_path):
    """A storage does not keep pruners: without one, `optuna.load_study` takes the median rule."""
    rng = np.random.default_rng(4)
    effects = 5.0 * rng.normal(size=10)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        values: list[float] = []
        for i in rng.permutation(10):
            values.append((x - 0.3) ** 2 + float(effects[i]))
            trial.report(values[-1], int(i))
            if trial.should_prune():
                break
        return float(np.mean(values))

    storage = f"sqlite:///{tmp_path / 'study.db'}"
    pruner = optuna.pruners.WilcoxonPruner()
    study = optuna.create_study(study_name="a", storage=storage, sampler=GSSBOSampler(seed=0), pruner=pruner)
    study.optimize(objective, n_trials=20)
    assert any(len(trial.intermediate_values) < 10 for trial in study.trials), "nothing was stopped"
    points = [{"x": x} for x in np.linspace(0.0, 1.0, 9)]
    before = study.sampler.predict(points, study)
    again = optuna.load_study(study_name="a", storage=storage, sampler=GSSBOSampler(seed=0))
    after = again.sampler.predict(points, again)
    np.testing.assert_array_equal(before, after)


def test_a_study_that_gets_the_pruner_later_is_understood_from_then_on():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=optuna.pruners.NopPruner())
    study.add_trials([ended({0: 0.0, 1: 10.0}), ended({0: 1.0, 1: 11.0}), ended({1: 10.5})])
    sampler = study.sampler
    plain = max(sampler.predict(trial.params, study)[0] for trial in study.trials)
    study.pruner = optuna.pruners.WilcoxonPruner()
    assert plain > 6.0 > max(sampler.predict(trial.params, study)[0] for trial in study.trials)

"""Values under `WilcoxonPruner`, where a report is the value at an instance."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from numbo.optuna import GSSBOSampler

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

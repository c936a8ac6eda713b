"""Standard deviations of values, as user attributes of trials."""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import optimizer_of

from numbo.optuna import BKBSampler, GPUCBSampler, GSSBOSampler
from numbo.optuna._records import STD


def told(sampler, std, trials=8, directions=("minimize",)):
    """The variances that the optimizer was told with."""

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if std is not None:
            trial.set_user_attr(STD, std)
        return [x] * len(directions) if len(directions) > 1 else x

    study = optuna.create_study(sampler=sampler, directions=directions)
    study.optimize(objective, n_trials=trials)
    return optimizer_of(study)._history.variance


@pytest.mark.parametrize("make", [GSSBOSampler, GPUCBSampler])
def test_the_optimizer_is_told_the_error_of_each_value(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(make(seed=0), 0.2).tolist() == [pytest.approx(0.04)] * 8
        assert told(make(seed=0), None).tolist() == [0.0] * 8


@pytest.mark.parametrize("std", [-0.1, "0.2", float("inf"), True, [0.1]])
def test_an_error_that_is_none_is_named_once_and_nothing_is_lost(std):
    with pytest.warns(UserWarning, match=r"numbo:std' must be a finite number of at least 0, got ") as caught:
        assert told(GSSBOSampler(seed=0), std).tolist() == [0.0] * 8
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("make", "directions"), [(BKBSampler, ("minimize",)), (GSSBOSampler, ("minimize", "maximize"))]
)
def test_where_errors_are_not_used_a_warning_says_so(make, directions):
    with pytest.warns(UserWarning, match=r"numbo:std' is used by GSSBOSampler and GPUCBSampler alone") as caught:
        assert not told(make(seed=0), 0.2, directions=directions).any()
    assert len(caught) == 1


@over_seeds()
def test_values_with_small_errors_are_believed_more():
    """Two kinds of trials, of which one has a hundred times the variance."""
    rng = np.random.default_rng(seeded(0))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        std = 0.5 if trial.number % 2 else 0.05
        trial.set_user_attr(STD, std)
        return (x - 0.3) ** 2 + std * rng.normal()

    study = optuna.create_study(sampler=GSSBOSampler(seed=seeded(0)))
    study.optimize(objective, n_trials=40)
    assert abs(study.sampler.best_predicted()[0]["x"] - 0.3) < 0.25, MOSTLY
    assert study.sampler.explain().noisy

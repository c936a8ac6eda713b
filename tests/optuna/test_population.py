"""The population search in studies: resumed, over workers that share a storage, and in spaces of every kind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import optuna
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.optuna.inside import EarlySampler, view_of

from numbo.search.engine import Origin


def objective(trial):
    x = [trial.suggest_float(f"x{j}", -1.0, 1.0) for j in range(4)]
    k = trial.suggest_int("k", 1, 9)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return sum((a - 0.1 * j) ** 2 for j, a in enumerate(x)) + 0.1 * (k - 4) ** 2 + (kind == "a")


@over_seeds()
def test_a_sampler_that_meets_a_study_has_the_population_of_the_one_that_made_it():
    whole = optuna.create_study(sampler=EarlySampler(seed=seeded(3)))
    whole.optimize(objective, n_trials=80)
    met = optuna.create_study(sampler=EarlySampler(seed=seeded(3)))
    met.add_trials(whole.trials)
    engines = []
    for study in (whole, met):
        study.optimize(objective, n_trials=1)
        optimizer = view_of(study).desk.optimizer
        optimizer._engines[1]._up_to_date(optimizer._run.history)  # whoever's turn the last trial was
        engines.append(optimizer.state_dict()["model"]["engines"][1])
    asked = [Origin.of(int(one)).engine for one in optimizer.state_dict()["run"]["history"]["origins"]]
    assert asked.count(1) > 3, MOSTLY
    assert engines[0]["now"] is not None
    assert repr(engines[0]) == repr(engines[1])


@pytest.mark.parametrize("workers", [8])
def test_workers_get_different_points(workers):
    study = optuna.create_study(sampler=EarlySampler(seed=0))
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda _: study.optimize(objective, n_trials=8), range(workers)))
    points = {tuple(sorted(t.params.items())) for t in study.trials}
    assert len(points) == len(study.trials) == 64


@over_seeds()
def test_wide_batches_are_all_different_and_told_late():
    study = optuna.create_study(sampler=EarlySampler(seed=seeded(0)))
    study.optimize(objective, n_trials=20)
    for _ in range(3):
        trials = [study.ask() for _ in range(64)]
        values = [objective(trial) for trial in trials]
        assert len({tuple(t.params.values()) for t in trials}) == 64
        for k in np.random.default_rng(seeded(0)).permutation(64):
            study.tell(trials[k], values[k])
    assert study.best_value < 0.05, MOSTLY

"""Optuna's studies as earlier ones."""

from __future__ import annotations

import math
import pickle

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import EarlierStudy
from numbo.optuna import GPUCBSampler, GSSBOSampler, _earlier
from numbo.optuna._samplers import NumboSampler


def objective(trial, shift=0.0):
    kind = trial.suggest_categorical("kind", ["svm", "mlp"])
    lr = (math.log10(trial.suggest_float("lr", 1e-5, 1.0, log=True)) + 2.0 + shift) ** 2
    if kind == "mlp":
        return lr + 0.3 * (math.log2(trial.suggest_int("width", 8, 512, log=True)) - 6.0) ** 2
    return 2.0 + lr


def finished(shift=0.0, n=50, name=None, storage=None, direction="minimize"):
    study = optuna.create_study(
        sampler=optuna.samplers.RandomSampler(seed=seeded(1)), study_name=name, storage=storage, direction=direction
    )
    sign = 1.0 if direction == "minimize" else -1.0
    study.optimize(lambda trial: sign * objective(trial, shift), n)
    return study


def values(sampler, n, **options):
    study = optuna.create_study(sampler=sampler, **options)
    study.optimize(objective, n)
    return [trial.value for trial in study.trials]


def usual():
    return values(GSSBOSampler(seed=seeded(0), warn_independent_sampling=False), 1)[0]


@over_seeds()
@pytest.mark.parametrize("cls", [GSSBOSampler, GPUCBSampler])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_new_study_begins_where_the_earlier_one_ended(cls, direction):
    """Also the first trial, of which the program's parameters are not known yet."""
    found = values(cls(seed=seeded(0), earlier=[finished(0.1, direction=direction)]), 8)
    assert found[0] < 1.0 < usual(), MOSTLY
    assert min(found) < 0.25, MOSTLY


@over_seeds()
def test_with_a_declared_space_and_a_storage(tmp_path):
    url = f"sqlite:///{tmp_path}/{seeded(0)}.db"
    finished(name="old", storage=url)
    space = {
        "kind": CategoricalDistribution(["mlp", "svm"]),
        "lr": FloatDistribution(1e-5, 1.0, log=True),
        "width": (IntDistribution(8, 512, log=True), {"kind": "mlp"}),
    }
    sampler = GSSBOSampler(seed=seeded(0), search_space=space, earlier=[f"{url}#old"])

    def reordered(trial):
        kind = trial.suggest_categorical("kind", ["mlp", "svm"])
        lr = (math.log10(trial.suggest_float("lr", 1e-5, 1.0, log=True)) + 2.0) ** 2
        if kind == "svm":
            return 2.0 + lr
        return lr + 0.3 * (math.log2(trial.suggest_int("width", 8, 512, log=True)) - 6.0) ** 2

    study = optuna.create_study(sampler=sampler)
    study.optimize(reordered, 5)
    assert study.trials[0].params["kind"] == "mlp"
    assert study.trials[0].value < 1.0, MOSTLY
    assert sampler.explain(study=study).studies.keys() == {"old"}
    assert "earlier" in str(sampler.explain(study=study))


def test_what_is_read_of_a_study():
    distributions = {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study()
    for state, value, reports, attrs in [
        (TrialState.COMPLETE, 1.0, {}, {"numbo:std": 0.5}),
        (TrialState.PRUNED, None, {1: 3.0, 2: 2.0}, {}),
        (TrialState.PRUNED, None, {}, {}),
        (TrialState.FAIL, None, {1: 3.0}, {}),
    ]:
        study.add_trial(
            create_trial(
                state=state,
                value=value,
                params={"x": 0.5},
                distributions=distributions,
                intermediate_values=reports,
                user_attrs=attrs,
            )
        )
    violating = create_trial(
        value=0.0, params={"x": 0.1}, distributions=distributions, system_attrs={"constraints": (1.0,)}
    )
    study.add_trial(violating)
    study.enqueue_trial({"x": 0.2})
    (found,) = _earlier.read([study])
    assert list(found.values) == [1.0, 2.0, None, None, None]
    assert list(found.std) == [0.5, 0.0, 0.0, 0.0, 0.0]
    assert found.name == study.study_name
    two = optuna.create_study(directions=["minimize", "maximize"])
    two.add_trial(create_trial(values=[1.0, 2.0], params={"x": 0.5}, distributions=distributions))
    (found,) = _earlier.read([two])
    assert found.values == [[1.0, 2.0]]
    assert found.directions == ("minimize", "maximize")


def test_categories_go_by_name():
    study = EarlierStudy([{"c": "b"}, {"c": "z"}, {"x": 1.0}], [1.0, 2.0, 3.0], name="s")
    found = _earlier.internal(study, {"c": CategoricalDistribution(["a", "b"])})
    assert found.points == [{"c": 1}, {"c": _earlier.ELSEWHERE}, {"x": 1.0}]


def test_a_pickled_sampler_keeps_them():
    sampler = GSSBOSampler(seed=seeded(0), earlier=[finished(0.1)])
    twin = pickle.loads(pickle.dumps(sampler))
    assert values(twin, 6) == values(sampler, 6)
    assert "earlier" in repr(sampler)
    assert NumboSampler._earlier == ()


def test_two_processes_agree(tmp_path):
    """Samplers of two processes share the trials, and suggest different points."""
    url = f"sqlite:///{tmp_path}/new.db"
    optuna.create_study(study_name="new", storage=url)
    old = finished(0.1)
    studies = [
        optuna.load_study(study_name="new", storage=url, sampler=GSSBOSampler(seed=seeded(0), earlier=[old]))
        for _ in range(2)
    ]
    asked = []
    for number in range(12):
        trial = studies[number % 2].ask()
        asked.append((trial, objective(trial)))
        if number % 3 == 2:
            for one, value in asked:
                studies[0].tell(one, value)
            asked = []
    params = [tuple(sorted(t.params.items())) for t in studies[0].trials[1:]]
    assert len(set(params)) == len(params)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sqlite:///a.db#b", "earlier must be a sequence of studies"),
        (["sqlite:////nowhere/at/all.db#b"], "earlier must have studies that can be loaded"),
        ([3], "earlier must have an EarlierStudy"),
    ],
)
def test_bad_input_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        GSSBOSampler(earlier=given)


def test_a_storage_that_is_missing_is_not_made(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        GSSBOSampler(earlier=[f"sqlite:///{tmp_path}/missing.db#old"])
    assert not list(tmp_path.iterdir())


def test_a_journal_is_read_and_not_changed(tmp_path):
    path = tmp_path / "journal.log"
    finished(name="old", storage=JournalStorage(JournalFileBackend(str(path))))
    before = path.read_bytes()
    assert len(GSSBOSampler(earlier=[f"{path}#old"])._earlier) == 1
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_other_studies_are_not_changed():
    old = finished(0.1)
    before = [(t.params, t.value, dict(t.system_attrs)) for t in old.trials]
    values(GSSBOSampler(seed=seeded(0), earlier=[old]), 4)
    assert [(t.params, t.value, dict(t.system_attrs)) for t in old.trials] == before
    assert np.isfinite([t.value for t in old.trials]).all()

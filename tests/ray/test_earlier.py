"""Runs of Tune as earlier ones."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from ray import tune
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import EarlierStudy
from numbo.ray import GSSBOSearch, _earlier

SPACE = {
    "opt": {"lr": tune.loguniform(1e-5, 1.0), "name": tune.choice(["sgd", "adam"])},
    "width": tune.lograndint(8, 512),
    "fixed": 3,
}


def loss(config):
    lr = (math.log10(config["opt"]["lr"]) + 2.0) ** 2
    return lr + 0.3 * (math.log2(config["width"]) - 6.0) ** 2 + (config["opt"]["name"] == "sgd")


def configs(n=60, seed=0):
    rng = np.random.default_rng(seeded(seed))
    return [
        {
            "opt": {"lr": float(10 ** rng.uniform(-5, 0)), "name": str(rng.choice(["sgd", "adam", "lion"]))},
            "width": int(2 ** rng.uniform(3, 9)),
            "other": 1,
        }
        for _ in range(n)
    ]


def folder(path, name="old", failed=()):
    """The folder of a run, as far as it is read."""
    path = path / f"{seeded(0)}" / name
    path.mkdir(parents=True)
    rows = []
    for i, config in enumerate(configs()):
        trial = {"trial_id": str(i), "status": "ERROR" if i in failed else "TERMINATED", "config": config}
        rows.append([json.dumps(trial), json.dumps({"last_result": {"eval": {"loss": loss(config)}}})])
    (path / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": rows}))
    return path


def first_values(search, n=6):
    values = []
    for i in range(n):
        config = search.suggest(str(i))
        values.append(loss(config))
        search.on_trial_complete(str(i), {"eval/loss": values[-1], "training_iteration": 1, "config": config})
    return values


def search(earlier, **settings):
    return GSSBOSearch(SPACE, "eval/loss", "min", seed=seeded(0), earlier=earlier, **settings)


def usual():
    return first_values(search([]), 1)[0]


@over_seeds()
def test_a_run_begins_where_an_earlier_one_ended(tmp_path):
    found = first_values(search([folder(tmp_path), str(folder(tmp_path, "other", failed={0, 1}))]))
    assert found[0] < 0.5 < usual(), MOSTLY
    assert min(found) < 0.1, MOSTLY


@over_seeds()
def test_studies_of_other_frameworks():
    points = [{"opt/lr": c["opt"]["lr"], "opt/name": c["opt"]["name"], "width": c["width"]} for c in configs()]
    study = EarlierStudy(points, [loss(c) for c in configs()], name="by hand")
    assert first_values(search([study]), 1)[0] < 0.5, MOSTLY
    assert first_values(search([(points, [loss(c) for c in configs()])]), 1)[0] < 0.5, MOSTLY


def test_a_saved_searcher_goes_on_equally(tmp_path):
    one = search([folder(tmp_path)])
    first_values(one)
    one.save(str(tmp_path / "state"))
    twin = GSSBOSearch(SPACE, "eval/loss", "min", seed=seeded(0))
    twin.restore(str(tmp_path / "state"))
    assert twin.suggest("next") == pickle.loads(pickle.dumps(one)).suggest("next") == one.suggest("next")
    assert "earlier" in repr(one)


@over_seeds()
def test_the_space_may_come_from_the_tuner(tmp_path):
    late = GSSBOSearch(seed=seeded(0), earlier=[folder(tmp_path)])
    late.set_search_properties("eval/loss", "min", SPACE)
    assert first_values(late, 1)[0] < 0.5, MOSTLY


def test_what_is_read_of_a_run(tmp_path):
    (run,) = _earlier.read([folder(tmp_path, failed={3})])
    assert run.name == "old"
    assert run.metrics[3] is None
    assert _earlier._values({"a": np.float32(1.0), "b": "text"}, ["a"]) == 1.0
    assert _earlier._values({"a": 1.0, "b": "text"}, ["a", "b"]) is None
    assert _earlier._values(None, ["a"]) is None
    assert _earlier._values({"a": 1.0, "b": 2}, ["a", "b"]) == [1.0, 2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("/path", "earlier must be a sequence of runs"),
        (["/nowhere"], "has no trials that can be read"),
        ([3], "earlier must have an EarlierStudy"),
    ],
)
def test_bad_input_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        search(given)


@pytest.mark.usefixtures("local_ray")
@pytest.mark.xdist_group("ray")
def test_results_of_a_tuner(tmp_path):
    """A real run, whose results and whose folder a second one learns from."""

    def trainable(config):
        tune.report({"eval": {"loss": loss(config)}})

    def fit(name, n, **settings):
        return tune.Tuner(
            trainable,
            param_space=SPACE,
            tune_config=tune.TuneConfig(
                metric="eval/loss", mode="min", num_samples=n, search_alg=GSSBOSearch(seed=seeded(0), **settings)
            ),
            run_config=tune.RunConfig(storage_path=str(tmp_path), name=name, verbose=0),
        ).fit()

    results = fit("one", 12)
    second = fit("two", 2, earlier=[results, tmp_path / "one"])
    best = min(result.metrics["eval"]["loss"] for result in results)
    assert min(result.metrics["eval"]["loss"] for result in second) < best + 1.0

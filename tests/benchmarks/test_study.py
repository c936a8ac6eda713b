"""One study from end to end: its network, its rows and its report."""

from __future__ import annotations

import ast
import json
import math
import re
from pathlib import Path

import numpy as np
import optuna
import pytest

from benchmarks.compare import study_report as report
from benchmarks.problems import study_network
from benchmarks.study import runner
from benchmarks.study.ended import Ended, Run, improvements

ROOT = Path(__file__).parents[2]
SMALL = {
    "optimizer": "adam",
    "beta_1": 0.9,
    "beta_2": 0.999,
    "layers": 2,
    "units_0": 16,
    "units_1": 8,
    "activation": "relu",
    "alpha": 1e-4,
    "rate": 0.01,
    "batch": 64,
    "augmentation": "none",
}


def random_configs(number):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(number):
        study.tell(trial := study.ask(), 0.0 if study_network.suggest(trial) else 1.0)
    return [trial.params for trial in study.trials]


def test_the_space_branches():
    configs = random_configs(60)
    for config in configs:
        assert ("momentum" in config, "beta_1" in config) == (
            config["optimizer"] == "sgd",
            config["optimizer"] == "adam",
        )
        assert sum(name.startswith("units_") for name in config) == config["layers"]
        assert ("probability" in config) == (config["augmentation"] == "shift")
        assert ("std" in config) == (config["augmentation"] == "noise")
        assert study_network.SMALLEST <= study_network.weights(config) <= study_network.LARGEST
    assert {config["layers"] for config in configs} == {1, 2, 3}


@pytest.mark.parametrize(
    "extra", [{}, {"augmentation": "shift", "probability": 0.5}, {"augmentation": "noise", "std": 0.1}]
)
def test_a_network_learns(extra):
    runs = [list(study_network.errors(SMALL | extra)) for _ in range(7)]  # one of fifty single ones fails to
    first, *_, last = np.median(runs, axis=0)
    assert last < 0.5 * first
    assert last < 0.4


def test_trainings_differ():
    assert list(study_network.errors(SMALL)) != list(study_network.errors(SMALL))


def test_the_last_error_of_what_diverges_is_nan(monkeypatch):
    class Diverges:
        def partial_fit(self, *args, **kwargs):
            raise ValueError("weights are not finite")

    monkeypatch.setattr(study_network, "_network", lambda config: Diverges())
    assert [math.isnan(error) for error in study_network.errors(SMALL)] == [True]
    monkeypatch.setattr(study_network, "latency", lambda config: 1e-3)
    assert study_network.truth(SMALL, 2) == (0.9, 1e-3)


def test_the_size_is_that_of_the_network():
    network = study_network._network(SMALL)
    network.partial_fit(np.zeros((64, 64)), np.arange(64) % 10, classes=np.arange(10))
    assert study_network.weights(SMALL) == sum(part.size for part in network.coefs_ + network.intercepts_)
    assert 0.0 < study_network.latency(SMALL) < 1.0


def test_both_frameworks_search_the_same_space(monkeypatch):
    pytest.importorskip("ray")
    from benchmarks.study import on_ray
    from numbo.ray import GSSBOSearch

    search = GSSBOSearch(on_ray.SPACE, "error", "min", seed=0)
    optuna_names = [set(config) for config in random_configs(200)]
    for number in range(40):
        config = on_ray.flat(search.suggest(f"trial {number}"))
        assert set(config) in optuna_names
        assert study_network.suggest(optuna.trial.FixedTrial(config)) == config


def functions(code):
    """The functions in a text, without annotations."""
    found = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
            found[node.name] = ast.unparse(node)
    return found


def test_the_page_shows_the_code_that_runs():
    page = (ROOT / "docs" / "study.md").read_text()
    shown = functions("\n".join(re.findall(r"```py(?:thon)?\n(.*?)```", page, flags=re.DOTALL)))
    assert set(shown) == {"limited", "curves", "front", "trainable"}
    run = {}
    for name in ("on_optuna", "on_ray"):
        run |= functions((ROOT / "benchmarks" / "study" / f"{name}.py").read_text())
    assert {name: run[name] for name in shown} == shown


def ended(seconds, values, latency=1e-4, units=8, pruned=False):
    return Ended(seconds, SMALL | {"units_0": units}, values, latency, study_network.EPOCHS, pruned)


def test_improvements_are_feasible():
    trials = [
        ended(1.0, ()),
        ended(2.0, (0.1,), latency=1.0),
        ended(3.0, (0.3,)),
        ended(4.0, (0.4,)),
        ended(5.0, (0.2,)),
    ]
    assert [trial.seconds for trial in improvements(trials, study_network.LIMIT)] == [3.0, 5.0]


@pytest.fixture
def known(monkeypatch):
    """Tests without trainings: the error is that of the number of units."""

    def tests(configs, trainings):
        return [study_network.Truth(1.0 / config["units_0"], 1e-4) for config in configs]

    monkeypatch.setattr(runner, "tests", tests)


def row(sampler, seed, study="curves"):
    trials = [ended(1.0, (0.5,), units=8), ended(6.0, (0.2,), units=16), ended(7.0, (), pruned=True)]
    if study == "front":
        trials = [trial._replace(values=(*trial.values, 900.0)) for trial in trials[:2]]
    run = Run(trials, [SMALL | {"units_0": 32}] if sampler == "GSSBO" else [], 0.5)
    head = dict(zip(runner.KEY, ("optuna", study, sampler, seed, 8.0, 8), strict=True)) | runner.summary(run)
    return head | (runner.of_front(run) if study == "front" else runner.of_curves(run, 8.0))


@pytest.mark.usefixtures("known")
def test_a_row_of_curves():
    ours, theirs = row("GSSBO", 0), row("TPE", 0)
    assert (
        set(ours) == set(theirs) >= {*runner.KEY, "trials", "pruned", "epochs", "improvements", "marks", "recommended"}
    )
    assert [mark and mark["seconds"] for mark in ours["marks"]] == [1.0, 1.0, 6.0, 6.0]
    assert (ours["trials"], ours["pruned"], ours["failed"]) == (3, 1, 0)
    assert report.error(ours) == report.error(theirs, "recommended") == 1.0 / 16
    assert report.error(ours, "recommended") == 1.0 / 32


@pytest.mark.usefixtures("known")
def test_a_row_of_a_front():
    ours, theirs = row("GSSBO", 0, "front"), row("TPE", 0, "front")
    assert set(ours) == set(theirs)
    assert [point["error"] for point in ours["front"]] == [1.0 / 16]
    assert ours["volume"] == theirs["recommended_volume"] < ours["recommended_volume"] + 1.0
    assert runner.volume([(0.0, study_network.SMALLEST)]) == 1.0
    assert runner.volume([(0.9, study_network.SMALLEST), (0.1, study_network.LARGEST)]) == runner.volume([]) == 0.0


@pytest.mark.usefixtures("known")
def test_the_report(tmp_path):
    rows = [row(sampler, seed, study) for study in runner.STUDIES for seed in (0, 1) for sampler in ("GSSBO", "TPE")]
    path = tmp_path / "study.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    report.write(path)
    text = path.with_suffix(".md").read_text()
    assert "## Optuna, curves: 8 seconds, 8 processes" in text
    assert "| GSSBO | 0.0625 (0.0625) | 0.0312 (0.0312) |" in text
    assert "| TPE | 0.0625 | 0.0625 |" in text
    assert "## Optuna, front" in text
    assert path.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.usefixtures("known")
def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    from argparse import ArgumentParser

    asked = []

    def recorded(path, function, todo):
        asked.extend(todo)

    monkeypatch.setattr(runner.processes, "record_here", recorded)
    parser = ArgumentParser()
    runner.add_arguments(parser)
    path = tmp_path / "study.jsonl"
    path.write_text(json.dumps(row("GSSBO", 0)) + "\n")
    runner.run(path, parser.parse_args(["--seconds", "8", "--seeds", "1"]))
    assert [job[:4] for job in asked] == [
        ("optuna", "curves", "TPE", 0),
        ("ray", "curves", "GSSBO", 0),
        ("ray", "curves", "TPE", 0),
        ("optuna", "front", "GSSBO", 0),
        ("optuna", "front", "TPE", 0),
    ]

"""A line says how far a study is, and what is left."""

from __future__ import annotations

import logging

import optuna
import pytest
from optuna.samplers import TPESampler

from numbo.optuna import GSSBOSampler, Progress, remaining


@pytest.fixture
def clock(monkeypatch):
    now = [50.0]
    monkeypatch.setattr("numbo.optuna._progress.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def lines(caplog):
    """The lines that are logged."""
    optuna.logging.enable_propagation()
    caplog.set_level(logging.INFO, logger="optuna.numbo")
    yield lambda: [r.getMessage() for r in caplog.records if r.name == "optuna.numbo" and " trial" in r.getMessage()]
    optuna.logging.disable_propagation()


def run(clock, progress, n, seconds=6.0, directions=("minimize",)):
    study = optuna.create_study(sampler=GSSBOSampler(seed=0), directions=directions)

    def objective(trial):
        clock[0] += seconds
        x = trial.suggest_float("x", -1, 1)
        return [(x - 0.3) ** 2, x][: len(directions)]

    study.optimize(objective, n, callbacks=[progress])
    return study


def test_what_other_trials_bring_and_how_long_they_take(clock, lines):
    study = run(clock, Progress(n_trials=50, every=20), 20)
    (line,) = lines()
    assert line == f"20 trials, best {study.best_value:.6g}; {remaining(study, 30)}; about 3 min left"


def test_the_trials_that_a_timeout_leaves(clock, lines):
    run(clock, Progress(timeout=180.0), 20)
    assert "; 20 more trials: better with " in lines()[0]
    assert lines()[0].endswith("about 2 min left")
    assert "; 10 more trials: better with " in lines()[1]
    assert lines()[1].endswith("about 60 s left")


def test_the_sooner_end_counts(clock, lines):
    run(clock, Progress(n_trials=12, timeout=1e6, every=10), 12)
    assert lines()[0].endswith("about 12 s left")
    assert "2 more trials" in lines()[0]


def test_a_line_at_the_end_says_what_is_done(clock, lines):
    study = run(clock, Progress(n_trials=10), 10)
    assert lines() == [f"10 trials, best {study.best_value:.6g}"]


def test_before_anything_is_known(clock, lines):
    run(clock, Progress(n_trials=7204, every=1), 4, seconds=1.0)
    assert lines()[0].startswith("1 trial, best ")
    assert lines()[0].endswith(" s left")
    assert lines()[3].endswith("; about 2 h left")


def test_several_objectives_have_no_best_value(clock, lines):
    run(clock, Progress(n_trials=40), 10, directions=("minimize", "maximize"))
    assert lines()[0].startswith("10 trials; 30 more trials: better with ")


def test_suggestions_are_the_same(clock):
    def points(progress):
        return [trial.params for trial in run(clock, progress, 16).trials]

    assert points(Progress(n_trials=16, every=1)) == points(Progress(n_trials=16, every=100))


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"n_trials or timeout must be given, .*; got None for both\."):
        Progress()
    with pytest.raises(ValueError, match="n_trials must be an integer of at least 1, got 0"):
        Progress(n_trials=0)
    with pytest.raises(ValueError, match=r"timeout must be a (finite )?number above 0, got -1"):
        Progress(timeout=-1)
    with pytest.raises(ValueError, match="every must be an integer of at least 1, got 0"):
        Progress(n_trials=5, every=0)
    study = optuna.create_study(sampler=TPESampler())
    with pytest.raises(ValueError, match=r"sampler must be one of numbo\.optuna, got TPESampler"):
        study.optimize(lambda trial: 0.0, 1, callbacks=[Progress(n_trials=1)])
    assert repr(Progress(5)) == "Progress(n_trials=5, timeout=None, every=10)"

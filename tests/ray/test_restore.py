"""Restored runs after faults in their files: one recorded run, whose copies are damaged one by one."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from ray import cloudpickle, tune
from ray.tune.search import ConcurrencyLimiter, SearchGenerator
from tests.harness import restores

from numbo.ray import BBKBSearch, GSSBOSearch, SBPESearch
from numbo.ray._snapshot import read_setup, read_trials

pytestmark = [pytest.mark.usefixtures("local_ray"), pytest.mark.xdist_group("ray")]
SETTINGS = {"space": {"x": tune.uniform(0.0, 1.0)}, "metric": "loss", "mode": "min", "seed": 0}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, local_ray):
    """A folder with an early and a late snapshot of one run, each in mid-run with two running trials."""
    folder = tmp_path_factory.mktemp("recorded")
    restores.record(folder)
    return folder


def restored(folder, max_concurrent=2):
    """The tuner's own searcher, restored by Tune's own classes as in a `Tuner.restore`; and their generator."""
    searcher = cloudpickle.loads((folder / "tuner.pkl").read_bytes())["_tune_config"].search_alg
    generator = SearchGenerator(ConcurrencyLimiter(searcher, max_concurrent))
    assert generator.has_checkpoint(str(folder))
    generator.restore_from_dir(str(folder))
    return searcher, generator


def check(searcher, folder):
    """The searcher knows each trial in the records once: ended ones with their values, the others as pending."""
    trials = read_trials(folder)
    opt = searcher.optimizer
    values = sorted(float(t.result["loss"]) for t in trials if t.status == "TERMINATED")
    known = opt.observations[1]
    assert sorted(known[~np.isnan(known)]) == values
    assert np.isnan(known).sum() == sum(t.status == "ERROR" for t in trials) == 1
    pending = {(p["a"], p["b"]) for p in opt.pending}
    assert pending == {(t.config["a"], tuple(t.config["b"])) for t in trials if t.status == "RUNNING"}
    assert len(pending) == 2
    assert (searcher.metric, searcher.mode, opt.direction) == ("loss", "min", "minimize")
    assert set(opt.space.names) == {"a", "b"}


READ = ["searcher's state", "its predecessor", "searcher's state and its predecessor"]
ALL = "searcher's states and all of the trials' files"


@pytest.mark.allows_fallback
@pytest.mark.parametrize("fault", restores.FAULTS)
@pytest.mark.parametrize("file", [*READ, "trials' result.json", "trials' params.json", ALL])
def test_whatever_became_of_the_files_the_searcher_knows_all_trials(file, fault, recorded, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(recorded / "late", folder)
    restores.damage(folder, file, fault)
    searcher, generator = restored(folder)
    check(searcher, folder)
    assert searcher.suggest("third") is None  # two are running, and that is the limit
    running = [t.trial_id for t in read_trials(folder) if t.status == "RUNNING"]
    for trial_id in running:
        generator.on_trial_complete(trial_id, {"loss": 3.0})
        generator.on_trial_complete(trial_id, {"loss": 4.0})
    assert searcher.optimizer.n_told == 7
    assert searcher.optimizer.pending == []
    tried = {(t.config["a"], tuple(t.config["b"])) for t in read_trials(folder) if t.status != "ERROR"}
    new = searcher.suggest("new")
    assert (new["a"], new["b"]) not in tried


@pytest.mark.allows_fallback
def test_the_reason_is_said(recorded, tmp_path, caplog):
    folder = tmp_path / "run"
    shutil.copytree(recorded / "late", folder)
    restores.damage(folder, "searcher's state", "other version")
    restored(folder)
    (message,) = caplog.messages
    assert "cannot be read" in message
    assert "state of format 1: this version of numbo reads format 2 only" in message
    restores.damage(folder, "its predecessor", "empty")
    restored(folder)
    assert "holds no readable state of the searcher: the trials are learned instead" in caplog.messages[-1]


@pytest.mark.allows_fallback
@pytest.mark.parametrize("states", ["early", "late"])
def test_files_of_different_snapshots(states, recorded, tmp_path):
    """The driver dies while Tune replaces the files: searcher and limiter are older or newer than the trials."""
    folder = tmp_path / "run"
    records = "late" if states == "early" else "early"
    shutil.copytree(recorded / records, folder)
    for path in (recorded / states).glob("search*"):
        shutil.copy(path, folder / path.name)
    searcher, generator = restored(folder)
    trials = read_trials(folder)
    running = {t.trial_id for t in trials if t.status == "RUNNING"}
    known = searcher.optimizer.observations[0]
    assert len({tuple(x) for x in known}) == len(known) == 5  # what the newer of both knows, each once
    if states == "early":
        check(searcher, folder)
    for trial_id in running:
        generator.on_trial_complete(trial_id, {"loss": 3.0})
    assert searcher.optimizer.pending == []  # trials that Tune does not know are not waited for
    assert isinstance(searcher.suggest("new"), dict)


def test_the_files_say_what_the_run_was_started_with(recorded):
    setup = read_setup(recorded / "early")
    assert (setup.metric, setup.mode, setup.num_samples) == ("loss", "min", restores.TRIALS)
    assert set(setup.param_space) == {"a", "b", "fixed"}
    assert (recorded / "late" / "tuner.pkl").stat().st_size > 0
    assert len(list((recorded / "late").glob("*/result.json"))) >= 4


@pytest.mark.allows_fallback
def test_the_number_of_trials_is_that_of_the_run_and_not_of_its_restore(recorded):
    """Tune gives num_samples=1 when the param_space is given again to `Tuner.restore`."""
    folder = recorded / "late"
    for given in (False, True):
        searcher = SBPESearch(seed=0)
        if given:
            searcher.set_search_properties("loss", "min", restores.SPACE, num_samples=1)
        searcher.CKPT_FILE_TMPL = "none-{}.pkl"
        searcher.restore_from_dir(str(folder))
        assert searcher.optimizer.horizon == restores.TRIALS
        assert searcher.optimizer.n_told == 5


@pytest.mark.allows_fallback
def test_points_and_rewards_given_to_a_lost_searcher(recorded, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(recorded / "late", folder)
    restores.damage(folder, READ[-1], "missing")
    tried = read_trials(folder)[0].config
    points = [{"a": tried["a"], "b": tuple(tried["b"])}, {"a": 99}]
    searcher = GSSBOSearch(seed=0, points_to_evaluate=points)
    searcher.restore_from_dir(str(folder))
    assert searcher.suggest("next")["a"] == 99  # the first is not tried again
    rewarded = BBKBSearch(seed=0, points_to_evaluate=[{"a": 5, "b": (4, 5)}], evaluated_rewards=[9.0])
    rewarded.set_search_properties("loss", "min", restores.SPACE, num_samples=1)
    rewarded.restore_from_dir(str(folder))
    assert rewarded.optimizer.n_told == 6


@pytest.mark.allows_fallback
def test_an_error_in_a_restore_is_raised_by_the_next_call(recorded, tmp_path):
    """Tune would swallow it, begin another run, and wait for ever for the limiter's trials of the first one."""
    folder = tmp_path / "run"
    shutil.copytree(recorded / "late", folder)
    restores.damage(folder, READ[-1], "torn")
    (folder / "tuner.pkl").write_bytes(b"")
    searcher = GSSBOSearch(seed=0)
    searcher.restore_from_dir(str(folder))
    words = f"GSSBOSearch cannot continue the run in {folder}: GSSBOSearch has no metric and no mode"
    with pytest.raises(RuntimeError, match=words):
        searcher.suggest("a")
    with pytest.raises(RuntimeError, match=words):
        searcher.save_to_dir(str(folder))
    given = GSSBOSearch(metric="loss", mode="min", seed=0)
    given.restore_from_dir(str(folder))
    check(given, folder)


# -- by Tuner.restore, without further arguments -----------------------------------------------------------------------


@pytest.mark.allows_fallback
def test_a_restored_run_learns_all_and_repeats_nothing(recorded, tmp_path):
    outcome = restores.run(ALL, "empty", recorded, tmp_path)
    assert outcome.ended == ""
    assert (outcome.finished, outcome.learned, outcome.repeated, outcome.lost) == (5, 5, 0, 0)
    assert outcome.trials == restores.TRIALS


@pytest.mark.slow
@pytest.mark.allows_fallback
def test_a_limiter_older_than_the_trials_is_not_waited_for(recorded, tmp_path):
    outcome = restores.mix("late", "early", restores.STATES, recorded, tmp_path)
    assert (outcome.ended, outcome.learned, outcome.repeated, outcome.lost) == ("", 5, 0, 0)


@pytest.mark.parametrize("fault", restores.FAULTS)
@pytest.mark.parametrize("file", ["experiment_state", "search_gen_state", "tuner.pkl"])
def test_what_tune_cannot_restore_ends_with_a_message(file, fault, recorded, tmp_path):
    """The folder stays as it is, but for the file that is damaged."""
    outcome = restores.run(file, fault, recorded, tmp_path)
    assert outcome.trials == 0
    assert outcome.ended
    if file != "tuner.pkl":
        assert "In a restored run, Tune could not read experiment_state" in outcome.ended
    damaged = {path.name for path in (recorded / "late").glob(restores.FILES[file])}
    for path in (recorded / "late").iterdir():
        if path.is_file() and path.name not in damaged:
            assert (tmp_path / "run" / path.name).read_bytes() == path.read_bytes()
    expected = 0 if (file, fault) == ("experiment_state", "missing") else 1
    assert len(list((tmp_path / "run").glob("experiment_state-*"))) == expected


@pytest.mark.parametrize(
    ("ended", "words"), [("", "goes on to its end"), ("TimeoutError: too long", "ends with TimeoutError: too long")]
)
def test_the_table_says_how_runs_ended(ended, words):
    outcome = {"finished": 5, "learned": 5, "repeated": 0, "lost": 0, "trials": 9, "seconds": 1.0}
    rows = [{"file": "tuner.pkl", "fault": fault, "ended": ended} | outcome for fault in ("torn", "empty")]
    header, _, line = restores.table(rows)
    assert header.count("|") == line.count("|") == 8
    assert line.startswith(f"| tuner.pkl | empty, torn | {words} |")


@pytest.mark.allows_fallback
def test_an_error_in_a_restore_ends_the_run_with_its_message(recorded, tmp_path, monkeypatch):
    """The limiter is full of the trials that ran, so that nothing is suggested: the error is still raised at once."""
    monkeypatch.setattr(GSSBOSearch, "_set_up", lambda self, setup: 1 / 0)
    outcome = restores.run(READ[-1], "torn", recorded, tmp_path)
    assert outcome.ended.startswith("RuntimeError: GSSBOSearch cannot continue the run in ")
    assert outcome.ended.endswith(": division by zero")

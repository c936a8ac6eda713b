"""The files of an experiment, read as data: whole, torn, and of several sessions."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from ray import cloudpickle, tune

from numbo.ray._snapshot import PREVIOUS, Setup, TrialSnapshot, read_setup, read_trials, state_files

STATE = "searcher-state-{}.pkl"


def row(trial_id="a", status="TERMINATED", config=None, result=None):
    """A trial as Tune writes it, cut down to what is read."""
    trial = {"trial_id": trial_id, "status": status, "config": {"x": 0.5} if config is None else config}
    return [json.dumps(trial), json.dumps({"last_result": result})]


def write(folder, name, *rows):
    (folder / f"experiment_state-{name}.json").write_text(json.dumps({"trial_data": rows}))


# -- trials ------------------------------------------------------------------------------------------------------------


def test_trials_are_read_with_their_results_flat(tmp_path):
    write(tmp_path, "2026-01-02", row(result={"eval": {"loss": 1.0}}), row("b", "RUNNING"), row("c", result={}))
    assert read_trials(tmp_path) == [
        TrialSnapshot("a", "TERMINATED", {"x": 0.5}, {"eval/loss": 1.0}),
        TrialSnapshot("b", "RUNNING", {"x": 0.5}, None),
        TrialSnapshot("c", "TERMINATED", {"x": 0.5}, None),
    ]


def test_without_files_there_are_none(tmp_path):
    assert read_trials(tmp_path) == []
    assert read_trials(tmp_path / "missing") == []


@pytest.mark.parametrize(
    "torn", ["", '{"trial_data": [', '{"trial_data": null}', '{"trial_data": 7}', "{}", "null", "[]"]
)
def test_the_newest_file_that_can_be_read_counts(torn, tmp_path):
    write(tmp_path, "2026-01-01", row("old"))
    write(tmp_path, "2026-01-02", row("new"))
    (tmp_path / "experiment_state-2026-01-03.json").write_text(torn)
    (tmp_path / "experiment_state-2026-01-04.json").mkdir()
    assert [trial.trial_id for trial in read_trials(tmp_path)] == ["new"]


TORN = [
    ["{torn", "{}"],
    [json.dumps({"trial_id": "x", "status": "RUNNING"}), "{}"],
    [json.dumps({"trial_id": "x", "status": "RUNNING", "config": 7}), "{}"],
    [row()[0], "null"],
    [row()[0], json.dumps({"last_result": 7})],
    [row()[0]],
    7,
    None,
]


@pytest.mark.parametrize("torn", TORN, ids=str)
def test_a_torn_trial_is_passed_over(torn, tmp_path):
    write(tmp_path, "2026-01-02", row("a"), torn, row("b"))
    assert [trial.trial_id for trial in read_trials(tmp_path)] == ["a", "b"]


def test_objects_that_tune_has_pickled_are_what_they_were(tmp_path):
    def pickled(value):
        return {"_type": "CLOUDPICKLE_FALLBACK", "value": pickle.dumps(value).hex()}

    torn = {"_type": "CLOUDPICKLE_FALLBACK", "value": "00"}
    config = {"x": pickled(np.float32(0.5)), "list": [pickled((1, 2)), {"deep": pickled(None)}], "torn": torn}
    write(tmp_path, "2026-01-02", row(config=config, result={"loss": pickled(np.int64(3))}))
    (trial,) = read_trials(tmp_path)
    assert trial.config == {"x": np.float32(0.5), "list": [(1, 2), {"deep": None}], "torn": torn}
    assert type(trial.config["x"]) is np.float32
    assert trial.result == {"loss": 3}


# -- the setup of a run ------------------------------------------------------------------------------------------------

SPACE = {"x": tune.uniform(0.0, 1.0)}


def write_setup(folder, session="2026-01-02", **spec):
    config = SimpleNamespace(metric="loss", mode="max")
    (folder / "tuner.pkl").write_bytes(cloudpickle.dumps({"_tune_config": config}))
    state = {"experiment": SimpleNamespace(spec=spec)}
    (folder / f"search_gen_state-{session}.json").write_bytes(cloudpickle.dumps(state))


def test_a_setup_is_put_together_from_two_files(tmp_path):
    assert read_setup(tmp_path) == Setup(None, None, None, {})
    write_setup(tmp_path, num_samples=20, config=SPACE)
    found = read_setup(tmp_path)
    assert (found.metric, found.mode, found.num_samples) == ("loss", "max", 20)
    assert found.param_space.keys() == {"x"}
    write_setup(tmp_path, "2026-01-03", num_samples=30, config=None)
    assert read_setup(tmp_path) == Setup("loss", "max", 30, {})  # the newest file counts


@pytest.mark.allows_fallback
@pytest.mark.parametrize("torn", [b"", b"torn", pickle.dumps({})[:-1]])
def test_torn_files_are_named_and_passed_over(torn, tmp_path, caplog):
    write_setup(tmp_path, num_samples=20, config=SPACE)
    (tmp_path / "tuner.pkl").write_bytes(torn)
    (tmp_path / "search_gen_state-2026-01-03.json").write_bytes(torn)
    found = read_setup(tmp_path)
    assert (found.metric, found.mode, found.num_samples) == (None, None, 20)
    assert len(caplog.messages) == 2
    for message, name in zip(caplog.messages, ["tuner.pkl", "search_gen_state-2026-01-03.json"], strict=True):
        assert message.startswith(f"{tmp_path / name} cannot be read: ")
        assert "\n" not in message


def test_files_with_something_else_say_nothing(tmp_path):
    for name in ("tuner.pkl", "search_gen_state-2026-01-02.json"):
        (tmp_path / name).write_bytes(pickle.dumps([1, 2]))
    assert read_setup(tmp_path) == Setup()


# -- states of a searcher ----------------------------------------------------------------------------------------------


def test_states_come_newest_first_each_with_the_one_before_it(tmp_path):
    assert state_files(tmp_path, STATE) == []
    names = [
        "searcher-state-2026-01-02.pkl",
        PREVIOUS + "searcher-state-2026-01-02.pkl",
        PREVIOUS + "searcher-state-2026-01-03.pkl",  # its successor is lost
        "searcher-state-2026-01-01.pkl",
        "searcher-state-2026-01-04.pkl.7.tmp",
        "other-2026-01-05.pkl",
    ]
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in state_files(tmp_path, STATE)] == [names[i] for i in (2, 0, 1, 3)]

"""What Tune saves of a searcher and restores, without a running Ray: whole, torn, and with other trials than before."""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from ray import tune
from ray.tune.search import ConcurrencyLimiter, Repeater, SearchGenerator

from numbo import GSSBO
from numbo.ray import BBKBSearch, GSSBOSearch, SBPESearch
from numbo.trials.points import point_key

SEARCHERS = {"GSSBO": GSSBOSearch, "BBKB": BBKBSearch, "SBPE": SBPESearch}  # one of each kind
SPACE = {"net": {"x": tune.uniform(0.0, 1.0), "k": tune.randint(1, 9)}, "epochs": 10}
SETTINGS = {"space": {"x": tune.uniform(0.0, 1.0)}, "metric": "loss", "mode": "min", "seed": 0}


@pytest.fixture(params=list(SEARCHERS))
def cls(request):
    return SEARCHERS[request.param]


def make(cls, **given):
    return cls(SPACE, **({"metric": "loss", "mode": "min", "seed": 0, "n_initial": 5} | given))


def play(searcher, n):
    for i in range(n):
        config = searcher.suggest(f"t{i}")
        searcher.on_trial_complete(f"t{i}", {"loss": config["net"]["x"] + config["net"]["k"], "config": config})


def write(folder, *trials):
    """A snapshot of the trials as Tune writes it, cut down to what is read."""
    rows = [
        [json.dumps({"trial_id": name, "status": status, "config": config}), json.dumps({"last_result": result})]
        for name, status, config, result in trials
    ]
    (folder / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": rows}))


# -- one file ----------------------------------------------------------------------------------------------------------


class Vanished:
    """A class that a file knows and this version does not."""


def test_a_file_of_another_format_is_refused_in_one_sentence(cls, tmp_path, monkeypatch):
    searcher, path = make(cls), tmp_path / "state.pkl"
    play(searcher, 8)
    sentence = rf"^Cannot restore {cls.__name__} from a state of format {{}}: this version .* format 2 only\.$"
    path.write_bytes(pickle.dumps(searcher.__getstate__()))  # as it was before formats had numbers
    with pytest.raises(ValueError, match=sentence.format(None)):
        cls().restore(str(path))
    path.write_bytes(pickle.dumps({"format": 3}) + pickle.dumps({}))
    with pytest.raises(ValueError, match=sentence.format(3)):
        cls().restore(str(path))
    path.write_bytes(pickle.dumps(Vanished()))
    monkeypatch.delattr(sys.modules[__name__], "Vanished")
    with pytest.raises(ValueError, match=sentence.format(None)):
        cls().restore(str(path))


def test_a_state_of_another_searcher_changes_nothing(tmp_path):
    BBKBSearch(**SETTINGS).save(str(tmp_path / "state"))
    searcher = GSSBOSearch(**SETTINGS)
    before = pickle.dumps(searcher)
    with pytest.raises(ValueError, match="Cannot restore GSSBO from a state saved by BBKB"):
        searcher.restore(str(tmp_path / "state"))
    assert pickle.dumps(searcher) == before


def test_a_save_that_fails_leaves_the_file_as_it_was(cls, tmp_path):
    searcher, path = make(cls), tmp_path / "state.pkl"
    play(searcher, 6)
    searcher.save(str(path))
    before = path.read_bytes()
    play(searcher, 3)
    searcher.stranger = threading.Lock()
    with pytest.raises(TypeError, match="lock"):
        searcher.save(str(path))
    assert path.read_bytes() == before


# -- a folder of Tune's ------------------------------------------------------------------------------------------------


def test_tune_saves_it_into_its_folder_and_reads_it_back(cls, tmp_path):
    searcher = make(cls)
    play(searcher, 8)
    searcher.save_to_dir(str(tmp_path))
    blank = cls()
    blank.restore_from_dir(str(tmp_path))
    assert blank.suggest("x") == searcher.suggest("x")
    assert [p.name for p in tmp_path.iterdir()] == ["searcher-state-default.pkl"]


def test_the_snapshot_before_the_last_one_is_kept(tmp_path):
    searcher = GSSBOSearch(**SETTINGS)
    for n in range(3):
        searcher.add_evaluated_point({"x": n / 4}, 1.0)
        searcher.save_to_dir(str(tmp_path), "s")
    names = ["previous-searcher-state-s.pkl", "searcher-state-s.pkl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for n, name in enumerate(names, start=2):
        twin = GSSBOSearch()
        twin.restore(str(tmp_path / name))
        assert twin.optimizer.n_told == n
    assert not list(tmp_path.parent.glob("*searcher-state*"))  # nothing is left beside the folder


@pytest.mark.allows_fallback
def test_a_snapshot_that_another_program_reads_is_left_as_it_is(tmp_path, monkeypatch, caplog):
    """As on Windows, which replaces no open file."""
    searcher = GSSBOSearch(**SETTINGS)
    searcher.add_evaluated_point({"x": 0.25}, 1.0)
    searcher.save_to_dir(str(tmp_path), "s")
    replace = os.replace

    def refuse(source, target):
        if Path(target).parent == tmp_path and Path(target).exists():
            raise PermissionError(13, "The process cannot access the file", str(target))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        for n in (1, 2, 3):
            searcher.add_evaluated_point({"x": 0.25 + n / 8}, 1.0)
            searcher.save_to_dir(str(tmp_path), "s")
        with pytest.raises(PermissionError):
            searcher.save(str(tmp_path / "searcher-state-s.pkl"))
    assert [record.getMessage() for record in caplog.records if "in use" in record.getMessage()] != []
    twin = GSSBOSearch()
    twin.restore(str(tmp_path / "searcher-state-s.pkl"))
    assert twin.optimizer.n_told == 1
    searcher.save_to_dir(str(tmp_path), "s")
    twin.restore(str(tmp_path / "searcher-state-s.pkl"))
    assert twin.optimizer.n_told == 4


def test_a_searcher_that_is_not_ready_is_not_saved_for_a_run(tmp_path):
    with pytest.raises(RuntimeError, match="no search space: give the Tuner a param_space"):
        GSSBOSearch(metric="loss", mode="min").save_to_dir(str(tmp_path))
    with pytest.raises(RuntimeError, match="GSSBOSearch has no mode"):
        GSSBOSearch(SPACE, metric="loss").save_to_dir(str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.allows_fallback
@pytest.mark.parametrize("torn", ["", "half"])
def test_a_torn_state_is_replaced_by_the_one_before_and_the_trials(cls, torn, tmp_path):
    searcher = make(cls)
    play(searcher, 6)
    searcher.save_to_dir(str(tmp_path), "s")
    late = {trial: searcher.suggest(trial) | {"epochs": 10} for trial in ("done", "failed", "running", "lost")}
    searcher.save_to_dir(str(tmp_path), "s")
    path = tmp_path / "searcher-state-s.pkl"
    path.write_bytes(path.read_bytes()[: 500 if torn else 0])
    write(
        tmp_path,
        ("done", "TERMINATED", late["done"], {"loss": 0.25}),
        ("failed", "ERROR", late["failed"], None),
        ("running", "RUNNING", late["running"], {}),
        ("t0", "TERMINATED", {"of": "another space"}, {"loss": 1.0}),
    )
    blank = cls()
    blank.restore_from_dir(str(tmp_path))
    opt = blank.optimizer
    assert opt.n_told == 8
    assert np.isnan(opt.observations[1]).sum() == 1
    assert len(opt.pending) == 1
    blank.on_trial_complete("running", {"loss": 0.5})
    assert (opt.n_told, opt.pending) == (9, [])


@pytest.mark.allows_fallback
def test_without_any_state_the_trials_are_learned(cls, tmp_path):
    write(tmp_path, ("a", "TERMINATED", {"net": {"x": 0.25, "k": 3}, "epochs": 10}, {"loss": 0.25}))
    searcher = make(cls)
    searcher.restore_from_dir(str(tmp_path))
    assert searcher.optimizer.n_told == 1
    blank = cls()
    blank.restore_from_dir(str(tmp_path))
    with pytest.raises(RuntimeError, match=f"{cls.__name__} cannot continue .* has no metric and no mode"):
        blank.suggest("b")


def pickled(value):
    """A value that Tune has pickled into its JSON."""
    return {"_type": "CLOUDPICKLE_FALLBACK", "value": pickle.dumps(value).hex()}


@pytest.mark.allows_fallback
@pytest.mark.parametrize(
    ("domain", "kept"),
    [
        (tune.choice([(1, (2, 3)), [4]]), [1, [2, 3]]),
        (tune.choice([{1: (2,)}, None]), {"1": [2]}),
        (tune.choice([np.int64(3), np.float32(0.5)]), pickled(np.int64(3))),
    ],
)
def test_values_that_json_changes_are_recognised(domain, kept, tmp_path):
    value = domain.categories[0]
    write(tmp_path, ("a", "TERMINATED", {"p": kept}, {"loss": pickled(np.int64(3))}))
    searcher = GSSBOSearch(**(SETTINGS | {"space": {"p": domain}}))
    searcher.restore_from_dir(str(tmp_path))
    assert searcher.optimizer.best == ({"p": value}, 3.0)
    assert type(searcher.optimizer.best[0]["p"]) is type(value)


# -- the trials of a restored run -------------------------------------------------------------------------------------


@pytest.mark.allows_fallback
def test_trials_that_tune_resumes_renames_or_drops(tmp_path):
    searcher = GSSBOSearch(**SETTINGS)
    searcher.set_max_concurrency(3)
    configs = {name: searcher.suggest(name) for name in ("ill", "run", "gone")}
    searcher.on_trial_complete("ill", error=True)
    searcher.save_to_dir(str(tmp_path), "s")
    before = [("ill", "ERROR", configs["ill"], None), ("run", "RUNNING", configs["run"], None)]
    write(tmp_path, *before, ("gone", "RUNNING", configs["gone"], {"loss": 2.0}))
    again = GSSBOSearch(**SETTINGS)
    again.restore_from_dir(str(tmp_path))
    assert (again.optimizer.n_told, len(again.optimizer.pending)) == (1, 2)
    # Tune resumes the failed trial, gives the running one another name, and ends the third with its last report
    write(
        tmp_path,
        ("ill", "PENDING", configs["ill"], None),
        ("new name", "PENDING", configs["run"], None),
        ("gone", "TERMINATED", configs["gone"], {"loss": 2.0}),
    )
    again.save_to_dir(str(tmp_path), "s")
    assert (again.optimizer.n_told, len(again.optimizer.pending)) == (2, 2)
    again.on_trial_complete("ill", {"loss": 1.0})
    again.on_trial_complete("new name", error=True)
    again.on_trial_complete("run", {"loss": 1.0, "config": {}})
    assert (again.optimizer.n_told, again.optimizer.pending) == (4, [])


@pytest.mark.allows_fallback
def test_nested_metrics_are_found_in_the_records(tmp_path):
    searcher = GSSBOSearch(**(SETTINGS | {"metric": "eval/loss"}))
    write(
        tmp_path,
        ("a", "TERMINATED", {"x": 0.1}, {"eval": {"loss": 2.0}, "config": {"x": 0.1}}),
        ("b", "TERMINATED", {"x": 0.2}, {"eval/loss": 3.0}),
        ("c", "TERMINATED", {"x": 0.3}, {}),
    )
    searcher.restore_from_dir(str(tmp_path))
    assert searcher.optimizer.observations[1].tolist() == [2.0, 3.0]


@pytest.mark.allows_fallback
def test_trials_that_tune_drops_without_a_word_do_not_fill_the_limit(tmp_path):
    searcher = GSSBOSearch(**SETTINGS)
    write(tmp_path, *((name, "RUNNING", {"x": x}, None) for name, x in (("a", 0.1), ("b", 0.2))))
    searcher.set_max_concurrency(2)
    searcher.restore_from_dir(str(tmp_path))
    assert searcher.suggest("c") is None
    searcher.save_to_dir(str(tmp_path))  # Tune goes on: it has resumed them
    assert searcher.suggest("c") is searcher.suggest("d") is None
    searcher.restore_from_dir(str(tmp_path))
    assert searcher.suggest("c") is None
    assert isinstance(searcher.suggest("c"), dict)  # Tune asks again at once: nothing is running
    assert len(searcher.optimizer.pending) == 1


def test_repeated_trials_are_left_to_the_repeater(tmp_path):
    searcher = GSSBOSearch(**SETTINGS)
    generator = SearchGenerator(Repeater(searcher, repeat=2))
    repeater = generator.searcher
    first, second = repeater.suggest("a"), repeater.suggest("b")
    repeater.on_trial_complete("a", {"loss": 1.0})
    generator.save_to_dir(str(tmp_path), "s")
    write(tmp_path, ("a", "TERMINATED", first, {"loss": 1.0}), ("b", "RUNNING", second, None))
    again = GSSBOSearch(**SETTINGS)
    generator = SearchGenerator(Repeater(again, repeat=2))
    generator.restore_from_dir(str(tmp_path))
    assert (again.optimizer.n_told, len(again.optimizer.pending)) == (0, 1)
    generator.on_trial_complete("b", {"loss": 3.0})
    assert again.optimizer.observations[1].tolist() == [2.0]


def test_the_limit_is_that_of_the_run():
    searcher = GSSBOSearch(**(SETTINGS | {"space": None}))
    limited = ConcurrencyLimiter(searcher, 1)
    assert limited.set_search_properties("loss", "min", SETTINGS["space"])
    assert limited.suggest("a") is not None
    assert limited.suggest("b") is None
    searcher.set_search_properties("loss", "min", SETTINGS["space"])  # the next run has none
    assert searcher.suggest("b") is not None


def test_the_limit_of_a_restored_run_is_its_own_and_paused_trials_run_again(tmp_path):
    searcher = GSSBOSearch(**SETTINGS)
    searcher.set_max_concurrency(5)
    configs = {name: searcher.suggest(name) for name in "ab"}
    searcher.on_pause("a")
    searcher.save_to_dir(str(tmp_path))
    write(tmp_path, *((name, "RUNNING", config, None) for name, config in configs.items()))
    again = GSSBOSearch(**SETTINGS)
    again.set_max_concurrency(2)
    again.restore_from_dir(str(tmp_path))
    assert again.suggest("c") is None
    again.save_to_dir(str(tmp_path))  # Tune goes on
    again.on_pause("a")
    assert isinstance(again.suggest("c"), dict)
    assert again.suggest("d") is None


def test_a_trial_that_ended_before_the_snapshot_is_not_learned_again(tmp_path):
    searcher = GSSBOSearch(**SETTINGS)
    config = searcher.suggest("a")
    searcher.on_trial_complete("a", {"loss": 1.0})
    searcher.save_to_dir(str(tmp_path))
    write(tmp_path, ("a", "TERMINATED", config, {"loss": 1.0}), ("b", "TERMINATED", {"x": 0.5}, {"loss": 2.0}))
    again = GSSBOSearch(**SETTINGS)
    again.restore_from_dir(str(tmp_path))
    again.save_to_dir(str(tmp_path))
    assert again.optimizer.observations[1].tolist() == [1.0, 2.0]


@pytest.mark.allows_fallback
def test_each_file_that_cannot_be_read_is_named_once(tmp_path, caplog):
    searcher = GSSBOSearch(**SETTINGS)
    for name in ("searcher-state-1.pkl", "searcher-state-2.pkl"):
        (tmp_path / name).write_bytes(b"torn")
    for _ in range(2):
        searcher.restore_from_dir(str(tmp_path))
    newer, older, last = caplog.messages
    assert newer.startswith(f"{tmp_path / 'searcher-state-2.pkl'} cannot be read (")
    assert older.startswith(f"{tmp_path / 'searcher-state-1.pkl'} cannot be read (")
    assert last == f"{tmp_path} holds no readable state of the searcher: the trials are learned instead."


# -- whatever ended is evidence ----------------------------------------------------------------------------------------


def test_options_that_are_objects_are_recognised_in_the_records(tmp_path):
    """The config that Tune has resolved has the objects, of which the searcher has never heard."""
    marks = [("__ref_ph", "a1"), ("__ref_ph", "b2")]
    space = {"net": tune.choice([{"act": marks[0], "x": tune.uniform(0.0, 1.0)}, {"act": marks[1]}])}
    trials = [("a", "TERMINATED", {"act": marks[0], "x": 0.5}), ("b", "ERROR", {"act": marks[1]})]
    rows = [
        [
            json.dumps(
                {
                    "trial_id": name,
                    "status": status,
                    "config": {"net": net | {"act": pickled(Vanished)}},
                    "_Trial__unresolved_config": {"net": net},
                }
            ),
            json.dumps({"last_result": {"loss": 1.0} if status == "TERMINATED" else None}),
        ]
        for name, status, net in trials
    ]
    (tmp_path / "experiment_state-2026-01-02.json").write_text(json.dumps({"trial_data": rows}))
    GSSBOSearch(**(SETTINGS | {"space": space})).save_to_dir(str(tmp_path))
    searcher = GSSBOSearch(**(SETTINGS | {"space": space}))
    searcher.restore_from_dir(str(tmp_path))
    assert np.isnan(searcher.optimizer.observations[1]).tolist() == [False, True]
    for k in range(20):
        assert searcher.suggest(f"t{k}") != {"net": {"act": marks[1]}}  # it has failed


@pytest.mark.parametrize("domain", [tune.uniform(0.0, 1.0), tune.choice([(1, 2), 0.1, np.float32(0.3), None])])
def test_what_is_told_is_what_is_pending_under_its_key(domain, tmp_path, monkeypatch):
    """Whatever Tune's JSON has made of the values."""
    seen = []

    def checked(method):
        def call(opt, params, *args, key=None, **rest):
            pending = opt._run.history.pending.get(key)
            seen.append(pending is not None)
            assert pending is None or pending.identity == point_key(opt.space.encode(params))
            return method(opt, params, *args, key=key, **rest)

        return call

    monkeypatch.setattr(GSSBO, "tell", checked(GSSBO.tell))
    monkeypatch.setattr(GSSBO, "report", checked(GSSBO.report))
    given = {"space": {"p": domain, "q": tune.quniform(0.0, 1.0, 0.1), "net": tune.choice([{"k": domain}, None])}}
    searcher = GSSBOSearch(**(SETTINGS | given), points_to_evaluate=[{"q": np.float32(0.3)}, {"net": {"k": 0.1}}])
    for k in range(12):
        config = kept = searcher.suggest(f"t{k}")
        searcher.on_trial_result(f"t{k}", {"loss": 1.0, "training_iteration": 1})
        if k % 3 == 2:
            (tmp_path / "searcher-state-s.pkl").unlink(missing_ok=True)
            searcher.save_to_dir(str(tmp_path), "s")
            kept = json.loads(json.dumps(config, default=lambda number: number.item()))
            write(tmp_path, (f"t{k}", "RUNNING", kept, {"loss": 1.0}), (f"u{k}", "ERROR", kept, None))
            searcher = GSSBOSearch(**(SETTINGS | given))
            searcher.restore_from_dir(str(tmp_path))
            searcher.on_trial_result(f"t{k}", {"loss": 2.0, "training_iteration": 2, "config": kept})
        searcher.on_trial_complete(
            f"t{k}", {"loss": 1.0, "training_iteration": 3, "config": kept if k % 3 == 2 else {}}
        )
    assert sum(seen) >= 24
    assert searcher.optimizer.pending == []

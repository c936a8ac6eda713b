"""Several processes on one study over real storages, some of which are killed wherever they are."""

from __future__ import annotations

import optuna
import pytest
from optuna.trial import TrialState
from tests.harness import faults
from tests.harness.reliability import storage_url
from tests.harness.worker import SPACE, storage


@pytest.fixture
def url(request):
    if request.param == "postgres":
        request.getfixturevalue("postgres")
    with storage_url(request.param) as url:
        yield url


#: Each storage with two programs, and each program on two storages, since neither knows of the other.
PROGRAMS = [
    ("journal", "plain"),
    ("journal", "reporting"),
    ("sqlite", "plain"),
    ("sqlite", "branching"),
    ("postgres", "branching"),
    ("postgres", "reporting"),
]


@pytest.mark.parametrize(("url", "program"), PROGRAMS, indirect=["url"])
def test_killed_workers_cost_nothing_but_their_own_trials(url, program):
    kills = 1 if url.startswith("journal") else 3  # if the dead one has the journal's lock, it is kept for 30 seconds
    # by default the best trial may be measured again, to see if values are noisy; no other repeat is meant
    outcome = faults.run(url, workers=2, trials=30, kills=kills, program=program, seed=1, avoid_repeats=True)
    assert outcome.errors == ()
    assert outcome.killed == kills
    assert outcome.complete >= 30
    assert outcome.stale <= kills
    assert outcome.lost == 0
    assert outcome.duplicates == 0
    assert outcome.repeats == 0


def test_the_judge_sees_what_it_is_to_see(tmp_path, monkeypatch):
    url = f"journal:{tmp_path}/journal"
    study = optuna.create_study(storage=storage(url))
    params = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0, "width": 3, "act": "relu"}
    for _ in range(2):
        study.enqueue_trial(params)
    first, second = (study.ask(fixed_distributions=SPACE) for _ in range(2))
    study.tell(first, 1.0)
    study.tell(second, 2.0)
    study.enqueue_trial(params)
    study.ask(fixed_distributions=SPACE)
    trials = study.get_trials()
    assert [t.state for t in trials] == [TrialState.COMPLETE] * 2 + [TrialState.RUNNING]
    outcome = faults.judge(trials, [(0, 1.0), (1, 2.5), (2, 3.0), (9, 0.0)], 0, 1.0, ())
    assert (outcome.complete, outcome.stale, outcome.best) == (2, 1, 1.0)
    assert outcome.lost == 3  # another value, never told, unknown
    assert outcome.duplicates == 1  # the third one began when the others had ended
    assert outcome.repeats == 1
    study.enqueue_trial(params)
    study.tell(study.ask(fixed_distributions=SPACE), 1.0)  # while the third one runs
    assert faults.judge(study.get_trials(), [], 0, 1.0, ()).duplicates == 2
    monkeypatch.setattr(faults, "MAX_OVERTAKEN", 0)  # as if it had been overtaken by so many that it counts as dead
    outcome = faults.judge(study.get_trials(), [], 0, 1.0, ())
    assert (outcome.duplicates, outcome.retried) == (1, 1)

"""Processes on one study, each with a sampler of the same seed: they learn from each other and choose nothing alike.

`tests/reliability/test_parallel.py` has more processes, over all storages, and kills some of them.
"""

from __future__ import annotations

import subprocess
import sys

import optuna
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

WORKER = """
import sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
from numbo.optuna import GSSBOSampler
from optuna.storages.journal import JournalFileBackend
storage = optuna.storages.JournalStorage(JournalFileBackend(sys.argv[1]))
study = optuna.load_study(study_name="s", storage=storage,
                          sampler=GSSBOSampler(seed=0, n_startup_trials=6, avoid_repeats=True,
                                               warn_independent_sampling=False))
def f(t):
    x = t.suggest_float("x", -3, 3); y = t.suggest_float("y", -3, 3); k = t.suggest_int("k", 0, 9)
    return (x - 1) ** 2 + (y + 1) ** 2 + abs(k - 4)
study.optimize(f, n_trials=20)
print(study.sampler.explain(study).asked_at[-1])
"""


def test_two_processes_share_a_study(tmp_path):
    path = tmp_path / "study"
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    study = optuna.create_study(study_name="s", storage=storage)
    told = told_by_two(WORKER, path)
    trials = study.get_trials()
    assert [t.state for t in trials] == [TrialState.COMPLETE] * 40
    assert len({tuple(t.params.values()) for t in trials}) == 40  # equal seeds, no equal suggestions
    assert max(told) > 25  # each process learned from the other


def told_by_two(code, path):
    """What two processes print that run the ``code`` of a worker on the study at ``path`` side by side."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) for _ in range(2)]
    told = []
    for worker in workers:
        out, error = worker.communicate()
        assert worker.returncode == 0, error
        assert "could be fitted" not in error
        told.append(int(out))
    return told

"""Forks while other threads work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
ROOT = Path(__file__).parents[1]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_children_of_a_process_whose_threads_compile():
    assert run("from tests.harness.forks import fork; print(fork(12))").strip() == str([0] * 12)


#: In a process of its own: one that runs tests has other threads, such as those of Ray, whose locks a child inherits.
HELD = """
import os
import sys
import threading

import optuna
from numbo.optuna import CurvePruner, GSSBOSampler


def objective(trial):
    for step in range(5):
        trial.report(trial.suggest_float("x", 0.0, 1.0), step)
        trial.should_prune()
    return trial.params["x"]


def hold():
    with lock:
        held.set()
        leave.wait()


optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=CurvePruner())
study.optimize(objective, n_trials=6)
lock = getattr(study, OF)._lock
held, leave = threading.Event(), threading.Event()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if not child:
    try:
        study.optimize(objective, n_trials=6)
    finally:  # also in place of the report of an error
        os._exit(sys.exc_info()[0] is not None)
leave.set()
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), getattr(study, OF)._lock is lock)
"""


@pytest.mark.parametrize("of", ["sampler", "pruner"])
def test_a_sampler_or_pruner_that_another_thread_was_using(of):
    assert run(HELD.replace("OF", repr(of))).split() == ["0", "True"]


INTERRUPTED = """
import os
import signal
import time

from numbo import _forks


class Lock:
    def __enter__(self):
        signal.raise_signal(signal.SIGINT)

    def __exit__(self, *arguments):
        pass


signal.signal(signal.SIGINT, signal.default_int_handler)
_forks.wait_for(Lock())
try:
    child = os.fork()
    if not child:
        os._exit(7)
    os.waitpid(child, 0)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_a_fork_waits_gets_out_after_it():
    assert run(INTERRUPTED).split()[-1] == "interrupted"

"""What other systems lack is not needed. The workflow ``checks`` runs a part of the suite on macOS and Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WINDOWS = """
import os
import signal
import sys

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for module, names in (
    (os, ("fork", "register_at_fork", "nice", "sched_getaffinity", "getuid", "kill")),
    (signal, ("SIGALRM", "SIGUSR1", "SIGKILL", "SIGRTMIN", "setitimer", "pthread_sigmask")),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""
USE = """
import optuna
from numbo.compiling import jit, turns
from numbo.warming import ahead
from numbo.optuna import CurvePruner, GSSBOSampler

assert not turns.possible()
jit.warn_after(None)
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=GSSBOSampler(seed=0), pruner=CurvePruner())


def objective(trial):
    trial.report(trial.suggest_float("x", 0.0, 1.0), 0)
    return trial.params["x"]


@jit.jit
def kernel(x):
    return x + 1.0


study.optimize(objective, n_trials=5)
print(len(study.trials), kernel(1.0))
"""


def test_without_forks_file_locks_and_most_signals(tmp_path):
    """As on Windows."""
    environment = os.environ | {"NUMBO_COMPILE_AHEAD": "1"}
    script = tmp_path / "probe.py"  # kernels need a file
    script.write_text(WINDOWS + USE, encoding="utf-8")
    result = subprocess.run([sys.executable, script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.stdout.split() == ["5", "2.0"], result.stderr
    assert not result.stderr

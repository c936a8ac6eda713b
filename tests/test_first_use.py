"""The first use on a machine: nobody waits without being told why."""

from __future__ import annotations

import os
import subprocess
import sys

#: What the processes in the background compile, a study on its own does not have to.
AHEAD = """
from numba.core import event
from numbo import GSSBO, Float, _ahead


class Listener(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


optimizer = GSSBO({"x": Float(0, 1)}, seed=0)
optimizer.ask()
assert 1 <= len(_ahead._children) <= _ahead.PARTS
for child in _ahead._children:
    assert child.wait() == 0
event.register("numba:compile", Listener())
for _ in range(40):
    optimizer.tell(point := optimizer.ask(), point["x"] ** 2)
assert not _ahead._children
"""
FIRST = """
import sys, optuna
from numbo.optuna import GSSBOSampler
study = optuna.create_study(sampler=GSSBOSampler(seed=0))
study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=12)
"""
AFTERWARDS = """
import numpy as np
from numba.core import event
from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, warmup

warmup()
compiled = []


class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


event.register("numba:compile", Listener())
rng = np.random.default_rng(0)
smooth = {f"x{j}": Float(0, 1) for j in range(4)}
mixed = {"a": Float(0, 1), "b": Int(1, 5), "c": Categorical("abc"), "d": Float(1e-5, 1, log=True)}
settings = [(GSSBO, {}), (GSSBO, {"preset": "paper"}), (GPUCB, {}), (BKB, {}), (BBKB, {}), (SBPE, {"horizon": 60})]
settings += [(GSSBO, {"criterion": c}) for c in ("sign", "nystrom", "random", "first")]
settings += [(BBKB, {"stopping": "global-local"}), (GSSBO, {"kernel": "rbf"}), (BBKB, {"initial_dictionary": "rls"})]
for optimizer, options in settings:
    for space in (smooth, mixed):
        opt = optimizer(space, seed=0, **options)
        for x in rng.random((140, 4)):
            opt.tell(opt.space.decode(x), rng.normal())
        for _ in range(10):
            opt.tell(opt.ask(), rng.normal())
        opt.ask(3)
        opt.predict(opt.ask())
for arms in ({}, {"kernel": "rbf", "lengthscale": 0.3, "noise_std": 0.1}):
    for optimizer in (BBKB, BKB, SBPE):
        opt = optimizer(arms=rng.random((200, 3)), seed=0, **arms)
        for _ in range(60):
            opt.tell(opt.ask(), rng.normal())
print(compiled)
"""


def run(cache, code, *command, ahead="0"):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_JIT": "0", "NUMBO_COMPILE_AHEAD": ahead}
    result = subprocess.run([sys.executable, *command, code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


def test_compilation_is_announced_once_and_a_warm_machine_compiles_nothing(tmp_path):
    assert run(tmp_path, AHEAD, "-c", ahead="1").stdout == ""
    for path in tmp_path.rglob("ascent.ascend*"):
        path.unlink()
    cold = run(tmp_path, FIRST, "-c").stderr
    assert cold.count("numbo compiles its kernels for this machine and caches them in") == 1
    assert str(tmp_path) in cold
    info = run(tmp_path, "info", "-m", "numbo").stdout
    assert str(tmp_path) in info
    assert "kernels are ready after" in info
    for name in ("numbo ", "numba ", "optuna ", "cores"):
        assert name in info
    assert "numbo compiles" not in run(tmp_path, FIRST, "-c").stderr
    assert run(tmp_path, AFTERWARDS, "-c").stdout.strip() == "[]"


JITCLASS = """
import numba, numbo.optuna


@numba.experimental.jitclass([("x", numba.float64)])
class Point:
    def __init__(self, x):
        self.x = x


print(Point(2.0).x)
"""


def test_other_code_that_is_compiled_is_left_alone(tmp_path):
    done = run(tmp_path, JITCLASS, "-c")
    assert done.stdout.strip() == "2.0"
    assert "numbo compiles" not in done.stderr

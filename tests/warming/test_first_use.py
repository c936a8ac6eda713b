"""The first use on a machine: nobody waits without being told why, and all that is needed is compiled beforehand."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from numbo import warmup
from numbo.warming import first_use

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="there is nothing to compile")

#: Kernels for certain types, which this process has compiled or loaded from the cache.
READY = """
import sys
from numba.core.dispatcher import Dispatcher


def ready():
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("numbo.kernels.")]
    kernels = {k for m in modules for k in vars(m).values() if isinstance(k, Dispatcher)}
    return {(k.py_func.__name__, types) for k in kernels for types in k.overloads}


"""
#: What the processes in the background compile, a study on its own does not have to.
PARTS = """
import numbo
from numbo import Float
from numbo.warming.first_use import compile_part
from numbo.compiling import jit
from numbo.kernels.acquisition import mean_variance

for part in (1, 0):
    compile_part(sys.argv[1], part, jit.lock_path(mean_variance))
before = ready()
assert before
optimizer = getattr(numbo, sys.argv[1])({"x": Float(0, 1)}, seed=0)
for _ in range(40):
    optimizer.tell(point := optimizer.ask(), point["x"] ** 2)
optimizer = getattr(numbo, sys.argv[1])({"x": Float(0, 1), "y": Float(0, 1)}, seed=0)
for i in range(140):  # more than a buffer holds, with noise
    optimizer.tell(point := optimizer.ask(), point["x"] ** 2 + 7 * i % 11)
for steps in (8, 7):
    optimizer.tell(optimizer.ask(), 1.0, partial=steps == 7, reports={step: 9.0 - step for step in range(steps)})
print(ready() - before)
"""
AFTERWARDS = """
import numpy as np
from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int, warmup
from numbo import BBKBSettings, BKBSettings, GSSBOSettings, SBPESettings

warmup()
before = ready()
assert before
rng = np.random.default_rng(0)
smooth = {f"x{j}": Float(0, 1) for j in range(4)}
mixed = {"a": Float(0, 1), "b": Int(1, 5), "c": Categorical(list("abc")), "d": Float(1e-5, 1, log=True)}
settings = [(GSSBO, {}), (GSSBO, {"preset": "paper"}), (GPUCB, {}), (BKB, {}), (BBKB, {}), (SBPE, {"horizon": 60})]
settings += [(GSSBO, {"settings": GSSBOSettings(criterion=c)}) for c in ("sign", "nystrom", "random", "first")]
settings += [(GSSBO, {"settings": GSSBOSettings(kernel="rbf")})]
settings += [(BBKB, {"settings": BBKBSettings(stopping="global-local")})]
settings += [(BBKB, {"settings": BBKBSettings(initial_dictionary="rls")})]
for optimizer, options in settings:
    for space in (smooth, mixed):
        opt = optimizer(space, seed=0, **options)
        for x in rng.random((130, 4)):
            opt.tell(opt.space.decode(x), rng.normal())
        for _ in range(4):
            opt.tell(opt.ask(), rng.normal())
        opt.ask(3)
        opt.predict(opt.ask())
        for i in range(12):
            opt.tell(point := opt.ask(), None if i % 2 else 1.0)
        for steps in (8, 7):
            opt.tell(opt.ask(), 1.0, partial=steps == 7, reports={step: 9.0 - step for step in range(steps)})
        opt.ask()
for arms in ({}, {"kernel": "rbf", "lengthscale": 0.3, "noise_std": 0.1}):
    for optimizer, made in ((BBKB, BBKBSettings), (BKB, BKBSettings), (SBPE, SBPESettings)):
        opt = optimizer(arms=rng.random((200, 3)), seed=0, settings=made(**arms))
        for _ in range(60):
            opt.tell(opt.ask(), rng.normal())
print(ready() - before)
"""
#: Kernels that Python calls and that are not compiled on a warm machine.
UNKNOWN = """
import importlib, pkgutil
import numbo
import numbo.kernels
from numba.core.dispatcher import Dispatcher

numbo.warmup()
names = [found.name for found in pkgutil.iter_modules(numbo.kernels.__path__)]
modules = [importlib.import_module(f"numbo.kernels.{name}") for name in names]
kernels = {k for m in modules for k in vars(m).values() if isinstance(k, Dispatcher)}
called = {k for k in kernels if not k.targetoptions.get("no_cpython_wrapper")}
assert called
print(*sorted(k.py_func.__name__ for k in called if not k.overloads))
"""
#: Starts what compiles in the background, waits for it, and says what is compiled after that.
AHEAD = """
from numba.core import event
from numbo import GSSBO, Float
from numbo.warming import ahead


class Listener(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass


optimizer = GSSBO({"x": Float(0, 1)}, seed=0)
optimizer.ask()
assert 1 <= len(ahead._children) <= ahead.PARTS
for child in ahead._children:
    assert child.wait() == 0
event.register("numba:compile", Listener())
for _ in range(40):
    optimizer.tell(point := optimizer.ask(), point["x"] ** 2)
assert not ahead._children
"""
FIRST = """
import optuna
from numbo.optuna import GSSBOSampler
study = optuna.create_study(sampler=GSSBOSampler(seed=0))
study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=12)
"""
JITCLASS = """
import numba, numbo.optuna


@numba.experimental.jitclass([("x", numba.float64)])
class Point:
    def __init__(self, x):
        self.x = x


print(Point(2.0).x)
"""


def run(code, *arguments, cache=None, ahead="0"):
    environment = os.environ | {"NUMBO_COMPILE_AHEAD": ahead} | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    result = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def warm():
    """The folder with all kernels that a warm machine has."""
    warmup()
    return Path(first_use.cache_path())


@pytest.mark.parametrize("algorithm", ["GSSBO", "BBKB"])
def test_the_background_compiles_all_that_a_study_needs(warm, algorithm):
    assert run(READY + PARTS, algorithm).stdout.strip() == "set()"


def test_a_warm_machine_compiles_nothing(warm):
    assert run(READY + AFTERWARDS).stdout.strip() == "set()"


def test_a_warm_machine_has_all_kernels_but_those_for_what_few_studies_have(warm):
    earlier, allowed, prior = {"features"}, {"ascend_within", "holding", "repaired"}, {"table_sums"}
    within = {"rank_blocks"}  # of `start_bounds`
    assert set(run(UNKNOWN).stdout.split()) == earlier | allowed | prior | within


@pytest.mark.parametrize("algorithm", ["GSSBO", "BBKB"])
def test_on_a_warm_machine_nothing_starts_in_the_background(warm, algorithm):
    imports = f"from numbo import {algorithm}, Float; from numbo.warming import ahead"
    code = f"{imports}; {algorithm}({{'x': Float(0, 1)}}, seed=0).ask()"
    assert run(f"{code}; print(ahead._children)", ahead="1").stdout.strip() == "[]"


@pytest.mark.slow
def test_what_is_not_in_the_cache_is_compiled_in_the_background_or_announced(warm, tmp_path):
    folder = Path(
        run("from numbo.warming.first_use import cache_path; print(cache_path())", cache=tmp_path).stdout.strip()
    )
    assert folder.is_relative_to(tmp_path)
    shutil.copytree(warm, folder, dirs_exist_ok=True)

    def forget(kernel):
        files = list(folder.glob(f"{kernel}-*"))
        assert files
        for path in files:
            path.unlink()

    forget("acquisition.mean_variance")
    assert run(AHEAD, cache=tmp_path, ahead="1").stdout == ""
    assert list(folder.glob("acquisition.mean_variance-*.nbc"))
    forget("acquisition.unweighted_values")
    said = run(FIRST, cache=tmp_path).stderr
    assert said.count(f"numbo compiles its kernels for this machine and caches them in {folder}") == 1
    assert "numbo compiles" not in run(FIRST, cache=tmp_path).stderr


def test_what_the_command_line_says(warm, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["numbo", "info"])
    runpy.run_module("numbo", run_name="__main__")
    info = capsys.readouterr().out
    assert str(warm) in info
    assert "kernels are ready after" in info
    for name in ("numbo ", "numba ", "optuna ", "cores"):
        assert name in info


def test_other_code_that_is_compiled_is_left_alone():
    done = run(JITCLASS)
    assert done.stdout.strip() == "2.0"
    assert "numbo compiles" not in done.stderr

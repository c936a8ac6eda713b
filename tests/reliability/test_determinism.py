"""The same seed and history give the same suggestions, whatever the process, its threads and its hash seed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from numbo import BKB, GPUCB, GSSBO, SBPE, Float, Int, Space

pytestmark = pytest.mark.arithmetic

SCRIPT = """
import hashlib, sys
import optuna
from numbo import BBKB, BKB, GSSBO, SBPE, Categorical, Float, Int, Space
from numbo.optuna import BBKBSampler, GSSBOSampler

cut = int(sys.argv[1])
space = Space({"x": Float(-1.0, 1.0), "rate": Float(1e-6, 1.0, log=True), "width": Int(1, 100, log=True),
               "layers": Int(1, 4), "act": Categorical(["relu", "tanh", None])})

def f(p):
    return (p["x"] - 0.3) ** 2 + abs(p["layers"] - 3) + (p["act"] != "tanh") + 0.1 * p["width"] ** 0.5 + p["rate"]

for make in (GSSBO, lambda s, **k: GSSBO(s, preset="paper", buffer_size=20, **k), BKB, BBKB,
             lambda s, **k: SBPE(s, horizon=40, **k)):
    opt, out, points = make(space, seed=7, n_initial=8), [], []
    for i in range(40):
        out.append(opt.ask())
        points.append(out[-1])
        if len(out) > 3:
            params = out.pop(i % 3)
            opt.tell(params, f(params))
        if i == cut:
            opt = type(opt).from_state_dict(opt.state_dict())
    print(type(opt).__name__, hashlib.sha256(repr(points).encode()).hexdigest())

optuna.logging.set_verbosity(optuna.logging.ERROR)
for cls in (GSSBOSampler, BBKBSampler):
    study = optuna.create_study(sampler=cls(seed=7))
    def objective(t):
        n, c = t.suggest_int("n", 1, 50, log=True), t.suggest_categorical("c", "ab")
        return (t.suggest_float("x", -1, 1) - 0.3) ** 2 + n * (c == "a")
    study.optimize(objective, n_trials=cut)
    study.optimize(objective, n_trials=40 - cut)
    print(cls.__name__, hashlib.sha256(repr([t.params for t in study.trials]).encode()).hexdigest())
"""


#: Runs that pass through all parts: populations and quadratics, branches, lines of 20 dimensions, arms, a race.
EVERY_PART = """
import hashlib
import optuna
from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int
from numbo.optuna import GSSBOSampler

def show(name, points):
    print(name, hashlib.sha256(repr(points).encode()).hexdigest())

cube = {f"x{j}": Float(-1.0, 2.0) for j in range(3)}
wide = {f"x{j}": Float(-1.0, 2.0) for j in range(20)}
grid = {"i": Int(0, 19), "j": Float(0.0, 1.0, step=0.0625), "c": Categorical(["a", "b", "c"])}
mixed = {"x": Float(-1.0, 2.0), "rate": Float(1e-6, 1.0, log=True), "width": Int(1, 512, log=True)}

def f(p):
    numbers = [v for v in p.values() if not isinstance(v, str)]
    return sum((j + 1.0) * (v - 0.3) ** 2 for j, v in enumerate(numbers)) + 0.5 * numbers[0] * numbers[-1] + len(str(p))

def smooth(p):
    a, b, c = p.values()
    return (a - 0.3) ** 2 + 50.0 * (b - a) ** 2 + 5.0 * (c - b) ** 2

for make, space, objective, trials in (
    (GSSBO, cube, smooth, 120), (GSSBO, wide, f, 40), (GSSBO, mixed, f, 40), (GPUCB, mixed, f, 30),
    (BKB, grid, f, 40), (BBKB, grid, f, 40), (BBKB, mixed, f, 30), (SBPE, grid, f, 40), (SBPE, mixed, f, 40),
):
    opt, points = make(space, seed=7, **({"horizon": 40} if make is SBPE else {})), []
    for _ in range(trials):
        points.append(opt.ask())
        opt.tell(points[-1], objective(points[-1]))
    show(make.__name__, points)

def branches(t):
    if t.suggest_categorical("kind", "ab") == "a":
        return (t.suggest_float("x", -1.0, 1.0) - 0.3) ** 2
    return sum((t.suggest_float(f"y{j}", 0.0, 1.0) - 0.4) ** 2 for j in range(t.suggest_int("n", 1, 3))) - 0.1

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=GSSBOSampler(seed=7))
study.optimize(branches, n_trials=40)
show("branches", [t.params for t in study.trials])
"""
#: Features of processors that NumPy has faster code for, as old and new versions name them.
FEATURES = set(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
#: Kernels of OpenBLAS that need them.
CORES = {"Prescott": None, "Haswell": {"AVX2", "X86_V3"}, "SkylakeX": {"AVX512_SKX", "X86_V4"}}


def digests(cut, **environment):
    return output(SCRIPT, cut, **environment)


def output(script, *arguments, **environment):
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "could be fitted" not in result.stderr
    return result.stdout


def test_processes_threads_hash_seeds_and_restored_states_agree():
    one = digests(11, PYTHONHASHSEED="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    assert len(one.splitlines()) == 7
    other = {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4", "NUMBA_NUM_THREADS": "2"}
    assert digests(29, PYTHONHASHSEED="random", **other) == one


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="OpenBLAS has other kernels")
def test_suggestions_do_not_depend_on_the_kernels_of_openblas_or_numpy():
    usual = output(EVERY_PART)
    assert len(usual.splitlines()) == 10
    slow = {"NPY_DISABLE_CPU_FEATURES": " ".join(FEATURES)}
    for core, needed in CORES.items():
        if needed is None or needed & FEATURES:
            assert output(EVERY_PART, OPENBLAS_CORETYPE=core, **(slow if needed is None else {})) == usual


@pytest.mark.parametrize("exponent", [-990, 990])
@pytest.mark.parametrize("algorithm", [GSSBO, GPUCB, BKB, SBPE])
def test_an_objective_times_a_power_of_two_is_searched_in_the_same_way(algorithm, exponent):
    space = Space({"x": Float(-1.0, 1.0), "rate": Float(1e-3, 1.0, log=True), "k": Int(1, 9)})

    def run(unit):
        opt, asked = algorithm(space, seed=0, n_initial=6), []
        for _ in range(25):
            asked.append(p := opt.ask())
            value = (p["x"] - 0.3) ** 2 + abs(p["k"] - 4) + p["rate"] + 20.0 * (p["x"] < -0.8)
            opt.tell(p, unit * value)
        return asked, np.array(opt.predict(asked)) / unit, opt.explain()

    (asked, predicted, found), (other, scaled, explained) = run(1.0), run(2.0**exponent)
    assert other == asked
    np.testing.assert_array_equal(scaled, predicted)
    assert explained.relevance == found.relevance
    assert explained.noise_share == found.noise_share

"""Fingerprints of what every algorithm suggests and predicts.

A change that only moves code must not change a single bit of any suggestion. Each run tells a made-up objective to one
algorithm over one kind of space, and takes a fingerprint of everything that it returns: points, predictions,
explanations. In ``"plain"`` runs points come one at a time. In ``"busy"`` runs several are pending, some fail, some are
released, whole batches and points with fixed values are asked for, and half-way the optimizer is saved and restored.
In a situation (`benchmarks.checks.situations`) it is pickled and interrupted, too, and runs through adapters; a mark
for each step names the first one that differs.
Fingerprints are comparable only on one machine with one set of packages.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.arguments import add_names
from benchmarks.checks import situation_runs
from benchmarks.checks.fingerprint import Fingerprint, look
from benchmarks.checks.situations import MIXED, SITUATIONS, value
from numbo import (
    BBKB,
    BKB,
    GPUCB,
    GSSBO,
    SBPE,
    BBKBSettings,
    BKBSettings,
    Categorical,
    Float,
    GPUCBSettings,
    GSSBOSettings,
    Int,
)
from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler
from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch

STEPS = 300
#: Number of steps between inspections of the model.
LOOK_EVERY = 50
WORKERS = 5
FIXED: dict[str, Any] = {"lengthscale": 0.3, "noise_std": 0.1}
ALGORITHMS: dict[str, Callable[..., Any]] = {
    "GSSBO": GSSBO,
    "GSSBO-paper": partial(GSSBO, preset="paper"),
    "GSSBO-small": partial(GSSBO, buffer_size=40),
    "GSSBO-nystrom": partial(GSSBO, buffer_size=60, settings=GSSBOSettings.of_preset("paper", criterion="nystrom")),
    "GPUCB": GPUCB,
    "GPUCB-log": partial(GPUCB, beta="log", settings=GPUCBSettings(acquisition="alternate", trend=True, warp=True)),
    "BKB": BKB,
    "BKB-paper": partial(BKB, beta="paper", settings=BKBSettings(kernel="rbf"), **FIXED),
    "BBKB": BBKB,
    "BBKB-paper": partial(BBKB, beta="paper", settings=BBKBSettings(stopping="global-local"), **FIXED),
    "BBKB-reference": partial(BBKB, beta="reference", settings=BBKBSettings(qbar=4.0, max_dictionary=60), **FIXED),
    "BBKB-exact": partial(BBKB, settings=BBKBSettings(qbar=np.inf, initial_dictionary="rls", resparsify=0.0)),
    "SBPE": partial(SBPE, horizon=STEPS),
    "SBPE-paper": partial(SBPE, horizon=STEPS, beta="paper", **FIXED),
    "SBPE-union": partial(SBPE, horizon=STEPS, **FIXED),
}
#: Algorithms that take arms; `BATCHED` needs arms or a space that can be enumerated.
ON_ARMS = [name for name in ALGORITHMS if name.startswith(("BKB", "BBKB", "SBPE"))]
BATCHED = "BBKB-batched"
ALGORITHMS[BATCHED] = partial(BBKB, settings=BBKBSettings(min_batch=4), **FIXED)
SAMPLERS = {"GSSBO": GSSBOSampler, "GPUCB": GPUCBSampler, "BKB": BKBSampler, "BBKB": BBKBSampler, "SBPE": SBPESampler}
SEARCHERS = {"GSSBO": GSSBOSearch, "BKB": BKBSearch, "BBKB": BBKBSearch, "SBPE": SBPESearch}


def space(kind: str) -> Any:
    """A search space of one kind, or the features (300, 3) of arms."""
    if kind == "arms":
        return np.random.default_rng(1).random((300, 3))
    if kind == "continuous":
        return {"x": Float(-2, 3), "y": Float(1e-4, 1, log=True), "z": Float(0, 1)}
    if kind == "enumerable":
        return {"i": Int(0, 19), "j": Float(0, 1, step=0.125), "c": Categorical(["a", "b", "c"])}
    return MIXED


def runs() -> Iterator[tuple[str, str, str]]:
    """All runs: algorithm, kind of space or situation, and mode.

    Modes are ``"plain"``, ``"busy"``, ``"optuna"`` and ``"ray"``, and ``"core"`` for situations.
    """
    for mode in ("plain", "busy"):
        for name in ALGORITHMS:
            for kind in ("continuous", "mixed", "enumerable", "arms"):
                if (kind != "arms" or name in [*ON_ARMS, BATCHED]) and (
                    name != BATCHED or kind in ("enumerable", "arms")
                ):
                    yield name, kind, mode
    for kind, situation in SITUATIONS.items():
        yield from ((name, kind, "core") for name in situation.algorithms)
        if situation.optuna:
            yield from ((name, kind, "optuna") for name in situation.algorithms if name in SAMPLERS)
        if situation.ray:
            yield from ((name, kind, "ray") for name in situation.algorithms if name in SEARCHERS)


def digest_core(name: str, kind: str, mode: str, steps: int) -> list[str]:
    rng = np.random.default_rng(7)
    domain = space(kind)
    out = Fingerprint()
    settings = {"seed": 3} if mode == "plain" else {"seed": 3, "n_initial": 6}
    build = ALGORITHMS[name]
    opt = build(arms=domain, direction="minimize", **settings) if kind == "arms" else build(domain, **settings)
    grid = opt.space.grid() if kind in ("arms", "enumerable") else np.random.default_rng(2).random((40, opt.space.d))
    probes = [opt.space.decode(x) for x in opt.space.snap(grid[:40])]
    running: list[Any] = []

    def finish(point: Any) -> None:
        x = opt.space.encode(point)
        fails = mode == "busy" and (rng.random() < 0.1 or (x[0] > 0.8 and kind != "arms"))
        opt.tell(point, None if fails else value(x) + (0.0 if kind != "arms" else 0.05 * rng.normal()))

    step = 0
    while step < steps:
        if mode == "plain":
            points = [opt.ask()]
            finish(points[0])
        elif step % 60 == 59 and hasattr(opt, "next_batch"):
            points = opt.next_batch(12)
            for point in points:
                finish(point)
        elif step % 45 == 44 and kind != "arms":
            first = next(iter(probes[step % 40].items()))
            x, origin = opt.suggest((4, step), fixed=dict([first]))
            points = [opt.space.decode(x)]
            opt.hold(("mine", step), points[0], origin)
            opt.release(("mine", step)) if step % 2 else opt.tell(points[0], value(x), key=("mine", step))
        else:
            points = [opt.ask()]
            running += points
            if len(running) >= WORKERS:
                finish(running.pop(int(rng.integers(len(running)))))
        out.add(*points)
        step += 1
        if step % LOOK_EVERY == 0:
            out.mark()
            look(out, opt, probes)
            out.mark()
        if mode == "busy" and step == steps // 2:
            opt = type(opt).from_state_dict(pickle.loads(pickle.dumps(opt.state_dict())))
    if hasattr(opt, "status"):
        out.add(opt.status)
    out.mark()
    return out.marks


def digest(name: str, kind: str, mode: str, steps: int) -> list[str]:
    """The marks of one run; a situation takes its own number of steps, and fewer if ``steps`` are."""
    if kind in SITUATIONS:
        situation = SITUATIONS[kind]
        count = min(situation.steps, steps)
        if mode == "optuna":
            return situation_runs.by_optuna(SAMPLERS[name], situation, count)
        if mode == "ray":
            return situation_runs.by_ray(SEARCHERS[name], situation, count)
        return situation_runs.by_itself(ALGORITHMS[name], situation, count)
    return digest_core(name, kind, mode, steps)


def measure(path: Path, against: Path | None, names: list[str], kinds: list[str] | None, steps: int) -> bool:
    """Write all fingerprints to ``path``; report those that differ from ``against``. Returns whether none does."""
    found = {}
    known = {} if against is None else json.loads(against.read_text())
    started = time.perf_counter()
    same = True
    for name, kind, mode in tqdm([run for run in runs() if run[0] in names and run[1] in (kinds or [run[1]])]):
        marks = digest(name, kind, mode, steps)
        key = f"{name} {kind} {mode} {steps}"
        found[key] = marks
        if against is not None and known.get(key) != marks:
            before = known.get(key, [])
            first = next((i for i, (a, b) in enumerate(zip(before, marks, strict=False)) if a != b), -1)
            tqdm.write(
                f"{key}: differs" + (f" from mark {first} of {len(marks)} on" if before else ", not known before")
            )
            same = False
        path.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} runs in {time.perf_counter() - started:.0f} s" + (", all equal" if against and same else ""))
    return same


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, help="where they are written, as JSON")
    parser.add_argument("--against", type=Path, help="fingerprints of the same machine to compare with")
    add_names(parser, "--algorithms", "algorithm", ALGORITHMS)
    parser.add_argument("--kinds", nargs="+", help="kinds of spaces and situations, all by default")
    parser.add_argument("--steps", type=int, default=STEPS)


def main(arguments: argparse.Namespace) -> None:
    if not measure(arguments.path, arguments.against, arguments.algorithms, arguments.kinds, arguments.steps):
        raise SystemExit(1)

"""Median time of one suggestion through ``study.ask``, against the number of trials the study holds.

Levy-20, in memory. A study is filled with evaluated trials: 300 suggested by the sampler itself, and beyond these,
random points near the best of them, so that the model sees data as late in a run. Then 40 trials are asked for and
told, and timed. "GSSBO core" is the same history and the same suggestions without Optuna: the difference from "GSSBO"
is the time of Optuna and the adapter. With ``--branching``, a space of 40 dimensions of which ten are active is
compared with 40 plain ones instead, in the core.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from benchmarks.problems.suites import make
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.samplers.search import numbo_space
from benchmarks.storage import RESULTS
from numbo import GSSBO, Categorical, Float, Space

PROBLEM = make("levy-20")
SPACE = dict(PROBLEM.space)
LOW = -10.0
HIGH = 10.0
SIZES = (100, 500, 1000, 5000, 10_000)
REPEATS = 40
BRANCHES = list("abcdef")


def prefilled(sampler: str, n: int) -> optuna.Study:
    """A study of ``n`` finished trials."""
    study = optuna.create_study(sampler=SAMPLERS[sampler](0))
    own = min(n, 300 if sampler != "GPSampler" else 20)
    for _ in range(own):
        trial = study.ask(fixed_distributions=SPACE)
        study.tell(trial, PROBLEM.function(trial.params))
    rng = np.random.default_rng(0)
    center = np.array([study.best_params[name] for name in SPACE])
    trials = []
    for _ in range(n - own):
        scale = (HIGH - LOW) * 10.0 ** rng.uniform(-3, 0)
        x = np.clip(center + scale * rng.normal(size=len(SPACE)), LOW, HIGH)
        params = dict(zip(SPACE, map(float, x), strict=True))
        trials.append(optuna.create_trial(params=params, distributions=SPACE, value=PROBLEM.function(params)))
    study.add_trials(trials)
    return study


def ask_ms(sampler: str, n: int, repeats: int = REPEATS) -> list[float]:
    """Times of single suggestions in milliseconds, without the first one, which learns the history."""
    study = prefilled(sampler, n)
    times = []
    for _ in range(repeats + 1):
        before = time.perf_counter()
        trial = study.ask(fixed_distributions=SPACE)
        times.append(1e3 * (time.perf_counter() - before))
        study.tell(trial, PROBLEM.function(trial.params))
    return times[1:]


def core_ms(n: int) -> list[float]:
    """Like `ask_ms`, but for asking and telling the optimizer itself."""
    optimizer = GSSBO(numbo_space(SPACE), direction="minimize", seed=0)
    for trial in prefilled("GSSBO", n).trials:
        optimizer.tell(trial.params, trial.value)
    return timed(optimizer, PROBLEM.function, REPEATS + 1)[1:]


def timed(optimizer: GSSBO, function: Callable[[Any], float], count: int) -> list[float]:
    """Milliseconds of asking for a point and telling its value, ``count`` times, without the function itself."""
    times = []
    for _ in range(count):
        before = time.perf_counter()
        params = optimizer.ask()
        asked = time.perf_counter()
        value = function(params)
        told = time.perf_counter()
        optimizer.tell(params, value)
        times.append(1e3 * (time.perf_counter() - told + asked - before))
    return times


def branching_ms(space: Space, seed: int, trials: int) -> list[float]:
    """Times as by `timed`, from the fiftieth trial on; the objective is a bowl in what is active."""

    def bowl(params: dict[str, Any]) -> float:
        value = sum((u - 0.2 - 0.06 * (7 * i % 10)) ** 2 for i, u in enumerate(params.values()) if u not in BRANCHES)
        return float(value + 0.2 * BRANCHES.index(params.get("kind", BRANCHES[0])))

    return timed(GSSBO(space, direction="minimize", seed=seed), bowl, trials)[50:]


def measure_branching(seeds: int = 5, trials: int = 300) -> None:
    """Print the times over 40 dimensions of which ten are active, over 40 plain ones, and their ratio, seed by seed."""
    plain = Space({f"x{i}": Float(0.0, 1.0) for i in range(40)})
    always = {f"x{i}": Float(0.0, 1.0) for i in range(3)}
    within = {f"{b}{i}": Float(0.0, 1.0, when={"kind": [b]}) for b in BRANCHES for i in range(6)}
    branching = Space({"kind": Categorical(BRANCHES), **always, **within})
    for space in (branching, plain):
        branching_ms(space, 0, 100)  # compiles
    ratios = []
    for seed in range(seeds):
        times = [branching_ms(space, seed, trials) for space in (branching, plain)]
        (median, mean), (plain_median, plain_mean) = ((np.median(t), np.mean(t)) for t in times)
        ratios.append((median / plain_median, mean / plain_mean))
        print(
            f"seed {seed}: branching median {median:.2f} ms, mean {mean:.2f}; plain median {plain_median:.2f} ms, "
            f"mean {plain_mean:.2f}; ratio {ratios[-1][0]:.2f}, of means {ratios[-1][1]:.2f}",
            flush=True,
        )
    print("median of the ratios {:.2f}, of those of means {:.2f}".format(*np.median(ratios, axis=0)))


def measure(results: Path, *, gpsampler: bool) -> None:
    """Print the table and write it to ``ask-time.csv``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows: list[tuple[str, int, float, float, float]] = []
    for sampler in ("GSSBO", "GSSBO core", "GSSBO-paper", "CMA-ES", "TPE", "Random"):
        for n in SIZES if sampler != "TPE" else SIZES[:3]:
            times = core_ms(n) if sampler == "GSSBO core" else ask_ms(sampler, n)
            rows.append((sampler, n, float(np.median(times)), float(np.mean(times)), float(np.quantile(times, 0.9))))
            print("{:12s} n={:6d}  median {:8.2f} ms  mean {:8.2f}  90% {:8.2f}".format(*rows[-1]), flush=True)
    if gpsampler:
        times = ask_ms("GPSampler", 500, repeats=5)
        rows.append(("GPSampler", 500, float(np.median(times)), float(np.mean(times)), float(np.max(times))))
        print("{:12s} n={:6d}  median {:8.2f} ms  mean {:8.2f}  max {:8.2f}".format(*rows[-1]))
    results.mkdir(parents=True, exist_ok=True)
    with (results / "ask-time.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sampler", "trials", "median_ms", "mean_ms", "q90_ms"])
        writer.writerows(rows)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpsampler", action="store_true", help="also measure Optuna's GPSampler at 500 trials (slow)")
    parser.add_argument("--branching", action="store_true", help="compare a branching space with a plain one instead")


def main(arguments: argparse.Namespace) -> None:
    if arguments.branching:
        measure_branching()
    else:
        measure(RESULTS, gpsampler=arguments.gpsampler)

"""Long runs: time per suggestion, memory and size of the state over 20,000 trials, and 50,000 trials at once."""

from __future__ import annotations

import csv
import pickle
import resource
import time
from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from tqdm import tqdm

from benchmarks.samplers.registry import SAMPLERS
from numbo.optuna._samplers import NumboSampler

D = 20
SPACE: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(D)}
WINDOW = 500
COLUMNS = ("sampler", "trials", "median_ms", "q99_ms", "max_ms", "memory_mb", "pickle_kb", "state_mb")


def value(params: dict[str, float]) -> float:
    x = np.array(list(params.values())) - 0.3
    return float(np.sum(x**2) + 0.3 * np.sum(1.0 - np.cos(9.0 * x)))


def memory_mb() -> float:
    """Current resident memory of the process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def state_mb(study: optuna.Study) -> float:
    """Size of the optimizer's state, which a searcher of Ray Tune writes with each snapshot; 0 for other samplers."""
    sampler = study.sampler
    if not isinstance(sampler, NumboSampler):
        return 0.0
    (view,) = sampler._views.values()
    return 0.0 if view.desk is None else len(pickle.dumps(view.desk.optimizer.state_dict())) / 2**20


def endure(sampler: str, trials: int, results: Path) -> None:
    """One study of that many trials in memory; every `WINDOW` trials a line is written to ``soak.csv``.

    Run it in a separate process, whose memory is measured.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=SAMPLERS[sampler](0))
    asks: list[float] = []
    with (results / "soak.csv").open("a", newline="") as file:
        writer = csv.writer(file)
        for n in tqdm(range(1, trials + 1), desc=sampler, unit="trial"):
            before = time.perf_counter()
            trial = study.ask(fixed_distributions=SPACE)
            asks.append(1e3 * (time.perf_counter() - before))
            study.tell(trial, value(trial.params))
            if n % WINDOW == 0:
                size = len(pickle.dumps(study.sampler)) / 2**10
                figures = (np.median(asks), np.quantile(asks, 0.99), max(asks), memory_mb(), size, state_mb(study))
                writer.writerow([sampler, n, *(f"{figure:.3f}" for figure in figures)])
                file.flush()
                asks.clear()


def feed(count: int) -> dict[str, float]:
    """Seconds to learn ``count`` trials at once and suggest, milliseconds of further suggestions, and the memory."""
    rng = np.random.default_rng(0)
    trials = []
    for x in rng.random((count, D)):
        params = dict(zip(SPACE, map(float, x), strict=True))
        trials.append(optuna.create_trial(params=params, distributions=SPACE, value=value(params)))
    study = optuna.create_study(sampler=SAMPLERS["GSSBO"](0))
    study.add_trials(trials)
    memory = memory_mb()
    times = []
    for _ in range(12):
        before = time.perf_counter()
        trial = study.ask(fixed_distributions=SPACE)
        times.append(time.perf_counter() - before)
        study.tell(trial, value(trial.params))
    return {
        "trials at once": count,
        "first suggestion, s": times[0],
        "then, median ms": 1e3 * float(np.median(times[1:])),
        "memory of the sampler, MB": memory_mb() - memory,
    }

"""Runs that prune: the best full run after the cost of some, on recorded and on synthetic learning curves.

A trial reports a value at each of its steps, and costs one for each. What counts is the regret of the best trial that
ran to its end, as a share of that of the median configuration, after the cost of `COSTS` full runs.

* ``taskset-K``: recorded curves of networks (Metz et al. 2020); the configuration nearest to what is asked for answers.
* ``recorded-DATA``: those of networks of scikit-learn, recorded by ``python -m benchmarks record-curves``; likewise.
* ``lcbench-TASK``: curves of networks by a surrogate model (YAHPO Gym, Pfisterer et al. 2022), where ``LCBENCH`` names
  a folder with its ``model.onnx`` and ``encoding.json``, and onnxruntime is installed.
* ``KIND-SEED``: synthetic curves with known optima, in five dimensions: ``crossing`` (fast ones end worse), ``smooth``,
  ``late`` (some begin to fall late), ``noisy``.

Beside samplers under pruners, there are peers that choose the number of steps themselves
(`benchmarks.samplers.budgets`).
"""

from __future__ import annotations

import json
import os
import time
import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.trial import TrialState

import optuna
from benchmarks import processes
from benchmarks.samplers import budgets
from benchmarks.storage import load

Array = NDArray[np.float64]

TASKSET = Path(__file__).parents[1] / "data" / "taskset"
RECORDED = Path(__file__).parents[1] / "data" / "recorded"
COSTS = (10, 20, 60)
KINDS = ("crossing", "smooth", "late", "noisy")
LCBENCH = ("3945", "7593", "34539", "126025", "146212", "167168", "168868", "189906")
#: Problems on which no setting was chosen.
APART = ("167104", "168335", "189862", "189909")
APART_SEEDS = (2, 3)
APART_RECORDED = ("cancer",)
#: In place of the pruner's name, of peers that have none.
OWN = "own"


class Task(ABC):
    """Learning curves of the configurations of a search space; smaller values are better.

    Attributes:
        space: what is searched.
        steps: the number of steps of a full run.
        optimum, median: the best value, and that of the median configuration.
    """

    space: dict[str, BaseDistribution]
    steps: int
    optimum: float
    median: float

    @abstractmethod
    def curve(self, params: dict[str, Any]) -> Array:
        """The values (steps,) of a configuration; not finite from where the training has diverged."""

    def regret(self, value: float) -> float:
        """As a share of that of the median configuration."""
        return float(min((value - self.optimum) / (self.median - self.optimum), 2.0))


class Table(Task):
    """Recorded curves, of which the nearest in the unit cube answers.

    A file has ``X`` and ``valid``, and the ``names`` of the columns of ``X``, which of them are ``logarithmic``, and
    which are ``whole`` numbers; those of TaskSet, which have no names, have the ones below.
    """

    NAMES = ("learning_rate", "beta1", "beta2", "epsilon", "l1", "l2", "linear_decay", "exponential_decay")
    LINEAR = ("beta1", "beta2")

    def __init__(self, path: Path) -> None:
        with np.load(path) as data:
            X = data["X"].astype(float)
            self._values = data["valid"].astype(float)
            names = [str(name) for name in data.get("names", self.NAMES)]
            logarithmic = data.get("logarithmic", [name not in self.LINEAR for name in names])
            whole = data.get("whole", [False] * len(names))
        columns = zip(names, X.T, logarithmic, whole, strict=True)
        self.space = {name: self._distribution(x, bool(log), integer) for name, x, log, integer in columns}
        self.steps = self._values.shape[1]
        self._points = self._unit(X)
        ends = np.where(np.isfinite(self._values[:, -1]), self._values[:, -1], np.inf)
        self.optimum = float(ends.min())
        self.median = float(np.median(ends))

    @staticmethod
    def _distribution(x: Array, log: bool, whole: bool) -> FloatDistribution | IntDistribution:
        low = float(x.min())
        high = float(x.max())
        return IntDistribution(int(low), int(high), log=log) if whole else FloatDistribution(low, high, log=log)

    def _unit(self, X: Array) -> Array:
        columns = []
        for x, distribution in zip(np.atleast_2d(X).T, self.space.values(), strict=True):
            assert isinstance(distribution, FloatDistribution | IntDistribution)
            low = distribution.low
            high = distribution.high
            share = np.log(x / low) / np.log(high / low) if distribution.log else (x - low) / (high - low)
            columns.append(share)
        return np.column_stack(columns)

    def curve(self, params: dict[str, Any]) -> Array:
        x = self._unit(np.array([params[name] for name in self.space]))
        nearest: Array = self._values[np.argmin(((x - self._points) ** 2).sum(axis=1))]
        return nearest


class Synthetic(Task):
    """Curves that fall exponentially from 1.2 to a bowl with ripples, at rates that depend on the configuration."""

    D = 5

    def __init__(self, kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed + 77)
        self._kind = kind
        self._best = rng.uniform(0.2, 0.8, self.D)
        self._weights = rng.uniform(0.5, 3.0, self.D)
        self.space = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(self.D)}
        self.steps = 50
        self.optimum = 0.1
        self.median = float(np.median([self._end(u) for u in rng.random((2000, self.D))]))

    def _end(self, u: Array) -> float:
        bowl = 6.0 * np.average((u - self._best) ** 2, weights=self._weights)
        ripples = 0.15 * np.mean(1.0 - np.cos(9.0 * (u - self._best)))
        return float(0.1 + min(0.9, bowl + ripples))

    def curve(self, params: dict[str, Any]) -> Array:
        u = np.array(list(params.values()))
        t = np.arange(1.0, self.steps + 1.0)
        end = self._end(u)
        if self._kind == "late":
            fallen = 1.0 / (1.0 + np.exp(-(t - 30.0 * u[2] ** 2) / 2.0))
            return np.asarray(1.2 + (end - 1.2) * fallen / fallen[-1])
        rate = {"crossing": 0.02 * np.exp(3.5 * u[0]), "smooth": 0.12, "noisy": 0.03 * np.exp(2.0 * u[1])}[self._kind]
        left = (np.exp(-rate * t) - np.exp(-rate * t[-1])) / (1.0 - np.exp(-rate * t[-1]))
        values = end + (1.2 - end) * left
        if self._kind == "crossing":
            values += 0.25 * max(0.0, u[0] - 0.6) * t / t[-1]
        if self._kind == "noisy":
            rng = np.random.default_rng(zlib.crc32(u.round(9).tobytes()))
            values += 0.02 * rng.normal(size=len(t)) * np.linspace(2.0, 0.2, len(t))
        return np.asarray(values)


class LCBench(Task):
    """Validation losses (cross entropy) of networks by a surrogate model."""

    def __init__(self, task: str) -> None:
        import onnxruntime

        folder = Path(os.environ["LCBENCH"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._model = onnxruntime.InferenceSession(folder / "model.onnx", options)
        self._task = json.loads((folder / "encoding.json").read_text())["OpenML_task_id"][task]
        self.steps = 52
        self.space = {
            "batch_size": IntDistribution(16, 512, log=True),
            "learning_rate": FloatDistribution(1e-4, 0.1, log=True),
            "momentum": FloatDistribution(0.1, 0.99),
            "weight_decay": FloatDistribution(1e-5, 0.1),
            "num_layers": IntDistribution(1, 5),
            "max_units": IntDistribution(64, 1024, log=True),
            "max_dropout": FloatDistribution(0.0, 1.0),
        }
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        points = [study.ask(self.space).params for _ in range(1500)]
        ends = np.array([self._values(self.steps, list(p.values()))[0] for p in points])
        self.median = float(np.median(ends))
        self.optimum = self._refined(list(points[int(np.argmin(ends))].values()), float(ends.min()))

    def _values(self, step: Any, x: list[Any]) -> Array:
        rows = np.column_stack([np.atleast_1d(step), np.tile(x, (np.size(step), 1))])
        names = {"cat": np.full((len(rows), 1), self._task, dtype=np.int32), "cont": rows.astype(np.float32)}
        feed = {i.name: names["cat" if "cat" in i.name else "cont"] for i in self._model.get_inputs()}
        return np.asarray(self._model.run(None, feed)[0][:, 2], dtype=float)

    def _refined(self, x: list[Any], best: float) -> float:
        """The best value of a random local search."""
        rng = np.random.default_rng(0)
        for k in range(2500):
            width = 0.3 * 0.9985**k
            near = []
            for value, distribution in zip(x, self.space.values(), strict=True):
                assert isinstance(distribution, FloatDistribution | IntDistribution)
                low = distribution.low
                high = distribution.high
                step = width * rng.normal()
                moved = value * (high / low) ** step if distribution.log else value + (high - low) * step
                moved = float(np.clip(moved, low, high))
                near.append(round(moved) if isinstance(distribution, IntDistribution) else moved)
            if (found := float(self._values(self.steps, near)[0])) < best:
                x = near
                best = found
        return best

    def curve(self, params: dict[str, Any]) -> Array:
        return self._values(np.arange(1, self.steps + 1), list(params.values()))


@cache
def task(name: str) -> Task:
    """The task of this name."""
    kind, _, which = name.partition("-")
    if kind == "taskset":
        return Table(sorted(TASKSET.glob("*.npz"))[int(which)])
    if kind == "recorded":
        return Table(RECORDED / f"{which}.npz")
    return LCBench(which) if kind == "lcbench" else Synthetic(kind, int(which))


def problems(*, apart: bool = False) -> list[str]:
    """Their names: those that settings were chosen on, or those put ``apart``."""
    seeds = APART_SEEDS if apart else (0, 1)
    taskset = [] if apart else [f"taskset-{k}" for k in range(len(list(TASKSET.glob("*.npz"))))]
    recorded = [path.stem for path in sorted(RECORDED.glob("*.npz")) if (path.stem in APART_RECORDED) == apart]
    lcbench = [f"lcbench-{t}" for t in (APART if apart else LCBENCH)] if "LCBENCH" in os.environ else []
    synthetic = [f"{kind}-{seed}" for kind in KINDS for seed in seeds]
    return [*taskset, *lcbench, *(f"recorded-{name}" for name in recorded), *synthetic]


def _gssbo(space: dict[str, BaseDistribution], seed: int, **settings: Any) -> BaseSampler:
    from numbo.optuna import GSSBOSampler

    return GSSBOSampler(seed=seed, search_space=space, **settings)


def _gp(space: dict[str, BaseDistribution], seed: int) -> BaseSampler:
    return optuna.samplers.GPSampler(seed=seed)


SAMPLERS: dict[str, Callable[[dict[str, BaseDistribution], int], BaseSampler]] = {
    "GSSBO": _gssbo,
    "GSSBO-no-curves": lambda space, seed: _gssbo(space, seed, use_curves=False),
    "GSSBO-no-scouts": lambda space, seed: _gssbo(space, seed, scouting=0.0),
    "TPE": lambda space, seed: optuna.samplers.TPESampler(seed=seed),
    "GPSampler": _gp,
    "Random": lambda space, seed: optuna.samplers.RandomSampler(seed=seed),
}


def _curve_pruner(steps: int) -> BasePruner:
    from numbo.optuna import CurvePruner

    return CurvePruner()


PRUNERS: dict[str, Callable[[int], BasePruner]] = {
    "none": lambda steps: optuna.pruners.NopPruner(),
    "median": lambda steps: optuna.pruners.MedianPruner(),
    "halving": lambda steps: optuna.pruners.SuccessiveHalvingPruner(),
    "hyperband": lambda steps: optuna.pruners.HyperbandPruner(min_resource=1, max_resource=steps),
    "curve": _curve_pruner,
}


class _Worker:
    """One that trains a configuration, step by step."""

    def __init__(self, study: optuna.Study, of: Task) -> None:
        started = time.perf_counter()
        self._study = study
        self._task = of
        self._trial = study.ask(of.space)
        self.asked = 1e3 * (time.perf_counter() - started)
        self._values = of.curve(self._trial.params)
        self._step = 0

    def train(self) -> tuple[bool, float | None]:
        """Make one step: whether the trial has ended, and its value if it ran to its end."""
        value = float(self._values[self._step])
        self._step += 1
        if not np.isfinite(value):
            self._study.tell(self._trial, state=TrialState.FAIL)
            return True, None
        self._trial.report(value, self._step)
        if self._step == self._task.steps:
            self._study.tell(self._trial, value)
            return True, value
        if self._trial.should_prune():
            self._study.tell(self._trial, state=TrialState.PRUNED)
            return True, None
        return False, None


def run_one(sampler: str, pruner: str, problem: str, seed: int, workers: int) -> dict[str, Any]:
    """One run: regrets after the cost of `COSTS` full runs."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    of = task(problem)
    number = zlib.crc32(f"{problem} {seed}".encode())
    started = time.perf_counter()
    if sampler in budgets.PEERS:
        found = budgets.run(budgets.PEERS[sampler](of.space, of.steps, number % 2**31), of, COSTS)
    else:
        study = optuna.create_study(
            study_name=f"{problem} {seed}",  # from which the brackets of Hyperband follow
            sampler=SAMPLERS[sampler](of.space, number),
            pruner=PRUNERS[pruner](of.steps),
        )
        found = _run_study(study, of, workers)
    return {
        "sampler": sampler,
        "pruner": pruner,
        "problem": problem,
        "seed": seed,
        "workers": workers,
        "regrets": [round(regret, 6) for regret in found.regrets],
        "trials": found.trials,
        "ended": found.ended,
        "ask_ms": round(float(np.median(found.asks)), 3),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _run_study(study: optuna.Study, of: Task, workers: int) -> budgets.Outcome:
    busy = [_Worker(study, of) for _ in range(workers)]
    asks = list[float]()
    spent = 0
    best = np.inf
    regrets = list[float]()
    ended = 0
    while len(regrets) < len(COSTS):
        for k, worker in enumerate(busy):
            done, value = worker.train()
            spent += 1
            if value is not None:
                best = min(best, value)
                ended = ended + 1
            if spent == COSTS[len(regrets)] * of.steps:
                regrets.append(of.regret(best) if np.isfinite(best) else 1.0)
                if len(regrets) == len(COSTS):
                    break
            if done:
                asks.append(worker.asked)
                busy[k] = _Worker(study, of)
    return budgets.Outcome(regrets, len(study.trials), ended, asks)


def jobs(
    samplers: Sequence[str], pruners: Sequence[str], names: Sequence[str], seeds: int, workers: int
) -> list[tuple[str, str, str, int, int]]:
    """All runs of these; a peer without a pruner has one of each problem and seed, with a single worker only."""
    return [
        (sampler, pruner, problem, seed, workers)
        for seed in range(seeds)
        for problem in names
        for pruner in [*pruners, OWN]
        for sampler in samplers
        if (sampler in budgets.PEERS) == (pruner == OWN) and (workers == 1 or pruner != OWN)
    ]


def run(path: Path, wanted: Sequence[tuple[str, str, str, int, int]], processes_: int) -> None:
    """Run what is missing in ``path``."""
    key = ("sampler", "pruner", "problem", "seed", "workers")
    done = {tuple(row[name] for name in key) for row in load(path)}
    todo = [job for job in wanted if job not in done]
    processes.record(path, run_one, todo, processes_)


# -- the report ----------------------------------------------------------------------------------------------------


def _family(problem: str) -> str:
    kind = problem.partition("-")[0]
    return "synthetic" if kind in KINDS else kind


def table(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Array]]:
    """Regrets (seeds, costs) by sampler and pruner, and by problem."""
    found: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for row in sorted(rows, key=lambda row: int(row["seed"])):
        cell = found.setdefault((row["sampler"], row["pruner"]), {})
        cell.setdefault(row["problem"], []).append(row["regrets"])
    return {pair: {name: np.array(runs) for name, runs in cell.items()} for pair, cell in found.items()}


def ranks(cells: dict[tuple[str, str], dict[str, Array]]) -> dict[str, Array]:
    """Mean ranks (costs,) of the samplers, by their mean regret, over the problems and pruners that all have.

    Peers without a pruner are left out.
    """
    samplers = sorted({sampler for sampler, pruner in cells if pruner != OWN})
    places = list[Array]()
    for pruner in sorted({pruner for _, pruner in cells} - {OWN}):
        places += _places([cells.get((sampler, pruner), {}) for sampler in samplers])
    return dict(zip(samplers, np.mean(places, axis=0), strict=True)) if places else {}


def _places(columns: list[dict[str, Array]]) -> list[Array]:
    """Ranks (columns, costs) on each problem that all have."""
    places = []
    for name in sorted(set.intersection(*(set(column) for column in columns))):
        means = np.array([column[name].mean(axis=0) for column in columns])
        below = (means[:, None] > means[None]).sum(axis=1)
        ties = (means[:, None] == means[None]).sum(axis=1)
        places.append(below + 0.5 * (ties + 1))
    return places


def best_ranks(cells: dict[tuple[str, str], dict[str, Array]]) -> dict[tuple[str, str], Array]:
    """Mean ranks (costs,) of samplers, each under the pruner whose mean regret at the last cost is the least.

    They are compared on the problems that all samplers have, under the pruners that have all of these.
    """
    samplers = sorted({sampler for sampler, _ in cells})
    of_sampler = [{name for (s, _), cell in cells.items() if s == sampler for name in cell} for sampler in samplers]
    common = set.intersection(*of_sampler)
    chosen = dict[str, tuple[float, str]]()
    for (sampler, pruner), cell in cells.items():
        if common <= set(cell):
            mean = float(np.mean([cell[name].mean(axis=0)[-1] for name in sorted(common)]))
            chosen[sampler] = min(chosen.get(sampler, (np.inf, "")), (mean, pruner))
    pairs = [(sampler, pruner) for sampler, (_, pruner) in chosen.items()]
    places = _places([{name: cells[pair][name] for name in common} for pair in pairs]) if pairs and common else []
    return dict(zip(pairs, np.mean(places, axis=0), strict=True)) if places else {}


def write_report(path: Path) -> None:
    """Tables of all runs in ``path``, beside it."""
    rows = load(path)
    text = [
        "# Runs that prune",
        "",
        "Regret of the best full run, as a share of the median configuration's, after the cost of "
        f"{', '.join(map(str, COSTS[:-1]))} and {COSTS[-1]} full runs: means of problems and seeds.",
    ]
    for workers in sorted({row["workers"] for row in rows}):
        for apart in (False, True):
            names = set(problems(apart=apart)) | {row["problem"] for row in rows if row["problem"] in _all(apart)}
            some = [row for row in rows if row["workers"] == workers and row["problem"] in names]
            if some:
                title = f"{workers} worker{'s' * (workers > 1)}" + ", problems put aside" * apart
                text += ["", f"## {title[0].upper()}{title[1:]}", "", *_tables(some)]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")


def _all(apart: bool) -> set[str]:
    return {f"lcbench-{name}" for name in (APART if apart else LCBENCH)}


def _tables(rows: list[dict[str, Any]]) -> list[str]:
    cells = table(rows)
    lines = list[str]()
    families = sorted({_family(row["problem"]) for row in rows})
    lines += ["| sampler | pruner | " + " | ".join(families) + " | trials | ms |", "|---" * (len(families) + 4) + "|"]
    order = [*SAMPLERS, *budgets.PEERS]
    pruners = [*PRUNERS, OWN]
    for sampler, pruner in sorted(cells, key=lambda pair: (order.index(pair[0]), pruners.index(pair[1]))):
        mine = [row for row in rows if (row["sampler"], row["pruner"]) == (sampler, pruner)]
        shown = []
        for family in families:
            of = [regrets.mean(axis=0) for name, regrets in cells[sampler, pruner].items() if _family(name) == family]
            shown.append(" / ".join(f"{value:.3f}" for value in np.mean(of, axis=0)) if of else "")
        trials, asks = (float(np.mean([row[name] for row in mine])) for name in ("trials", "ask_ms"))
        lines.append(f"| {sampler} | {pruner} | {' | '.join(shown)} | {trials:.0f} | {asks:.1f} |")
    seeds = {len(regrets) for cell in cells.values() for regrets in cell.values()}
    lines += ["", f"Seeds: {min(seeds)} to {max(seeds)}." if len(seeds) > 1 else f"Seeds: {max(seeds)}."]
    if found := ranks(cells):
        lines += ["", "Mean rank among the samplers, over the problems and pruners that all have:", ""]
        for name, places in sorted(found.items(), key=lambda one: float(one[1][-1])):
            lines.append(f"- {name}: {_shown(places)}")
    if len(found_best := best_ranks(cells)) > 1:
        lines += ["", f"Mean rank of the samplers, each under the pruner that turned out best at {COSTS[-1]}:", ""]
        for (name, pruner), places in sorted(found_best.items(), key=lambda one: float(one[1][-1])):
            lines.append(f"- {name} ({pruner}): {_shown(places)}")
    return lines


def _shown(places: Array) -> str:
    return " / ".join(f"{place:.2f}" for place in places)

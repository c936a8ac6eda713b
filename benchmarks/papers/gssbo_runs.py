"""Experiments on runs of GSSBO (Wei et al. 2025): regret, time, Z, and what a subset keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.papers.exact import Array
from benchmarks.papers.experiment import Experiment
from benchmarks.problems.problem import Problem
from benchmarks.problems.suites import SUITES, make
from benchmarks.samplers.search import numbo_space
from benchmarks.storage import RESULTS, load
from numbo import GPUCB, GSSBO, Float, GSSBOSettings
from numbo.models import ExactGP
from numbo.optimizers.parts.buffer import DynamicBuffer
from numbo.selection import CRITERIA, select_subset

TRIALS = 1000
INITIAL = 20
#: Numbers of trials at which a run is looked at.
MARKS = [20, *range(50, TRIALS + 1, 50)]
#: The runs of the suite that stand beside those of an experiment, and their names here.
SUITE = {"GPUCB": "GP-UCB", "GSSBO": "default"}
#: Numbers of observations at which a model is timed.
SIZES = [20, 50, 100, 200, 400, 600, 800, 1000]


def paper(problem: Problem, seed: int, criterion: str = "sign", factor: float = 4.0, beta: Any = 2.0) -> GSSBO:
    """Algorithm 1, with Z = ``factor``."""
    settings = GSSBOSettings.of_preset("paper", criterion=criterion, buffer_factor=factor, beta=beta)
    return GSSBO(numbo_space(problem.space), n_initial=INITIAL, seed=seed, settings=settings)


def gp_ucb(problem: Problem, seed: int, beta: Any = 2.0) -> GPUCB:
    return GPUCB(numbo_space(problem.space), n_initial=INITIAL, seed=seed, beta=beta)


@dataclass
class Course:
    """A run: points (trials, d) in the unit cube, values, regrets and processor seconds (trials,) of asks and tells."""

    points: Array
    values: Array
    regrets: Array
    seconds: Array


def follow(problem: Problem, opt: GPUCB | GSSBO, trials: int = TRIALS) -> Course:
    """A run of an optimizer."""
    ranges = {name: (of.low, of.high) for name, of in problem.space.items()}  # type: ignore[attr-defined]
    points = np.empty((trials, len(ranges)))
    values = np.empty(trials)
    seconds = np.empty(trials)
    for t in range(trials):
        started = time.process_time()
        params = opt.ask()
        seconds[t] = time.process_time() - started
        points[t] = [(params[name] - low) / (high - low) for name, (low, high) in ranges.items()]
        values[t] = problem.function(params)
        started = time.process_time()
        opt.tell(params, values[t])
        seconds[t] += time.process_time() - started
    return Course(points, values, values - problem.minimum, seconds)


def subset_size(d: int, factor: float = 4.0) -> int:
    """M in d dimensions, for Z = ``factor``."""
    return DynamicBuffer(INITIAL, d, factor, "work").limit(10**6)


@cache
def compiled() -> None:
    """Leave the time of compiling out of what follows."""
    problem = make("hartmann-6")
    follow(problem, gp_ucb(problem, 0), 90)
    for criterion in CRITERIA:
        follow(problem, paper(problem, 0, criterion, 2.0), 90)


def at_marks(values: Array) -> list[float]:
    """The sums of values up to the marks."""
    total = np.cumsum(values)
    return [float(f"{total[mark - 1]:.5g}") for mark in MARKS if mark <= len(values)]


def of_the_suite(problem: str, seed: int) -> dict[str, Any]:
    """Cumulative regrets after 500 and 1,000 trials of the runs of ``python -m benchmarks run`` with this seed."""
    out: dict[str, Any] = {}
    for row in load(RESULTS / "suite.jsonl"):
        if (row["problem"], row["seed"]) == (problem, seed) and row["sampler"] in SUITE:
            name = SUITE[row["sampler"]]
            so_far = {int(n): int(n) * mean for n, mean in row["mean_regret"].items()}
            out[name] = so_far[TRIALS]
            out[f"growth-{name}"] = growth(so_far[TRIALS], so_far[TRIALS // 2])
            out[f"_regret-{name}"] = [[n, float(f"{total:.5g}")] for n, total in so_far.items()]
    return out


def growth(whole: float, half: float) -> float:
    """The exponent with which a cumulative regret grows between half of the trials and all; 1 is linear."""
    return float(np.log2(whole / half))


def cumulative(seed: int, problem: str, trials: int = TRIALS) -> dict[str, Any]:
    """Figures 2 and 8: the cumulative regret by criterion, beside GP-UCB and the default preset."""
    compiled()
    box = make(problem)
    out: dict[str, Any] = {}
    for criterion in CRITERIA:
        course = follow(box, paper(box, seed, criterion), trials)
        total = float(course.regrets.sum())
        out |= {
            criterion: total,
            f"growth-{criterion}": growth(total, float(course.regrets[: trials // 2].sum())),
            f"best-{criterion}": float(course.regrets.min()),
            f"seconds-{criterion}": float(course.seconds.sum()),
            f"_regret-{criterion}": at_marks(course.regrets),
        }
    out |= of_the_suite(problem, seed)
    for name in ("sign", "nystrom"):
        for other in ("random", "GP-UCB"):
            if other in out:
                out[f"{name}-over-{other}"] = out[name] / out[other]
    return out


def factors(seed: int, problem: str, trials: int = TRIALS) -> dict[str, Any]:
    """Figure 4: the cumulative regret by Z, and with a random subset for Z = 4."""
    compiled()
    box = make(problem)
    out: dict[str, Any] = {}
    for factor in (2, 4, 6, 8):
        out[f"Z={factor}"] = float(follow(box, paper(box, seed, factor=factor), trials).regrets.sum())
        out[f"M,Z={factor}"] = subset_size(len(box.space), factor)
    out["random"] = float(follow(box, paper(box, seed, "random"), trials).regrets.sum())
    return out | {"GP-UCB": of_the_suite(problem, seed)["GP-UCB"]}


def widths(seed: int, problem: str, beta: Any, trials: int = TRIALS) -> dict[str, Any]:
    """The cumulative regret with another beta, which the paper does not give."""
    compiled()
    box = make(problem)
    out: dict[str, Any] = {}
    for criterion in ("sign", "random", "nystrom"):
        opt = paper(box, seed, criterion, beta=beta)
        out[criterion] = float(follow(box, opt, trials).regrets.sum())
    out["GP-UCB"] = float(follow(box, gp_ucb(box, seed, beta), trials).regrets.sum())
    return out


def searched(seed: int, problem: str, trials: int = 200) -> dict[str, Any]:
    """Figure 2, the search for a network: the mean test error of the trials, and the smallest."""
    compiled()
    box = make(problem)
    out: dict[str, Any] = {}
    for name in ("sign", "random", "nystrom", "GP-UCB"):
        errors = follow(box, gp_ucb(box, seed) if name == "GP-UCB" else paper(box, seed, name), trials).values
        out[name] = float(errors.mean())
        out[f"best-{name}"] = float(errors.min())
    return out


def embedding(kind: str, d: int, low: int, rng: np.random.Generator) -> Array:
    """The matrix (d, low) of a random embedding of the cube [-1, 1]^d: REMBO's is normal, HeSBO's a count sketch."""
    if kind == "REMBO":
        return rng.normal(size=(d, low))
    matrix = np.zeros((d, low))
    matrix[np.arange(d), rng.integers(low, size=d)] = rng.choice([-1.0, 1.0], size=d)
    return matrix


def embedded(seed: int, problem: str, trials: int = 500, low: int = 10) -> dict[str, Any]:
    """Figure 9: the cumulative regret of GP-UCB in a random subspace, beside GSSBO and GP-UCB in the whole space."""
    compiled()
    box = make(problem)
    bounds = np.array([(of.low, of.high) for of in box.space.values()])  # type: ignore[attr-defined]
    out: dict[str, Any] = {}
    for kind, most in (("REMBO", float(np.sqrt(low))), ("HeSBO", 1.0)):
        matrix = embedding(kind, len(bounds), low, np.random.default_rng([seed, 26]))
        opt = GPUCB({f"z{i}": Float(-most, most) for i in range(low)}, n_initial=INITIAL, seed=seed)
        total = 0.0
        for _ in range(trials):
            z = opt.ask()
            u = np.clip(matrix @ np.array(list(z.values())), -1.0, 1.0)
            x = bounds[:, 0] + 0.5 * (u + 1.0) * (bounds[:, 1] - bounds[:, 0])
            value = box.function(dict(zip(box.space, x.tolist(), strict=True)))
            opt.tell(z, value)
            total += value - box.minimum
        out[kind] = total
    for criterion in ("sign", "nystrom"):
        out[criterion] = float(follow(box, paper(box, seed, criterion), trials).regrets.sum())
    so_far = of_the_suite(problem, seed)
    return out | {name: dict(so_far[f"_regret-{name}"])[trials] for name in SUITE.values()}


def kept(seed: int, trials: int = 200, size: int = 100) -> dict[str, Any]:
    """Figure 7: the share of the best tenth of GP-UCB's samples that a subset keeps, by criterion.

    ``free`` is the same share among those that are not forced into the subset anyway.
    """
    box = make("hartmann-6")
    course = follow(box, gp_ucb(box, seed), trials)
    forced = np.array([*range(INITIAL), trials - 1])
    best = np.argsort(course.values, kind="stable")[: trials // 10]
    free = np.setdiff1d(best, forced)
    out: dict[str, Any] = {"random-expected": (size - len(forced)) / (trials - len(forced))}
    for criterion in CRITERIA:
        chosen = select_subset(
            course.points, -course.values, size, criterion=criterion, forced=forced, perturbation=0.1, seed=seed
        )
        out[criterion] = float(np.isin(best, chosen).mean())
        out[f"free-{criterion}"] = float(np.isin(free, chosen).mean())
    return out


# -- time ----------------------------------------------------------------------------------------------------------


def timed(function: Callable[[], object], least: float = 0.0) -> float:
    """The processor seconds of a call; the shortest of several, of ``least`` seconds in all."""
    times: list[float] = []
    while not times or sum(times) < least:
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def of_models(course: Course) -> tuple[list[float], list[float]]:
    """Seconds of a Cholesky factor, and of a fit that starts from that of one observation less, at the `SIZES`."""
    d = course.points.shape[1]
    y = (course.values - course.values.mean()) / course.values.std()
    gp = ExactGP(np.zeros(d, dtype=bool), trend=False)
    conditioning = []
    fitting = []
    for n in SIZES:
        gp.fit(course.points[: n - 1], y[: n - 1])
        fitting.append(timed(lambda: gp.fit(course.points[:n], y[:n])))  # noqa: B023
        conditioning.append(timed(lambda: gp.condition(course.points[:n], y[:n]), 0.05))  # noqa: B023
    return conditioning, fitting


def over_a_run(times: list[float], most: int = TRIALS) -> float:
    """Seconds of all trials, from those at the `SIZES`, of models with ``most`` observations or fewer."""
    n = np.minimum(np.arange(INITIAL, TRIALS), most)
    return float(np.interp(n, SIZES, times).sum())


def runtime(seed: int, problem: str, trials: int = TRIALS) -> dict[str, Any]:
    """Figures 3, 5 and 6: the processor seconds of asks and tells.

    ``anew`` adds a Cholesky factor of all data at every trial to GP-UCB; ``fitted`` a fit of the hyperparameters at
    every trial, to GSSBO on its subset and to GP-UCB on all data.
    """
    compiled()
    box = make(problem)
    out: dict[str, Any] = {}
    for criterion in ("sign", "random", "nystrom"):
        spent = follow(box, paper(box, seed, criterion), trials).seconds
        out |= {criterion: float(spent.sum()), f"_{criterion}": at_marks(spent)}
    course = follow(box, gp_ucb(box, seed), trials)
    out |= {"GP-UCB": float(course.seconds.sum()), "_GP-UCB": at_marks(course.seconds)}
    conditioning, fitting = of_models(course)
    out["GP-UCB-anew"] = out["GP-UCB"] + over_a_run(conditioning)
    out["GP-UCB-fitted"] = out["GP-UCB"] + over_a_run(fitting)
    out["sign-fitted"] = out["sign"] + over_a_run(fitting, subset_size(len(box.space)))
    out["share"] = out["sign"] / out["GP-UCB"]
    out["share-anew"] = out["sign"] / out["GP-UCB-anew"]
    out["share-fitted"] = out["sign-fitted"] / out["GP-UCB-fitted"]
    out["sign-over-random"] = out["sign"] / out["random"]
    return out | {"_conditioning": conditioning, "_fitting": fitting}


def asks(seed: int, sampler: str, sizes: tuple[int, ...] = (1000, 2000, 5000)) -> dict[str, Any]:
    """Section 4.1: milliseconds of a trial after so many observations, most of them near the best one."""
    compiled()
    rng = np.random.default_rng([seed, 12])
    box = make("hartmann-6")
    opt = gp_ucb(box, seed) if sampler == "GP-UCB" else paper(box, seed, sampler)
    center = np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573])
    out: dict[str, Any] = {}
    n = 0
    for size in sizes:
        while n < size:
            x = rng.random(6) if n < INITIAL else np.clip(center + 0.1 * rng.normal(size=6), 0.0, 1.0)
            params = dict(zip(box.space, x.tolist(), strict=True))
            opt.tell(params, box.function(params))
            n += 1
        follow(box, opt, 2)  # the first one fits a model
        out[f"ms-{size}"] = 1e3 * float(np.median(follow(box, opt, 10).seconds))
        n += 12
    return out


FIVE = SUITES["paper"]

EXPERIMENTS = {
    "cumulative": Experiment(
        "GSSBO, figures 2 and 8: the cumulative regret of 1,000 trials, by criterion. GP-UCB and the default preset "
        "are the runs of the suite with the same seeds. `growth` is the exponent between 500 and 1,000 trials: 1 is "
        "linear.",
        cumulative,
        {problem: {"problem": problem} for problem in FIVE},
        seeds=5,
    ),
    "factors": Experiment(
        "GSSBO, figure 4: the cumulative regret of 1,000 trials for Z = 2, 4, 6, 8, and of a random subset of Z = 4.",
        factors,
        {problem: {"problem": problem} for problem in ("hartmann-6", "powell-48")},
        seeds=3,
    ),
    "widths": Experiment(
        "GSSBO, figure 2 with other multipliers of the standard deviation: the cumulative regret of 1,000 trials.",
        widths,
        {
            f"{problem},beta={beta}": {"problem": problem, "beta": beta}
            for problem in ("hartmann-6", "levy-20")
            for beta in (0.5, 2.0, "log")
        },
        seeds=1,
    ),
    "runtime": Experiment(
        "GSSBO, figures 3, 5 and 6: processor seconds of 1,000 trials, asks and tells. `anew` is GP-UCB with a "
        "Cholesky factor of all data at every trial, `fitted` with a fit of the hyperparameters at every trial.",
        runtime,
        {problem: {"problem": problem} for problem in FIVE},
        seeds=2,
    ),
    "asks": Experiment(
        "GSSBO, section 4.1: milliseconds of a trial after 1,000, 2,000 and 5,000 observations of hartmann-6, most of "
        "them near its minimum.",
        asks,
        {
            **{criterion: {"sampler": criterion} for criterion in ("sign", "nystrom", "random")},
            "GP-UCB": {"sampler": "GP-UCB", "sizes": (1000, 2000)},
        },
        seeds=2,
    ),
    "embedded": Experiment(
        "GSSBO, figure 9: the cumulative regret of 500 trials of GP-UCB in random subspaces of 10 dimensions. GP-UCB "
        "in the whole space and the default preset are the runs of the suite.",
        embedded,
        {problem: {"problem": problem} for problem in ("levy-20", "powell-48", "rastrigin-100")},
        seeds=3,
    ),
    "kept": Experiment(
        "GSSBO, figure 7: the share of the best 20 of 200 samples of GP-UCB on hartmann-6 that a subset of 100 keeps; "
        "`free` without those that are forced into it.",
        kept,
        {"hartmann-6": {}},
        seeds=20,
    ),
    "searched": Experiment(
        "GSSBO, figure 2, search for a network: the mean test error of 200 trials, and the smallest.",
        searched,
        {"diabetes-4": {"problem": "diabetes-4"}},
        seeds=3,
    ),
}

"""One study from end to end: a network with everything, in processes over PostgreSQL or on Ray, by seconds.

The network of `benchmarks.problems.study_network` has a space that branches, learning curves, a limit for its latency,
noise and, in the study ``front``, a second objective. GSSBO is used as it comes, beside the best that Optuna has on its
own: TPE with ``multivariate``, ``group`` and ``constant_liar``. By Optuna, processes share a PostgreSQL and, in the
study ``curves``, a `HyperbandPruner`; by Ray Tune, both samplers are under ASHA. The time begins when all processes are
ready, and what has not ended when it is up does not count. After that, what was found is trained again, by two
processes, and tested on images that were put aside.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, results
from benchmarks.compare import study_report as report
from benchmarks.problems.study_network import LARGEST, LIMIT, SMALLEST, TRAININGS, Truth, truth, weights
from benchmarks.storage import RESULTS, load
from benchmarks.study.ended import Ended, Run, feasible, improvements

FRAMEWORKS = ("optuna", "ray")
STUDIES = ("curves", "front")
SAMPLERS = ("GSSBO", "TPE")
#: Shares of the time at which the best configuration so far is tested.
MARKS = (0.25, 0.5, 0.75, 1.0)
#: Trainings for the true error of a point of a front.
FEW = 3
#: The reference point of fronts.
WORST_ERROR = 0.3
KEY = ("framework", "study", "sampler", "seed", "seconds", "processes")


def run_one(
    framework: str, study: str, sampler: str, seed: int, seconds: float, workers: int, images: Path | None
) -> dict[str, Any]:
    """One run: what it has done, and what it has found, tested."""
    found = processes.alone(_run, framework, study, sampler, seconds, workers, images)
    row = dict(zip(KEY, (framework, study, sampler, seed, seconds, workers), strict=True)) | summary(found)
    return row | (of_front(found) if study == "front" else of_curves(found, seconds))


def _run(framework: str, study: str, sampler: str, seconds: float, workers: int, images: Path | None) -> Run:
    if framework == "ray":
        from benchmarks.study import on_ray

        return on_ray.run(sampler, seconds, workers)
    from benchmarks.study import on_optuna

    return on_optuna.run(study, sampler, seconds, workers, images)


def summary(found: Run) -> dict[str, Any]:
    """How much was done."""
    complete = sum(bool(trial.values) for trial in found.trials)
    pruned = sum(trial.pruned for trial in found.trials)
    return {
        "limit": LIMIT,
        "trials": len(found.trials),
        "pruned": pruned,
        "failed": len(found.trials) - complete - pruned,
        "feasible": sum(trial.latency <= LIMIT for trial in found.trials),
        "epochs": sum(trial.epochs for trial in found.trials),
        "training": None if found.training is None else round(found.training, 4),
    }


def of_curves(found: Run, seconds: float) -> dict[str, Any]:
    """The best configurations over time, and the recommended one, with their true errors."""
    steps = improvements(found.trials, LIMIT)
    best = [next((step for step in reversed(steps) if step.seconds <= mark * seconds), None) for mark in MARKS]
    configs = [step.config for step in best if step is not None]
    tested = tests(configs + found.recommended, TRAININGS)
    known = iter(tested[: len(configs)])
    marks = [None if step is None else _tested(step, next(known)) for step in best]
    recommended = found.recommended[0] if found.recommended else None
    return {
        "improvements": [[round(step.seconds, 3), step.values[0]] for step in steps],
        "marks": marks,
        "recommended": marks[-1] if recommended is None else _known(recommended, tested[-1]),
    }


def of_front(found: Run) -> dict[str, Any]:
    """The front of what was measured and the recommended one, and their volumes with true errors."""
    from benchmarks.problems.fronts import nondominated

    met = feasible(found.trials, LIMIT)
    best = {tuple(point) for point in nondominated(np.array([trial.values for trial in met]))} if met else set()
    configs = [trial.config for trial in met if trial.values in best]
    every = configs + found.recommended
    points = [{"weights": weights(c), **_known(c, true)} for c, true in zip(every, tests(every, FEW), strict=True)]
    measured = points[: len(configs)]
    recommended = points[len(configs) :] or measured
    return {
        "measured_volume": volume([(trial.values[0], weights(trial.config)) for trial in met]),
        "front": measured,
        "volume": volume([(point["error"], point["weights"]) for point in measured]),
        "recommended": recommended,
        "recommended_volume": volume([(point["error"], point["weights"]) for point in recommended]),
    }


def volume(points: Sequence[tuple[float, ...]]) -> float:
    """The part that errors and weights dominate of errors up to `WORST_ERROR` and sizes on a logarithmic scale."""
    import moocore

    span = math.log(LARGEST / SMALLEST)
    scaled = [(error / WORST_ERROR, math.log(size / SMALLEST) / span) for error, size in points]
    return round(float(moocore.hypervolume(np.array(scaled), ref=[1.0, 1.0])), 6) if scaled else 0.0


def tests(configs: Sequence[dict[str, Any]], trainings: int) -> list[Truth]:
    """What configurations are worth; equal ones are tested once, two at a time."""
    different = {repr(sorted(config.items())): config for config in configs}
    with processes.kept(2) as submit:
        asked = {name: submit(truth, config, trainings) for name, config in different.items()}
        return [asked[repr(sorted(config.items()))].result() for config in configs]


def _tested(step: Ended, true: Truth) -> dict[str, Any]:
    return {"seconds": round(step.seconds, 3), "value": step.values[0], **_known(step.config, true)}


def _known(config: dict[str, Any], true: Truth) -> dict[str, Any]:
    return {"config": config, "error": true.error, "latency": true.latency}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "study")
    add_names(parser, "--framework", "framework", FRAMEWORKS)
    add_names(parser, "--samplers", "sampler", SAMPLERS)
    add_names(parser, "--studies", "study", STUDIES)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--figures", action="store_true", help="draw what GSSBO tells of its first studies into docs")
    parser.add_argument("--report", action="store_true", help="only write the report")


def main(arguments: argparse.Namespace) -> None:
    path = results(arguments)
    if not arguments.report:
        run(path, arguments)
    report.write(path)


def run(path: Path, arguments: argparse.Namespace) -> None:
    """Run what is missing in ``path``, the samplers in turn, one after the other."""
    processes.one_thread()
    images = RESULTS.parents[1] / "docs" / "images" if arguments.figures else None
    done = {tuple(row[name] for name in KEY) for row in load(path)}
    wanted = itertools.product(range(arguments.seeds), arguments.studies, arguments.framework, arguments.samplers)
    todo = [
        (framework, study, sampler, seed, arguments.seconds, arguments.processes, images if seed == 0 else None)
        for seed, study, framework, sampler in wanted
        if (framework, study) != ("ray", "front")
    ]
    processes.record_here(path, run_one, [job for job in todo if job[:-1] not in done])

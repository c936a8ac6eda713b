"""``python -m benchmarks COMMAND``: comparisons, timings, and measurements behind the documentation's claims.

run, report           samplers on problems through Optuna
pages                 the numbers and plots of README and documentation, from the results
ask-time, batches     time per suggestion, many points at once
hpob, bayesmark       searches for hyperparameters, beside what others have recorded
curves, record-curves  runs that prune, on recorded and synthetic learning curves; the recording of some
constrained           searches under constraints
fronts, biobj         searches of several objectives, COCO's bi-objective functions
bandits, bandits-report, survival   explicit arms, and the race of S-BPE
calibration           whether predictions hold
ray-scale, reliability, interrupts   many workers, killed workers, interrupts
first-use             how long the first suggestions on a machine take
compare               another checkout against this one, on families of problems
digests               whether a change leaves every suggestion unchanged

See ``--help`` of each.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def _check(parser: argparse.ArgumentParser, kind: str, names: list[str], known: Collection[str]) -> None:
    """Check names after parsing: the modules that define them set the number of threads when imported."""
    for name in names:
        if name not in known:
            parser.error(f"{kind} must be one of {', '.join(known)}; got {name!r}")


def _bandits(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.bandits import runner
    from benchmarks.problems.arms import PROBLEMS

    _check(parser, "problem", arguments.problems, PROBLEMS)
    _check(parser, "algorithm", arguments.algorithms, runner.ALGORITHMS)
    if arguments.reference is not None:
        os.environ["BATCH_BKB"] = str(arguments.reference.resolve())
    jobs = [
        (problem, algorithm, seed, arguments.horizon, arguments.initial, arguments.data)
        for seed in range(arguments.seeds)
        for algorithm in arguments.algorithms
        for problem in arguments.problems
    ]
    runner.run(RESULTS / f"{arguments.name}.jsonl", jobs, arguments.jobs)


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="BEFORE", help="the other checkout of numbo, a clone of its own")
    parser.add_argument("--name", help="results go to benchmarks/results/compare-NAME.md; the folder's name by default")
    parser.add_argument("--families", nargs="+", metavar="FAMILY", help="all by default")
    parser.add_argument("--seeds", type=int, help="four by default, three of the long family")
    parser.add_argument("--quick", action="store_true", help="two seeds, and runs of a third of the length")
    parser.add_argument("--jobs", type=int, help="pairs of runs at once; one for each core by default")
    parser.add_argument("--sampler", default="GSSBO", help="GSSBO, BBKB, ...: numbo.optuna.<SAMPLER>Sampler")
    for side in ("now", "before"):
        parser.add_argument(f"--settings-{side}", type=json.loads, default={}, metavar="JSON", help="of the sampler")


def _compare(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.compare import versions
    from benchmarks.problems.families import FAMILIES

    a = arguments
    if not (a.before / "pyproject.toml").is_file():
        parser.error(f"BEFORE must be a checkout of numbo; got {str(a.before)!r}, without a pyproject.toml")
    if a.seeds is not None and a.seeds < 1:
        parser.error(f"--seeds must be at least 1; got {a.seeds}")
    families = a.families or list(FAMILIES)
    _check(parser, "family", families, FAMILIES)
    settings = {"now": a.settings_now, "before": a.settings_before}
    shape = {"quick": a.quick, "seeds": a.seeds, "jobs": a.jobs, "sampler": a.sampler, "settings": settings}
    versions.compare(RESULTS, a.name or a.before.resolve().name, a.before, families, **shape)


def _add_hpob(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="hpob", help="results go to benchmarks/results/NAME.jsonl and NAME.md")
    parser.add_argument("--optimizers", nargs="+", default=["GSSBO"], metavar="OPTIMIZER", help="GSSBO, BKB, ...")
    parser.add_argument("--settings", type=json.loads, default={}, metavar="JSON", help="of the optimizers")
    parser.add_argument("--spaces", nargs="+", metavar="SPACE", help="numbers of search spaces, all by default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)


def _hpob(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.compare import hpob

    spaces = arguments.spaces or sorted({hpob.space_of(task) for task in hpob.tasks()})
    _check(parser, "space", spaces, {hpob.space_of(task) for task in hpob.tasks()})
    _check(parser, "optimizer", arguments.optimizers, hpob.OPTIMIZERS)
    path = RESULTS / f"{arguments.name}.jsonl"
    names = [task for task in hpob.tasks() if hpob.space_of(task) in spaces]
    for optimizer in arguments.optimizers:
        hpob.run(path, optimizer, arguments.settings, names, arguments.seeds, arguments.jobs)
    hpob.write_report(path)


def _add_curves(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="curves", help="results go to benchmarks/results/NAME.jsonl and NAME.md")
    parser.add_argument("--samplers", nargs="+", metavar="SAMPLER", help="all by default")
    parser.add_argument("--pruners", nargs="+", metavar="PRUNER", help="all by default")
    parser.add_argument("--problems", nargs="+", metavar="PROBLEM", help="all that settings were chosen on by default")
    parser.add_argument("--apart", action="store_true", help="the problems put aside in place of those")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1, help="number of trials that run at the same time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())


def _curves(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.compare import curves
    from benchmarks.samplers import budgets

    samplers = arguments.samplers or [*curves.SAMPLERS, *budgets.installed()]
    pruners = arguments.pruners or list(curves.PRUNERS)
    names = arguments.problems or curves.problems(apart=arguments.apart)
    _check(parser, "sampler", samplers, [*curves.SAMPLERS, *budgets.PEERS])
    _check(parser, "pruner", pruners, curves.PRUNERS)
    _check(parser, "problem", names, {*curves.problems(), *curves.problems(apart=True)})
    jobs = curves.jobs(samplers, pruners, names, arguments.seeds, arguments.workers)
    path = RESULTS / f"{arguments.name}.jsonl"
    curves.run(path, jobs, arguments.jobs)
    curves.write_report(path)


def _add_searches(parser: argparse.ArgumentParser, trials: int) -> None:
    """The options of the benchmarks of searches under constraints and of several objectives."""
    name = parser.prog.split()[-1]
    parser.add_argument("--name", default=name, help="results go to benchmarks/results/NAME.jsonl and NAME.md")
    parser.add_argument("--samplers", nargs="+", metavar="SAMPLER", help="all by default")
    parser.add_argument("--problems", nargs="+", metavar="PROBLEM", help="all that settings were chosen on by default")
    parser.add_argument("--apart", action="store_true", help="the problems put aside in place of those")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report", action="store_true", help="only the tables of the runs that there are")


def _searches(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.compare import constrained, fronts

    module: Any = constrained if arguments.command == "constrained" else fronts
    samplers = arguments.samplers or list(module.SAMPLERS)
    names = arguments.problems or list(module.APART if arguments.apart else module.PROBLEMS)
    _check(parser, "sampler", samplers, module.NAMES)
    _check(parser, "problem", names, module.PROBLEMS | module.APART)
    path = RESULTS / f"{arguments.name}.jsonl"
    if not arguments.report:
        jobs = [(s, n, seed, arguments.trials) for seed in range(arguments.seeds) for n in names for s in samplers]
        module.run(path, jobs, arguments.jobs)
    module.write_report(path)


def _add_biobj(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="biobj", help="results go to benchmarks/results/NAME.jsonl and NAME.md")
    parser.add_argument("--samplers", nargs="+", metavar="SAMPLER", help="GSSBO and Random by default")
    parser.add_argument("--functions", nargs="+", type=int, metavar="NUMBER", help="1 to 55, all by default")
    parser.add_argument("--instances", nargs="+", type=int, metavar="NUMBER", help="1 to 15, all by default")
    parser.add_argument("--dimensions", nargs="+", type=int, metavar="NUMBER", help="2, 3, 5, 10, 20, all by default")
    parser.add_argument("--budget", type=int, default=20, help="evaluations a dimension")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report", action="store_true", help="only the table of the runs that there are")


def _biobj(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.compare import biobj, fronts

    samplers = arguments.samplers or list(biobj.USUAL)
    functions = arguments.functions or list(biobj.FUNCTIONS)
    instances = arguments.instances or list(biobj.INSTANCES)
    dimensions = arguments.dimensions or list(biobj.DIMENSIONS)
    _check(parser, "sampler", samplers, fronts.SAMPLERS)
    for kind, numbers, known in (
        ("function", functions, biobj.FUNCTIONS),
        ("instance", instances, biobj.INSTANCES),
        ("dimension", dimensions, biobj.DIMENSIONS),
    ):
        _check(parser, kind, [str(number) for number in numbers], [str(number) for number in known])
    path = RESULTS / f"{arguments.name}.jsonl"
    if not arguments.report:
        jobs = [
            (s, d, f, i, arguments.budget) for d in dimensions for i in instances for f in functions for s in samplers
        ]
        biobj.run(path, jobs, arguments.jobs)
    biobj.write_report(path)


def _add_record_curves(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="digits, cancer, diabetes; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())


def _record_curves(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.problems import record_curves

    tasks = arguments.tasks or list(record_curves.PLANS)
    _check(parser, "task", tasks, record_curves.PLANS)
    record_curves.record(tasks, arguments.jobs)


def _add_bayesmark(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="bayesmark", help="results go to benchmarks/results/NAME.jsonl and NAME.md")
    parser.add_argument("--optimizers", nargs="+", metavar="OPTIMIZER", help="GSSBO, TPE, Random; all by default")
    parser.add_argument("--problems", nargs="+", metavar="PROBLEM", help="MODEL_DATA_METRIC, all by default")
    parser.add_argument("--data", nargs="+", metavar="DATA", help="problems on these data only; digits take longest")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)


def _bayesmark(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    from benchmarks.compare import bayesmark

    optimizers = arguments.optimizers or list(bayesmark.OPTIMIZERS)
    problems = arguments.problems or bayesmark.problems()
    data = {problem.split("_")[1] for problem in bayesmark.problems()}
    _check(parser, "optimizer", optimizers, bayesmark.OPTIMIZERS)
    _check(parser, "problem", problems, bayesmark.problems())
    _check(parser, "data", arguments.data or [], data)
    path = RESULTS / f"{arguments.name}.jsonl"
    names = [problem for problem in problems if problem.split("_")[1] in (arguments.data or data)]
    bayesmark.run(path, optimizers, names, arguments.seeds, arguments.jobs)
    bayesmark.write_report(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run samplers on problems; resumes where it stopped")
    run.add_argument("--name", default="suite", help="results go to benchmarks/results/NAME.jsonl")
    run.add_argument(
        "--suites",
        nargs="+",
        metavar="SUITE",
        help="paper, continuous, mixed, tabular, unseen (the default), ripples, failures, branching, noisy, few, "
        "few-aside, long, long-aside",
    )
    run.add_argument("--problems", nargs="+", metavar="PROBLEM", help="single problems, in place of suites")
    run.add_argument("--samplers", nargs="+", default=["GSSBO"], metavar="SAMPLER")
    run.add_argument("--seeds", type=int, default=5)
    run.add_argument("--trials", type=int, default=1000)
    run.add_argument("--jobs", type=int, default=2)
    report = commands.add_parser("report", help="tables and plots from the results")
    report.add_argument("--name", default="suite")
    commands.add_parser("pages", help="fill in the numbers of README and documentation, and draw their plots")
    ask = commands.add_parser("ask-time", help="median time of one suggestion against the number of trials")
    ask.add_argument("--gpsampler", action="store_true", help="also measure Optuna's GPSampler at 500 trials (slow)")
    ask.add_argument("--branching", action="store_true", help="compare a branching space with a plain one instead")
    arms = commands.add_parser("bandits", help="regret and time on explicit arms; resumes where it stopped")
    arms.add_argument("--name", default="bandits", help="results go to benchmarks/results/NAME.jsonl")
    arms.add_argument("--problems", nargs="+", default=["abalone", "cadata"], metavar="PROBLEM")
    arms.add_argument("--algorithms", nargs="+", default=["BBKB", "GlobalLocal-BBKB"], metavar="ALGORITHM")
    arms.add_argument("--seeds", type=int, default=10)
    arms.add_argument("--horizon", type=int, default=10_000, help="T, evaluations of a run")
    arms.add_argument("--initial", type=int, default=0, help="random evaluations that are given at the start")
    arms.add_argument("--jobs", type=int, default=2, help="runs at once; 1 leaves all threads of the BLAS to one run")
    arms.add_argument("--data", type=Path, help="folder with abalone.csv and california_housing.csv; else from OpenML")
    arms.add_argument("--reference", type=Path, help="checkout of luigicarratino/batch-bkb, for the reference-* runs")
    arms_report = commands.add_parser("bandits-report", help="tables and plots from the results on arms")
    arms_report.add_argument("--name", default="bandits")
    _add_hpob(commands.add_parser("hpob", help="recorded searches as tables of candidates; resumes where it stopped"))
    _add_curves(commands.add_parser("curves", help="runs that prune; resumes likewise"))
    _add_searches(commands.add_parser("constrained", help="searches under constraints; resumes likewise"), 300)
    _add_searches(commands.add_parser("fronts", help="searches of several objectives; resumes likewise"), 1000)
    _add_biobj(commands.add_parser("biobj", help="COCO's bi-objective functions; resumes likewise"))
    _add_record_curves(commands.add_parser("record-curves", help="train networks of scikit-learn; resumes likewise"))
    _add_bayesmark(commands.add_parser("bayesmark", help="scikit-learn's models in 16 rounds of 8; resumes likewise"))
    race = commands.add_parser("survival", help="how often S-BPE keeps the optimum; resumes where it stopped")
    race.add_argument("--name", default="survival", help="results go to benchmarks/results/NAME.jsonl")
    race.add_argument("--domains", nargs="+", default=["arms", "grid", "continuous"], metavar="DOMAIN")
    race.add_argument(
        "--kernels", nargs="+", default=["learned"], metavar="KERNEL", help="learned, fixed (the true one)"
    )
    race.add_argument("--noises", nargs="+", type=float, default=[0.1, 0.5, 1.0], help="shares of the spread")
    race.add_argument("--seeds", type=int, default=100)
    batches = commands.add_parser("batches", help="many points at once against one at a time; resumes where it stopped")
    batches.add_argument("--name", default="batches", help="results go to benchmarks/results/NAME.jsonl and NAME.md")
    batches.add_argument("--searches", nargs="+", metavar="SEARCH", help="all by default")
    batches.add_argument("--widths", nargs="+", type=int, metavar="WIDTH", help="1, 8, 20, 50 by default")
    batches.add_argument("--seeds", type=int, default=5)
    batches.add_argument("--jobs", type=int, default=2)
    scale = commands.add_parser("ray-scale", help="time of the searchers on Ray Tune's control loop")
    scale.add_argument("--searchers", nargs="+", metavar="SEARCHER", help="all by default")
    scale.add_argument("--trials", type=int, default=10_000, help="trials of 64 simulated workers; 0 for none")
    scale.add_argument("--real", type=int, default=1000, help="quick trials on a local Ray; 0 for none")
    reliable = commands.add_parser(
        "reliability", help="killed workers and drivers, long runs, many trials at once; resumes where it stopped"
    )
    reliable.add_argument("--restores", action="store_true", help="only the restored Ray runs with damaged files")
    calibrate = commands.add_parser("calibration", help="whether predictions are right; resumes where it stopped")
    calibrate.add_argument("--algorithms", nargs="+", metavar="ALGORITHM", help="all by default")
    calibrate.add_argument("--functions", nargs="+", metavar="FUNCTION", help="all by default")
    calibrate.add_argument("--seeds", type=int, default=5)
    calibrate.add_argument("--trials", nargs="+", type=int, default=[60, 240], help="after which the model is asked")
    calibrate.add_argument("--jobs", type=int, default=2)
    _add_compare(commands.add_parser("compare", help="another checkout against this one; resumes where it stopped"))
    commands.add_parser("interrupts", help="studies that are interrupted at random times")
    first = commands.add_parser("first-use", help="how long the first suggestions on a machine take")
    first.add_argument("--before", type=Path, metavar="PATH", help="another checkout of numbo to compare with")
    first.add_argument("--repeats", type=int, default=3, help="number of runs of each kind")
    fingerprints = commands.add_parser("digests", help="fingerprints of what every algorithm suggests and predicts")
    fingerprints.add_argument("path", type=Path, help="where they are written, as JSON")
    fingerprints.add_argument("--against", type=Path, help="fingerprints of the same machine to compare with")
    fingerprints.add_argument("--algorithms", nargs="+", metavar="ALGORITHM", help="all by default")
    fingerprints.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    if arguments.command == "run":
        from benchmarks.compare import runner  # first: it sets the number of threads
        from benchmarks.problems.suites import COMPARED, PROBLEMS, SUITES
        from benchmarks.samplers.registry import SAMPLERS

        suites = arguments.suites or list(COMPARED)
        _check(parser, "suite", suites, SUITES)
        problems = arguments.problems or [p for suite in suites for p in SUITES[suite]]
        _check(parser, "problem", problems, PROBLEMS)
        _check(parser, "sampler", arguments.samplers, SAMPLERS)
        path = RESULTS / f"{arguments.name}.jsonl"
        runner.run(path, problems, arguments.samplers, arguments.seeds, arguments.trials, arguments.jobs)
    elif arguments.command == "report":
        from benchmarks.compare.report import write_report

        write_report(RESULTS, arguments.name)
    elif arguments.command == "pages":
        from benchmarks.compare import pages

        pages.write()
    elif arguments.command == "ask-time":
        from benchmarks.compare.ask_time import measure, measure_branching

        if arguments.branching:
            measure_branching()
        else:
            measure(RESULTS, gpsampler=arguments.gpsampler)
    elif arguments.command == "ray-scale":
        from benchmarks.compare import ray_scale

        names = arguments.searchers or list(ray_scale.SEARCHERS)
        _check(parser, "searcher", names, ray_scale.SEARCHERS)
        ray_scale.measure(RESULTS, names, arguments.trials, arguments.real)
    elif arguments.command == "reliability":
        from tests.harness import reliability

        if not arguments.restores:
            reliability.measure(RESULTS)
        reliability.measure_restores(RESULTS)
    elif arguments.command == "calibration":
        from benchmarks.checks import calibration

        functions = arguments.functions or list(calibration.FUNCTIONS)
        algorithms = arguments.algorithms or list(calibration.ALGORITHMS)
        _check(parser, "function", functions, calibration.FUNCTIONS)
        _check(parser, "algorithm", algorithms, calibration.ALGORITHMS)
        calibration.measure(RESULTS, functions, algorithms, arguments.seeds, arguments.trials, arguments.jobs)
    elif arguments.command == "digests":
        from benchmarks.checks import digests

        names = arguments.algorithms or list(digests.ALGORITHMS)
        _check(parser, "algorithm", names, digests.ALGORITHMS)
        if not digests.measure(arguments.path, arguments.against, names, arguments.steps):
            raise SystemExit(1)
    elif arguments.command == "survival":
        from benchmarks.bandits import survival

        _check(parser, "domain", arguments.domains, survival.DOMAINS)
        _check(parser, "kernel", arguments.kernels, survival.KERNELS)
        a = arguments
        survival.measure(RESULTS, a.name, a.domains, a.kernels, a.noises, a.seeds)
    elif arguments.command == "batches":
        from benchmarks.compare import batches as wide

        searches = arguments.searches or list(wide.SEARCHES)
        _check(parser, "search", searches, wide.SEARCHES)
        path = RESULTS / f"{arguments.name}.jsonl"
        wide.run(path, searches, arguments.widths or list(wide.WIDTHS), arguments.seeds, arguments.jobs)
        wide.write_report(path)
    elif arguments.command == "first-use":
        from benchmarks.checks import first_use

        first_use.measure(RESULTS, arguments.before, arguments.repeats)
    elif arguments.command == "compare":
        _compare(parser, arguments)
    elif arguments.command == "interrupts":
        from tests.harness import interrupts

        interrupts.measure(RESULTS)
    elif arguments.command == "hpob":
        _hpob(parser, arguments)
    elif arguments.command == "curves":
        _curves(parser, arguments)
    elif arguments.command in ("constrained", "fronts"):
        _searches(parser, arguments)
    elif arguments.command == "biobj":
        _biobj(parser, arguments)
    elif arguments.command == "record-curves":
        _record_curves(parser, arguments)
    elif arguments.command == "bayesmark":
        _bayesmark(parser, arguments)
    elif arguments.command == "bandits":
        _bandits(parser, arguments)
    else:
        from benchmarks.bandits.report import write_report as write_bandits_report

        write_bandits_report(RESULTS, arguments.name)


if __name__ == "__main__":
    main()

"""``python -m benchmarks run | report | ask-time``; see ``--help`` of each."""

from __future__ import annotations

import argparse
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    from benchmarks import runner
    from benchmarks.problems import PROBLEMS
    from benchmarks.samplers import SAMPLERS

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run samplers on problems; resumes where it stopped")
    run.add_argument("--name", default="paper", help="results go to benchmarks/results/NAME.jsonl")
    run.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS), metavar="PROBLEM")
    run.add_argument("--samplers", nargs="+", default=["GSSBO"], choices=list(SAMPLERS), metavar="SAMPLER")
    run.add_argument("--seeds", type=int, default=5)
    run.add_argument("--trials", type=int, default=1000)
    run.add_argument("--jobs", type=int, default=2)
    report = commands.add_parser("report", help="tables and plots from the results")
    report.add_argument("--name", default="paper")
    ask = commands.add_parser("ask-time", help="median time of one suggestion against the number of trials")
    ask.add_argument("--gpsampler", action="store_true", help="also measure Optuna's GPSampler at 500 trials (slow)")
    arguments = parser.parse_args()
    if arguments.command == "run":
        path = RESULTS / f"{arguments.name}.jsonl"
        runner.run(path, arguments.problems, arguments.samplers, arguments.seeds, arguments.trials, arguments.jobs)
    elif arguments.command == "report":
        from benchmarks.report import write_report

        write_report(RESULTS, arguments.name)
    else:
        from benchmarks.ask_time import measure

        measure(RESULTS, gpsampler=arguments.gpsampler)


if __name__ == "__main__":
    main()

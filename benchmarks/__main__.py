"""``python -m benchmarks COMMAND``: comparisons, timings, and measurements behind the documentation's claims."""

from __future__ import annotations

import argparse
import ast
import sys
from importlib import import_module
from pathlib import Path

#: The modules of the commands: each has ``add_arguments(parser)`` and ``main(arguments)``, and says what it does.
COMMANDS = {
    "run": "benchmarks.compare.runner",
    "report": "benchmarks.compare.report",
    "pages": "benchmarks.compare.pages",
    "ask-time": "benchmarks.compare.ask_time",
    "running": "benchmarks.study.running",
    "batches": "benchmarks.compare.batches",
    "hpob": "benchmarks.compare.hpob",
    "transfer": "benchmarks.compare.transfer",
    "stopping": "benchmarks.compare.stopping",
    "costs": "benchmarks.compare.costs",
    "beliefs": "benchmarks.compare.beliefs",
    "bayesmark": "benchmarks.compare.bayesmark",
    "curves": "benchmarks.compare.curves",
    "real": "benchmarks.compare.real",
    "record-curves": "benchmarks.problems.record_curves",
    "constrained": "benchmarks.compare.constrained",
    "fronts": "benchmarks.compare.fronts",
    "biobj": "benchmarks.compare.biobj",
    "redoxmers": "benchmarks.compare.redoxmers",
    "records": "benchmarks.compare.records",
    "bbob": "benchmarks.compare.bbob",
    "bandits": "benchmarks.bandits.runner",
    "bandits-report": "benchmarks.bandits.report",
    "survival": "benchmarks.bandits.survival",
    "papers": "benchmarks.papers.runner",
    "study": "benchmarks.study.runner",
    "calibration": "benchmarks.checks.calibration",
    "intervals": "benchmarks.checks.intervals",
    "ray-scale": "benchmarks.compare.ray_scale",
    "reliability": "tests.harness.reliability",
    "programs": "tests.harness.program_table",
    "arithmetics": "tests.harness.arithmetics",
    "interrupts": "tests.harness.interrupts",
    "first-use": "benchmarks.checks.first_use",
    "compare": "benchmarks.compare.versions",
    "digests": "benchmarks.checks.digests",
    "trips": "benchmarks.checks.trips",
}


def description(module: str) -> str:
    """What a module says it does, without importing it: some set the number of threads when they are."""
    path = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = description(module)
        command = commands.add_parser(
            name,
            help=text.splitlines()[0].replace("%", "%%"),
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in sys.argv[1:2]:
            import_module(module).add_arguments(command)
    arguments = parser.parse_args()
    import_module(COMMANDS[arguments.command]).main(arguments)


if __name__ == "__main__":
    main()

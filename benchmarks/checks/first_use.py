"""How long the first suggestions on a machine take.

Each study of 40 trials runs in a process of its own: with an empty cache of compiled kernels, or with the warm one that
the process before has left. With ``--before``, another checkout of numbo takes turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from tqdm import tqdm

from benchmarks.storage import RESULTS

TRIALS = 40
#: Seconds that a trial takes.
DURATIONS = (0.0, 1.0)
ROOT = Path(__file__).parents[2]
STUDY = """
import json, sys, time
import optuna
from numbo.optuna import GSSBOSampler

duration, n = float(sys.argv[1]), int(sys.argv[2])
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=GSSBOSampler(seed=0))
started, waits, evaluated = time.perf_counter(), [], 0.0
for _ in range(n):
    asked = time.perf_counter()
    trial = study.ask()
    x = [trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(4)] + [trial.suggest_int("k", 1, 50) / 50.0]
    waits.append(time.perf_counter() - asked)
    time.sleep(duration)
    study.tell(trial, sum((v - 0.3) ** 2 for v in x))
total = time.perf_counter() - started
print(json.dumps({"total": total, "waiting": sum(waits), "longest": max(waits)}))
"""


def package(root: Path, folder: Path) -> Path:
    """A folder in which the checkout's package is put together from its two places (see ``pyproject.toml``)."""
    home = folder / "numbo"
    home.mkdir()
    for path in (*(root / "src" / "numbo").iterdir(), *(root / "integrations" / name for name in ("optuna", "ray"))):
        (home / path.name).symlink_to(path.resolve())
    return folder


def run_one(home: Path, cache: Path, duration: float, ahead: bool) -> dict[str, float]:
    """One study in a process of its own: seconds in all and waited for suggestions, and the longest wait."""
    variables = {"PYTHONPATH": str(home), "NUMBA_CACHE_DIR": str(cache), "NUMBO_COMPILE_AHEAD": str(int(ahead))}
    command = [sys.executable, "-c", STUDY, str(duration), str(TRIALS)]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(results: Path, before: Path | None, repeats: int) -> None:
    """Run all studies ``repeats`` times, versions in turns, and write ``first-use.md``."""
    rows: dict[tuple[str, float, str], list[dict[str, float]]] = {}
    with ExitStack() as stack:

        def folder() -> Path:
            return Path(stack.enter_context(tempfile.TemporaryDirectory()))

        versions = [] if before is None else [("before", package(before, folder()), True)]
        here = package(ROOT, folder())
        versions += [("now", here, True), ("now, nothing in the background", here, False)]
        for duration in tqdm([d for _ in range(repeats) for d in DURATIONS], unit="round"):
            for name, home, ahead in versions:
                cache = folder()
                for state in ("empty", "warm"):
                    rows.setdefault((name, duration, state), []).append(run_one(home, cache, duration, ahead))
    write_report(results, rows)


def write_report(results: Path, rows: dict[tuple[str, float, str], list[dict[str, float]]]) -> None:
    """Write the table of medians and ranges."""

    def cell(found: list[dict[str, float]], key: str) -> str:
        values: list[Any] = [f[key] for f in found]
        return f"{median(values):.2f} ({min(values):.2f} - {max(values):.2f})"

    lines = ["# Results: first use", "", "Written by `python -m benchmarks first-use`.", ""]
    lines += [
        f"Optuna studies of {TRIALS} trials with GSSBO in five dimensions, with an empty cache of compiled kernels and",
        "with a warm one: seconds until the last trial has ended, seconds spent waiting for suggestions, and the",
        f"longest wait. Medians and ranges of {len(next(iter(rows.values())))} runs.",
        "",
        "| version | a trial takes | cache | in all, s | waiting, s | longest wait, s |",
        "|---|---|---|---|---|---|",
    ]
    for (name, duration, state), found in sorted(rows.items(), key=lambda item: item[0][1:]):
        cells = [name, f"{duration:.0f} s", state, *(cell(found, key) for key in ("total", "waiting", "longest"))]
        lines.append("| " + " | ".join(cells) + " |")
    (results / "first-use.md").write_text("\n".join(lines) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--before", type=Path, metavar="PATH", help="another checkout of numbo to compare with")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs of each kind")


def main(arguments: argparse.Namespace) -> None:
    measure(RESULTS, arguments.before, arguments.repeats)

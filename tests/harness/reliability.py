"""Effects of long runs and of faults: killed workers and drivers, many trials at once."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import optuna
from tqdm import tqdm

from benchmarks import processes
from benchmarks.storage import RESULTS, load
from tests.harness import faults, restores, soak

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: Storage, workers, trials, number of processes killed on the way.
RUNS = [
    ("journal", 2, 1000, 10),
    ("journal", 8, 1000, 20),
    ("sqlite", 2, 1000, 10),
    ("sqlite", 8, 1000, 20),
    ("postgres", 2, 1000, 10),
    ("postgres", 8, 1000, 20),
    ("postgres", 16, 2000, 40),
    ("postgres", 64, 2000, 60),
]
SOAK = {"GSSBO": 20_000, "BBKB": 20_000, "Random": 20_000}
FEED = (10_000, 50_000)
RESTORES = f"""\
A driver of Ray Tune dies in mid-run, with {restores.ENDED["late"]} ended trials, one of which failed, and two running;
a file in its folder is damaged. `Tuner.restore(path, trainable)` then goes on to {restores.TRIALS} trials, on a Ray
that knows nothing of the run. A trial that had ended is learned if the searcher knows it once at the end, repeated if
it runs again though it had not failed, and lost if the results lack it. Times were taken on two cores; most of them
is the start of Ray's workers.

Tune itself needs a readable `tuner.pkl` and the newest `experiment_state` and `search_gen_state`. Without them no
searcher can be restored, and the run ends with an error, which leaves the folder as it was. If a searcher has its own
space, metric and mode, Tune begins a new run of one trial instead (last line), unless `fail_fast` is set. Where the
newest `experiment_state` is torn and there is an older one, delete the newest and restore again. `search_gen_state`
holds the number of trials that Tune has made: if it is newer than the trials, fewer follow; if it is older, more."""


@contextmanager
def storage_url(kind: str) -> Iterator[str]:
    """The URL of an empty storage of that kind; raises an error if PostgreSQL is needed but not installed."""
    if kind == "postgres":
        programs = faults.postgres_programs()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed; on Debian: apt-get install postgresql")
        with faults.postgres(programs) as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        yield f"journal:{folder}/journal" if kind == "journal" else f"sqlite:///{folder}/study.db"


def measure(results: Path) -> None:
    """Run what is missing in ``reliability.jsonl`` and ``soak.csv``, and write the report."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = results / "reliability.jsonl"
    done = {(r["kind"], r["workers"], r["trials"]) for r in load(path) if "workers" in r}
    fed = {r["trials at once"] for r in load(path) if "trials at once" in r}
    with path.open("a") as file:

        def note(row: dict[str, Any]) -> None:
            file.write(json.dumps(row) + "\n")
            file.flush()

        for kind, workers, trials, kills in tqdm(RUNS, desc="faults", unit="study"):
            if (kind, workers, trials) not in done:
                with storage_url(kind) as url:
                    outcome = faults.run(url, workers, trials, kills)
                row = {"kind": kind, "workers": workers, "trials": trials, "sequential": faults.sequential(trials)}
                note(row | dataclasses.asdict(outcome))
        for count in FEED:
            if count not in fed:
                note(processes.alone(soak.feed, count))
    known = {row["sampler"] for row in _soaked(results)}
    for sampler, trials in SOAK.items():
        if sampler not in known:
            processes.alone(soak.endure, sampler, trials, results)
    write_report(results)


def measure_restores(results: Path) -> None:
    """Run the restores that are missing in ``reliability.jsonl``, and write the report."""
    path = results / "reliability.jsonl"
    done = {(r["file"], r["fault"]) for r in load(path) if "file" in r}
    with path.open("a") as file:

        def note(row: dict[str, Any]) -> None:
            file.write(json.dumps(row) + "\n")
            file.flush()

        restores.measure(done, note)
    write_report(results)


def _soaked(results: Path) -> list[dict[str, Any]]:
    path = results / "soak.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = [dict(zip(soak.COLUMNS, line, strict=True)) for line in csv.reader(file)]
    return [{k: v if k == "sampler" else float(v) for k, v in row.items()} for row in rows]


def write_report(results: Path) -> None:
    """Write ``reliability.md`` and ``soak.png`` from the measurements."""
    rows = load(results / "reliability.jsonl")
    lines = [
        "# Results: reliability",
        "",
        "Written by `python -m benchmarks reliability`, which draws the last table as well (`soak.png`).",
        "",
        "## Killed workers",
        "",
        "Processes share a study; some are killed with SIGKILL, whatever they are doing, and replaced. A trial is lost",
        "if a worker told it but the storage does not have it with that value. Twins are pairs of trials with equal",
        "parameters that ran at the same time. Stale trials were left running by a killed process; they are retried if",
        "another trial takes up their parameters, after a thousand others have overtaken them.",
        "",
        "| storage | workers | killed | complete trials | lost | twins | repeated | stale | retried | errors | "
        "trials/s | best | best in one process |",
        "|---" * 13 + "|",
    ]
    for r in rows:
        if "workers" in r:
            cells = [r["kind"], r["workers"], r["killed"], r["complete"], r["lost"], r["duplicates"], r["repeats"]]
            cells += [r["stale"], r["retried"], len(r["errors"]), f"{r['complete'] / r['seconds']:.1f}"]
            cells += [f"{r['best']:.3g}", f"{r['sequential']:.3g}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    restored = [r for r in rows if "file" in r]
    if restored:
        lines += ["", "## Killed Ray drivers, damaged files", "", *RESTORES.splitlines(), "", *restores.table(restored)]
    lines += ["", "## Many trials at once", ""]
    feeds = [r for r in rows if "trials at once" in r]
    if feeds:
        lines += ["| " + " | ".join(feeds[0]) + " |", "|---" * len(feeds[0]) + "|"]
        lines += ["| " + " | ".join(f"{value:.3g}" for value in r.values()) + " |" for r in feeds]
    soaked = defaultdict(list)
    for row in _soaked(results):
        soaked[row["sampler"]].append(row)
    lines += [
        "",
        "## One process, many trials",
        "",
        f"{soak.D} dimensions, in memory, windows of {soak.WINDOW} trials.",
        "",
    ]
    lines += [
        "| sampler | trials | median ms | 99 % ms | longest ms | memory MB | pickled kB | optimizer's state MB |",
        "|---" * 8 + "|",
    ]
    for sampler, group in soaked.items():
        for row in group:
            if row["trials"] in (1000, 5000, 10_000, 20_000):
                figures = [f"{row[c]:.3g}" for c in soak.COLUMNS[2:]]
                lines.append(f"| {sampler} | {row['trials']:.0f} | " + " | ".join(figures) + " |")
    lines += [""]
    (results / "reliability.md").write_text("\n".join(lines))
    _plot(results / "soak.png", soaked)


def _plot(path: Path, soaked: dict[str, list[dict[str, Any]]]) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    panels = (("median_ms", "median time of a suggestion, ms"), ("memory_mb", "memory of the process, MB"))
    for axis, (column, label) in zip(axes, (*panels, ("state_mb", "state of the optimizer, MB")), strict=True):
        for sampler, group in soaked.items():
            axis.plot([r["trials"] for r in group], [r[column] for r in group], label=sampler)
        axis.set(xlabel="trials", ylabel=label, ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0].legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--restores", action="store_true", help="only the restored Ray runs with damaged files")


def main(arguments: argparse.Namespace) -> None:
    if not arguments.restores:
        measure(RESULTS)
    measure_restores(RESULTS)

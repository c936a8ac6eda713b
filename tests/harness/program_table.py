"""Random define-by-run programs: what a sampler may not do, whatever a program asks for and however trials end.

Each seed is a program, run by the sampler that it names or by another one, ``Random`` or ``TPE``, which are there to
compare with. Every tenth is run over a journal or SQLite as well. ``--show SEED`` prints a program, its trials and what
is broken; with ``--shrink KIND`` it is made smaller first, as long as it breaks that.
"""

from __future__ import annotations

from benchmarks import processes

processes.one_thread()

# isort: split
import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import optuna

from benchmarks.arguments import add_name, add_names, results
from benchmarks.storage import load
from tests.harness import program_runs
from tests.harness.program_maker import make

SAMPLERS = ("GSSBO", "GPUCB", "BKB", "BBKB", "Random", "TPE")
#: Kinds of what can be broken, in the words of the table.
KINDS = {
    "error": "an exception that is not the program's",
    "fallback": "no model could be fitted",
    "repeat": "three failures or running trials at one point, while others are left",
    "again": "an exact objective measured at the same point more than a few times, while others are left",
    "branch": "a category never visited that random search, as often where it is chosen, would have visited",
    "failing branch": "more trials in branches that always fail than random search would waste",
    "not pending": "a running trial with known values that is not pending",
    "not learned": "a complete trial neither learned nor named by a warning",
    "failure not learned": "a failed or pruned trial with values in range that is not learned",
    "given": "a suggestion other than what was used",
    "warning": "the same warning twice",
    "storage": "other trials over another storage",
}
LEGEND = """\
Failures are a share of all trials. Trials in branches that always fail are a share of those that random search makes
there on average. Branches are those that are due. Behind are programs whose best value is worse than that of as many
trials of random search.""".splitlines()
COLUMNS = ("kind", "programs", "failures", "in failing branches", "measured again", "branches", "behind", "broken")
#: How many seeds the table names.
NAMED = 6


def run_one(seed: int, trials: int, sampler: str | None) -> dict[str, Any]:
    """A line of results: what a program is and what was broken."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    program = make(seed)
    found = program_runs.run(program, trials, sampler=sampler)
    broken = {b.kind: b.words for b in reversed(found.broken)}
    store = {0: "journal", 10: "sqlite"}.get(seed % 20, "memory")
    if store != "memory" and sampler is None:
        broken |= {b.kind: b.words for b in program_runs.differs(program, trials, store)}
    if sampler is None:
        by_chance = program_runs.run(program, trials, sampler="Random").figures.get("best")
        own = found.figures.get("best")
        found.figures["behind"] = by_chance is not None and (own is None or own > by_chance)
    return {
        "seed": seed,
        "sampler": sampler or program.sampler,
        "given": sampler,
        "length": trials,
        "kinds": program.kinds,
        "broken": {kind: words[:200] for kind, words in broken.items()},
        **found.figures,
    }


def measure(path: Path, count: int, trials: int, jobs: int, sampler: str | None) -> None:
    """Run the programs that are missing in the results, and write the table."""
    done = {(r["seed"], r["length"], r["given"]) for r in load(path)}
    todo = [(seed, trials, sampler) for seed in range(count) if (seed, trials, sampler) not in done]
    processes.record(path, run_one, todo, jobs)
    write_report(path)


def write_report(path: Path) -> None:
    """Write the table of a results file."""
    rows = load(path)
    lines = ["# Results: random programs", "", "Written by `python -m benchmarks programs`.", ""]
    lines += [f"- **{kind}**: {words}" for kind, words in KINDS.items()]
    for sampler in dict.fromkeys(r["given"] for r in rows):
        own = [r for r in rows if r["given"] == sampler]
        broken = defaultdict(list)
        for r in own:
            for kind in r["broken"]:
                broken[kind].append(r["seed"])
        title = "numbo's samplers in turn" if sampler is None else sampler
        lines += ["", f"## {title}: {len(own)} programs, {sum(not r['broken'] for r in own)} of them sound", ""]
        lines += ["| broken | programs | such as |", "|---|---|---|"]
        for kind in KINDS:
            if seeds := broken[kind]:
                lines.append(f"| {kind} | {len(seeds)} | {', '.join(map(str, seeds[:NAMED]))} |")
        lines += ["", *LEGEND, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        kinds = Counter(kind for r in own for kind in (*r["kinds"], f"sampler {r['sampler']}", "all"))
        for kind in sorted(kinds, key=lambda name: (name == "all", name)):
            lines.append(_line(kind, [r for r in own if kind in (*r["kinds"], f"sampler {r['sampler']}", "all")]))
    path.with_suffix(".md").write_text("\n".join([*lines, ""]))


def _line(kind: str, rows: list[dict[str, Any]]) -> str:
    ended = [r for r in rows if "due" in r]
    total = {name: sum(r[name] for r in ended) for name in ("failures", "trials", "again", "due", "reached", "doomed")}
    chance = sum(r["doomed by chance"] for r in ended)
    broken = Counter(name for r in rows for name in r["broken"])
    cells = [kind, str(len(rows)), f"{total['failures'] / max(1, total['trials']):.0%}"]
    cells += [f"{total['doomed'] / chance:.2f}" if chance else "", str(total["again"])]
    behind = [r["behind"] for r in ended if "behind" in r]
    cells += [f"{total['reached']} of {total['due']}", f"{sum(behind) / len(behind):.0%}" if behind else ""]
    cells += [", ".join(f"{name} {n}" for name, n in sorted(broken.items()))]
    return f"| {' | '.join(cells)} |"


def show(seed: int, trials: int, sampler: str | None, kind: str | None) -> None:
    """Print a program and what happens."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    program = make(seed)
    if kind is not None:
        program = program_runs.shrunk(program, kind, trials)
    found = program_runs.run(program, trials, sampler=sampler)
    print(program)
    for trial in found.trials:
        print(trial.number, trial.state.name.lower(), trial.params, trial.values)
    for broken in found.broken:
        print(f"{broken.kind}: {broken.words}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "programs")
    parser.add_argument("--count", type=int, default=1000, help="number of programs")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2, help="number of programs at the same time")
    add_names(parser, "--samplers", "sampler", SAMPLERS, [], help="in place of those that the programs name")
    parser.add_argument("--show", type=int, metavar="SEED", help="one program, its trials and what is broken")
    parser.add_argument("--shrink", choices=KINDS, metavar="KIND", help="with --show: made smaller first")


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    samplers = a.samplers or [None]
    if a.show is not None:
        show(a.show, a.trials, samplers[0], a.shrink)
        return
    for sampler in samplers:
        measure(results(a), a.count, a.trials, a.jobs, sampler)

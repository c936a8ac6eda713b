"""What the benchmarks of searches under constraints and of several objectives share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, one_of
from benchmarks.storage import load

Array = NDArray[np.float64]
#: A run: sampler, problem, seed, and number of trials.
Job = tuple[str, str, int, int]


#: What options say of themselves.
PROBLEMS = "all that settings were chosen on by default"
APART = "the problems put aside in place of those"


def add_arguments(
    parser: argparse.ArgumentParser, name: str, known: Collection[str], usual: Collection[str], every: Collection[str]
) -> None:
    """Options of a command that runs ``usual`` samplers, or others that are ``known``, on some of ``every`` problem."""
    add_name(parser, name)
    add_names(parser, "--samplers", "sampler", known, list(usual), help=f"{', '.join(usual)} by default")
    one = one_of("problem", every, str)
    parser.add_argument("--problems", nargs="+", metavar="PROBLEM", type=one, help=PROBLEMS)
    parser.add_argument("--apart", action="store_true", help=APART)
    add_runs(parser, seeds=5)
    parser.add_argument("--report", action="store_true", help="only the tables of the runs that there are")


def jobs_of(arguments: argparse.Namespace, problems: Collection[str], apart: Collection[str]) -> list[Job]:
    """The runs that are asked for."""
    a = arguments
    names = a.problems or list(apart if a.apart else problems)
    return [(sampler, name, seed, a.trials) for seed in range(a.seeds) for name in names for sampler in a.samplers]


def run(path: Path, one: Callable[..., dict[str, Any]], jobs: Sequence[Job], jobs_at_once: int) -> None:
    """Run what is missing in ``path``."""
    done = {(row["sampler"], row["problem"], row["seed"], row["trials"]) for row in load(path)}
    processes.record(path, one, [job for job in jobs if job not in done], jobs_at_once)


def longest(path: Path) -> list[dict[str, Any]]:
    """The longest of the runs of each sampler, problem and seed."""
    rows = sorted(load(path), key=lambda row: int(row["trials"]))
    return list({(row["sampler"], row["problem"], row["seed"]): row for row in rows}.values())


def write_report(
    path: Path,
    heading: Sequence[str],
    problems: Collection[str],
    apart: Collection[str],
    tables: Callable[[list[dict[str, Any]], list[str]], list[str]],
) -> None:
    """A report beside ``path``: the ``heading``, and ``tables`` of the problems and of those put aside."""
    rows = longest(path)
    text = list(heading)
    for title, group in (("Problems", problems), ("Problems put aside", apart)):
        names = [name for name in group if any(row["problem"] == name for row in rows)]
        if names:
            text += ["", f"## {title}", "", *tables(rows, names)]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")


def outcomes(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], samplers: Sequence[str], of: Callable[[Any], float | None]
) -> Array:
    """What ``of`` says of each run (samplers, problems, seeds); NaN without a run, or where it says None."""
    seeds = 1 + max(int(row["seed"]) for row in rows)
    out = np.full((len(samplers), len(names), seeds), np.nan)
    for row in rows:
        if row["problem"] in names and row["sampler"] in samplers:
            value = of(row)
            place = samplers.index(row["sampler"]), list(names).index(row["problem"]), int(row["seed"])
            out[place] = np.nan if value is None else value
    return out


def mean_ranks(values: Array, samplers: Sequence[str]) -> dict[str, float]:
    """Mean ranks of ``values`` (samplers, problems, seeds), over those that all have; the smaller, the better."""
    complete = values[:, ~np.isnan(values).any(axis=0)]
    below = (complete[:, None] > complete[None]).sum(axis=1)
    ties = (complete[:, None] == complete[None]).sum(axis=1)
    places = below + 0.5 * (ties + 1)
    return {name: float(places[k].mean()) for k, name in enumerate(samplers) if places.size}


def rank_table(found: Sequence[Mapping[str, float]], samplers: Sequence[str], marks: Sequence[int]) -> list[str]:
    """Lines of a table of mean ranks at some marks."""
    lines = [
        "Mean rank, over the seeds that all have:",
        "",
        "| sampler | " + " | ".join(map(str, marks)) + " |",
        "|---" * (len(marks) + 1) + "|",
    ]
    for name in samplers:
        if any(name in one for one in found):
            lines.append(f"| {name} | " + " | ".join(f"{one[name]:.2f}" if name in one else "" for one in found) + " |")
    return lines

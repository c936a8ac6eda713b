"""Tables of the experiments, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.ranks import cell
from benchmarks.papers.experiment import Experiment
from benchmarks.storage import load

Rows = list[dict[str, Any]]


def shown(values: list[Any]) -> str:
    """Of something that may hold the share of seeds where it does; of numbers the median, and the span."""
    if all(isinstance(value, bool) for value in values):
        return f"{np.mean(values):.0%}"
    return cell([float(value) for value in values])


def table(rows: Rows) -> str:
    """One row for each case, one column for each figure."""
    names = list(dict.fromkeys(name for row in rows for name in row["figures"] if not name.startswith("_")))
    lines = ["| case | seeds | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for case in dict.fromkeys(row["case"] for row in rows):
        found = [row["figures"] for row in rows if row["case"] == case]
        values = [[figures[name] for figures in found if name in figures] for name in names]
        lines.append(f"| {case} | {len(found)} | " + " | ".join(shown(v) if v else "-" for v in values) + " |")
    return "\n".join(lines)


def write_report(path: Path, experiments: Mapping[str, Experiment]) -> None:
    """Write a table for each experiment with results, beside the results file."""
    rows = load(path)
    parts = [
        "# The papers, in numbers",
        "Medians over seeds, with the smallest and largest in brackets; percentages are the share of the seeds where "
        "something holds. Written by `python -m benchmarks papers"
        + (f" --name {path.stem}`." if path.stem != "papers" else "`."),
    ]
    for name, experiment in experiments.items():
        cases = list(experiment.cases)
        mine = [row for row in rows if row["experiment"] == name and row["case"] in cases]
        if mine:
            parts += [f"## {name}", experiment.claim, table(sorted(mine, key=lambda row: cases.index(row["case"])))]
    path.with_suffix(".md").write_text("\n\n".join(parts) + "\n")

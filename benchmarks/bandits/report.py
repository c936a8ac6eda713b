"""Tables (Markdown) and plots (PNG) from the results of `bandits`, as in section 5 of the BBKB paper."""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.compare.ranks import cell
from benchmarks.pictures import color, save
from benchmarks.storage import RESULTS, load

Rows = list[dict[str, Any]]
Setting = tuple[str, int]


def table(rows: Rows) -> str:
    """One row per algorithm and horizon."""
    groups: dict[tuple[str, int], Rows] = defaultdict(list)
    for row in rows:
        groups[row["algorithm"], row["T"]].append(row)
    lines = [
        "| algorithm | T | runs | regret ratio | simple regret | seconds | batches | dictionary |",
        "|---" * 8 + "|",
    ]
    for (algorithm, T), group in sorted(groups.items()):
        cells = [cell([r[key] for r in group]) for key in ("ratio", "simple", "seconds", "batches")]
        sizes = [r["dictionary"] for r in group if "dictionary" in r]
        cells.append(cell(sizes) if sizes else "-")
        lines.append(f"| {algorithm} | {T} | {len(group)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speedups(rows: Rows) -> str:
    """Seconds of the authors' code relative to ours, for the same problem, horizon and seed."""
    ours = {(r["problem"], r["algorithm"], r["T"], r["seed"], r["initial"]): r for r in rows}
    lines = [
        "| problem | algorithm | T | seconds, theirs | ours | ratio | regret ratio, theirs | ours |",
        "|---" * 8 + "|",
    ]
    groups: dict[tuple[str, str, int], list[tuple[dict[str, Any], dict[str, Any]]]] = defaultdict(list)
    for row in rows:
        name = row["algorithm"].removeprefix("reference-")
        mine = ours.get((row["problem"], name, row["T"], row["seed"], row["initial"]))
        if name != row["algorithm"] and mine is not None:
            groups[row["problem"], name, row["T"]].append((row, mine))
    for (problem, name, T), pairs in sorted(groups.items()):
        cells = [
            cell([theirs["seconds"] for theirs, _ in pairs]),
            cell([mine["seconds"] for _, mine in pairs]),
            cell([theirs["seconds"] / mine["seconds"] for theirs, mine in pairs]),
            cell([theirs["ratio"] for theirs, _ in pairs]),
            cell([mine["ratio"] for _, mine in pairs]),
        ]
        lines.append(f"| {problem} | {name} | {T} | " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else ""


def _color(rows: Rows, name: str) -> Any:
    """One colour per algorithm, in every panel; the authors' code has the same colour as ours."""
    names = sorted({r["algorithm"].removeprefix("reference-") for r in rows})
    return color(name.removeprefix("reference-"), names)


def draw_curves(ax: Any, rows: Rows, column: int, ylabel: str, logy: bool) -> None:
    groups: dict[str, Rows] = defaultdict(list)
    longest: dict[str, int] = defaultdict(int)
    for row in rows:
        longest[row["algorithm"]] = max(longest[row["algorithm"]], row["T"])
    for row in rows:
        if row["T"] == longest[row["algorithm"]]:
            groups[row["algorithm"]].append(row)
    for name, group in sorted(groups.items()):
        curves = np.array([[point[column] for point in r["curve"]] for r in group])
        t = [point[0] for point in group[0]["curve"]]
        style = "--" if name.startswith("reference") else "-"
        look = {"color": _color(rows, name)}
        ax.plot(t, np.median(curves, axis=0), style, label=name, **look)
        ax.fill_between(t, curves.min(axis=0), curves.max(axis=0), alpha=0.15, linewidth=0, **look)
    ax.set_xscale("log")
    ax.set_xlabel("t")
    ax.set_ylabel(ylabel)
    if logy:
        ax.set_yscale("log")


def _batches(ax: Any, rows: Rows) -> None:
    for name in sorted({r["algorithm"] for r in rows if len(set(r["batch_sizes"])) > 1}):
        group = [r for r in rows if r["algorithm"] == name]
        run = max(group, key=lambda r: (r["T"], -r["seed"]))
        ax.plot(np.cumsum(run["batch_sizes"]), run["batch_sizes"], ".", markersize=3, color=_color(rows, name))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("t")
    ax.set_ylabel("batch size (one run)")


def plot(rows: Rows, title: str, path: Path) -> None:
    """Regret ratio, simple regret, seconds, batch sizes."""
    figure, axes = plt.subplots(1, 4, figsize=(19, 4.2), layout="constrained")
    draw_curves(axes[0], rows, 1, "cumulative regret / that of uniform sampling", True)
    draw_curves(axes[1], rows, 2, "regret of the best arm so far", False)
    axes[1].set_yscale("symlog", linthresh=1e-3)
    axes[1].set_ylim(bottom=0.0)
    draw_curves(axes[2], rows, 3, "seconds of the algorithm", True)
    _batches(axes[3], rows)
    figure.suptitle(title)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6))
    save(figure, path)


def write_report(results: Path, name: str) -> None:
    """Write ``NAME.md``, and a plot per problem and number of initial evaluations, from ``NAME.jsonl``."""
    rows = load(results / f"{name}.jsonl")
    settings: dict[Setting, Rows] = defaultdict(list)
    for row in rows:
        settings[row["problem"], row["initial"]].append(row)
    parts = [
        "# On explicit arms",
        "Medians over seeds, with the smallest and largest in brackets. The regret ratio is the cumulative regret "
        "divided by that of uniform sampling. Written by `python -m benchmarks bandits-report"
        + (f" --name {name}`" if name != "bandits" else "`")
        + ", which draws plots as well.",
    ]
    for (problem, initial), group in sorted(settings.items()):
        title = f"{problem}, {initial} initial evaluations" if initial else problem
        image = f"{name}-{problem}-{initial}.png" if initial else f"{name}-{problem}.png"
        plot(group, title, results / image)
        parts += [f"## {title}", table(group)]
    ratios = speedups(rows)
    if ratios:
        parts += ["## Against the authors' code", ratios]
    (results / f"{name}.md").write_text("\n\n".join(parts) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="bandits", help="of the results of `bandits`")


def main(arguments: argparse.Namespace) -> None:
    write_report(RESULTS, arguments.name)

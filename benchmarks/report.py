"""Tables (Markdown) and plots (PNG) from the results of `benchmarks.runner`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.problems import PROBLEMS
from benchmarks.runner import CHECKPOINTS
from benchmarks.storage import load

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Runs = dict[tuple[str, str], list[dict[str, Any]]]


def grouped(rows: list[dict[str, Any]]) -> Runs:
    """Runs by (problem, sampler); of several with one seed the longest counts."""
    best: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in rows:
        key = (row["problem"], row["sampler"], row["seed"])
        if key not in best or best[key]["trials"] < row["trials"]:
            best[key] = row
    runs: Runs = defaultdict(list)
    for (problem, sampler, _), row in sorted(best.items()):
        runs[problem, sampler].append(row)
    return runs


def _cell(values: list[float]) -> str:
    """Median and, in brackets, the smallest and largest."""
    if not values:
        return "-"
    return f"{np.median(values):.3g} ({min(values):.2g} - {max(values):.2g})" if len(values) > 1 else f"{values[0]:.3g}"


def table(runs: Runs, figure: str, samplers: list[str], problems: list[str]) -> str:
    """One table: rows are problem and number of trials, columns are samplers."""
    lines = ["| problem | trials | " + " | ".join(samplers) + " |", "|---" * (len(samplers) + 2) + "|"]
    for problem in problems:
        for checkpoint in CHECKPOINTS:
            cells = [
                [r[figure][str(checkpoint)] for r in runs.get((problem, s), []) if str(checkpoint) in r[figure]]
                for s in samplers
            ]
            if any(cells):
                lines.append(f"| {problem} | {checkpoint} | " + " | ".join(_cell(c) for c in cells) + " |")
    return "\n".join(lines)


def mean_ranks(runs: Runs, samplers: list[str], problems: list[str]) -> str:
    """Mean rank of the median best value over the problems that all of ``samplers`` finished, and their number."""
    lines = ["| trials | problems | " + " | ".join(samplers) + " |", "|---" * (len(samplers) + 2) + "|"]
    for checkpoint in CHECKPOINTS:
        ranks = []
        for problem in problems:
            medians = [
                [r["best"][str(checkpoint)] for r in runs.get((problem, s), []) if str(checkpoint) in r["best"]]
                for s in samplers
            ]
            if all(medians):
                values = np.array([np.median(m) for m in medians])
                ranks.append([(values < v).sum() + 0.5 * ((values == v).sum() - 1) + 1 for v in values])
        if ranks:
            lines.append(
                f"| {checkpoint} | {len(ranks)} | " + " | ".join(f"{r:.2f}" for r in np.mean(ranks, axis=0)) + " |"
            )
    return "\n".join(lines)


def plot(runs: Runs, samplers: list[str], problems: list[str], path: Path) -> None:
    """Best regret against trials: the median, and the range over seeds, a panel a problem."""
    figure, axes = plt.subplots(1, len(problems), figsize=(4.2 * len(problems), 3.8), squeeze=False)
    for axis, problem in zip(axes[0], problems, strict=True):
        for i, sampler in enumerate(samplers):
            rows = runs.get((problem, sampler), [])
            if rows:
                length = min(len(r["curve"]) for r in rows)
                trials = [t for t, _ in rows[0]["curve"][:length]]
                values = np.maximum([[v for _, v in r["curve"][:length]] for r in rows], 1e-9)
                color = plt.get_cmap("tab10")(i % 10)
                axis.plot(trials, np.median(values, axis=0), color=color, label=sampler)
                axis.fill_between(trials, values.min(axis=0), values.max(axis=0), color=color, alpha=0.12, lw=0)
        axis.set(title=problem, xlabel="trials", xscale="log", yscale="log")
    axes[0][0].set_ylabel("best regret, median and range")
    entries = {
        label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=len(samplers))
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write_report(results: Path, name: str) -> None:
    """Write ``NAME.md`` and its plots from ``NAME.jsonl``."""
    runs = grouped(load(results / f"{name}.jsonl"))
    if not runs:
        raise SystemExit(f"There are no results in {results / f'{name}.jsonl'}; run the benchmark first.")
    problems = [p for p in PROBLEMS if any(p == problem for problem, _ in runs)]
    families: dict[str, list[str]] = {}
    for _, sampler in runs:
        family = "paper" if sampler.startswith("GSSBO-paper-") else "default"
        families.setdefault(family, [])
        if sampler not in families[family]:
            families[family].append(sampler)
    text = [f"# Results: {name}", "", f"Written by `python -m benchmarks report --name {name}`."]
    text.append("Figures are the median over seeds, with the smallest and the largest in brackets.")
    for family, samplers in families.items():
        samplers.sort()
        suffix = "" if len(families) == 1 else f"-{family}"
        heading = "" if len(families) == 1 else f", {family} preset"
        count = {s: max(len(runs.get((p, s), [])) for p in problems) for s in samplers}
        text += ["", f"## Best regret{heading}", "", f"Seeds: {', '.join(f'{s} {n}' for s, n in count.items())}.", ""]
        text += [table(runs, "best", samplers, problems), "", f"![best regret]({name}{suffix}.png)"]
        text += ["", f"## Mean rank of the median best value{heading}", "", mean_ranks(runs, samplers, problems)]
        finished = [s for s in samplers if all((p, s) in runs for p in problems)]
        if finished != samplers:
            text += ["", "Of those that were run on every problem:", "", mean_ranks(runs, finished, problems)]
        text += [
            "",
            f"## Mean regret of all trials so far{heading}",
            "",
            table(runs, "mean_regret", samplers, problems),
        ]
        text += ["", f"## Ask time in milliseconds{heading}", "", table(runs, "ask_ms", samplers, problems)]
        plot(runs, samplers, problems, results / f"{name}{suffix}.png")
    (results / f"{name}.md").write_text("\n".join(text) + "\n")
    print(f"wrote {results / f'{name}.md'}")

"""Tables (Markdown) and plots (PNG) from the results of `run`."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import optuna

from benchmarks.compare import noisy_report, pairs
from benchmarks.compare.ranks import Runs, bootstrap, checkpoints, finished, grouped, mean_ranks, table
from benchmarks.pictures import NAMES, color, save
from benchmarks.problems.suites import PROBLEMS
from benchmarks.storage import RESULTS, load

#: What the table of pairs has.
PAIRS = (
    "GSSBO beside each other sampler, in runs of the same problem with the same seed. Regrets are equal that differ by "
    "less than a billionth. The times are medians, over these runs, of the last 20 suggestions."
)


def plot(runs: Runs, samplers: list[str], problems: list[str], path: Path) -> None:
    """Best regret against trials: the median and range over seeds, one panel per problem."""
    columns = min(5, len(problems))
    rows = math.ceil(len(problems) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.4 * rows + 0.5), squeeze=False)
    for axis in axes.flat[len(problems) :]:
        axis.axis("off")
    for axis, problem in zip(axes.flat, problems, strict=False):
        for sampler in samplers:
            results = runs.get((problem, sampler), [])
            if results:
                length = min(len(r["curve"]) for r in results)
                trials = [t for t, _ in results[0]["curve"][:length]]
                values = np.maximum([[v for _, v in r["curve"][:length]] for r in results], 1e-9)
                look = {"color": color(sampler, samplers)}
                axis.plot(trials, np.median(values, axis=0), **look, label=_title(sampler))
                axis.fill_between(trials, values.min(axis=0), values.max(axis=0), **look, alpha=0.12, lw=0)
        axis.set(title=problem, xlabel="trials", xscale="log", yscale="log")
    for axis in axes[:, 0]:
        axis.set_ylabel("best regret, median and range")
    _legend(figure, list(axes.flat), rows)
    save(figure, path, dpi=100)


def plot_headline(runs: Runs, samplers: list[str], problems: list[str], path: Path) -> None:
    """Mean rank over all problems, and the median time of a suggestion, against the number of trials."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    for sampler in samplers:
        points = [c for c in checkpoints(runs) if sampler in finished(runs, samplers, problems, c)]
        if not points:
            continue
        asks = [np.median([r["ask_ms"][str(c)] for p in problems for r in runs[p, sampler]]) for c in points]
        right.plot(points, asks, "o-", color=color(sampler, samplers), label=_title(sampler))
    for c in checkpoints(runs):
        names = finished(runs, samplers, problems, c)
        if len(names) > 1:
            mean, low, high = bootstrap(runs, names, problems, c)
            for i, name in enumerate(names):
                x = c * 1.03 ** (i - len(names) / 2)
                span = np.maximum([mean[i] - low[i], high[i] - mean[i]], 0.0)  # the mean may lie outside
                left.errorbar(x, mean[i], span[:, None], fmt="o", color=color(name, samplers))
    left.set(xscale="log", xlabel="trials", ylabel=f"mean rank on {len(problems)} problems, 90% interval")
    left.invert_yaxis()
    right.set(xscale="log", yscale="log", xlabel="trials", ylabel="median time of a suggestion (ms)")
    for axis in (left, right):
        axis.set_xticks(checkpoints(runs), [str(c) for c in checkpoints(runs)])
        axis.minorticks_off()
    _legend(figure, [right], 1)
    save(figure, path)


def _title(sampler: str) -> str:
    return NAMES.get(sampler, sampler).replace("`", "")


def _legend(figure: Any, axes: list[Any], rows: int) -> None:
    """One legend below all panels."""
    entries = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=len(entries))
    figure.tight_layout(rect=(0, 0.1 / rows, 1, 1))


def write_report(results: Path, name: str) -> None:
    """Write ``NAME.md`` and its plots from ``NAME.jsonl``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
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
    text = [
        f"# Results: {name}",
        "",
        f"Written by `python -m benchmarks report --name {name}`, which draws plots as well.",
    ]
    text.append("Figures are medians over seeds, with the smallest and the largest in brackets.")
    for family, samplers in families.items():
        samplers.sort()
        suffix = "" if len(families) == 1 else f"-{family}"
        heading = "" if len(families) == 1 else f", {family} preset"
        count = {s: max(len(runs.get((p, s), [])) for p in problems) for s in samplers}
        text += ["", f"## Best regret{heading}", "", f"Seeds: {', '.join(f'{s} {n}' for s, n in count.items())}.", ""]
        text += [table(runs, "best", samplers, problems)]
        text += ["", f"## Mean rank of the median best regret{heading}", ""]
        text += [f"On {len(problems)} problems; the interval is a bootstrap over problems and seeds.", ""]
        text += [mean_ranks(runs, samplers, problems)]
        if fewer := mean_ranks(runs, samplers, problems, common=True):
            text += [
                "",
                "On the problems finished by all samplers that ran this number of trials, where these are fewer:",
                "",
                fewer,
            ]
        if "GSSBO" in samplers and len(samplers) > 1:
            text += ["", f"## Pairs of runs{heading}", "", PAIRS, ""]
            text += [pairs.table(runs, "GSSBO", [s for s in samplers if s != "GSSBO"])]
        noisy = {problem for (problem, _), rows in runs.items() if any("by_gp" in row for row in rows)}
        if noisy:
            of_noisy = {key: rows for key, rows in runs.items() if key[0] in noisy}
            text += noisy_report.sections(of_noisy, samplers, [p for p in problems if p in noisy])
        if quiet := [p for p in problems if p not in noisy]:
            text += ["", f"## Mean regret of all trials so far{heading}", ""]
            text += [table(runs, "mean_regret", samplers, quiet)]
        failing = [p for p in problems if any("failed" in r for s in samplers for r in runs.get((p, s), []))]
        if failing:
            text += ["", f"## Failed trials{heading}", "", table(runs, "failed", samplers, failing)]
        text += ["", f"## Ask time in milliseconds{heading}", "", table(runs, "ask_ms", samplers, problems)]
        plot(runs, samplers, problems, results / f"{name}{suffix}.png")
        plot_headline(runs, samplers, problems, results / f"{name}{suffix}-ranks.png")
    (results / f"{name}.md").write_text("\n".join(text) + "\n")
    print(f"wrote {results / f'{name}.md'}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="suite", help="of the results of `run`")


def main(arguments: argparse.Namespace) -> None:
    write_report(RESULTS, arguments.name)

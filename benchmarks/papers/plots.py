"""Plots of the experiments, in ``docs/images``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.bandits.report import draw_curves
from benchmarks.papers.gssbo_runs import FIVE, INITIAL, MARKS, SIZES, TRIALS
from benchmarks.pictures import COLORS as OF_SAMPLERS
from benchmarks.pictures import INK, save
from benchmarks.storage import RESULTS, load

IMAGES = Path(__file__).parents[2] / "docs" / "images"
RATE = 100
LAMBDA = "0.01"
#: GSSBO's samplers, as in the paper.
TITLES = {
    "sign": "GSSBO (sign)",
    "random": "RSSBO (random)",
    "nystrom": "nystrom",
    "kmeans++": "kmeans++",
    "first": "first",
    "GP-UCB": "GP-UCB",
    "default": "GSSBO, default preset",
}
COLORS = {
    "sign": OF_SAMPLERS["GSSBO-paper"],
    "random": OF_SAMPLERS["Random"],
    "nystrom": "#17a2b8",
    "kmeans++": "#2ca02c",
    "first": "#a0674f",
    "GP-UCB": OF_SAMPLERS["GP-UCB"],
    "default": OF_SAMPLERS["GSSBO"],
}


def starvation(rows: list[dict[str, Any]], path: Path) -> None:
    """BKB, figure 2."""
    found = {row["case"]: row["figures"] for row in rows if row["experiment"] == "starvation" and row["seed"] == 0}
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
    grid = np.linspace(0.0, 1.0, 201)
    for axis, t in zip(axes, (6, 63, 215), strict=True):
        figures = found[f"rate={RATE},lambda={LAMBDA},t={t}"]
        at = {name: np.array(values) for name, values in figures["_curves"].items()}
        axis.fill_between(
            grid,
            at["mean"] - 3 * at["sd"],
            at["mean"] + 3 * at["sd"],
            color=OF_SAMPLERS["BKB"],
            alpha=0.25,
            label="BKB, ± 3 sd",
        )
        axis.plot(grid, at["mean"], color=OF_SAMPLERS["BKB"], label="BKB, mean")
        for sign in (-1, 1):
            edge = at["mean"] + sign * 3 * at["starved"]
            axis.plot(grid, edge, ":", color="#2f86c9", label="without the first term" if sign > 0 else None)
        axis.plot(grid, at["f"], color=INK, linewidth=1, label="f")
        axis.plot(figures["_atoms"], np.full(len(figures["_atoms"]), -3.8), "|", color="tab:gray", label="atoms")
        axis.set(title=f"t = {t}", xlabel="x", ylim=(-4, 4))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    save(figure, path)


def regret_ratios(path: Path) -> None:
    """BBKB, figures 1 and 2: the results of the command ``bandits``."""
    rows = load(RESULTS / "bandits.jsonl")
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for axis, problem in zip(axes, ("abalone", "cadata"), strict=True):
        mine = [row for row in rows if row["problem"] == problem and row["initial"] == 0]
        draw_curves(axis, mine, 1, "regret / that of uniform sampling", logy=True)
        axis.set_title(problem)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    save(figure, path)


def of_cases(rows: list[dict[str, Any]], experiment: str) -> dict[str, list[dict[str, Any]]]:
    """The figures of an experiment by case, one for each seed."""
    known: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["experiment"] == experiment:
            known.setdefault(row["case"], []).append(row["figures"])
    return known


def cumulative_regret(rows: list[dict[str, Any]], path: Path) -> None:
    """GSSBO, figure 2."""
    known = of_cases(rows, "cumulative")
    figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), layout="constrained")
    for axis, problem in zip(axes.flat, FIVE, strict=False):
        for name, title in TITLES.items():
            curves = [figures[f"_regret-{name}"] for figures in known[problem] if f"_regret-{name}" in figures]
            at = MARKS if not isinstance(curves[0][0], list) else [n for n, _ in curves[0]]
            values = np.array(curves) if at is MARKS else np.array(curves)[:, :, 1]
            style = "-" if at is MARKS else "o--"
            axis.plot(at, np.median(values, axis=0), style, color=COLORS[name], label=title, markersize=4)
        axis.set(title=problem, xlabel="trials", ylim=(0, None))
    axes[0, 0].set_ylabel("cumulative regret")
    axes[1, 0].set_ylabel("cumulative regret")
    axes[1, 2].axis("off")
    axes[1, 2].legend(*axes[0, 0].get_legend_handles_labels(), loc="center", frameon=False)
    save(figure, path)


def times(rows: list[dict[str, Any]], path: Path) -> None:
    """GSSBO, figure 3, and the time of a trial against the number of observations."""
    known = of_cases(rows, "runtime")
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for axis, problem in zip(axes, ("hartmann-6", "powell-48"), strict=False):
        for name in ("sign", "random", "nystrom", "GP-UCB"):
            median = np.median([figures[f"_{name}"] for figures in known[problem]], axis=0)
            axis.plot(MARKS, median, color=COLORS[name], label=TITLES[name])
        n = np.arange(INITIAL, TRIALS)
        for extra, style in (("conditioning", ":"), ("fitting", "--")):
            each = np.median([np.interp(n, SIZES, figures[f"_{extra}"]) for figures in known[problem]], axis=0)
            total = np.interp(np.array(MARKS) - 1, n, np.cumsum(each)) + median
            title = {"conditioning": "factorised anew", "fitting": "fitted anew"}[extra]
            axis.plot(MARKS, total, style, color=COLORS["GP-UCB"], label=f"GP-UCB, {title}")
        axis.set(title=problem, xlabel="trials", yscale="log", xlim=(50, TRIALS), ylim=(0.1, None))
    axes[0].set_ylabel("processor seconds so far")
    for name, runs in of_cases(rows, "asks").items():
        at = sorted(int(figure.removeprefix("ms-")) for figure in runs[0])
        medians = [np.median([figures[f"ms-{n}"] for figures in runs]) for n in at]
        axes[2].plot(at, medians, "o-", color=COLORS[name])
    axes[2].set(title="hartmann-6", xlabel="observations", ylabel="milliseconds of a trial", yscale="log")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    save(figure, path)


def draw(rows: list[dict[str, Any]]) -> None:
    """All plots whose results are there."""
    if any(row["experiment"] == "starvation" for row in rows):
        starvation(rows, IMAGES / "starvation.svg")
    if {"runtime", "asks"} <= {row["experiment"] for row in rows}:
        times(rows, IMAGES / "gssbo-time.svg")
    if set(of_cases(rows, "cumulative")) == set(FIVE):
        cumulative_regret(rows, IMAGES / "cumulative-regret.svg")
    regret_ratios(IMAGES / "regret-ratios.svg")

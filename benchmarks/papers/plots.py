"""Plots of the experiments, in ``docs/images``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.bandits.report import draw_curves
from benchmarks.storage import RESULTS, load

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parents[2] / "docs" / "images"
RATE = 100
LAMBDA = "0.01"


def starvation(rows: list[dict[str, Any]], path: Path) -> None:
    """BKB, figure 2."""
    found = {row["case"]: row["figures"] for row in rows if row["experiment"] == "starvation" and row["seed"] == 0}
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
    grid = np.linspace(0.0, 1.0, 201)
    for axis, t in zip(axes, (6, 63, 215), strict=True):
        figures = found[f"rate={RATE},lambda={LAMBDA},t={t}"]
        at = {name: np.array(values) for name, values in figures["_curves"].items()}
        axis.fill_between(grid, at["mean"] - 3 * at["sd"], at["mean"] + 3 * at["sd"], alpha=0.2, label="BKB, ± 3 sd")
        axis.plot(grid, at["mean"], label="BKB, mean")
        for sign in (-1, 1):
            edge = at["mean"] + sign * 3 * at["starved"]
            axis.plot(grid, edge, ":", color="tab:red", label="without the first term" if sign > 0 else None)
        axis.plot(grid, at["f"], color="black", linewidth=1, label="f")
        axis.plot(figures["_atoms"], np.full(len(figures["_atoms"]), -3.8), "|", color="tab:gray", label="atoms")
        axis.set(title=f"t = {t}", xlabel="x", ylim=(-4, 4))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110)
    plt.close(figure)


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
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw(rows: list[dict[str, Any]]) -> None:
    """All plots whose results are there."""
    if any(row["experiment"] == "starvation" for row in rows):
        starvation(rows, IMAGES / "starvation.png")
    regret_ratios(IMAGES / "regret-ratios.png")

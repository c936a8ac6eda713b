"""Draw the figures of the documentation from real runs: python docs/figures.py

Those of guides/inside.md show what the page's own code computes. Two more show a run of
GSSBO in two dimensions.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import numbo.plot.matplotlib as plot
import optuna
from numbo import GSSBO, Float, Space
from numbo.optimizers.gssbo import TURN
from numbo.search.maximiser import PERIOD

IMAGES = Path(__file__).parent / "images"
#: Who may propose a point, and its colour.
PROPOSERS = {
    "initial design": "0.55",
    "start of a region": "tab:green",
    "local search": "tab:blue",
    "whole space, UCB": "tab:orange",
    "whole space, log EI": "tab:red",
}
BOX = Space({"x": Float(-5.0, 10.0), "y": Float(0.0, 15.0)})
INITIAL, TRIALS, SHOWN = 10, 140, (10, 20, 40, 60)


def branin(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Branin's function: three valleys, and three points that are equally good."""
    curve = y - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0
    return curve**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0


def proposer(step: int, origin: int) -> str:
    """Who proposed the point at this place in a run without failures."""
    if step < INITIAL:
        return "initial design"
    if origin >= 0:
        return "local search"
    if step % TURN:
        return "start of a region"
    return "whole space, UCB" if (step // PERIOD) % 2 == 0 else "whole space, log EI"


def run() -> tuple[np.ndarray, list[str], dict[int, np.ndarray]]:
    """Points of a run, who proposed them, and what the model believed after some."""
    opt = GSSBO(BOX, seed=4, n_initial=INITIAL)
    grid = [
        {"x": x, "y": y}
        for y in np.linspace(0.0, 15.0, 60)
        for x in np.linspace(-5.0, 10.0, 60)
    ]
    points, by, beliefs = [], [], {}
    for step in range(TRIALS):
        if step in SHOWN:
            beliefs[step] = opt.predict(grid)[0].reshape(60, 60)
        suggestion = opt.suggest()
        by.append(proposer(step, suggestion.origin))
        params = BOX.decode(suggestion.x)
        opt.hold("next", params, suggestion.origin)
        opt.tell(params, float(branin(params["x"], params["y"])), key="next")
        points.append((params["x"], params["y"]))
    return np.array(points), by, beliefs


def draw_turns(by: list[str]) -> None:
    """A row of squares: who proposed which trial."""
    figure, axis = plt.subplots(figsize=(9.5, 1.75), layout="constrained")
    for name, color in PROPOSERS.items():
        at = [step for step, one in enumerate(by) if one == name]
        axis.bar(at, 1.0, width=0.9, color=color, label=name)
    axis.set(xlim=(-0.6, TRIALS - 0.4), ylim=(0.0, 1.0), yticks=[], xlabel="trial")
    axis.spines[["top", "left", "right"]].set_visible(False)
    figure.legend(
        loc="outside upper center", ncols=len(PROPOSERS), frameon=False, fontsize=9
    )
    figure.savefig(IMAGES / "turns.png", dpi=110)
    plt.close(figure)


def draw_run(points: np.ndarray, by: list[str], beliefs: dict[int, np.ndarray]) -> None:
    """What the model believed after some trials, these, and the next one."""
    figure, axes = plt.subplots(
        2, 2, figsize=(9.5, 8.6), layout="constrained", sharex=True, sharey=True
    )
    x, y = np.linspace(-5.0, 10.0, 60), np.linspace(0.0, 15.0, 60)
    for axis, (told, mean) in zip(axes.flat, beliefs.items(), strict=True):
        axis.contourf(
            x, y, np.sqrt(np.maximum(mean, 0.0)), levels=18, cmap="Greys_r", alpha=0.75
        )
        for name, color in PROPOSERS.items():
            some = points[:told][[one == name for one in by[:told]]]
            axis.scatter(
                *some.T,
                s=34,
                color=color,
                edgecolor="white",
                linewidth=0.6,
                label=name,
                zorder=3,
            )
        best = points[np.argmin(branin(*points[:told].T))]
        axis.scatter(
            *best, s=190, facecolor="none", edgecolor="black", linewidth=1.6, zorder=4
        )
        axis.scatter(
            *points[told], s=120, marker="*", color="gold", edgecolor="black", zorder=5
        )
        axis.set_title(f"after {told} trials: best {branin(*best):.3g}", fontsize=10)
    handles, labels = axes.flat[-1].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        fontsize=9,
    )
    figure.savefig(IMAGES / "run.png", dpi=100)
    plt.close(figure)


def draw_inside() -> None:
    """The figures of guides/inside.md."""
    names: dict[str, object] = {}
    page = IMAGES.parent / "guides" / "inside.md"
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(
            compile(block, "inside.md", "exec"), names
        )  # the page's own code, which its figures show
    study, batched, pruned = names["study"], names["batched"], names["pruned"]
    pair = ["rate", "units"]
    figures = {
        "posterior": plot.plot_posterior(study),
        "contour": plot.plot_contour(study, pair),
        "constraints": plot.plot_contour(names["constrained"]),
        "acquisition": plot.plot_acquisition(study, pair),
        "relevance": plot.plot_relevance(study),
        "subset": plot.plot_subset(study),
        "ask_times": plot.plot_ask_times(study),
        "batch_sizes": plot.plot_batch_sizes(batched),
        "curves": plot.plot_curves(pruned),
        "front": plot.plot_front(names["opt"], names=names["called"]),
    }
    for name, axes in figures.items():
        axes[0].figure.savefig(IMAGES / f"{name}.png", dpi=90)
        plt.close(axes[0].figure)


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    points, by, beliefs = run()
    draw_turns(by)
    draw_run(points, by, beliefs)
    draw_inside()


if __name__ == "__main__":
    main()

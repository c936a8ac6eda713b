"""Draw the figures of the documentation, by today's code and results.

    python -m docs.figures

Those of guides/inside.md show what the page's code computes, two more a run of GSSBO
in two dimensions, and five what it tells of the studies of study.md. The others show
results, which `benchmarks.compare.pages` and `benchmarks.papers.plots` draw.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import optuna

import numbo.plot.matplotlib as plot
from benchmarks.compare import pages
from benchmarks.papers import plots
from benchmarks.pictures import INK, save
from benchmarks.storage import RESULTS, load
from benchmarks.study import figures, on_optuna
from numbo import GSSBO, Float, Space
from numbo.optimizers.gssbo import TURN
from numbo.optuna import GSSBOSampler
from numbo.search.engine import Origin
from numbo.search.maximiser import PERIOD

IMAGES = Path(__file__).parent / "images"
#: Who may propose a point, and its colour.
PROPOSERS = {
    "initial design": "0.55",
    "start of a region": "#17a2b8",
    "local search": "#2f86c9",
    "population": "#9467bd",
    "whole space, UCB": "#ff7f0e",
    "whole space, log EI": "#d62728",
}
#: The engines of GSSBO, in the order of their numbers.
ENGINES = ("local search", "population")
BOX = Space({"x": Float(-5.0, 10.0), "y": Float(0.0, 15.0)})
TRIALS, SHOWN = 140, (10, 20, 40, 60)
#: Trials of the studies of study.md, one after the other.
STUDIES = {"curves": 300, "front": 120}


def branin(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Branin's function: three valleys, and three points that are equally good."""
    curve = y - 5.1 / (4.0 * np.pi**2) * x**2 + 5.0 / np.pi * x - 6.0
    return curve**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x) + 10.0


def proposer(step: int, origin: int, initial: int) -> str:
    """Who proposed the point at this place in a run without failures."""
    if step < initial:
        return "initial design"
    if origin >= 0:
        return ENGINES[Origin.of(origin).engine]
    if step % TURN:
        return "start of a region"
    return "whole space, UCB" if (step // PERIOD) % 2 == 0 else "whole space, log EI"


def run() -> tuple[np.ndarray, list[str], dict[int, np.ndarray]]:
    """Points of a run, who proposed them, and what the model believed after some."""
    opt = GSSBO(BOX, seed=4)
    axes = np.linspace(-5.0, 10.0, 60), np.linspace(0.0, 15.0, 60)
    grid = [{"x": x, "y": y} for y in axes[1] for x in axes[0]]
    points, by, beliefs = [], [], {}
    for step in range(TRIALS):
        if step in SHOWN:
            beliefs[step] = opt.predict(grid)[0].reshape(60, 60)
        suggestion = opt.suggest()
        by.append(proposer(step, suggestion.origin, opt.n_initial))
        params = BOX.decode(suggestion.x)
        opt.hold("next", params, suggestion.origin)
        opt.tell(params, float(branin(params["x"], params["y"])), key="next")
        points.append((params["x"], params["y"]))
    return np.array(points), by, beliefs


def draw_turns(by: list[str]) -> None:
    """A row of squares: who proposed which trial."""
    figure, axis = plt.subplots(figsize=(9.5, 2.0), layout="constrained")
    for name, color in PROPOSERS.items():
        if at := [step for step, one in enumerate(by) if one == name]:
            axis.bar(at, 1.0, width=0.9, color=color, label=name)
    axis.set(xlim=(-0.6, TRIALS - 0.4), ylim=(0.0, 1.0), yticks=[], xlabel="trial")
    axis.spines[["top", "left", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    save(figure, IMAGES / "turns.svg")


def draw_run(points: np.ndarray, by: list[str], beliefs: dict[int, np.ndarray]) -> None:
    """What the model believed after some trials, these, and the next one."""
    figure, axes = plt.subplots(
        2, 2, figsize=(9.5, 8.6), layout="constrained", sharex=True, sharey=True
    )
    x, y = np.linspace(-5.0, 10.0, 60), np.linspace(0.0, 15.0, 60)
    for axis, (told, mean) in zip(axes.flat, beliefs.items(), strict=True):
        depth = np.sqrt(np.maximum(mean, 0.0))
        axis.contourf(x, y, depth, levels=18, cmap="Greys_r", alpha=0.75)
        for name, color in PROPOSERS.items():
            some = points[:told][[one == name for one in by[:told]]]
            look = {"edgecolor": "white", "linewidth": 0.6, "zorder": 3}
            if len(some):
                axis.scatter(*some.T, s=34, color=color, label=name, **look)
        best = points[np.argmin(branin(*points[:told].T))]
        ring = {"facecolor": "none", "edgecolor": "white", "linewidth": 1.8}
        axis.scatter(*best, s=190, zorder=4, **ring)
        star = {"marker": "*", "color": "gold", "edgecolor": INK}
        axis.scatter(*points[told], s=120, zorder=5, **star)
        axis.set_title(f"after {told} trials: best {branin(*best):.3g}", fontsize=10)
    entries = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries, loc="outside lower center", ncols=3, frameon=False
    )
    save(figure, IMAGES / "run.svg")


def draw_inside() -> None:
    """The figures of guides/inside.md, of the page's own code."""
    names: dict[str, object] = {}
    page = IMAGES.parent / "guides" / "inside.md"
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, "inside.md", "exec"), names)
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
        save(axes[0].figure, IMAGES / f"{name}.svg")


def usual_latency() -> float:
    """The latency that half of random configurations keep on this machine, now."""
    asked = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    configs = (on_optuna.suggest(asked.ask()) for _ in range(60))
    return float(np.median([on_optuna.latency(config) for config in configs]))


def draw_studies() -> None:
    """The figures of study.md, of its studies in one process."""
    on_optuna.quiet()
    on_optuna.LIMIT = usual_latency()
    for name, trials in STUDIES.items():
        objective, directions = on_optuna.STUDIES[name]
        study = optuna.create_study(
            directions=directions,
            sampler=GSSBOSampler(seed=0),
            pruner=optuna.pruners.HyperbandPruner(1, on_optuna.EPOCHS, 3),
        )
        study.optimize(objective, n_trials=trials)
        figures.draw(study, name, IMAGES)


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    points, by, beliefs = run()
    draw_turns(by)
    draw_run(points, by, beliefs)
    draw_inside()
    draw_studies()
    pages.draw()
    plots.draw(load(RESULTS / "papers.jsonl"))


if __name__ == "__main__":
    main()

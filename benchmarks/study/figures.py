"""What numbo's sampler tells about a finished study, drawn for the page that shows it."""

from __future__ import annotations

from pathlib import Path

import optuna

from benchmarks.pictures import save


def draw(study: optuna.Study, name: str, images: Path) -> None:
    """The plots of a study with one objective, or with two, as ``study-NAME-PLOT.svg``."""
    from numbo.plot import matplotlib as plot

    if name == "front":
        drawn = {"front": plot.plot_front(study, names=("error", "log10(weights)"))}
    else:
        drawn = {
            "relevance": plot.plot_relevance(study),
            "posterior": plot.plot_posterior(study, ["rate", "alpha", "units_0", "batch", "layers", "optimizer"]),
            "contour": plot.plot_contour(study, ["rate", "units_0"]),
            "learning": plot.plot_curves(study),
        }
    for what, axes in drawn.items():
        save(axes[0].figure, images / f"study-{name}-{what}.svg")

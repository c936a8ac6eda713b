"""How plots look: what samplers are called, one colour for each, and pictures that suit a light and a dark page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

#: Samplers as the pages call them, in the order of their columns.
NAMES = {
    "GSSBO": "GSSBO",
    "GSSBO core": "GSSBO without Optuna",
    "GSSBO-paper": "GSSBO, as in the paper",
    "BBKB": "BBKB",
    "BKB": "BKB",
    "GPUCB": "GP-UCB",
    "GPSampler": "GPSampler",
    "HEBO": "HEBO",
    "Vizier": "Vizier",
    "BoTorch": "BoTorch",
    "Textbook": "textbook GP",
    "TuRBO": "TuRBO",
    "AutoSampler": "AutoSampler",
    "SMAC": "SMAC",
    "CMA-ES": "CMA-ES",
    "CMA-ES-restarts": "CMA-ES with restarts",
    "lq-CMA-ES": "lq-CMA-ES",
    "TPE": "TPE",
    "TPE-group": "TPE, `group=True`",
    "Random": "random",
}
#: The colour of a sampler in every plot, visible on a light and on a dark ground.
COLORS = {
    "GSSBO": "#d62728",
    "GSSBO core": "#f28e8e",
    "GSSBO-paper": "#e377c2",
    "BBKB": "#a88905",
    "BKB": "#a0674f",
    "GPUCB": "#9467bd",
    "GP-UCB": "#9467bd",
    "GPSampler": "#ff7f0e",
    "HEBO": "#17a2b8",
    "Vizier": "#7b5ea7",
    "BoTorch": "#b5651d",
    "Textbook": "#556b7d",
    "TuRBO": "#e0559b",
    "AutoSampler": "#7a9e3f",
    "SMAC": "#5f9e8f",
    "CMA-ES": "#2ca02c",
    "CMA-ES-restarts": "#6fc46f",
    "lq-CMA-ES": "#84b818",
    "TPE": "#2f86c9",
    "TPE-group": "#74b3e0",
    "Random": "#8a9099",
    "GlobalLocal-BBKB": "#d4b83a",
    "GP-BUCB": "#17a2b8",
    "async-TS": "#2ca02c",
    "EpsGreedy": "#8a9099",
}
#: The colour of texts, axes and black lines, and in its place that of a dark page.
INK, CHALK = "#24292f", "#d5d9e0"
#: Colours of lines that count as ink.
BLACK = (INK, "#202124", "#000000")
STYLE = f"<style>:root {{--ink: {INK}}} @media (prefers-color-scheme: dark) {{:root {{--ink: {CHALK}}}}}</style>"

plt.rcParams.update(
    {
        **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
        "legend.framealpha": 0.0,
        "legend.edgecolor": "none",
        "svg.hashsalt": "numbo",
    }
)


def color(sampler: str, samplers: Sequence[str]) -> Any:
    """The colour of a sampler; of one without a colour of its own, by its place among all ``samplers``."""
    return COLORS.get(sampler) or plt.get_cmap("tab20")(list(samplers).index(sampler) % 20)


def save(figure: Any, path: Path, dpi: int = 110) -> None:
    """Save a figure and close it: as SVG without a ground, whose ink is dark or light as the page is, or as PNG."""
    if path.suffix != ".svg":
        figure.savefig(path, dpi=dpi)
    else:
        figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
        text = re.sub("|".join(BLACK), f"var(--ink, {INK})", path.read_text())
        text = re.sub(r"(<svg [^>]*>)", rf"\1{STYLE}", text, count=1)
        path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n")
    plt.close(figure)

"""Plots as SVG pictures that a light and a dark page can show."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from numbo.plot._curves import DARK

#: A colour that no plot uses otherwise: text and axes, which take the colour of the page's text.
INK = "#010203"
INKED = (
    "axes.edgecolor",
    "axes.labelcolor",
    "axes.titlecolor",
    "text.color",
    "xtick.color",
    "ytick.color",
)
CLEAR = ("axes.facecolor", "figure.facecolor", "savefig.facecolor")
LOOK: Any = dict.fromkeys(INKED, INK) | dict.fromkeys(CLEAR, "none")
STYLE = """<style>
svg { color: #222 }
[id^=QuadMesh] { shape-rendering: crispEdges }
@media (prefers-color-scheme: dark) { svg { color: #ddd } }
</style>"""  # crisp: the ground would shine through between the cells
#: With more marks than this, they become pixels.
VECTORS = 300


def svg_of(plot: Callable[..., Any], source: Any, **options: Any) -> str:
    """The picture that a function of `numbo.plot.matplotlib` draws.

    Args:
        plot: the function.
        source: a study, a searcher or an optimizer.
        options: further arguments of the function.

    Raises:
        ValueError: as ``plot`` does.
    """
    matplotlib.use("agg")
    drawn = io.StringIO()
    with plt.rc_context(LOOK), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of letters that the font has not
        axes = plot(source, **options)
        for ax in axes:
            for marks in (*ax.collections, *ax.lines):
                marks.set_rasterized(_count(marks) > VECTORS)
        figure = axes[0].figure
        figure.savefig(drawn, format="svg", dpi=150, metadata={"Date": None})
        plt.close(figure)
    inked = drawn.getvalue().replace(INK, "currentColor").replace(DARK, "currentColor")
    return inked.replace("<defs>", f"{STYLE}<defs>", 1)


def _count(marks: Any) -> int:
    """How many points, or bars, are drawn."""
    if isinstance(marks, Line2D):
        return len(np.asarray(marks.get_xdata()))
    return len(marks.get_segments() if isinstance(marks, LineCollection) else marks.get_offsets())

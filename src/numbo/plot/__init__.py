"""Plots of an optimizer's model and progress as Plotly figures; `numbo.plot.matplotlib` draws the same plots.

    import numbo.plot
    numbo.plot.plot_posterior(study).show()

Each function takes an Optuna study with a numbo sampler, a search algorithm of `numbo.ray`, or an optimizer. With
several objectives, `plot_front` shows the front. Plots of one objective show the first one, or the one given by
``objective=``, and their titles name it.

Plotly is imported when one of them is first used: `numbo.plot.matplotlib` does without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numbo.plot._plotly import (
        plot_acquisition,
        plot_ask_times,
        plot_batch_sizes,
        plot_contour,
        plot_curves,
        plot_front,
        plot_hypervolume,
        plot_posterior,
        plot_relevance,
        plot_studies,
        plot_subset,
    )

__all__ = [
    "plot_acquisition",
    "plot_ask_times",
    "plot_batch_sizes",
    "plot_contour",
    "plot_curves",
    "plot_front",
    "plot_hypervolume",
    "plot_posterior",
    "plot_relevance",
    "plot_studies",
    "plot_subset",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'numbo.plot' has no attribute {name!r}")
    return getattr(importlib.import_module("numbo.plot._plotly"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]

"""What the plots are tested with."""

from __future__ import annotations

import numpy as np

import numbo.plot
import numbo.plot.matplotlib
from numbo import Categorical, Float, Int

SPACE = {"x": Float(1e-4, 1.0, log=True), "k": Int(1, 9), "act": Categorical(["relu", "tanh"])}
OTHERS = ("plot_batch_sizes", "plot_curves", "plot_front", "plot_hypervolume", "plot_studies")
NAMES = [name for name in numbo.plot.__all__ if name not in OTHERS]


def objective(p):
    return (np.log10(p["x"]) + 2.0) ** 2 + 0.1 * p["k"] + 0.5 * (p["act"] == "tanh")

"""Draw the figures of the documentation from real studies, those of guides/inside.md: python docs/figures.py"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import numbo.plot.matplotlib as plot
import optuna

DOCS = Path(__file__).parent


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "guides" / "inside.md").read_text(), flags=re.DOTALL):
        exec(compile(block, "inside.md", "exec"), names)  # the page's own code, which its figures show
    study, batched = names["study"], names["batched"]
    pair = ["rate", "units"]
    figures = {
        "posterior": plot.plot_posterior(study),
        "contour": plot.plot_contour(study, pair),
        "acquisition": plot.plot_acquisition(study, pair),
        "relevance": plot.plot_relevance(study),
        "subset": plot.plot_subset(study),
        "ask_times": plot.plot_ask_times(study),
        "batch_sizes": plot.plot_batch_sizes(batched),
    }
    for name, axes in figures.items():
        axes[0].figure.savefig(DOCS / "images" / f"{name}.png", dpi=90)
        plt.close(axes[0].figure)
    shutil.copy(DOCS.parent / "benchmarks" / "results" / "suite-ranks.png", DOCS / "images")


if __name__ == "__main__":
    main()

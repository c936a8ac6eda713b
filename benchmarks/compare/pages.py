"""The numbers of the README and of the documentation, from the files in ``benchmarks/results``.

The places of pages are filled (`benchmarks.compare.places`), the plots in ``docs/images`` that show results are drawn,
and what pages say in words is checked (`benchmarks.compare.claims`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.compare.claims import failing
from benchmarks.compare.places import (
    RESULTS,
    ROOT,
    ask_times,
    asked_ms,
    mean_ranks,
    problems_of,
    rendered,
    runs,
    samplers_of,
)
from benchmarks.compare.report import plot_headline
from benchmarks.compare.study_report import draw as draw_study
from benchmarks.pictures import COLORS, NAMES, save

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def quality_and_time(name: str, trials: int, path: Path) -> None:
    """Mean rank against the median time of a suggestion: one point for each sampler."""
    figure, axis = plt.subplots(figsize=(5.8, 3.9), layout="constrained")
    for sampler, (mean, low, high) in mean_ranks(name, trials).items():
        time = asked_ms(name, sampler, str(trials))
        ours = sampler == "GSSBO"
        color = COLORS[sampler]
        span = np.maximum([[mean - low], [high - mean]], 0.0)  # the mean may lie outside
        axis.errorbar(time, mean, span, fmt="o", color=color, markersize=9 if ours else 6)
        weight = "bold" if ours else None
        axis.annotate(NAMES[sampler], (time, mean), (9, 4), textcoords="offset points", color=color, weight=weight)
    axis.set(xscale="log", xlabel="median time of a suggestion (ms)")
    axis.set_ylabel(f"mean rank on {len(problems_of(name))} problems after {trials} trials")
    axis.set_xlim(right=axis.get_xlim()[1] * 4)
    axis.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    axis.invert_yaxis()
    axis.grid(alpha=0.25)
    save(figure, path)


def ask_plot(path: Path) -> None:
    """The median time of a suggestion against the number of trials."""
    figure, axis = plt.subplots(figsize=(7.5, 4.0), layout="constrained")
    for sampler, title in NAMES.items():
        known = [(trials, time) for (s, trials), time in ask_times().items() if s == sampler]
        if known:
            axis.plot(
                *zip(*known, strict=True),
                "o-",
                label=title,
                color=COLORS[sampler],
                linewidth=2.5 if sampler == "GSSBO" else 1.2,
            )
    axis.set(xscale="log", yscale="log", xlabel="trials", ylabel="median time of a suggestion (ms)")
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8)
    save(figure, path)


def draw() -> None:
    """The plots in ``docs/images`` that show results."""
    images = ROOT / "docs" / "images"
    quality_and_time("suite", 300, images / "quality.svg")
    ask_plot(images / "ask-time.svg")
    draw_study(RESULTS / "study.jsonl", images / "study.svg")
    for name in ("suite", "noisy", "branching"):
        plot_headline(runs(name), samplers_of(name), problems_of(name), images / f"{name}-ranks.svg")


def write() -> None:
    """Fill the places of all pages, and draw; then name what pages say that does not hold."""
    for page in PAGES:
        before = page.read_text()
        after = rendered(before)
        if after != before:
            page.write_text(after)
            print(f"wrote {page.relative_to(ROOT)}")
    draw()
    for page in PAGES:
        for condition in failing(page.read_text()):
            print(f"{page.relative_to(ROOT)}: does not hold: {condition}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def main(arguments: argparse.Namespace) -> None:
    write()

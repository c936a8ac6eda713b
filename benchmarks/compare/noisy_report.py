"""What a report says about noisy problems beyond the ranks of what samplers recommend."""

from __future__ import annotations

import numpy as np

from benchmarks.compare.ranks import Runs, checkpoints, finished, mean_ranks
from benchmarks.problems.noisy import LEVELS, spread
from benchmarks.problems.suites import make


def sections(runs: Runs, samplers: list[str], problems: list[str]) -> list[str]:
    """Ranks by what an exact GP recommends and at each level of noise, how regrets fall, and calibration."""
    by_gp = {key: [row | {"best": row["by_gp"]} for row in rows] for key, rows in runs.items()}
    text = ["", "## Mean rank of what an exact GP on each sampler's trials recommends", ""]
    text += [mean_ranks(by_gp, samplers, problems)]
    for title, some in levels(problems).items():
        text += ["", f"## Mean rank, {title}", "", mean_ranks(runs, samplers, some)]
    text += ["", "## Regret of the recommendation", ""]
    text += ["Median over problems of the median over seeds, in standard deviations of the function.", ""]
    text += [regrets(runs, samplers, problems)]
    text += ["", "## Share of values at random points within their predicted 90 % intervals", ""]
    text += ["Median over problems of the mean over seeds, and the smallest and the largest problem.", ""]
    return [*text, coverage(runs, samplers, problems)]


def levels(problems: list[str]) -> dict[str, list[str]]:
    """The problems by their level of noise; real ones come last."""
    out = {f"noise of {level} %": [p for p in problems if p.endswith(f"-noise-{level}%")] for level in LEVELS}
    out["real"] = [p for p in problems if not p.endswith("%")]
    return {title: some for title, some in out.items() if some}


def regrets(runs: Runs, samplers: list[str], problems: list[str]) -> str:
    """One table: rows are level and number of trials, columns are samplers."""
    lines = ["| noise | trials | " + " | ".join(samplers) + " |", "|---" * (len(samplers) + 2) + "|"]
    for title, some in levels([p for p in problems if p.endswith("%")]).items():
        unit = {p: spread(make(p)) for p in some}
        for trials in checkpoints(runs):
            names = finished(runs, samplers, some, trials)
            cells = [
                f"{np.median([np.median([r['best'][str(trials)] for r in runs[p, s]]) / unit[p] for p in some]):.4f}"
                if s in names
                else "-"
                for s in samplers
            ]
            lines.append(f"| {title.removeprefix('noise of ')} | {trials} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def coverage(runs: Runs, samplers: list[str], problems: list[str]) -> str:
    """One table: rows are samplers that predict, columns are numbers of trials."""
    marks = checkpoints(runs)
    lines = ["| sampler | " + " | ".join(map(str, marks)) + " |", "|---" * (len(marks) + 1) + "|"]
    for sampler in samplers:
        cells = []
        for trials in map(str, marks):
            known = [
                [r["covered"] for r in runs.get((p, sampler), []) if trials in r.get("covered", ())] for p in problems
            ]
            means = [np.mean([covered[trials] for covered in some]) for some in known if some]
            cells.append(f"{np.median(means):.2f} ({min(means):.2f} - {max(means):.2f})" if means else "-")
        if set(cells) != {"-"}:
            lines.append(f"| {sampler} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

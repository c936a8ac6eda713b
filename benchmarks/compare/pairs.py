"""One sampler beside each other one, in pairs of runs of the same problem with the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.compare.ranks import Runs, checkpoints
from benchmarks.compare.versions_report import counts, log_ratio


def pairs(runs: Runs, first: str, other: str, trials: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The runs of both samplers, by problem and seed, that were looked at after this number of trials."""
    found = []
    for problem in dict.fromkeys(problem for problem, _ in runs):
        theirs = {row["seed"]: row for row in runs.get((problem, other), [])}
        found += [(row, theirs[row["seed"]]) for row in runs.get((problem, first), []) if row["seed"] in theirs]
    return [both for both in found if all(str(trials) in row["best"] for row in both)]


def table(runs: Runs, first: str, others: list[str]) -> str:
    """How often the first sampler is better, worse and equal, and the median times of a suggestion of both."""
    head = ["beside", "trials", "problems", "pairs", f"{first} better", "worse", "equal"]
    head += [f"s a suggestion, {first}", "the other"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for other in others:
        for trials in checkpoints(runs):
            both = pairs(runs, first, other, trials)
            if not both:
                continue
            at = str(trials)
            values = [log_ratio({"spread": 0.0} | theirs, {"spread": 0.0} | mine, trials, 0.0) for mine, theirs in both]
            better, equal, worse = counts(np.array(values))
            seconds = [np.median([row["ask_ms"][at] for row in rows]) / 1e3 for rows in zip(*both, strict=True)]
            cells = [other, at, len({mine["problem"] for mine, _ in both}), len(both), better, worse, equal]
            lines.append("| " + " | ".join(map(str, cells + [f"{s:.2g}" for s in seconds])) + " |")
    return "\n".join(lines)

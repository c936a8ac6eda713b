"""Runs by problem and sampler, their figures as tables, and the ranks of samplers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]
Runs = dict[tuple[str, str], list[dict[str, Any]]]
#: Number of bootstrap resamples.
DRAWS = 500


def grouped(rows: list[dict[str, Any]]) -> Runs:
    """Runs by (problem, sampler); if several have the same seed, the longest counts."""
    best: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in rows:
        key = (row["problem"], row["sampler"], row["seed"])
        if key not in best or best[key]["trials"] < row["trials"]:
            best[key] = row
    runs: Runs = defaultdict(list)
    for (problem, sampler, _), row in sorted(best.items()):
        runs[problem, sampler].append(row)
    return runs


def checkpoints(runs: Runs) -> list[int]:
    """Numbers of trials at which some run was looked at."""
    return sorted({int(c) for rows in runs.values() for row in rows for c in row["best"]})


def cell(values: list[float]) -> str:
    """Median and, in brackets, the smallest and largest."""
    if not values:
        return "-"
    return f"{np.median(values):.3g} ({min(values):.2g} - {max(values):.2g})" if len(values) > 1 else f"{values[0]:.3g}"


def table(runs: Runs, figure: str, samplers: list[str], problems: list[str]) -> str:
    """One table: rows are problem and number of trials, columns are samplers."""
    lines = ["| problem | trials | " + " | ".join(samplers) + " |", "|---" * (len(samplers) + 2) + "|"]
    for problem in problems:
        for checkpoint in checkpoints(runs):
            cells = [
                [r[figure][str(checkpoint)] for r in runs.get((problem, s), []) if str(checkpoint) in r.get(figure, ())]
                for s in samplers
            ]
            if any(cells):
                lines.append(f"| {problem} | {checkpoint} | " + " | ".join(cell(c) for c in cells) + " |")
    return "\n".join(lines)


def ranks(runs: Runs, samplers: list[str], problems: list[str], trials: int) -> Array:
    """Rank of the median best regret, (problems, samplers); ties share a rank, and regrets below 1e-9 are equal."""
    return _ranks(runs, samplers, problems, trials, lambda values: values[None])[0]


def _ranks(runs: Runs, samplers: list[str], problems: list[str], trials: int, drawn: Callable[[Array], Array]) -> Array:
    """The ranks (draws, problems, samplers) of the medians of the values that are ``drawn`` (draws, n) from ``n``."""
    at = str(trials)
    medians = [
        [
            np.median(drawn(np.array([row["best"][at] for row in runs[problem, sampler]])), axis=1)
            for sampler in samplers
        ]
        for problem in problems
    ]
    out: Array = rankdata(np.maximum(np.transpose(medians, (2, 0, 1)), 1e-9), axis=2)
    return out


def finished(runs: Runs, samplers: list[str], problems: list[str], trials: int) -> list[str]:
    """The ``samplers`` whose runs on each of the ``problems`` were looked at after this number of trials."""

    def done(sampler: str, problem: str) -> bool:
        rows = runs.get((problem, sampler), [])
        return bool(rows) and all(str(trials) in row["best"] for row in rows)

    return [s for s in samplers if all(done(s, p) for p in problems)]


def bootstrap(runs: Runs, samplers: list[str], problems: list[str], trials: int) -> tuple[Array, Array, Array]:
    """Mean rank (samplers,), and its 5 and 95 percent points over resampled problems and seeds."""
    rng = np.random.default_rng(0)
    n = len(problems)

    def drawn(values: Array) -> Array:
        return values[rng.integers(len(values), size=(DRAWS, len(values)))]

    resampled = _ranks(runs, samplers, problems, trials, drawn)
    means = np.take_along_axis(resampled, rng.integers(n, size=(DRAWS, n))[..., None], axis=1).mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    return ranks(runs, samplers, problems, trials).mean(axis=0), low, high


def common_problems(runs: Runs, samplers: list[str], problems: list[str], trials: int) -> list[str]:
    """The ``problems`` finished by every one of the ``samplers`` that finished any."""
    started = [s for s in samplers if any(finished(runs, [s], [p], trials) for p in problems)]
    return [p for p in problems if finished(runs, started, [p], trials) == started]


def mean_ranks(runs: Runs, samplers: list[str], problems: list[str], *, common: bool = False) -> str:
    """Mean rank of the median best regret, and the worst rank; empty if there is nothing to compare.

    Covers the samplers that finished all ``problems``; or, with ``common``, all samplers on the problems that all of
    them finished, where these are fewer.
    """
    lines = ["| trials | sampler | problems | mean rank | 90% interval | worst rank | last on |", "|---" * 7 + "|"]
    for trials in checkpoints(runs):
        over = common_problems(runs, samplers, problems, trials) if common else problems
        names = finished(runs, samplers, over, trials)
        if len(names) < 2 or not over or (common and over == problems):
            continue
        mean, low, high = bootstrap(runs, names, over, trials)
        single = ranks(runs, names, over, trials)
        for i in np.argsort(mean, kind="stable"):
            last = [p for p, row in zip(over, single, strict=True) if row[i] == row.max() > row.min()]
            named = ", ".join(last) if len(last) <= 5 else f"{len(last)} problems"
            lines.append(
                f"| {trials} | {names[i]} | {len(over)} | {mean[i]:.2f} | {low[i]:.2f} - {high[i]:.2f} "
                f"| {single[:, i].max():g} | {named or '-'} |"
            )
    return "\n".join(lines) if len(lines) > 2 else ""

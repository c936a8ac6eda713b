"""Tables (Markdown) and plots (PNG) from the results of `benchmarks.compare.runner`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import optuna
from benchmarks.problems.suites import PROBLEMS
from benchmarks.storage import load

matplotlib.use("Agg")
import matplotlib.pyplot as plt

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


def _cell(values: list[float]) -> str:
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
                lines.append(f"| {problem} | {checkpoint} | " + " | ".join(_cell(c) for c in cells) + " |")
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
    """The ``samplers`` whose runs on each of the ``problems`` have at least this number of trials."""

    def done(sampler: str, problem: str) -> bool:
        rows = runs.get((problem, sampler), [])
        return bool(rows) and all(row["trials"] >= trials for row in rows)

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


def plot(runs: Runs, samplers: list[str], problems: list[str], path: Path) -> None:
    """Best regret against trials: the median and range over seeds, one panel per problem."""
    columns = min(5, len(problems))
    rows = math.ceil(len(problems) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.4 * rows + 0.5), squeeze=False)
    for axis in axes.flat[len(problems) :]:
        axis.axis("off")
    for axis, problem in zip(axes.flat, problems, strict=False):
        for sampler in samplers:
            results = runs.get((problem, sampler), [])
            if results:
                length = min(len(r["curve"]) for r in results)
                trials = [t for t, _ in results[0]["curve"][:length]]
                values = np.maximum([[v for _, v in r["curve"][:length]] for r in results], 1e-9)
                color = _color(sampler, samplers)
                axis.plot(trials, np.median(values, axis=0), color=color, label=sampler)
                axis.fill_between(trials, values.min(axis=0), values.max(axis=0), color=color, alpha=0.12, lw=0)
        axis.set(title=problem, xlabel="trials", xscale="log", yscale="log")
    for axis in axes[:, 0]:
        axis.set_ylabel("best regret, median and range")
    _legend(figure, list(axes.flat), rows)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def plot_headline(runs: Runs, samplers: list[str], problems: list[str], path: Path) -> None:
    """Mean rank over all problems, and the median time of a suggestion, against the number of trials."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    for sampler in samplers:
        color = _color(sampler, samplers)
        points = [c for c in checkpoints(runs) if sampler in finished(runs, samplers, problems, c)]
        if not points:
            continue
        asks = [np.median([r["ask_ms"][str(c)] for p in problems for r in runs[p, sampler]]) for c in points]
        right.plot(points, asks, "o-", color=color, label=sampler)
    for c in checkpoints(runs):
        names = finished(runs, samplers, problems, c)
        if len(names) > 1:
            mean, low, high = bootstrap(runs, names, problems, c)
            for i, name in enumerate(names):
                x = c * 1.03 ** (i - len(names) / 2)
                span = np.maximum([mean[i] - low[i], high[i] - mean[i]], 0.0)  # the mean may lie outside
                left.errorbar(x, mean[i], span[:, None], fmt="o", color=_color(name, samplers))
    left.set(xscale="log", xlabel="trials", ylabel=f"mean rank on {len(problems)} problems, 90% interval")
    left.invert_yaxis()
    right.set(xscale="log", yscale="log", xlabel="trials", ylabel="median time of a suggestion (ms)")
    for axis in (left, right):
        axis.set_xticks(checkpoints(runs), [str(c) for c in checkpoints(runs)])
        axis.minorticks_off()
    _legend(figure, [right], 1)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _color(sampler: str, samplers: list[str]) -> Any:
    return plt.get_cmap("tab10")(samplers.index(sampler) % 10)


def _legend(figure: Any, axes: list[Any], rows: int) -> None:
    """One legend below all panels."""
    entries = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=len(entries))
    figure.tight_layout(rect=(0, 0.1 / rows, 1, 1))


def write_report(results: Path, name: str) -> None:
    """Write ``NAME.md`` and its plots from ``NAME.jsonl``."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    runs = grouped(load(results / f"{name}.jsonl"))
    if not runs:
        raise SystemExit(f"There are no results in {results / f'{name}.jsonl'}; run the benchmark first.")
    problems = [p for p in PROBLEMS if any(p == problem for problem, _ in runs)]
    families: dict[str, list[str]] = {}
    for _, sampler in runs:
        family = "paper" if sampler.startswith("GSSBO-paper-") else "default"
        families.setdefault(family, [])
        if sampler not in families[family]:
            families[family].append(sampler)
    text = [f"# Results: {name}", "", f"Written by `python -m benchmarks report --name {name}`."]
    text.append("Figures are medians over seeds, with the smallest and the largest in brackets.")
    for family, samplers in families.items():
        samplers.sort()
        suffix = "" if len(families) == 1 else f"-{family}"
        heading = "" if len(families) == 1 else f", {family} preset"
        count = {s: max(len(runs.get((p, s), [])) for p in problems) for s in samplers}
        text += ["", f"## Best regret{heading}", "", f"Seeds: {', '.join(f'{s} {n}' for s, n in count.items())}.", ""]
        text += [table(runs, "best", samplers, problems), "", f"![best regret]({name}{suffix}.png)"]
        text += ["", f"## Mean rank of the median best regret{heading}", ""]
        text += [f"On {len(problems)} problems; the interval is a bootstrap over problems and seeds.", ""]
        text += [mean_ranks(runs, samplers, problems)]
        if fewer := mean_ranks(runs, samplers, problems, common=True):
            text += [
                "",
                "On the problems finished by all samplers that ran this number of trials, where these are fewer:",
                "",
                fewer,
            ]
        text += ["", f"![mean ranks and ask time]({name}{suffix}-ranks.png)"]
        if any("by_gp" in row for rows in runs.values() for row in rows):
            from benchmarks.compare import noisy_report  # which needs the tables above

            text += noisy_report.sections(runs, samplers, problems)
        else:
            text += ["", f"## Mean regret of all trials so far{heading}", ""]
            text += [table(runs, "mean_regret", samplers, problems)]
        failing = [p for p in problems if any("failed" in r for s in samplers for r in runs.get((p, s), []))]
        if failing:
            text += ["", f"## Failed trials{heading}", "", table(runs, "failed", samplers, failing)]
        text += ["", f"## Ask time in milliseconds{heading}", "", table(runs, "ask_ms", samplers, problems)]
        plot(runs, samplers, problems, results / f"{name}{suffix}.png")
        plot_headline(runs, samplers, problems, results / f"{name}{suffix}-ranks.png")
    (results / f"{name}.md").write_text("\n".join(text) + "\n")
    print(f"wrote {results / f'{name}.md'}")

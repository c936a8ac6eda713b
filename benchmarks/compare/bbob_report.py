"""Tables (Markdown) and plots (PNG) of runs on COCO's noiseless functions, beside what others have recorded."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.problems.bbob import CHECKPOINTS, GROUPS, TARGETS, TIMED, recorded_medians, recorded_times
from benchmarks.samplers.registry import SAMPLERS
from benchmarks.storage import load

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Runs = list[dict[str, Any]]
#: Whose expected running times, and whose medians, are recorded.
TIMES = ("lq-CMA-ES", "CMA-ES")
MEDIANS = ("DTS-CMA-ES", "MATSuMoTo", "R-SHADE", "DIRECT")
#: Targets that have a table.
SHOWN = (10.0, 1.0)
#: An expected time is as good as a recorded one if it is at most so many times as long.
AS_GOOD = 1.2

INTRO = """\
Functions are numbered as in COCO; values are above the optimum's. Brackets hold the number of runs that reached the
target, of all. The expected running time (ERT) to a target is the number of evaluations that all runs made until they
reached it, or ended, for each run that reached it. "Recorded" figures are those of `benchmarks/data/bbob`, of 15
instances; the recorded lq-CMA-ES and CMA-ES started in the middle of the box, without bounds. Ratios are to their
recorded times. In a plot, each sampler has the functions that it has run, and a recorded one reaches a target at its
expected time."""


def longest(rows: Runs) -> Runs:
    """The longest run of each sampler, dimension, function and instance; one that has reached all targets, if any."""
    keys = ("sampler", "dimension", "function", "instance")
    ordered = sorted(rows, key=lambda row: (row["hits"][-1] is not None, row["budget"]))
    return list({tuple(row[key] for key in keys): row for row in ordered}.values())


def successes(runs: Runs, target: float) -> int:
    """Number of runs that reached a target."""
    return sum(row["hits"][TARGETS.index(target)] is not None for row in runs)


def expected_time(runs: Runs, target: float) -> float:
    """Evaluations of all runs until they reached a target or ended, by the number that did; infinite if none did."""
    hits = [row["hits"][TARGETS.index(target)] for row in runs]
    spent = [row["evaluations"] if hit is None else hit for hit, row in zip(hits, runs, strict=True)]
    reached = successes(runs, target)
    return sum(spent) / reached if reached else math.inf


def ratio(time: float, recorded: float) -> float:
    """An expected running time by a recorded one; NaN where neither is known."""
    if math.isinf(time) and math.isinf(recorded):
        return math.nan
    return time / recorded


def number(value: float) -> str:
    """A number of evaluations."""
    return "-" if math.isinf(value) else f"{value:.0f}" if value < 1e6 else f"{value:.1e}"


def share(value: float) -> str:
    """A ratio: ``-`` if it is not known, ``inf`` if the target was not reached."""
    return "-" if math.isnan(value) else f"{value:.2f}"


def row_of(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# -- tables ----------------------------------------------------------------------------------------------------------


def of(rows: Runs, sampler: str, function: int) -> Runs:
    return [row for row in rows if row["sampler"] == sampler and row["function"] == function]


def time_table(rows: Runs, dimension: int, target: float) -> list[str]:
    """Lines of a table of the expected running times to a target; ``rows`` have one dimension."""
    samplers = samplers_of(rows)
    known = [name for name in TIMES if any((name, dimension) == key[:2] for key in recorded_times())]
    head = ["f", *(f"{name}, recorded" for name in known)]
    for sampler in samplers:
        head += [sampler, *(f"/ {name}" for name in known)]
    lines = [row_of(head), "|---" * len(head) + "|"]
    ratios: dict[tuple[str, str], list[float]] = {(s, name): [] for s in samplers for name in known}
    for function in functions_of(rows):
        theirs = {name: recorded_times()[name, dimension, function][target] for name in known}
        cells = [str(function), *map(number, theirs.values())]
        for sampler in samplers:
            runs = of(rows, sampler, function)
            time = expected_time(runs, target)
            cells.append(f"{number(time)} ({successes(runs, target)}/{len(runs)})" if runs else "")
            for name in known:
                found = ratio(time, theirs[name]) if runs else math.nan
                ratios[sampler, name].append(found)
                cells.append(share(found) if runs else "")
        lines.append(row_of(cells))
    cells = ["median", *([""] * len(known))]
    for sampler in samplers:
        cells += ["", *(share(middle(ratios[sampler, name])) for name in known)]
    return [*lines, row_of(cells)]


def middle(values: Collection[float]) -> float:
    """The median of those that are known; of two in the middle the larger one, which may be infinite."""
    known = sorted(value for value in values if not math.isnan(value))
    return known[len(known) // 2] if known else math.nan


def target_table(rows: Runs, dimension: int, method: str = TIMES[0]) -> list[str]:
    """Lines of a table of all targets: on how many functions GSSBO reaches them, and how soon beside a recorded method.

    Only functions that the method has reached count, and of these the ones that it reaches within the evaluations of a
    run; ``rows`` have one dimension.
    """
    head = ["target", "recorded", f"of these at most {AS_GOOD:g} times as many", "reached", "recorded within a run"]
    lines = [row_of([*head, f"at most {AS_GOOD:g}", "median ratio"]), "|---" * 7 + "|"]
    for target in TIMED:
        mine = [row for row in rows if row["sampler"] == "GSSBO"]
        times = {f: recorded_times()[method, dimension, f][target] for f in functions_of(mine)}
        known = {f: time for f, time in times.items() if math.isfinite(time)}
        runs = {f: of(mine, "GSSBO", f) for f in known}
        ratios = {f: ratio(expected_time(runs[f], target), time) for f, time in known.items()}
        within = [ratios[f] for f, time in known.items() if time <= max(row["budget"] for row in runs[f])]
        cells = [len(known), as_good(ratios.values()), sum(map(math.isfinite, ratios.values()))]
        cells += [len(within), as_good(within)]
        lines.append(row_of([f"{target:g}", *map(str, cells), share(middle(within))]))
    return lines


def as_good(ratios: Collection[float]) -> int:
    """How many ratios to recorded times are at most `AS_GOOD`."""
    return sum(value <= AS_GOOD for value in ratios)


def median_table(rows: Runs, dimension: int) -> list[str]:
    """Lines of a table of the median best values at the checkpoints; ``rows`` have one dimension."""
    points = [dimension * k for k in CHECKPOINTS]
    samplers = samplers_of(rows)
    known = [name for name in MEDIANS if any((name, dimension) == key[:2] for key in recorded_medians())]
    lines = [row_of(["f", *(f"{name}, recorded" for name in known), *samplers])]
    lines.append("|---" * (1 + len(known) + len(samplers)) + "|")
    for function in functions_of(rows):
        cells = [str(function)]
        for name in known:
            theirs = [recorded_medians().get((name, dimension, function, n)) for n in points]
            cells.append(_joined(theirs))
        for sampler in samplers:
            runs = of(rows, sampler, function)
            cells.append(_joined([median_at(runs, n) for n in points]) if runs else "")
        lines.append(row_of(cells))
    return lines


def median_at(runs: Runs, evaluations: int) -> float | None:
    """The median best value after a number of evaluations, if all runs were as long."""
    values = [row["best"].get(str(evaluations)) for row in runs]
    return None if None in values else float(np.median(values))


def _joined(values: Sequence[float | None]) -> str:
    return " / ".join("-" if value is None else f"{value:.2g}" for value in values)


def run_table(rows: Runs) -> list[str]:
    """Lines of a table that says how many runs there are, and how long suggestions took."""
    lines = ["| sampler | runs | instances | evaluations | ms a suggestion |", "|---" * 5 + "|"]
    for sampler in samplers_of(rows):
        runs = [row for row in rows if row["sampler"] == sampler]
        instances = len({row["instance"] for row in runs})
        asks = float(np.median([row["ask_ms"] for row in runs]))
        budgets = sorted({row["budget"] for row in runs})
        lines.append(row_of([sampler, f"{len(runs)}", f"{instances}", " to ".join(_ends(budgets)), f"{asks:.1f}"]))
    return lines


def _ends(budgets: Sequence[int]) -> list[str]:
    return [str(budget) for budget in (budgets if len(budgets) == 1 else (budgets[0], budgets[-1]))]


def samplers_of(rows: Runs) -> list[str]:
    """Their samplers, in the order of the registry."""
    return sorted({row["sampler"] for row in rows}, key=list(SAMPLERS).index)


def functions_of(rows: Runs) -> list[int]:
    return sorted({row["function"] for row in rows})


# -- plots -----------------------------------------------------------------------------------------------------------


def run_times(rows: Runs, sampler: str, functions: Collection[int]) -> list[float]:
    """When each run of a sampler reached each of the targets in `TIMED`, infinite where it did not."""
    return [
        math.inf if row["hits"][TARGETS.index(target)] is None else float(row["hits"][TARGETS.index(target)])
        for row in rows
        if row["sampler"] == sampler and row["function"] in functions
        for target in TIMED
    ]


def reached(times: Sequence[float], until: float) -> tuple[list[float], list[float]]:
    """The steps of an empirical distribution of run times, up to a number of evaluations: places and shares."""
    finite = sorted(time for time in times if time <= until)
    x = [1.0, *finite, until]
    y = [0.0, *(np.arange(1, len(finite) + 1) / len(times)), len(finite) / len(times)]
    return x, [float(value) for value in y]


def plot(rows: Runs, dimension: int, path: Path) -> None:
    """Shares of targets reached against evaluations, one panel for each group; ``rows`` have one dimension."""
    samplers = samplers_of(rows)
    longest_run = max(row["budget"] for row in rows)
    figure, axes = plt.subplots(2, 3, figsize=(13, 8), sharex=True, sharey=True)
    panels: list[tuple[str, Collection[int]]] = [("all functions", range(1, 25)), *GROUPS.items()]
    for axis, (title, group) in zip(axes.flat, panels, strict=True):
        some = [function for function in functions_of(rows) if function in group]
        axis.set(title=title, xscale="log", xlim=(1.0 / dimension, longest_run / dimension), ylim=(0.0, 1.0))
        axis.grid(alpha=0.3)

        def draw(label: str, times: list[float], until: int, axis: Any = axis, **style: Any) -> None:
            if times:
                x, y = reached(times, until)
                axis.step(np.array(x) / dimension, y, where="post", label=label, **style)

        for sampler in samplers:
            until = min(row["budget"] for row in rows if row["sampler"] == sampler)
            color = plt.get_cmap("tab10")(samplers.index(sampler) % 10)
            draw(sampler, run_times(rows, sampler, some), until, color=color)
        for name, dashes in zip(TIMES, ("--", ":"), strict=True):
            found = [recorded_times().get((name, dimension, function), {}) for function in some]
            theirs = [time for times in found for time in times.values()]
            draw(f"{name}, recorded ERT", theirs, longest_run, color="black", linestyle=dashes)
    _finish(figure, axes)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _finish(figure: Any, axes: Any) -> None:
    """Labels, and one legend below all panels."""
    for axis in axes[1]:
        axis.set_xlabel("evaluations / dimension")
    for axis in axes[:, 0]:
        axis.set_ylabel("share of targets reached")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels))
    figure.tight_layout(rect=(0, 0.04, 1, 1))


def write_report(path: Path) -> None:
    """Write ``NAME.md`` and a plot for each dimension, ``NAME-DIMENSION.png``, beside ``NAME.jsonl``."""
    rows = longest(load(path))
    text = ["# COCO's noiseless functions", "", "Written by `python -m benchmarks bbob`.", "", INTRO]
    for dimension in sorted({row["dimension"] for row in rows}):
        mine = [row for row in rows if row["dimension"] == dimension]
        text += ["", f"## {dimension} dimensions", "", *run_table(mine)]
        if "GSSBO" in samplers_of(mine) and (TIMES[0], dimension, 1) in recorded_times():
            text += ["", f"All targets, beside the recorded {TIMES[0]}:", "", *target_table(mine, dimension)]
        for target in SHOWN:
            text += ["", f"Expected running times to {target:g}:", "", *time_table(mine, dimension, target)]
        points = " / ".join(str(dimension * k) for k in CHECKPOINTS)
        text += ["", f"Median best values after {points} evaluations:", "", *median_table(mine, dimension)]
        plot(mine, dimension, path.with_name(f"{path.stem}-{dimension}.png"))
    path.with_suffix(".md").write_text("\n".join(text) + "\n")

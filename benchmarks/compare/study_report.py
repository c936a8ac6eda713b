"""Tables and plots of the runs of the command `study`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.pictures import COLORS, save
from benchmarks.storage import RESULTS, load

Rows = list[dict[str, Any]]
#: In place of the error of a run that has found nothing feasible, as guessing has.
NOTHING = 0.9
CURVES = {"best": "best trial, tested", "recommended": "recommended, tested"}


def error(row: dict[str, Any], what: str = "best") -> float:
    """The true error of the ``best`` trial at the end of a run, or of the ``recommended`` one."""
    found = row["marks"][-1] if what == "best" else row["recommended"]
    return NOTHING if found is None else float(found["error"])


def groups(rows: Rows) -> dict[tuple[str, str, float, int], dict[str, Rows]]:
    """Runs by framework, study, seconds and processes, and by sampler, in the order of seeds and names."""
    found: dict[tuple[str, str, float, int], dict[str, Rows]] = {}
    for row in sorted(rows, key=lambda row: (int(row["seed"]), str(row["sampler"]))):
        key = (row["framework"], row["study"], row["seconds"], row["processes"])
        found.setdefault(key, {}).setdefault(row["sampler"], []).append(row)
    return found


def write(path: Path) -> None:
    """``NAME.md`` and ``NAME.png``, beside the runs in ``NAME.jsonl``."""
    found = groups(load(path))
    text = [
        "# One study from end to end",
        "",
        "Written by `python -m benchmarks study --report`. Errors are true ones, on images that were put aside; "
        "figures are medians over seeds, with the worst seed in brackets.",
    ]
    for (framework, study, seconds, workers), samplers in found.items():
        title = {"optuna": "Optuna", "ray": "Ray Tune"}[framework]
        text += ["", f"## {title}, {study}: {seconds:g} seconds, {workers} processes", ""]
        text += lines(front_table(samplers) if study == "front" else curves_table(samplers))
        text += ["", "Seed by seed:", "", *lines(pairs(samplers, study))]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")
    draw(path, path.with_suffix(".png"))


def draw(path: Path, image: Path) -> None:
    """The errors over time of the runs in ``path``."""
    if curves := {key: samplers for key, samplers in groups(load(path)).items() if key[1] == "curves"}:
        plot(curves, image)


def study_table(framework: str, study: str) -> str:
    """The table of the longest runs of a study, for a page; ``pairs-`` before its name gives it seed by seed."""
    which = study.removeprefix("pairs-")
    found = groups(load(RESULTS / "study.jsonl"))
    samplers = found[max(key for key in found if key[:2] == (framework, which))]
    if which != study:
        table = pairs(samplers, which)
    else:
        table = front_table(samplers) if study == "front" else curves_table(samplers)
    return "\n\n" + "\n".join(lines(table)) + "\n\n"


def lines(table: Sequence[Sequence[str]]) -> list[str]:
    """A table, of which the first row is the head."""
    head, *rest = ["| " + " | ".join(row) + " |" for row in table]
    return [head, "|---" * len(table[0]) + "|", *rest]


def curves_table(samplers: dict[str, Rows]) -> list[list[str]]:
    """What samplers have found and done, in a study with one objective."""
    table = [["sampler", *CURVES.values(), "latency / limit", *WORK, "seeds"]]
    for sampler, rows in samplers.items():
        errors = [_spread([error(row, what) for row in rows], max) for what in CURVES]
        ratios = [row["recommended"]["latency"] / row["limit"] for row in rows if row["recommended"] is not None]
        slowest = f"{np.median(ratios):.2f} ({max(ratios):.2f})" if ratios else "-"
        table.append([sampler, *errors, slowest, *_work(rows), str(len(rows))])
    return table


def front_table(samplers: dict[str, Rows]) -> list[list[str]]:
    """What samplers have found and done, in a study with two objectives."""
    table = [["sampler", "volume as measured", "volume, tested", "recommended, tested", *WORK, "seeds"]]
    for sampler, rows in samplers.items():
        volumes = [
            _spread([row[name] for row in rows], min) for name in ("measured_volume", "volume", "recommended_volume")
        ]
        table.append([sampler, *volumes, *_work(rows), str(len(rows))])
    return table


def pairs(samplers: dict[str, Rows], study: str) -> list[list[str]]:
    """The recommended configuration's error, or the recommended front's volume, for each seed."""
    seeds = sorted({row["seed"] for rows in samplers.values() for row in rows})
    table = [["sampler", *map(str, seeds)]]
    for sampler, rows in samplers.items():
        known = {
            row["seed"]: row["recommended_volume"] if study == "front" else error(row, "recommended") for row in rows
        }
        table.append([sampler, *(f"{known[seed]:.4f}" if seed in known else "-" for seed in seeds)])
    return table


WORK = ("trials", "feasible", "pruned", "epochs", "time on networks")


def _work(rows: Rows) -> list[str]:
    """Columns `WORK`, medians."""
    trials, epochs = (float(np.median([row[name] for row in rows])) for name in ("trials", "epochs"))
    shares = [np.median([row[name] / max(1, row["trials"]) for row in rows]) for name in ("feasible", "pruned")]
    training = [row["training"] for row in rows if row["training"] is not None]
    time = f"{np.median(training):.0%}" if training else "-"
    return [f"{trials:.0f}", *(f"{share:.0%}" for share in shares), f"{epochs:.0f}", time]


def _spread(values: Sequence[float], worst: Callable[[Sequence[float]], float]) -> str:
    return f"{np.median(values):.4f} ({worst(values):.4f})"


def plot(found: dict[tuple[str, str, float, int], dict[str, Rows]], path: Path) -> None:
    """The true error of the best trial so far over seconds: the median, the range and each seed."""
    figure, axes = plt.subplots(
        1, len(found), figsize=(5.2 * len(found), 4.0), layout="constrained", squeeze=False, sharey=True
    )
    for axis, ((framework, _, seconds, workers), samplers) in zip(axes[0], found.items(), strict=True):
        for sampler, rows in samplers.items():
            marks = [[NOTHING if mark is None else mark["error"] for mark in row["marks"]] for row in rows]
            times = seconds * np.arange(1, len(marks[0]) + 1) / len(marks[0])
            color = COLORS[sampler]
            axis.plot(times, np.median(marks, axis=0), "o-", color=color, label=sampler, linewidth=2.2)
            axis.plot(times, np.transpose(marks), color=color, alpha=0.3, linewidth=0.8)
            axis.fill_between(times, np.min(marks, axis=0), np.max(marks, axis=0), color=color, alpha=0.1, linewidth=0)
        name = {"optuna": "Optuna", "ray": "Ray Tune"}[framework]
        axis.set(title=f"{name}, {workers} processes", xlabel="seconds", yscale="log")
        axis.grid(alpha=0.25, which="both")
    axes[0, 0].set_ylabel("true error of the best trial so far")
    axes[0, 0].legend(frameon=False)
    save(figure, path, dpi=100)

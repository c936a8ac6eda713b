"""What the benchmarks of searches under constraints and of several objectives share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler

import optuna
from benchmarks import processes
from benchmarks.storage import load

Array = NDArray[np.float64]
#: A run: sampler, problem, seed, and number of trials.
Job = tuple[str, str, int, int]


def floats(**bounds: tuple[float, float]) -> dict[str, BaseDistribution]:
    """Real parameters by name."""
    return {name: FloatDistribution(*pair) for name, pair in bounds.items()}


def from_cube(space: Mapping[str, BaseDistribution], u: Array) -> dict[str, Any]:
    """The configuration at a place of the unit cube (d,): integers are rounded, categories have equal shares."""
    params = dict[str, Any]()
    for share, (name, distribution) in zip(u.tolist(), space.items(), strict=True):
        if isinstance(distribution, CategoricalDistribution):
            choices = distribution.choices
            params[name] = choices[min(int(share * len(choices)), len(choices) - 1)]
            continue
        assert isinstance(distribution, FloatDistribution | IntDistribution)
        low = distribution.low
        high = distribution.high
        value = low * (high / low) ** share if distribution.log else low + share * (high - low)
        params[name] = round(value) if isinstance(distribution, IntDistribution) else min(max(value, low), high)
    return params


class Study:
    """A search by one of Optuna's samplers, of k objectives that are minimised."""

    def __init__(self, space: dict[str, BaseDistribution], sampler: BaseSampler, k: int = 1) -> None:
        self._space = space
        self._study = optuna.create_study(directions=["minimize"] * k, sampler=sampler)

    def ask(self) -> dict[str, Any]:
        """The next configuration."""
        self._trial = self._study.ask(self._space)
        return self._trial.params

    def tell(self, values: float | Sequence[float], limits: Sequence[float] | None = None) -> None:
        """Its objectives, and its constraints, which become the attribute ``c`` of the trial."""
        if limits is not None:
            self._trial.set_user_attr("c", limits)
        self._study.tell(self._trial, values)


def run(path: Path, one: Callable[..., dict[str, Any]], jobs: Sequence[Job], jobs_at_once: int) -> None:
    """Run what is missing in ``path``."""
    done = {(row["sampler"], row["problem"], row["seed"], row["trials"]) for row in load(path)}
    processes.record(path, one, [job for job in jobs if job not in done], jobs_at_once)


def longest(path: Path) -> list[dict[str, Any]]:
    """The longest of the runs of each sampler, problem and seed."""
    rows = sorted(load(path), key=lambda row: int(row["trials"]))
    return list({(row["sampler"], row["problem"], row["seed"]): row for row in rows}.values())


def write_report(
    path: Path,
    heading: Sequence[str],
    problems: Collection[str],
    apart: Collection[str],
    tables: Callable[[list[dict[str, Any]], list[str]], list[str]],
) -> None:
    """A report beside ``path``: the ``heading``, and ``tables`` of the problems and of those put aside."""
    rows = longest(path)
    text = list(heading)
    for title, group in (("Problems", problems), ("Problems put aside", apart)):
        names = [name for name in group if any(row["problem"] == name for row in rows)]
        if names:
            text += ["", f"## {title}", "", *tables(rows, names)]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")


def outcomes(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], samplers: Sequence[str], of: Callable[[Any], float | None]
) -> Array:
    """What ``of`` says of each run (samplers, problems, seeds); NaN without a run, or where it says None."""
    seeds = 1 + max(int(row["seed"]) for row in rows)
    out = np.full((len(samplers), len(names), seeds), np.nan)
    for row in rows:
        if row["problem"] in names and row["sampler"] in samplers:
            value = of(row)
            place = samplers.index(row["sampler"]), list(names).index(row["problem"]), int(row["seed"])
            out[place] = np.nan if value is None else value
    return out


def mean_ranks(values: Array, samplers: Sequence[str]) -> dict[str, float]:
    """Mean ranks of ``values`` (samplers, problems, seeds), over those that all have; the smaller, the better."""
    complete = values[:, ~np.isnan(values).any(axis=0)]
    below = (complete[:, None] > complete[None]).sum(axis=1)
    ties = (complete[:, None] == complete[None]).sum(axis=1)
    places = below + 0.5 * (ties + 1)
    return {name: float(places[k].mean()) for k, name in enumerate(samplers) if places.size}


def rank_table(found: Sequence[Mapping[str, float]], samplers: Sequence[str], marks: Sequence[int]) -> list[str]:
    """Lines of a table of mean ranks at some marks."""
    lines = [
        "Mean rank, over the seeds that all have:",
        "",
        "| sampler | " + " | ".join(map(str, marks)) + " |",
        "|---" * (len(marks) + 1) + "|",
    ]
    for name in samplers:
        if any(name in one for one in found):
            lines.append(f"| {name} | " + " | ".join(f"{one[name]:.2f}" if name in one else "" for one in found) + " |")
    return lines

"""The table of a comparison of two versions (`versions`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, bootstrap

from benchmarks.problems.families import FAMILIES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """What both sides run once each."""

    family: str
    problem: str
    seed: int
    trials: int


#: The rows of both sides, by pair.
Rows = Mapping[Pair, Mapping[str, dict[str, Any]]]
#: Regrets that differ by a smaller share are equal.
EQUAL = 1e-9
#: Smallest scale of the values of a run.
TINY = 1e-300
LEVEL = 0.05
#: What the figures are.
LEGEND = """\
Ratios are now / before: below 1, and with a negative logarithm, this checkout is better. A problem is won by the sign
of the median over seeds of the log ratio of regrets; regrets that are equal to nine digits tie. The mean is over
problems, of their means over seeds; its interval is a bootstrap over problems, and p that of a two-sided sign test over
all pairs of runs that do not tie. A regret counts as at least a share of the standard deviation of the first 20 values
of its pair: {floors}. Where the lowest value is unknown, the regret is the value.

Ask times are medians over pairs of the ratios of the medians, and of the means, of a run, of all asks after the first
20. Extra evaluations are trials with the parameters of an earlier one: the most in a run of a problem without noise.
Runs that failed, and those without a successful trial so far, count in no ratio."""


@dataclass(frozen=True)
class Summary:
    """A family at a checkpoint: counts of problems, the mean log ratio now / before, and a sign test over pairs."""

    problems: int
    wins: int
    ties: int
    losses: int
    mean: float
    low: float
    high: float
    p: float

    @property
    def loses(self) -> bool:
        """Whether the family loses beyond chance."""
        return self.p < LEVEL and self.mean > 0.0

    @property
    def gains(self) -> bool:
        """Whether the family wins beyond chance."""
        return self.p < LEVEL and self.mean < 0.0


def log_ratio(before: dict[str, Any], now: dict[str, Any], checkpoint: int, floor: float) -> float | None:
    """Log of the ratio of the regrets now and before, 0 if they are equal; None if one of them is missing.

    A regret counts as at least ``floor`` times the larger of the standard deviations of the first values of both runs.
    """
    a, b = (row.get("best", {}).get(str(checkpoint)) for row in (before, now))
    if a is None or b is None:
        return None
    least = max(floor * max(before["spread"], now["spread"]), TINY)
    a = max(a, least)
    b = max(b, least)
    return 0.0 if abs(a - b) <= EQUAL * max(a, b) else float(np.log(b / a))


def ratios(rows: Rows, checkpoint: int, floor: float) -> dict[str, Array]:
    """The log ratios of all pairs of each problem; those of runs that failed are left out."""
    found: dict[str, list[float]] = {}
    for pair, both in rows.items():
        ratio = log_ratio(both["before"], both["now"], checkpoint, floor) if len(both) == 2 else None
        if ratio is not None:
            found.setdefault(pair.problem, []).append(ratio)
    return {problem: np.array(values) for problem, values in found.items()}


def summary(by_problem: Mapping[str, Array]) -> Summary:
    """The interval is a bootstrap over problems; the test is two-sided and leaves out ties."""
    medians = np.array([np.median(values) for values in by_problem.values()])
    signs = np.where(np.abs(medians) <= EQUAL, 0.0, np.sign(medians))
    pairs = np.concatenate(list(by_problem.values()))
    worse = int(np.sum(pairs > 0.0))
    unequal = int(np.sum(pairs != 0.0))
    means = np.array([np.mean(values) for values in by_problem.values()])
    low = float(np.mean(means))
    high = low
    if np.ptp(means) > 0.0:
        drawn = bootstrap((means,), np.mean, confidence_level=0.9, method="percentile", rng=np.random.default_rng(0))
        low, high = drawn.confidence_interval
    wins, ties, losses = (int(np.sum(signs == sign)) for sign in (-1.0, 0.0, 1.0))
    p = float(binomtest(worse, unequal).pvalue) if unequal else 1.0
    return Summary(len(means), wins, ties, losses, float(np.mean(means)), float(low), float(high), p)


def ask_ratio(rows: Rows, figure: str) -> float:
    """The median over pairs of the ratio of the ask times, now to before."""
    found = [both["now"][figure] / both["before"][figure] for both in _complete(rows)]
    return float(np.median(found)) if found else float("nan")


def extra(rows: Rows, side: str) -> int:
    """The largest number of extra evaluations of a run of a deterministic problem."""
    return max((both[side]["extra"] for both in _complete(rows) if both[side]["deterministic"]), default=0)


def _complete(rows: Rows) -> Iterable[Mapping[str, dict[str, Any]]]:
    return [both for both in rows.values() if len(both) == 2 and all("best" in row for row in both.values())]


def _of(rows: Rows, family: str) -> Rows:
    return {pair: both for pair, both in rows.items() if pair.family == family}


def checkpoints(rows: Rows, family: str) -> tuple[int, ...]:
    """Those that the runs of a family have reached."""
    trials = max(pair.trials for pair in rows)
    return tuple(t for t in FAMILIES[family].checkpoints if t <= trials)


def marks(rows: Rows, family: str) -> tuple[int, ...]:
    """The last two checkpoints of the runs of a family, the later one first."""
    return checkpoints(rows, family)[-2:][::-1]


def counts(values: Array) -> list[int]:
    """How many pairs are won, equal and lost, by their log ratios (n,)."""
    return [int(np.sum(np.sign(values) == sign)) for sign in (-1.0, 0.0, 1.0)]


def pairs_table(rows: Rows) -> list[str]:
    """How many pairs of each family are won, equal and lost at every checkpoint."""
    lines = ["| family | trials | won | equal | lost |", "|---" * 5 + "|"]
    for family in dict.fromkeys(pair.family for pair in rows):
        some = _of(rows, family)
        for trials in checkpoints(some, family):
            found = ratios(some, trials, FAMILIES[family].floor)
            cells = [family, trials, *counts(np.concatenate([np.empty(0), *found.values()]))]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def families_table(rows: Rows, checkpoint: int = 0) -> tuple[list[str], dict[str, Summary]]:
    """A line for each family and one for all, at the last checkpoint, or at the one before it (1); the summaries."""
    head = ["family", "trials", "problems", "wins", "ties", "losses", "mean log ratio", "90% interval", "p"]
    head += ["ask time, medians", "ask time, means", "extra before", "extra now", "failed runs before", "now"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    found: dict[str, Summary] = {}
    everything: dict[str, Array] = {}
    for family in dict.fromkeys(pair.family for pair in rows):
        some = _of(rows, family)
        kind = FAMILIES[family]
        at = marks(some, family)
        if checkpoint >= len(at):
            continue
        by_problem = ratios(some, at[checkpoint], kind.floor)
        everything |= {f"{family}, {name}": values for name, values in by_problem.items()}
        if by_problem:
            found[family] = summary(by_problem)
        lines.append(_line(family, str(at[checkpoint]), found.get(family), some))
    if len(found) > 1:
        lines.append(_line("all", "", summary(everything), rows))
    return lines, found


def _line(name: str, trials: str, s: Summary | None, rows: Rows) -> str:
    cells = [name, trials, *["-"] * 7]
    if s is not None:
        cells[2:] = [str(n) for n in (s.problems, s.wins, s.ties, s.losses)]
        cells += [f"{s.mean:+.3f}", f"{s.low:+.3f} to {s.high:+.3f}", f"{s.p:.3g}"]
    cells += [f"{ask_ratio(rows, figure):.2f}" for figure in ("ask_ms_median", "ask_ms_mean")]
    cells += [str(extra(rows, side)) for side in ("before", "now")]
    cells += [str(sum("error" in both.get(side, {}) for both in rows.values())) for side in ("before", "now")]
    return "| " + " | ".join(cells) + " |"


def verdict(summaries: Mapping[str, Summary]) -> str:
    """Which families lose, and which win, beyond chance."""
    losers = [family for family, s in summaries.items() if s.loses]
    winners = [family for family, s in summaries.items() if s.gains]
    lost = f"Beyond chance, these lose: **{', '.join(losers)}**." if losers else "No family loses beyond chance."
    won = f"Beyond chance, these win: {', '.join(winners)}." if winners else "None wins beyond chance."
    return f"{lost} {won}"


def problems_table(rows: Rows, family: str) -> list[str]:
    """Regrets at the last checkpoint by problem: medians and worst seeds of both, and counts of seeds."""
    some = _of(rows, family)
    kind = FAMILIES[family]
    last = marks(some, family)[0]
    by_problem = ratios(some, last, kind.floor)
    head = "| problem | before | now | wins | ties | losses | worst before | worst now | failed before | failed now |"
    lines = [head, "|---" * 10 + "|"]
    for problem in dict.fromkeys(pair.problem for pair in some):
        pairs = {pair: both for pair, both in some.items() if pair.problem == problem}
        values = by_problem.get(problem, np.empty(0))
        regrets = {s: [both[s]["best"].get(str(last)) for both in _complete(pairs)] for s in ("before", "now")}
        kept = {s: [v for v in found if v is not None] for s, found in regrets.items()}
        cells = [f"{np.median(v):.3g}" if v else "-" for v in kept.values()]
        cells += [str(n) for n in counts(values)] + [f"{max(v):.3g}" if v else "-" for v in kept.values()]
        errors = [sum("error" in both.get(s, {}) for both in pairs.values()) for s in ("before", "now")]
        lines.append("| " + " | ".join([problem, *cells, *map(str, errors)]) + " |")
    return lines


def write_report(path: Path, sides: Mapping[str, str], rows: Rows, differences: str = "") -> str:
    """Write the tables; returns the verdict."""
    seeds = {family: 1 + max(p.seed for p in _of(rows, family)) for family in dict.fromkeys(p.family for p in rows)}
    floors = ", ".join(f"{family} {FAMILIES[family].floor:g}" for family in seeds)
    last, summaries = families_table(rows)
    told = verdict(summaries)
    text = [f"# Results: {path.stem}", "", "Written by `python -m benchmarks compare`.", ""]
    text += [f"- {name}: {words}" for name, words in sides.items()]
    text += [f"- Mind that versions differ: {differences}."] if differences else []
    text += [
        f"- seeds: {', '.join(f'{family} {count}' for family, count in seeds.items())}",
        "",
        LEGEND.format(floors=floors),
        "",
        "## Families, in the end",
        "",
        *last,
        "",
        told,
    ]
    if any(len(marks(_of(rows, family), family)) > 1 for family in seeds):
        earlier, early = families_table(rows, 1)
        text += ["", "## Families, earlier", "", *earlier, "", verdict(early)]
    text += ["", "## Pairs of runs", "", *pairs_table(rows)]
    for family in seeds:
        trials = marks(_of(rows, family), family)[0]
        text += ["", f"## Regrets: {family}, after {trials} trials", "", *problems_table(rows, family)]
    path.write_text("\n".join(text) + "\n")
    print("\n".join([*last, "", told, f"wrote {path}"]))
    return told

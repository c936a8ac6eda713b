"""Studies as people run them, judged by the true value of the one configuration that is recommended.

A study tunes a program of `benchmarks.problems.programs`: its parameters depend on others, some configurations fail,
values are noisy, and a trial reports after each step, so that a pruner may stop it. Where the folders of surrogate
models are known, those of `benchmarks.problems.surrogate_programs` are there, too. After 60 and 150 trials, and at the
cost of 12 and 30 full runs, the sampler recommends a configuration: GSSBO the finished trial with the best expected
value, others the best one seen. It is trained ten times more and tested on rows that no trial saw.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, Trial, TrialState

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.compare.curves import PRUNERS
from benchmarks.problems import programs, surrogate_programs
from benchmarks.problems.programs import Program
from benchmarks.samplers.registry import gp_sampler
from benchmarks.storage import load

MARKS = (60, 150)
#: Full runs.
COSTS = (12, 30)


def names(*, apart: bool = False) -> list[str]:
    """The problems that settings may be chosen on, or those put ``apart``."""
    return [*programs.names(apart=apart), *surrogate_programs.names(apart=apart)]


@cache
def program(name: str) -> Program:
    """The program of this name."""
    kind, _, which = name.partition("-")
    return surrogate_programs.KINDS[kind](which) if which else programs.PROGRAMS[name]


def _gssbo(seed: int, **settings: Any) -> BaseSampler:
    from numbo import GSSBOSettings
    from numbo.optuna import GSSBOSampler

    return GSSBOSampler(seed=seed, settings=GSSBOSettings(**settings))


def _tpe(seed: int) -> BaseSampler:
    return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)


SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "GSSBO": _gssbo,
    "GSSBO-no-scouts": lambda seed: _gssbo(seed, scouting=0.0),
    "TPE": _tpe,
    "GPSampler": gp_sampler,
    "Random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


class Objective:
    """A program as Optuna calls it.

    Attributes:
        cost: steps that were made.
    """

    def __init__(self, of: Program, rng: np.random.Generator) -> None:
        self._program = of
        self._rng = rng
        self.cost = 0

    def __call__(self, trial: Trial) -> float:
        value = float("nan")
        for step, value in enumerate(self._program.values(self._program.suggest(trial), self._rng), 1):
            self.cost += 1
            if not np.isfinite(value):
                return value
            trial.report(value, step)
            if step < self._program.steps and trial.should_prune():
                raise optuna.TrialPruned
        return value


def recommended(study: optuna.Study) -> FrozenTrial | None:
    """The trial whose configuration a user of the sampler keeps, None without a finished one."""
    if hasattr(study.sampler, "best_predicted_trial"):
        found: FrozenTrial | None = study.sampler.best_predicted_trial(study)
        return found
    return luckiest(study)


def luckiest(study: optuna.Study) -> FrozenTrial | None:
    """The finished trial with the best value seen."""
    finished = [t for t in study.trials if t.state == TrialState.COMPLETE]
    return min(finished, key=lambda t: float(t.value or 0.0), default=None)


def mark(study: optuna.Study, of: Program, cost: int, rng: np.random.Generator) -> dict[str, Any]:
    """What is known of the study now: true values, and the noise that the sampler states and that was measured."""
    keeps = recommended(study)
    luck = luckiest(study)
    row: dict[str, Any] = {"trials": len(study.trials), "cost": round(cost / of.steps, 2)}
    if keeps is None or luck is None:
        return row | {"recommended": of.worst, "luckiest": of.worst}
    row["recommended"] = float(of.ends(keeps.params, rng, tested=True).mean())
    same = keeps.params == luck.params
    row["luckiest"] = row["recommended"] if same else float(of.ends(luck.params, rng, tested=True).mean())
    again = of.ends(keeps.params, rng, tested=False)
    row["measured"] = float(again.std(ddof=1)) if len(again) > 1 else 0.0
    if hasattr(study.sampler, "explain"):
        row["stated"] = study.sampler.explain(study).noise_std
    return row


def run_one(sampler: str, pruner: str, name: str, seed: int, trials: int) -> dict[str, Any]:
    """One study."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    number = zlib.crc32(f"{name} {seed}".encode())
    rng = np.random.default_rng(number)
    of = program(name)
    study = optuna.create_study(
        study_name=f"{name} {seed}", sampler=SAMPLERS[sampler](number), pruner=PRUNERS[pruner](of.steps)
    )
    objective = Objective(of, rng)
    started = time.perf_counter()
    marks: list[dict[str, Any]] = []
    costs = list(COSTS)

    def marked() -> dict[str, Any]:
        return mark(study, of, objective.cost, np.random.default_rng(number + 1))

    def spent(study: optuna.Study, trial: FrozenTrial) -> None:
        while costs and objective.cost >= costs[0] * of.steps:
            marks.append({**marked(), "runs": costs.pop(0)})

    for count in (m for m in MARKS if m <= trials):
        study.optimize(objective, n_trials=count - len(study.trials), catch=(Exception,), callbacks=[spent])
        marks.append(marked())
    states = [trial.state for trial in study.trials]
    return {
        "sampler": sampler,
        "pruner": pruner,
        "problem": name,
        "aside": name in names(apart=True),
        "seed": seed,
        "to": trials,
        "failed": states.count(TrialState.FAIL),
        "pruned": states.count(TrialState.PRUNED),
        "seconds": round(time.perf_counter() - started, 2),
        "marks": marks,
    }


# -- the report ------------------------------------------------------------------------------------------------------


Moment: TypeAlias = tuple[str, int]
#: Marks by sampler, pruner and problem, and by seed.
Found: TypeAlias = dict[tuple[str, str, str], dict[int, dict[str, Any]]]


def _is_at(one: dict[str, Any], moment: Moment) -> bool:
    """Whether a mark was made after so many ``trials``, or at the cost of so many full ``runs``."""
    kind, count = moment
    return one.get(kind) == count and (kind == "runs" or "runs" not in one)


def _at(rows: list[dict[str, Any]], moment: Moment) -> Found:
    found: Found = {}
    for row in rows:
        for one in row["marks"]:
            if _is_at(one, moment):
                found.setdefault((row["sampler"], row["pruner"], row["problem"]), {})[row["seed"]] = one
    return found


def _kind(row: dict[str, Any]) -> str:
    """Problems of one source; those put aside apart."""
    kind, _, which = row["problem"].partition("-")
    return (kind if which else "trained") + ", aside" * row["aside"]


def _summary(rows: list[dict[str, Any]], moment: Moment) -> list[str]:
    """Pairs of studies that the first sampler wins and loses, over the problems of a kind."""
    found = _at(rows, moment)
    first, *others = dict.fromkeys(row["sampler"] for row in rows)
    kind_of = {row["problem"]: _kind(row) for row in rows}
    kinds: dict[str, list[str]] = {}
    for problem in sorted(kind_of):
        kinds.setdefault(kind_of[problem], []).append(problem)
    lines = [f"| {first}, wins:losses | pruner | " + " | ".join(others) + " |", "|---" * (len(others) + 2) + "|"]
    for kind, problems in kinds.items():
        for pruner in [name for name in PRUNERS if any(row["pruner"] == name for row in rows)]:
            cells = []
            for other in others:
                gaps = [
                    gap
                    for problem in problems
                    for gap in _gaps(found.get((first, pruner, problem), {}), found.get((other, pruner, problem), {}))
                ]
                cells.append(_won(gaps) if gaps else "")
            if any(cells):
                lines.append(f"| {kind} | {pruner} | {' | '.join(cells)} |")
    return lines


def _lines(rows: list[dict[str, Any]], moment: Moment) -> list[str]:
    found = _at(rows, moment)
    samplers = list(dict.fromkeys(row["sampler"] for row in rows))
    pruners = [name for name in PRUNERS if any(row["pruner"] == name for row in rows)]
    problems = sorted({row["problem"] for row in rows})
    lines = ["| pruner | problem | seeds | " + " | ".join(samplers) + " | wins:losses of the first |"]
    lines.append("|---" * (len(samplers) + 4) + "|")
    for pruner in pruners:
        for problem in problems:
            cells = [found.get((sampler, pruner, problem), {}) for sampler in samplers]
            if not any(cells):
                continue
            shown = [_shown([one["recommended"] for one in cell.values()]) for cell in cells]
            others = zip(samplers[1:], cells[1:], strict=True)
            pairs = [f"{name} {_won(_gaps(cells[0], cell))}" for name, cell in others if cell]
            seeds = max(map(len, cells))
            lines.append(f"| {pruner} | {problem} | {seeds} | {' | '.join(shown)} | {', '.join(pairs)} |")
    return lines


def _shown(values: list[float]) -> str:
    return f"{np.median(values):.4f} ({np.max(values):.4f})" if values else ""


def _gaps(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]]) -> list[float]:
    """True values of the first less those of the other, over the seeds of both."""
    return [one[seed]["recommended"] - other[seed]["recommended"] for seed in one.keys() & other.keys()]


def _won(gaps: list[float]) -> str:
    return f"{sum(gap < 0.0 for gap in gaps)}:{sum(gap > 0.0 for gap in gaps)}"


def _luck(rows: list[dict[str, Any]], moment: Moment) -> list[str]:
    """How often what is recommended is truly better or worse than the luckiest trial, and the noise that is stated."""
    lines = ["| sampler | pruner | studies | another trial | truly better | worse | stated noise / measured |"]
    lines.append("|---" * 7 + "|")
    for sampler, pruner in sorted({(row["sampler"], row["pruner"]) for row in rows if "stated" in row["marks"][-1]}):
        mine = [one for row in rows for one in row["marks"] if (row["sampler"], row["pruner"]) == (sampler, pruner)]
        mine = [one for one in mine if _is_at(one, moment) and "stated" in one and one["measured"] > 0.0]
        other = [one for one in mine if one["recommended"] != one["luckiest"]]
        better = sum(one["recommended"] < one["luckiest"] for one in other)
        if not mine:
            continue
        ratios = [(one["stated"] or 0.0) / one["measured"] for one in mine]
        quartiles = " / ".join(f"{q:.2f}" for q in np.quantile(ratios, (0.25, 0.5, 0.75)))
        lines.append(
            f"| {sampler} | {pruner} | {len(mine)} | {len(other)} | {better} | {len(other) - better} | {quartiles} |"
        )
    return lines


def write_report(path: Path) -> None:
    """Tables of all studies in ``path``, beside it."""
    rows = load(path)
    text = [
        "# Studies as people run them",
        "",
        "True value of the recommended configuration: median over seeds, and the worst seed in brackets.",
    ]
    moments = {f"{count} trials": ("trials", count) for count in MARKS}
    moments |= {f"The cost of {count} full runs": ("runs", count) for count in COSTS}
    for title, moment in moments.items():
        if _at(rows, moment):
            text += [
                "",
                f"## {title}",
                "",
                *_summary(rows, moment),
                "",
                *_lines(rows, moment),
                "",
                *_luck(rows, moment),
            ]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "real")
    add_names(parser, "--samplers", "sampler", SAMPLERS)
    add_names(parser, "--pruners", "pruner", PRUNERS)
    every = [*names(), *names(apart=True)]
    add_names(parser, "--problems", "problem", every, help="all by default; half of each kind are put aside")
    parser.add_argument("--trials", type=int, default=MARKS[0], help="of a study, at least 60")
    add_runs(parser, seeds=12)


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    path = results(a)
    key = ("sampler", "pruner", "problem", "seed", "to")
    done = {tuple(row[name] for name in key) for row in load(path)}
    wanted = [
        (sampler, pruner, name, seed, a.trials)
        for seed in range(a.seeds)
        for name in a.problems
        for pruner in a.pruners
        for sampler in a.samplers
    ]
    processes.record(path, run_one, [job for job in wanted if job not in done], a.jobs)
    write_report(path)

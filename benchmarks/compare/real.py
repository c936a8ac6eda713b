"""Studies as people run them, judged by the true value of the one configuration that is recommended.

A study tunes a program of `benchmarks.problems.programs`: its parameters depend on others, some configurations fail,
values are noisy, and a trial reports after each step, so that a pruner may stop it. After 60 and 150 trials the sampler
recommends a configuration: GSSBO the finished trial with the best expected value, others the best one seen. It is
trained ten times more and tested on rows that no trial saw.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, Trial, TrialState

from benchmarks import processes
from benchmarks.arguments import add_name, add_names, add_runs, results
from benchmarks.compare.curves import PRUNERS
from benchmarks.problems.programs import PROGRAMS, Program, names
from benchmarks.storage import load

MARKS = (60, 150)


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
    row["measured"] = float(of.ends(keeps.params, rng, tested=False).std(ddof=1))
    if hasattr(study.sampler, "explain"):
        row["stated"] = study.sampler.explain(study).noise_std
    return row


def run_one(sampler: str, pruner: str, name: str, seed: int, trials: int) -> dict[str, Any]:
    """One study."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    number = zlib.crc32(f"{name} {seed}".encode())
    rng = np.random.default_rng(number)
    of = PROGRAMS[name]
    study = optuna.create_study(
        study_name=f"{name} {seed}", sampler=SAMPLERS[sampler](number), pruner=PRUNERS[pruner](of.steps)
    )
    objective = Objective(of, rng)
    started = time.perf_counter()
    marks = []
    for count in (m for m in MARKS if m <= trials):
        study.optimize(objective, n_trials=count - len(study.trials), catch=(Exception,))
        marks.append(mark(study, of, objective.cost, np.random.default_rng(number + 1)))
    states = [trial.state for trial in study.trials]
    return {
        "sampler": sampler,
        "pruner": pruner,
        "problem": name,
        "seed": seed,
        "to": trials,
        "failed": states.count(TrialState.FAIL),
        "pruned": states.count(TrialState.PRUNED),
        "seconds": round(time.perf_counter() - started, 2),
        "marks": marks,
    }


# -- the report ------------------------------------------------------------------------------------------------------


def _at(rows: list[dict[str, Any]], trials: int) -> dict[tuple[str, str, str], dict[int, dict[str, Any]]]:
    """The mark after so many trials, by sampler, pruner and problem, and by seed."""
    found: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
    for row in rows:
        for one in row["marks"]:
            if one["trials"] == trials:
                found.setdefault((row["sampler"], row["pruner"], row["problem"]), {})[row["seed"]] = one
    return found


def _lines(rows: list[dict[str, Any]], trials: int) -> list[str]:
    found = _at(rows, trials)
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
            pairs = [f"{n} {_pairs(cells[0], cell)}" for n, cell in zip(samplers[1:], cells[1:], strict=True) if cell]
            seeds = max(map(len, cells))
            lines.append(f"| {pruner} | {problem} | {seeds} | {' | '.join(shown)} | {', '.join(pairs)} |")
    return lines


def _shown(values: list[float]) -> str:
    return f"{np.median(values):.4f} ({np.max(values):.4f})" if values else ""


def _pairs(one: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]]) -> str:
    """Wins and losses of the first, over the seeds of both."""
    gaps = [one[seed]["recommended"] - other[seed]["recommended"] for seed in one.keys() & other.keys()]
    return f"{sum(gap < 0.0 for gap in gaps)}:{sum(gap > 0.0 for gap in gaps)}"


def _luck(rows: list[dict[str, Any]], trials: int) -> list[str]:
    """How often what is recommended is truly better or worse than the luckiest trial, and the noise that is stated."""
    lines = ["| sampler | pruner | studies | another trial | truly better | worse | stated noise / measured |"]
    lines.append("|---" * 7 + "|")
    for sampler, pruner in sorted({(row["sampler"], row["pruner"]) for row in rows if "stated" in row["marks"][-1]}):
        mine = [one for row in rows for one in row["marks"] if (row["sampler"], row["pruner"]) == (sampler, pruner)]
        mine = [one for one in mine if one["trials"] == trials and "stated" in one]
        other = [one for one in mine if one["recommended"] != one["luckiest"]]
        better = sum(one["recommended"] < one["luckiest"] for one in other)
        ratios = [(one["stated"] or 0.0) / max(one["measured"], 1e-12) for one in mine]
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
    for trials in MARKS:
        if any(one["trials"] == trials for row in rows for one in row["marks"]):
            text += ["", f"## {trials} trials", "", *_lines(rows, trials), "", *_luck(rows, trials)]
    path.with_suffix(".md").write_text("\n".join(text) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "real")
    add_names(parser, "--samplers", "sampler", SAMPLERS)
    add_names(parser, "--pruners", "pruner", PRUNERS)
    every = [*names(), *names(apart=True)]
    add_names(parser, "--problems", "problem", every, help="all by default; diabetes and wine are put aside")
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

"""The records that `benchmarks records` compares numbo with: what each is, numbo's runs, and both side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compare import bayesmark, bbob, biobj, hpob, redoxmers, transfer
from benchmarks.compare.bbob_report import expected_time, longest, median_at
from benchmarks.compare.beside import Beside, by_ratio, on_runs, on_tasks
from benchmarks.problems.bayesmark import problems as bayesmark_problems
from benchmarks.problems.bayesmark import recorded as bayesmark_recorded
from benchmarks.problems.bbob import FUNCTIONS, GROUPS, recorded_medians, recorded_times
from benchmarks.problems.hpob import recorded as hpob_recorded
from benchmarks.problems.hpob import space_of
from benchmarks.problems.hpob import tasks as hpob_tasks
from benchmarks.problems.problem import Array
from benchmarks.problems.redoxmers import MARKS as REDOXMER_MARKS
from benchmarks.problems.redoxmers import recorded as redoxmers_recorded
from benchmarks.problems.transfer import recorded as transfer_recorded
from benchmarks.storage import load

Runs = list[dict[str, Any]]
#: Every so many tasks are run quickly, with one seed.
FIFTH = 5


class Extent(NamedTuple):
    """How much is run: all, or quickly every fifth task with one seed; and how many runs at the same time."""

    quick: bool
    jobs: int

    def of(self, tasks: Collection[Any]) -> list[Any]:
        """Those of the tasks that are run."""
        return list(tasks)[:: FIFTH if self.quick else 1]

    def seeds(self, number: int) -> int:
        """Of so many seeds, how many are run."""
        return 1 if self.quick else number


class Record(NamedTuple):
    """What others have recorded.

    Attributes:
        name: of the benchmark.
        by: who recorded it.
        source: where it is from, with its licence.
        protocol: what is run.
        figure: what is measured.
        file: the results file with numbo's runs.
        ran: the day of these runs.
        algorithm: of numbo.
        beside: makes of these runs what is compared.
        mine: which of the runs are numbo's.
        ask: takes a run; returns the milliseconds of a suggestion, None if they were not measured.
        run: runs what is missing in a file, None if that needs others' code.
        ratio: whether gaps are logarithms of ratios.
    """

    name: str
    by: str
    source: str
    protocol: str
    figure: str
    file: str
    ran: str
    algorithm: str
    beside: Callable[[Runs], Iterator[Beside]]
    mine: Callable[[dict[str, Any]], bool]
    ask: Callable[[dict[str, Any]], float | None]
    run: Callable[[Path, Extent], None] | None
    ratio: bool = False

    @property
    def option(self) -> str:
        """The name in small letters, with hyphens."""
        return re.sub("[^a-z0-9]+", "-", self.name.lower())

    def runs(self, folder: Path) -> Runs:
        """Numbo's runs."""
        return [row for row in load(folder / f"{self.file}.jsonl") if self.mine(row)]


def _by(runs: Runs, key: str) -> dict[Any, Runs]:
    out: dict[Any, Runs] = {}
    for row in runs:
        out.setdefault(row[key], []).append(row)
    return dict(sorted(out.items()))


def _ask(row: dict[str, Any]) -> float | None:
    return row.get("ask_ms", row.get("mean_ask_ms"))


def _trials(mark: int) -> str:
    return "1 trial" if mark == 1 else f"{mark} trials"


# -- HPO-B -----------------------------------------------------------------------------------------------------------


def _regrets(
    records: dict[str, Array], methods: Sequence[str], marks: Sequence[int], names: Collection[str]
) -> Callable[[Runs], Iterator[Beside]]:
    """The mean regret over tasks of the mean over seeds; groups are search spaces."""

    def beside(runs: Runs) -> Iterator[Beside]:
        ours = {
            t: np.mean([row["best"] for row in some], axis=0) for t, some in _by(runs, "task").items() if t in names
        }
        spaces = [space_of(task) for task in ours]
        for method in methods:
            theirs = {task: records[f"{method}/{task}"].mean(axis=0) for task in ours}
            for mark in marks:
                mine, its = ([1.0 - best[task][mark] for task in ours] for best in (ours, theirs))
                yield on_tasks(method, _trials(mark), np.array(its), mine, larger=False, groups=spaces)

    return beside


def _run_hpob(path: Path, extent: Extent) -> None:
    hpob.run(path, "GSSBO", {}, extent.of(hpob_tasks()), extent.seeds(5), extent.jobs)


def _run_transfer(path: Path, extent: Extent) -> None:
    transfer.run(path, ["hpob"], ["all"], extent.seeds(5), extent.jobs, extent.of(hpob_tasks()))


HPOB = "[HPO-B](https://github.com/releaunifreiburg/HPO-B), MIT"
_FEWER = [task for task in hpob_tasks() if f"NAP/{task}" in transfer_recorded()]
_OF_HPOB: dict[str, Any] = {"figure": "mean regret", "ask": _ask}
_LEARNED: dict[str, Any] = _OF_HPOB | {
    "file": "transfer",
    "ran": "28 November 2026",
    "algorithm": "GSSBO(earlier=...)",
    "mine": lambda row: row["kind"] == "hpob" and row["known"] == "all",
    "run": _run_transfer,
}
HPOB_RECORDS = [
    Record(
        name="HPO-B, without other tasks",
        by="Pineda Arango, Jomaa, Wistuba, Grabocka 2021",
        source=HPOB,
        protocol="51 tables of ten spaces, five seeds, 100 trials after five random ones, which differ; "
        "settings of numbo could be chosen on seven of the spaces",
        file="hpob",
        ran="29 November 2026",
        algorithm="GSSBO",
        beside=_regrets(hpob_recorded(), ("Random", "GP", "DNGO", "BOHAMIANN"), (10, 20, 50, 100), hpob_tasks()),
        mine=lambda row: row["optimizer"] == "GSSBO",
        run=_run_hpob,
        **_OF_HPOB,
    ),
    Record(
        name="HPO-B, with other tasks",
        by="Pineda Arango, Wistuba, Grabocka 2021",
        source=HPOB,
        protocol="51 tables, five seeds, 100 trials after five whose best is the same; numbo knows 3 to 6 other tables"
        " of the space, the recorded methods its training tasks",
        beside=_regrets(
            transfer_recorded(), ("RGPE", "TST", "TAF", "FSBO", "FSBO2"), (1, 5, 10, 20, 50, 100), hpob_tasks()
        ),
        **_LEARNED,
    ),
    Record(
        name="HPO-B, networks that have learned",
        by="Maraval, Zimmer, Grosnit, Bou Ammar 2023",
        source="[HEBO](https://github.com/huawei-noah/HEBO), ee6112d3, MIT",
        protocol=f"{len(_FEWER)} of these tables, the others have no record; numbo as before",
        beside=_regrets(transfer_recorded(), ("NAP", "OptFormer"), (1, 5, 10, 20, 50, 100), _FEWER),
        **_LEARNED,
    ),
]

# -- tables and models -----------------------------------------------------------------------------------------------


def _shares(runs: Runs) -> Iterator[Beside]:
    ours = np.array([row["share"] for row in runs])
    for method, theirs in redoxmers_recorded().items():
        for k, mark in enumerate(REDOXMER_MARKS):
            yield on_runs(method, _trials(mark), theirs[:, k], ours[:, k], larger=True)


def _quick_to_train() -> list[str]:
    """Those problems of Bayesmark that are run: not networks and boosting where they take minutes."""
    slow = {("MLP-adam", "digits"), ("MLP-sgd", "digits"), ("SVM", "digits"), ("kNN", "digits")}
    slow |= {("MLP-adam", "diabetes"), ("MLP-sgd", "diabetes"), ("ada", "diabetes")}
    slow |= {("lasso", "digits"), ("linear", "digits"), ("lasso", "breast"), ("lasso", "wine")}
    return [name for name in bayesmark_problems() if tuple(name.split("_")[:2]) not in slow]


def _scores(runs: Runs) -> dict[str, Array]:
    """Scores (16,) after each round, means over seeds, by problem."""
    found = _by(runs, "problem")
    scaled = {p: [bayesmark.scaled(p, bayesmark.read(row["best"])) for row in some] for p, some in found.items()}
    return {problem: 100.0 * (1.0 - np.mean(losses, axis=0)) for problem, losses in scaled.items()}


def _random_scores(runs: Runs) -> Iterator[Beside]:
    ours = _scores(runs)
    theirs = {p: 100.0 * (1.0 - bayesmark.scaled(p, bayesmark_recorded()[p]["mean"])) for p in ours}
    for mark in (2, 4, 8, 16):
        mine, its = (np.array([scores[p][mark - 1] for p in ours]) for scores in (ours, theirs))
        yield on_tasks("Random", f"{mark} rounds", its, mine, larger=True, groups=[p.split("_")[0] for p in ours])


def _aggregate_scores(runs: Runs) -> Iterator[Beside]:
    ours = _scores(runs)
    last = np.array([scores[-1] for scores in ours.values()])
    for method, theirs in (("HEBO", 100.117), ("TuRBO", 97.951)):
        yield on_tasks(method, "16 rounds", theirs, last, larger=True, groups=[p.split("_")[0] for p in ours])


def _run_bayesmark(path: Path, extent: Extent) -> None:
    bayesmark.run(path, ["GSSBO"], extent.of(_quick_to_train()), 1, extent.jobs)


def _arms(runs: Runs) -> Iterator[Beside]:
    found = _by(runs, "algorithm")
    for name in ("BKB", "BBKB", "GlobalLocal-BBKB"):
        for horizon, theirs in _by(found[f"reference-{name}"], "T").items():
            ours = [row["ratio"] for row in found[name] if row["T"] == horizon]
            its = [row["ratio"] for row in theirs]
            yield on_runs(f"their {name}", f"{horizon:,} evaluations", its, ours, larger=False)


_OF_BAYESMARK: dict[str, Any] = {
    "figure": "score, 100 for the best loss known",
    "file": "bayesmark",
    "ran": "25 November 2026",
    "algorithm": "GSSBO",
    "mine": lambda row: row["optimizer"] == "GSSBO",
    "ask": _ask,
    "run": _run_bayesmark,
}
TABLE_RECORDS = [
    Record(
        name="Redoxmers, three objectives",
        by="Hickman, Aspuru-Guzik and others 2023",
        source="[Olympus](https://github.com/aspuru-guzik-group/olympus), 440b6b58, MIT",
        protocol="1,408 molecules by four categories, 200 trials; 40 runs, of Gryffin 26; intervals are over runs",
        figure="share of the hypervolume",
        file="redoxmers",
        ran="29 November 2026",
        algorithm="GSSBO",
        beside=_shares,
        mine=lambda row: row["sampler"] == "GSSBO",
        ask=_ask,
        run=lambda path, extent: redoxmers.run(path, ["GSSBO"], 2 if extent.quick else 40, extent.jobs),
    ),
    Record(
        name="Bayesmark, random search",
        by="Turner, Eriksson and others 2021",
        source="[starter kit](https://github.com/rdturnermtl/bbo_challenge_starter_kit), Apache 2.0",
        protocol="60 of 108 problems, 16 rounds of eight trials, one seed; groups are models",
        beside=_random_scores,
        **_OF_BAYESMARK,
    ),
    Record(
        name="Bayesmark, HEBO's paper",
        by="Cowen-Rivers and others 2022",
        source="[arXiv 2012.03826](https://arxiv.org/abs/2012.03826)",
        protocol="as before; recorded are means of all 108 problems only, so that intervals are of numbo's mean",
        beside=_aggregate_scores,
        **_OF_BAYESMARK,
    ),
    Record(
        name="BBKB, the authors' code",
        by="Calandriello, Carratino, Lazaric, Valko, Rosasco 2020",
        source="[batch-bkb](https://github.com/luigicarratino/batch-bkb), run here",
        protocol="California housing data, three seeds; intervals are over runs",
        figure="regret by that of uniform sampling",
        file="bandits-speed",
        ran="21 November 2026",
        algorithm="BKB, BBKB",
        beside=_arms,
        mine=lambda row: True,
        ask=lambda row: None if row["algorithm"].startswith("reference") else 1e3 * row["seconds"] / row["T"],
        run=None,
    ),
]

# -- COCO ------------------------------------------------------------------------------------------------------------

#: Dimension, instances and evaluations of the runs on noiseless functions.
LENGTHS = ((10, 3, 1000), (20, 2, 3000))
FLOOR = 1e-8


def group_of(function: int) -> str:
    """The group of one of COCO's noiseless functions."""
    return next(name for name, functions in GROUPS.items() if function in functions)


def pair_of(function: int) -> str:
    """The groups of the objectives of one of COCO's bi-objective functions, which are pairs of ten, two of each."""
    firsts, seconds = np.triu_indices(10)
    return f"{firsts[function - 1] // 2}-{seconds[function - 1] // 2}"


def _by_dimension(runs: Runs) -> Iterator[tuple[int, int, dict[int, Runs]]]:
    """Dimensions that were run, with the evaluations and the runs by function."""
    for dimension, _, evaluations in LENGTHS:
        mine = _by([row for row in longest(runs) if row["dimension"] == dimension], "function")
        if mine:
            yield dimension, evaluations, mine


def _times(runs: Runs) -> Iterator[Beside]:
    """Expected times on the functions whose recorded one is within the evaluations that numbo makes."""
    for method in ("lq-CMA-ES", "CMA-ES"):
        for dimension, evaluations, mine in _by_dimension(runs):
            for target in (10.0, 1.0, 0.1):
                theirs = {f: recorded_times()[method, dimension, f][target] for f in mine}
                some = [f for f in mine if theirs[f] <= evaluations]
                if some:
                    ours = [expected_time(mine[f], target) for f in some]
                    groups = [group_of(f) for f in some]
                    yield by_ratio(
                        method, f"{dimension}-D to {target:g}", [theirs[f] for f in some], ours, groups=groups
                    )


def _medians(method: str) -> Callable[[Runs], Iterator[Beside]]:
    """Median best values where both are known, from `FLOOR` on."""

    def beside(runs: Runs) -> Iterator[Beside]:
        for dimension, evaluations, mine in _by_dimension(runs):
            marks = sorted({n for name, d, _, n in recorded_medians() if (name, d) == (method, dimension)})
            for mark in (n for n in marks if n <= evaluations):
                found = {f: median_at(some, mark) for f, some in mine.items()}
                ours = [max(value, FLOOR) for value in found.values() if value is not None]
                theirs = [max(recorded_medians()[method, dimension, f, mark], FLOOR) for f in found]
                yield by_ratio(method, f"{dimension}-D, {mark}", theirs, ours, groups=[group_of(f) for f in mine])

    return beside


def _run_bbob(path: Path, extent: Extent) -> None:
    for dimension, instances, evaluations in LENGTHS:
        jobs = bbob.jobs(["GSSBO"], [dimension], extent.of(FUNCTIONS), extent.seeds(instances), evaluations)
        bbob.run(path, jobs, extent.jobs)


def _hits(runs: Runs) -> Iterator[Beside]:
    """Shares of targets hit on the instances that numbo ran."""
    for method in biobj.METHODS:
        for dimension, mine in _by(runs, "dimension").items():
            ours = {f: np.mean([row["hit"] for row in some]) for f, some in _by(mine, "function").items()}
            instances = sorted({row["instance"] for row in mine})
            record = biobj.recorded()[method, dimension]
            theirs = np.array([record[f - 1, [i - 1 for i in instances]].mean() for f in ours])
            groups = [pair_of(f) for f in ours]
            yield on_tasks(method, f"{dimension}-D", theirs, list(ours.values()), larger=True, groups=groups)


def _run_biobj(path: Path, extent: Extent) -> None:
    jobs = [("GSSBO", d, f, 1, biobj.BUDGET) for d in biobj.DIMENSIONS for f in extent.of(biobj.FUNCTIONS)]
    biobj.run(path, jobs, extent.jobs)


ARCHIVE = "[COCO's archive](https://numbbo.github.io/data-archive), fcf61deb, BSD 3-clause"
_OF_BBOB: dict[str, Any] = {
    "file": "bbob",
    "ran": "30 November 2026",
    "algorithm": "GSSBO",
    "mine": lambda row: row["sampler"] == "GSSBO",
    "ask": _ask,
    "run": _run_bbob,
    "ratio": True,
}


def _of_archive(method: str, by: str, instances: int) -> Record:
    return Record(
        name=f"BBOB, {method}",
        by=by,
        source=ARCHIVE,
        protocol=f"24 functions, 10-D to 1,000 and 20-D to 3,000 evaluations; {instances} instances, of numbo three"
        " and two",
        figure="median best value, in the middle function",
        beside=_medians(method),
        **_OF_BBOB,
    )


COCO_RECORDS = [
    Record(
        name="BBOB, lq-CMA-ES",
        by="Hansen 2019",
        source="[lq-cma](https://github.com/CMA-ES/lq-cma), b5a3dea1, BSD 3-clause",
        protocol="the functions, of 24, whose recorded expected time is within the evaluations of numbo, 1,000 in 10-D"
        " and 3,000 in 20-D; 15 instances, of numbo three and two",
        figure="expected evaluations, in the middle function",
        beside=_times,
        **_OF_BBOB,
    ),
    _of_archive("DTS-CMA-ES", "Pitra, Bajer, Repický, Holeňa 2017", 15),
    _of_archive("MATSuMoTo", "Brockhoff, Bischl, Wagner 2015", 15),
    _of_archive("R-SHADE", "Tanabe, Fukunaga 2015", 15),
    _of_archive("DIRECT", "Pošík 2009", 5),
    Record(
        name="bbob-biobj",
        by="Tanabe 2022",
        source=ARCHIVE,
        protocol="55 pairs of functions, 20 evaluations a dimension, first instance; groups are pairs of groups",
        figure="share of 51 targets hit",
        file="biobj",
        ran="29 November 2026",
        algorithm="GSSBO",
        beside=_hits,
        mine=lambda row: row["sampler"] == "GSSBO" and row["budget"] == biobj.BUDGET,
        ask=_ask,
        run=_run_biobj,
    ),
]

RECORDS = [*HPOB_RECORDS, *TABLE_RECORDS, *COCO_RECORDS]

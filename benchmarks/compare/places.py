"""Numbers and tables from the files in ``benchmarks/results``, as the places of pages ask for them.

A page says where a number or a table goes:

    <!-- results: rank suite GSSBO 1000 -->1.2<!-- end -->

What stands in between is written by ``python -m benchmarks pages`` (`benchmarks.compare.pages`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.compare import stopping, transfer
from benchmarks.compare.bbob_report import longest, target_table, time_table
from benchmarks.compare.hpob import CHECKPOINTS, mean_regret, regrets
from benchmarks.compare.interval_report import intervals
from benchmarks.compare.ranks import Runs, bootstrap, finished, grouped
from benchmarks.compare.records import record_count
from benchmarks.compare.study_report import study_table
from benchmarks.markdown import lines, read
from benchmarks.pictures import NAMES
from benchmarks.problems.hpob import METHODS, tasks
from benchmarks.problems.suites import SUITES
from benchmarks.storage import load

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PLACE = re.compile(r"(<!-- results: ([^>]*?) -->).*?(<!-- end -->)", flags=re.DOTALL)

#: Regrets that differ by less are equal.
EQUAL = 1e-9
Table: TypeAlias = list[list[str]]


#: Problems that are hyperparameter or architecture searches, recorded or run; the others are functions.
SEARCHES = re.compile("hpobench-|hpolib-|nas-|diabetes-|svm-|boosting-|forest-|network|elastic-|pipeline-")


@cache
def runs(name: str) -> Runs:
    """The runs of a results file, by problem and sampler."""
    return grouped(load(RESULTS / f"{name.split('/')[0]}.jsonl"))


@cache
def rows(name: str) -> list[dict[str, str]]:
    """The rows of a results file."""
    with (RESULTS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def ask_times(which: str = "median_ms") -> dict[tuple[str, int], float]:
    """The times of a suggestion, by sampler and number of trials."""
    return {(row["sampler"], int(row["trials"])): float(row[which]) for row in rows("ask-time")}


def problems_of(name: str) -> list[str]:
    """The problems of a results file, as they come; of ``NAME/searches`` and ``NAME/functions`` those of that kind."""
    name, _, kind = name.partition("/")
    found = list(dict.fromkeys(row["problem"] for row in load(RESULTS / f"{name}.jsonl")))
    if not kind:
        return found
    return [problem for problem in found if bool(SEARCHES.match(problem)) == (kind == "searches")]


def samplers_of(name: str) -> list[str]:
    """The samplers of a results file, in the order of `NAMES`."""
    known = {sampler for _, sampler in runs(name)}
    return [sampler for sampler in NAMES if sampler in known]


@cache
def mean_ranks(name: str, trials: int) -> dict[str, tuple[float, float, float]]:
    """Mean rank and its 90 % interval, of the samplers that finished all problems with this number of trials."""
    names = finished(runs(name), samplers_of(name), problems_of(name), trials)
    found = bootstrap(runs(name), names, problems_of(name), trials)
    return {
        sampler: (m, low, high) for sampler, m, low, high in zip(names, *map(np.ndarray.tolist, found), strict=True)
    }


def milliseconds(value: float) -> str:
    """A time, with two digits."""
    if value >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def markdown(table: Table) -> str:
    """A table, of which the first row is the head."""
    return "\n\n" + "\n".join(lines(table)) + "\n\n"


def bold(texts: list[str], values: list[float]) -> list[str]:
    """The ``texts``, those that say the same as that of the smallest of the ``values`` in bold."""
    best = texts[int(np.nanargmin(values))]
    return [f"**{text}**" if text == best else text for text in texts]


def number(value: float) -> str:
    """A regret, with two digits; it is zero below 1e-9."""
    if value < 1e-9:
        return "0"
    if not 1e-4 <= value < 1e6:
        return f"{value:.1e}"
    return np.format_float_positional(float(f"{value:.2g}"), trim="-")


# -- single numbers ------------------------------------------------------------------------------------------------


def rank(name: str, sampler: str, trials: str) -> str:
    """The mean rank of a sampler."""
    return f"{mean_ranks(name, int(trials))[sampler][0]:.1f}"


def unseen_rank(sampler: str, trials: str) -> str:
    """The mean rank of a sampler of the suite on the problems that played no part when settings were chosen."""
    found = {key: some for key, some in runs("suite").items() if key[0] in SUITES["unseen"]}
    names = finished(found, samplers_of("suite"), SUITES["unseen"], int(trials))
    means, _, _ = bootstrap(found, names, SUITES["unseen"], int(trials))
    return f"{means[names.index(sampler)]:.1f}"


def count(name: str) -> str:
    """The number of problems."""
    return str(len(problems_of(name)))


def seeds(name: str, sampler: str) -> str:
    """The smallest number of seeds of a sampler on a problem."""
    return str(min(len(found) for (_, s), found in runs(name).items() if s == sampler))


def ask(sampler: str, trials: str) -> str:
    """The median time of a suggestion on Levy's function in 20 dimensions."""
    return milliseconds(ask_times()[sampler, int(trials)])


def asks(name: str, sampler: str, trials: str) -> str:
    """The median time of a suggestion, from the fastest problem to the slowest."""
    medians = [
        np.median([row["ask_ms"][trials] for row in found])
        for (_, s), found in runs(name).items()
        if s == sampler and all(trials in row["ask_ms"] for row in found)
    ]
    low = milliseconds(min(medians)).removesuffix(" ms")
    high = milliseconds(max(medians))
    return f"{low} to {high}"


def asked_ms(name: str, sampler: str, trials: str) -> float:
    found = [row["ask_ms"][trials] for (_, s), some in runs(name).items() if s == sampler for row in some]
    return float(np.median(found))


def asked(name: str, sampler: str, trials: str) -> str:
    """The median time of a suggestion, over the problems."""
    return milliseconds(asked_ms(name, sampler, trials))


def ahead(name: str, sampler: str, other: str, trials: str) -> str:
    """On how many problems a sampler is ahead of another one, and behind, by the median best regret."""
    both = [p for p in problems_of(name) if len(finished(runs(name), [sampler, other], [p], int(trials))) == 2]
    if not both:
        return "-"
    found = [[np.median([r["best"][trials] for r in runs(name)[p, s]]) for s in (sampler, other)] for p in both]
    gaps = np.array(found) @ (-1.0, 1.0)
    return f"{np.sum(gaps > EQUAL)} : {np.sum(gaps < -EQUAL)}"


# -- tables --------------------------------------------------------------------------------------------------------


def rank_table(name: str, *marks: str) -> str:
    """Mean ranks at numbers of trials, with 90 % intervals."""
    samplers = [s for s in samplers_of(name) if any(s in mean_ranks(name, int(t)) for t in marks)]
    table = [["trials", *(NAMES[s] for s in samplers)]]
    for trials in marks:
        found = mean_ranks(name, int(trials))
        values = [found[s][0] if s in found else np.nan for s in samplers]
        spans = {s: f"{mean:.1f} ({low:.1f}\u2013{high:.1f})" for s, (mean, low, high) in found.items()}
        texts = [spans.get(s, "-") for s in samplers]
        table.append([trials, *bold(texts, values)])
    return markdown(table)


def ahead_table(name: str, sampler: str, *marks: str) -> str:
    """On how many problems a sampler is ahead of each other one, and behind, by the median best regret."""
    others = [s for s in samplers_of(name) if s != sampler]
    table = [["beside", *(f"after {number(int(trials))}" for trials in marks)]]
    table += [[NAMES[other], *(ahead(name, sampler, other, trials) for trials in marks)] for other in others]
    return markdown(table)


def bbob_table(dimension: str, target: str = "all") -> str:
    """Expected running times to a target on COCO's functions, or to all, beside recorded ones."""
    rows = longest([row for row in load(RESULTS / "bbob.jsonl") if row["dimension"] == int(dimension)])
    lines = target_table(rows, int(dimension)) if target == "all" else time_table(rows, int(dimension), float(target))
    return "\n".join(["", "", *lines, "", ""])


def regret_table(name: str, trials: str) -> str:
    """The median best regret on each problem."""
    problems = problems_of(name)
    samplers = finished(runs(name), samplers_of(name), problems, int(trials))
    table = [["problem", *(NAMES[s] for s in samplers)]]
    for problem in problems:
        values = [float(np.median([r["best"][trials] for r in runs(name)[problem, s]])) for s in samplers]
        texts = [number(value) for value in values]
        table.append([problem, *bold(texts, values)])
    return markdown(table)


def spread_table(name: str, trials: str) -> str:
    """The median best regret on each problem, and the smallest and the largest of the seeds."""
    samplers = samplers_of(name)
    table = [["problem", *(NAMES[s] for s in samplers)]]
    for problem in problems_of(name):
        found = [[r["best"][trials] for r in runs(name)[problem, s]] for s in samplers]
        values = [float(np.median(some)) for some in found]
        texts = [
            f"{number(v)} ({number(min(some))} - {number(max(some))})" for v, some in zip(values, found, strict=True)
        ]
        table.append([problem, *bold(texts, values)])
    return markdown(table)


def failure_table(name: str, trials: str) -> str:
    """The median best regret on each problem and, in brackets, the number of trials that failed."""
    samplers = samplers_of(name)
    table = [["problem", *(NAMES[s] for s in samplers)]]
    for problem in problems_of(name):
        values = []
        texts = []
        for sampler in samplers:
            found = runs(name)[problem, sampler]
            values.append(float(np.median([r["best"][trials] for r in found])))
            failed = np.median([r.get("failed", {}).get(trials, 0) for r in found])
            texts.append(number(values[-1]) + (f" ({failed:.0f})" if failed else ""))
        table.append([problem, *bold(texts, values)])
    return markdown(table)


def ask_table() -> str:
    """The median time of a suggestion, and the mean, against the number of trials."""
    times = ask_times()
    means = ask_times("mean_ms")
    marks = sorted({trials for _, trials in times})
    shown = {at: f"{milliseconds(times[at])} ({milliseconds(means[at])})" for at in times}
    known = [sampler for sampler in NAMES if any(s == sampler for s, _ in times)]
    body = [[NAMES[sampler], *(shown.get((sampler, t), "-") for t in marks)] for sampler in known]
    return markdown([["sampler", *(f"{t:,}" for t in marks)], *body])


def running(storage: str, sampler: str, count: str, which: str = "ask") -> str:
    """The time of a suggestion with ``count`` trials running, the median of seeds: ``ask`` for all of it, or ``apart``
    from the storage."""
    known = [r for r in rows("running") if [r["storage"], r["sampler"], r["running"]] == [storage, sampler, count]]
    ask, stored = np.median([(float(row["ask_ms"]), float(row["storage_ms"])) for row in known], axis=0)
    return milliseconds({"ask": ask, "apart": ask - stored}[which])


def running_table() -> str:
    """The time of a suggestion, against the number of running trials; in brackets, without that of the storage."""
    heads = {
        "GSSBO, in memory": ("memory", "GSSBO"),
        "TPE, in memory": ("memory", "TPE"),
        "GSSBO, PostgreSQL": ("PostgreSQL", "GSSBO"),
        "the same, rare collections": ("PostgreSQL", "GSSBO-rarely"),
        "TPE, PostgreSQL": ("PostgreSQL", "TPE"),
    }
    table = [["running", *heads]]
    for count in sorted({row["running"] for row in rows("running")}, key=int):
        shown = [f"{running(*case, count)} ({running(*case, count, 'apart')})" for case in heads.values()]
        table.append([f"{int(count):,}", *shown])
    return markdown(table)


def ray_table() -> str:
    """The cost of a searcher to Ray Tune's control loop."""
    suggest = {(row["searcher"], row["trials"]): float(row["median_ms"]) for row in rows("ray-scale")}
    table = [["searcher", "1,000 trials", "10,000 trials", "real trials, in all"]]
    for row in rows("ray-real"):
        name = row["searcher"]
        times = [milliseconds(suggest[name, t]) if (name, t) in suggest else "-" for t in ("1000", "10000")]
        table.append([name, *times, f"{float(row['searcher_seconds']):.1f} s for {int(row['trials']):,}"])
    return markdown(table)


def ray_workers_table() -> str:
    """The cost of GSSBOSearch for numbers of simulated workers."""
    table = [["workers", "trials", "suggestion", "completion", "processor time of a trial", "alike"]]
    for row in rows("ray-workers"):
        if row["searcher"] == "GSSBOSearch" and row["trials"] in ("1000", "3000"):
            times = [float(row[key]) for key in ("median_ms", "complete_ms", "cpu_ms")]
            shown = [milliseconds(time) if time == time else "-" for time in times]
            table.append([f"{int(row['workers']):,}", f"{int(row['trials']):,}", *shown, row["alike"]])
    return markdown(table)


def ray_cluster_table() -> str:
    """Runs on a cluster that loses nodes."""
    head = ["searcher", "trials", "at once", "nodes lost", "trials run again", "trials lost", "alike"]
    table = [[*head, "time in the searcher", "`suggest`, longest", "`on_trial_complete`, longest"]]
    for row in rows("ray-cluster"):
        counts = [row[key] for key in ("trials", "at_once", "nodes_removed", "restarts", "lost", "alike")]
        share = f"{float(row['searcher_share']):.1%}"
        times = [
            ", ".join(milliseconds(float(row[f"{method}_{which}"])) for which in ("ms", "longest_ms"))
            for method in ("suggest", "complete")
        ]
        table.append([row["searcher"], *counts, share, *times])
    return markdown(table)


def _ray_loop() -> dict[str, float]:
    """Milliseconds of Tune's control loop for a trial: in GSSBOSearch with 1,000 workers, and in Tune itself."""
    found = {(row["searcher"], row["workers"], row["trials"]): row for row in rows("ray-workers")}
    real = next(row for row in rows("ray-real") if row["searcher"] == "GSSBOSearch")
    tune = 1e3 * (float(real["run_seconds"]) - float(real["searcher_seconds"])) / int(real["trials"])
    return {"searcher": float(found["GSSBOSearch", "1000", "3000"]["cpu_ms"]), "tune": tune}


def ray_loop(part: str) -> str:
    """The time of Tune's control loop for a trial in ``searcher``, in ``tune``, or in ``all``."""
    parts = _ray_loop()
    return milliseconds(parts[part] if part in parts else sum(parts.values()))


def ray_most() -> str:
    """The number of trials per second at which Tune's control loop is always busy."""
    return f"{1e3 / sum(_ray_loop().values()):.0f}"


def ray_load_table() -> str:
    """What share of its time Tune's control loop is busy, by number of workers and duration of a trial."""
    loop = sum(_ray_loop().values()) / 1e3
    durations = {"10 seconds": 10, "1 minute": 60, "10 minutes": 600, "1 hour": 3600}

    def cell(rate: float) -> str:
        busy = rate * loop
        return f"{number(rate)} per second, " + (f"{busy:.0%}" if busy > 0.1 else f"{busy:.1%}")

    table = [["workers", *(f"trials of {name}" for name in durations)]]
    for workers in (100, 1000, 10_000):
        table.append([f"{workers:,}", *(cell(workers / seconds) for seconds in durations.values())])
    return markdown(table)


def _on_arms(name: str, problem: str, horizon: str, initial: str = "0") -> dict[str, list[dict[str, Any]]]:
    """Runs on explicit arms, by algorithm."""
    known: dict[str, list[dict[str, Any]]] = {}
    for row in load(RESULTS / f"{name}.jsonl"):
        if (row["problem"], row["T"], row["initial"]) == (problem, int(horizon), int(initial)):
            known.setdefault(row["algorithm"], []).append(row)
    return known


def arms_table(name: str, problem: str, horizon: str, initial: str = "0") -> str:
    """Runs on explicit arms, medians over seeds."""
    known = _on_arms(name, problem, horizon, initial)
    table = [["algorithm", "regret ratio", "seconds", "batches", "seeds"]]
    order = sorted(known, key=lambda a: float(np.median([r["seconds"] for r in known[a]])))
    for algorithm in order:
        found = known[algorithm]
        ratio, seconds, batches = (float(np.median([r[key] for r in found])) for key in ("ratio", "seconds", "batches"))
        table.append([algorithm, f"{ratio:.3g}", f"{seconds:.2g}", f"{batches:,.0f}", str(len(found))])
    return markdown(table)


def arms_seconds_table(name: str, horizon: str, until: str, *problems: str) -> str:
    """Seconds of the algorithms for the first evaluations, medians over seeds."""
    known = [_on_arms(name, problem, horizon) for problem in problems]
    table = [["algorithm", *problems]]
    for algorithm in sorted(set.intersection(*map(set, known))):
        of_each = [[next(s for t, *_, s in r["curve"] if t >= int(until)) for r in found[algorithm]] for found in known]
        table.append([algorithm, *(f"{np.median(spent):.2g}" for spent in of_each)])
    return markdown(table)


def speed_table() -> str:
    """The BBKB authors' code against ours."""
    known: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in load(RESULTS / "bandits-speed.jsonl"):
        known.setdefault((row["algorithm"], row["T"]), []).append(row)
    table = [["algorithm", "evaluations", "seconds, theirs", "ours", "ratio", "regret ratio, theirs", "ours"]]
    for (algorithm, horizon), mine in known.items():
        if theirs := known.get((f"reference-{algorithm}", horizon)):
            seconds = [float(np.median([r["seconds"] for r in found])) for found in (theirs, mine)]
            regrets = [float(np.median([r["ratio"] for r in found])) for found in (theirs, mine)]
            times = [f"{s:.2g}" for s in seconds]
            own = {row["seed"]: row["seconds"] for row in mine}
            ratio = np.median([row["seconds"] / own[row["seed"]] for row in theirs if row["seed"] in own])
            table.append([algorithm, f"{horizon:,}", *times, f"{ratio:.0f}", *(f"{r:.2g}" for r in regrets)])
    return markdown(table)


def cells(name: str) -> list[list[str]]:
    """The rows of all tables in a results file, heads among them."""
    return [row for table in tables(name) for row in table]


def tables(name: str) -> list[Table]:
    """The tables of a results file."""
    return read((RESULTS / f"{name}.md").read_text())


def report_table(name: str, which: str, *patterns: str) -> str:
    """A table of a results file, the first being 0: all rows, or those whose beginning matches one of the patterns."""
    head, *rest = tables(name)[int(which)]
    kept = [row for row in rest if not patterns or any(fnmatch(" ".join(row), f"{start}*") for start in patterns)]
    return markdown([head, *([NAMES.get(row[0], row[0]), *row[1:]] for row in kept)])


def calibration_table(trials: str, *algorithms: str) -> str:
    """Whether intervals of 90 % hold, and the mean error."""
    table = [["", "noise", "coverage, even", "error, even", "coverage, near", "error, near"]]
    for row in cells("calibration"):
        if row[0] in algorithms and row[2] == trials and len(row) == 7:
            noise = "none" if float(row[1]) == 0.0 else f"{float(row[1]):.0%}"
            even, near = (cell.split(" ")[0] for cell in (row[3], row[5]))
            table.append([NAMES.get(row[0], "S-BPE"), noise, even, row[4], near, row[6]])
    return markdown(table)


def first_use(version: str, takes: str) -> str:
    """The longest wait for a suggestion with an empty cache; ``takes`` is the duration of a trial in seconds."""
    version = version.replace("-", " ").replace("now ", "now, ")
    found = [row[5] for row in cells("first-use") if row[:3] == [version, f"{takes} s", "empty"]]
    return f"{float(found[0].split(' ')[0]):.0f} seconds"


def behind(search: str, width: str, name: str = "batches", *asynchronous: str) -> str:
    """By how many decades a search of this width is behind GSSBO one at a time, in the median."""
    head, *rest = cells(name)
    found = next(row for row in rest if row[0].startswith("behind"))
    return f"{float(found[head.index(' '.join([f'{search}, {width}', *asynchronous]))]):.1f}"


def hpob(method: str, trials: str) -> str:
    """The mean regret of a method on HPO-B."""
    return f"{mean_regret(_hpob()[method], tasks(), int(trials))[0]:.3f}"


def hpob_seeds() -> str:
    """The smallest number of seeds of GSSBO on a task of HPO-B."""
    return str(min(len(found) for found in _hpob()["GSSBO"].values()))


def hpob_best(trials: str) -> str:
    """The smallest mean regret of the methods that others ran on HPO-B."""
    return min(hpob(method, trials) for method in METHODS)


def hpob_table() -> str:
    """Mean regrets on HPO-B, with 90 % intervals."""
    names = tasks()
    marks = CHECKPOINTS
    head = ["trials", *(f"{m}, recorded" if m in METHODS else m for m in _hpob())]
    table = [head]
    for trials in marks:
        spans = [mean_regret(found, names, trials) for found in _hpob().values()]
        texts = [f"{mean:.3f}<br>({low:.3f}\u2013{high:.3f})" for mean, low, high in spans]
        table.append([str(trials), *bold(texts, [mean for mean, _, _ in spans])])
    return markdown(table)


def transfer_table(kind: str) -> str:
    """Mean regrets with earlier studies and without, and of recorded methods."""
    return markdown(transfer.table(RESULTS / "transfer.jsonl", kind))


def stopping_table(which: str) -> str:
    """Whether forecasts come true (``"calibration"``), or what rules save and lose (``"savings"``)."""
    return markdown(getattr(stopping, which)(load(RESULTS / "stopping.jsonl")))


@cache
def _hpob() -> dict[str, Any]:
    return regrets(RESULTS / "hpob.jsonl")


def batch_table() -> str:
    """Many points at once: the table of the results file."""
    return markdown(cells("batches"))


def survival_table(kernel: str) -> str:
    """The optimum in the race of S-BPE: the first columns of the results file."""
    head, *rest = cells("survival")
    return markdown([[head[0], *head[2:7]], *([row[0], *row[2:7]] for row in rest if row[1] == kernel)])


@cache
def _paper(experiment: str) -> dict[str, list[dict[str, Any]]]:
    """The figures of an experiment on a paper, by case; one for each seed."""
    known: dict[str, list[dict[str, Any]]] = {}
    for row in load(RESULTS / "papers.jsonl"):
        if row["experiment"] == experiment:
            known.setdefault(row["case"], []).append(row["figures"])
    return known


def paper(experiment: str, case: str, figure: str, how: str = "median") -> str:
    """A figure of an experiment on a paper: the ``median``, ``min``, ``max`` or ``mean`` over seeds.

    Of what holds or does not hold, it is the share of the seeds where it does.
    """
    found = [figures[figure] for figures in _paper(experiment)[case] if figure in figures]
    if all(isinstance(value, bool) for value in found):
        return f"{np.mean(found):.0%}"
    value = float(getattr(np, how)(found))
    return f"{value:,.0f}" if value >= 100 else ("-" if value < 0 else "") + number(abs(value))


def paper_table(experiment: str, cases: str, *figures: str) -> str:
    """Figures of the cases that match a pattern; ``figure:max`` is the largest over seeds, and so on."""
    table = [["case", *(figure.replace("-", " ").replace(":", ", ") for figure in figures)]]
    for case in _paper(experiment):
        if fnmatch(case, cases):
            texts = [paper(experiment, case, *figure.split(":")) for figure in figures]
            table.append([case.replace(",", ", ").replace("=", " = "), *texts])
    return markdown(table)


#: What may stand in a place, with its arguments.
FIGURES: dict[str, Callable[..., str]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        rank,
        unseen_rank,
        count,
        seeds,
        ask,
        asks,
        asked,
        ahead,
        rank_table,
        ahead_table,
        bbob_table,
        regret_table,
        spread_table,
        failure_table,
        ask_table,
        running,
        running_table,
        ray_table,
        ray_workers_table,
        ray_cluster_table,
        ray_loop,
        ray_most,
        ray_load_table,
        arms_table,
        arms_seconds_table,
        speed_table,
        batch_table,
        report_table,
        survival_table,
        paper,
        paper_table,
        calibration_table,
        intervals,
        first_use,
        behind,
        hpob,
        hpob_best,
        hpob_seeds,
        hpob_table,
        record_count,
        transfer_table,
        stopping_table,
        study_table,
    )
}


def rendered(text: str) -> str:
    """A page with all places filled.

    Raises:
        ValueError: if a place asks for what is not there.
    """

    def fill(place: re.Match[str]) -> str:
        name, *arguments = place[2].split()
        if name not in FIGURES:
            raise ValueError(f"A place must ask for one of {', '.join(FIGURES)}; got {place[2]!r}.")
        return place[1] + FIGURES[name](*arguments) + place[3]

    return PLACE.sub(fill, text)

"""What pages say in words about the files in ``benchmarks/results``, as conditions that are computed.

A page has the condition of a sentence behind it, in a comment:

    HEBO leads for 20 trials. <!-- holds: first few HEBO 10 20 -->

``python -m benchmarks pages`` names those that do not hold (any longer). Ranks are mean ranks, samplers are named as in
`benchmarks.samplers.registry`, and marks are numbers of trials.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatch

import numpy as np

from benchmarks.compare import places
from benchmarks.compare.ranks import finished
from benchmarks.compare.records import record_count
from benchmarks.problems.hpob import METHODS

CONDITION = re.compile(r"<!-- holds: ([^>]*?) -->")


def first(name: str, sampler: str, *marks: str) -> bool:
    """A sampler has the best rank at each mark."""
    return all(min(_means(name, mark), key=_means(name, mark).__getitem__) == sampler for mark in marks)


def last(name: str, sampler: str, *marks: str) -> bool:
    """A sampler has the worst rank at each mark."""
    return all(max(_means(name, mark), key=_means(name, mark).__getitem__) == sampler for mark in marks)


def before(name: str, sampler: str, other: str, *marks: str) -> bool:
    """A sampler has a better rank than another one at each mark."""
    return all(_means(name, mark)[sampler] < _means(name, mark)[other] for mark in marks)


def level(name: str, sampler: str, other: str, *marks: str) -> bool:
    """The rank of each of two samplers is in the interval of the other one, at each mark."""
    for mark in marks:
        (mine, low, high), (its, its_low, its_high) = (places.mean_ranks(name, int(mark))[s] for s in (sampler, other))
        if not (low <= its <= high and its_low <= mine <= its_high):
            return False
    return True


def behind(name: str, sampler: str, other: str, mark: str, *problems: str) -> bool:
    """These are the problems on which a sampler is behind another one, by the median best regret."""
    return set(problems) == {p for p in places.problems_of(name) if _gap(name, p, sampler, other, mark) > places.EQUAL}


def leads(name: str, sampler: str, mark: str, *problems: str) -> bool:
    """These are the problems on which a sampler is ahead of all others that came to the mark."""
    return set(problems) == {
        problem
        for problem in places.problems_of(name)
        if (others := _others(name, problem, sampler, mark))
        and all(_gap(name, problem, sampler, other, mark) < -places.EQUAL for other in others)
    }


def more(name: str, sampler: str, other: str, *marks: str) -> bool:
    """A sampler is ahead of another one on more problems than it is behind, at each mark."""
    counts = [places.ahead(name, sampler, other, mark).split(" : ") for mark in marks]
    return all(int(ahead) > int(behind) for ahead, behind in counts)


def less(name: str, which: str, row: str, other: str, *columns: str) -> bool:
    """In a table of a results file, a row has a smaller number than another one in each column.

    Rows are named by a pattern of their beginning, as in `places.report_table`; of several numbers in a cell, the last
    one counts.
    """
    mine, its = (_numbers(name, which, some) for some in (row, other))
    return all(mine[column] < its[column] for column in columns)


def beaten(name: str, which: str, sampler: str, other: str, column: str, *problems: str) -> bool:
    """These are the problems of a results file's table in whose column a sampler has a larger number than another one.

    A dash is larger than all numbers. Problems on which one of them did not run are left out.
    """
    head, *rest = places.tables(name)[int(which)]
    cells = {(row[0], row[1]): row[head.index(column)] for row in rest}
    values = {key: np.inf if cell == "-" else float(cell) for key, cell in cells.items() if cell}
    both = {problem for problem, _ in values if {(problem, sampler), (problem, other)} <= values.keys()}
    return set(problems) == {problem for problem in both if values[problem, sampler] > values[problem, other]}


def lowest(method: str, *marks: str) -> bool:
    """A method has the smallest mean regret on HPO-B at each mark."""
    known = ("GSSBO", "BKB", "BBKB", *METHODS)
    return all(min(known, key=lambda other: float(places.hpob(other, mark))) == method for mark in marks)


def recorded(word: str, count: str) -> bool:
    """Of so many published records, a word is true."""
    return record_count(word) == count


def _means(name: str, mark: str) -> dict[str, float]:
    return {sampler: mean for sampler, (mean, _, _) in places.mean_ranks(name, int(mark)).items()}


def _others(name: str, problem: str, sampler: str, mark: str) -> list[str]:
    known = finished(places.runs(name), places.samplers_of(name), [problem], int(mark))
    return [other for other in known if other != sampler] if sampler in known else []


def _gap(name: str, problem: str, sampler: str, other: str, mark: str) -> float:
    """By how much a sampler is behind another one on a problem; not a number if one of them did not come so far."""
    runs = places.runs(name)
    if len(finished(runs, [sampler, other], [problem], int(mark))) < 2:
        return np.nan
    mine, its = (np.median([row["best"][mark] for row in runs[problem, s]]) for s in (sampler, other))
    return float(mine - its)


def _numbers(name: str, which: str, pattern: str) -> dict[str, float]:
    """The numbers of the only row that matches a pattern, by column; of several in a cell, the last one."""
    head, *rest = places.tables(name)[int(which)]
    (row,) = (row for row in rest if fnmatch(" ".join(row), f"{pattern} *"))
    found = {column: re.findall(r"[\d.]+", cell) for column, cell in zip(head, row, strict=True)}
    return {column: float(numbers[-1]) for column, numbers in found.items() if numbers}


#: What may be said, with its arguments.
CONDITIONS: dict[str, Callable[..., bool]] = {
    f.__name__: f for f in (first, last, before, level, behind, leads, more, less, beaten, lowest, recorded)
}


def failing(text: str) -> list[str]:
    """The conditions of a page that do not hold.

    Raises:
        ValueError: if a condition is not one of these.
    """

    def holds(condition: str) -> bool:
        name, *arguments = condition.split()
        if name not in CONDITIONS:
            raise ValueError(f"A condition must be one of {', '.join(CONDITIONS)}; got {condition!r}.")
        return CONDITIONS[name](*arguments)

    return [condition for condition in CONDITION.findall(text) if not holds(condition)]

"""What others have recorded, in one table: each published record beside numbo, and who is ahead.

The records are those of `benchmarks.compare.record_list`. Their figures are in ``benchmarks/data``; numbo's runs are
those of other commands, whose results files are read, and what is missing in them is run first. Gaps have 90 %
intervals by resampling tasks and, where tasks are related, by resampling groups of them. Numbo is ahead where all
intervals of a gap are above 0, behind where all are below, and level otherwise. Runs on COCO's functions need ``pip
install coco-experiment``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.arguments import add_name, add_names, results
from benchmarks.compare.beside import AHEAD, BEHIND, LEVEL, Beside
from benchmarks.compare.record_list import RECORDS, Extent, Record
from benchmarks.markdown import lines
from benchmarks.markdown import read as read_tables
from benchmarks.storage import RESULTS

#: Where quick runs are.
QUICK = Path(__file__).parents[2] / "build" / "records"

INTRO = """\
Each line of the first table is a published record. The method beside it is the strongest one that was recorded, at the
last mark. *Difference* is by how much numbo is better: of the figures or, with "times", the factor by which numbo's is
smaller, in the middle one of the tasks. Intervals of 90 % are by resampling tasks, or runs where there is only one
task, and groups of related tasks. Numbo is ahead or behind where all intervals agree, and level otherwise. *All marks*
counts all methods of a record at all marks. *ms* is the median time of one of numbo's suggestions."""
#: Heads of the columns that `gaps` fills.
GAPS = ("difference", "by tasks", "by groups")


class Line(NamedTuple):
    """A record, with what is compared, if there are runs of numbo."""

    record: Record
    found: list[Beside]
    ask: float | None
    seeds: str


def read(record: Record, folder: Path) -> Line:
    """What a record says beside the runs in a folder."""
    runs = record.runs(folder)
    asks = [ask for row in runs if (ask := record.ask(row)) is not None]
    kind = "instance" if runs and "instance" in runs[0] else "seed"
    known = len({row[kind] for row in runs})
    seeds = f"{known} {kind}{'' if known == 1 else 's'}"
    found = list(record.beside(runs)) if runs else []
    ask = float(np.median(asks)) if asks else None
    return Line(record, found, ask, seeds)


def strongest(found: Sequence[Beside]) -> Beside:
    """At the last mark, the method that is furthest ahead of numbo, or the least behind."""
    last = [one for one in found if one.mark == found[-1].mark]
    return min(last, key=lambda one: one.gap)


# -- texts -----------------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A figure, with three digits."""
    if not np.isfinite(value):
        return "-"
    if value == 0.0 or 1e-4 <= abs(value) < 1e6:
        return np.format_float_positional(float(f"{value:.3g}"), trim="-")
    return f"{value:.1e}"


def gaps(one: Beside, ratio: bool) -> list[str]:
    """A gap and its intervals."""

    def text(value: float) -> str:
        if not ratio:
            return f"{value:+.3g}"
        return number(10.0**value) if np.isfinite(value) else ("0" if value < 0.0 else "∞")

    unit = " times" if ratio else ""
    spans = [" to ".join(map(text, interval)) + unit for interval in (one.tasks, one.groups) if interval is not None]
    return [text(one.gap) + unit, *spans, *[""] * (2 - len(spans))]


def counted(found: Sequence[Beside]) -> str:
    """How often numbo is ahead, level and behind."""
    words = Counter(one.word for one in found)
    return ", ".join(f"{words[word]} {word}" for word in (AHEAD, LEVEL, BEHIND) if words[word])


def summary(of: Sequence[Line]) -> list[list[str]]:
    """The first table: a line for each record."""
    table = [["record", "figure", "beside", "recorded", "numbo", *GAPS, "ms", "word", "all marks"]]
    for line in of:
        one = strongest(line.found)
        name = f"{line.record.name}<br>{line.record.by}"
        cells = [name, line.record.figure, f"{one.method}, {one.mark}", number(one.theirs), number(one.ours)]
        ask = "" if line.ask is None else f"{line.ask:.1f}"
        table.append([*cells, *gaps(one, line.record.ratio), ask, one.word, counted(line.found)])
    return table


def better(of: Sequence[Line], *words: str) -> list[list[str]]:
    """Methods whose figure is better than numbo's, where the word is one of these."""
    table = [["record", "method", "at", "recorded", "numbo", *GAPS]]
    for line in of:
        for one in line.found:
            if one.gap < 0.0 and one.word in words:
                cells = [line.record.name, one.method, one.mark, number(one.theirs), number(one.ours)]
                table.append([*cells, *gaps(one, line.record.ratio)])
    return table


def sources(of: Sequence[Line]) -> list[list[str]]:
    """What the records are, and numbo's runs."""
    table = [["record", "from", "protocol", "numbo"]]
    for line in of:
        runs = f"`{line.record.algorithm}`, {line.seeds}, {line.record.ran}, `{line.record.file}.jsonl`"
        table.append([line.record.name, line.record.source, line.record.protocol, runs])
    return table


def details(line: Line) -> list[list[str]]:
    """All marks of a record."""
    table = [["method", "at", "recorded", "numbo", *GAPS, "tasks or runs", "groups", "word"]]
    for one in line.found:
        cells = [one.method, one.mark, number(one.theirs), number(one.ours), *gaps(one, line.record.ratio)]
        table.append([*cells, str(one.size), str(one.grouped or ""), one.word])
    return table


def write_report(path: Path, of: Sequence[Line]) -> None:
    """Write the tables of the records that have runs."""
    import numbo

    of = [line for line in of if line.found]
    everything = [one for line in of for one in line.found]
    rows = [strongest(line.found) for line in of]
    text = ["# Results: published records", "", "Written by `python -m benchmarks records`.", "", INTRO, ""]
    text += [
        f"numbo {numbo.__version__}: {counted(rows)} of {len(rows)} records; {counted(everything)} of all marks.",
        "",
    ]
    text += [*lines(summary(of)), "", "## Who is ahead of numbo", "", *lines(better(of, BEHIND)), ""]
    text += ["## Who is ahead by less than chance explains", "", *lines(better(of, LEVEL)), ""]
    text += ["## What was recorded, and how", "", *lines(sources(of)), ""]
    for line in of:
        text += [f"## {line.record.name}", "", *lines(details(line)), ""]
    path.write_text("\n".join(text).rstrip("\n") + "\n")


def record_count(word: str) -> str:
    """The number of records of which a word is true, in the results file."""
    head, *rest = read_tables((RESULTS / "records.md").read_text())[0]
    return str(sum(row[head.index("word")] == word for row in rest))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "records")
    add_names(parser, "--records", "record", [record.option for record in RECORDS])
    parser.add_argument("--jobs", type=int, default=2, help="number of runs at the same time")
    parser.add_argument("--quick", action="store_true", help="every fifth task, one seed; files are in build/records")
    parser.add_argument("--report", action="store_true", help="only the tables of the runs that there are")


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    folder = QUICK if a.quick else RESULTS
    chosen = [record for record in RECORDS if record.option in a.records]
    for record in chosen:
        if record.run is not None and not a.report:
            record.run(folder / f"{record.file}.jsonl", Extent(a.quick, a.jobs))
    path = results(a).with_suffix(".md")
    write_report(folder / path.name, [read(record, folder) for record in chosen])

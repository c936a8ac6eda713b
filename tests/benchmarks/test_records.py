"""Published records beside numbo: intervals by tasks and by groups, the word, and that each record can be read."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from benchmarks.compare import records
from benchmarks.compare.beside import (
    Beside,
    by_groups,
    by_ratio,
    by_runs,
    by_tasks,
    lower_median,
    mean,
    on_runs,
    on_tasks,
)
from benchmarks.compare.record_list import RECORDS, Extent, group_of, pair_of
from benchmarks.markdown import read as read_tables
from benchmarks.problems import redoxmers
from benchmarks.problems.bbob import FUNCTIONS
from benchmarks.processes import record_here
from benchmarks.storage import RESULTS

GAPS = np.array([0.3, -0.1, 0.7, 0.2, -0.4])


@cache
def known(name):
    """A record beside the runs in the results files."""
    (record,) = (record for record in RECORDS if record.name == name)
    return records.read(record, RESULTS)


def all_resamples(values, statistic):
    """The ends of the interval when every way to draw is taken once."""
    found = sorted(statistic(np.array(drawn)) for drawn in itertools.product(values, repeat=len(values)))
    return np.quantile(found, (0.05, 0.95))


@pytest.mark.parametrize("statistic", [mean, lower_median])
def test_an_interval_by_tasks_is_that_of_all_ways_to_draw_them(statistic):
    assert by_tasks(GAPS, statistic) == pytest.approx(all_resamples(GAPS, statistic), abs=0.05)


def test_an_interval_by_groups_draws_each_with_all_of_its_tasks():
    groups = ["a", "b", "a", "c", "b"]
    members = {"a": [0.3, 0.7], "b": [-0.1, -0.4], "c": [0.2]}
    draws = itertools.product(members, repeat=3)
    found = [np.mean(list(itertools.chain(*(members[name] for name in drawn)))) for drawn in draws]
    low, high = by_groups(GAPS, groups, mean)
    assert low == pytest.approx(np.quantile(found, 0.05), abs=0.05)
    assert high == pytest.approx(np.quantile(found, 0.95), abs=0.05)
    assert np.isclose(found, low).any()
    assert np.isclose(found, high).any()


def test_groups_of_one_task_are_tasks():
    alone = [f"task {k}" for k in range(len(GAPS))]
    assert by_groups(GAPS, alone, mean) == pytest.approx(by_tasks(GAPS, mean), abs=0.05)


def test_related_tasks_widen_an_interval_by_groups():
    gaps = np.repeat([0.5, -0.2, 0.3, -0.1], 20)
    groups = np.repeat(["a", "b", "c", "d"], 20).tolist()
    (low, high), (few, many) = by_tasks(gaps, mean), by_groups(gaps, groups, mean)
    assert few < low < high < many


def test_runs_of_both_are_resampled():
    ours, theirs = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 5.0])
    every = list(itertools.product(range(3), repeat=3))
    found = [ours[list(a)].mean() - theirs[list(b)].mean() for a in every for b in every]
    assert by_runs(ours, theirs) == pytest.approx(np.quantile(found, (0.05, 0.95)), abs=0.1)


def test_a_gap_is_positive_where_numbo_is_better():
    assert on_tasks("m", "1", np.array([0.4, 0.2]), [0.1, 0.1], larger=False).gap == pytest.approx(0.2)
    assert on_tasks("m", "1", 90.0, [92.0, 96.0], larger=True).gap == pytest.approx(4.0)
    assert on_runs("m", "1", [1.0, 1.0], [3.0], larger=True).gap == pytest.approx(2.0)
    assert on_runs("m", "1", [1.0, 1.0], [3.0], larger=False).gap == pytest.approx(-2.0)
    assert by_ratio("m", "1", [1000.0, 1000.0, 10.0], [10.0, 100.0, 10.0], groups=["a", "a", "b"]).gap == 1.0


def test_what_is_never_reached_is_infinitely_far_behind():
    found = by_ratio("m", "1", [100.0, 100.0, 100.0], [10.0, np.inf, np.inf], groups=["a", "b", "b"])
    assert found.gap == -np.inf
    assert found.tasks[0] == -np.inf
    assert records.gaps(found, ratio=True)[0] == "0 times"


@pytest.mark.parametrize(
    ("tasks", "groups", "word"),
    [
        ((0.1, 0.3), None, "ahead"),
        ((0.1, 0.3), (0.05, 0.4), "ahead"),
        ((0.1, 0.3), (-0.1, 0.4), "level"),
        ((-0.1, 0.3), (0.1, 0.4), "level"),
        ((0.0, 0.0), None, "level"),
        ((-0.3, -0.1), (-0.4, 0.1), "level"),
        ((-0.3, -0.1), (-0.4, -0.05), "behind"),
        ((-0.3, -0.1), None, "behind"),
    ],
)
def test_the_word_needs_all_intervals_on_one_side(tasks, groups, word):
    assert Beside("m", "1", 0.0, 0.0, 0.0, tasks, groups, 5).word == word


def test_the_strongest_method_is_that_of_the_last_mark():
    def one(method, mark, gap):
        return Beside(method, mark, 0.0, 0.0, gap, (gap, gap), None, 5)

    found = [one("a", "10", -5.0), one("a", "20", 0.5), one("b", "10", 1.0), one("b", "20", 0.2)]
    assert records.strongest(found).method == "b"
    assert records.counted(found) == "3 ahead, 1 behind"


def test_there_are_ten_records_by_five_authors():
    assert len(RECORDS) >= 10
    assert len({record.by for record in RECORDS}) >= 5
    assert len({record.option for record in RECORDS}) == len(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_each_record_can_be_read_beside_the_runs_that_there_are(record):
    line = known(record.name)
    assert line.found
    assert line.ask is None or line.ask > 0.0
    for one in line.found:
        assert np.isfinite(one.theirs)
        assert one.tasks[0] <= one.gap <= one.tasks[1] or one.size < 5
        assert one.size > 1


def test_a_record_of_one_number_is_compared_with_the_spread_of_numbo():
    (record,) = (record for record in RECORDS if record.name.endswith("HEBO's paper"))
    for one in known(record.name).found:
        assert one.tasks[1] - one.tasks[0] > 0.0
        assert one.gap == pytest.approx(one.ours - one.theirs)


def test_the_report_has_a_line_for_each_record(tmp_path):
    of = [known(record.name) for record in RECORDS]
    records.write_report(tmp_path / "records.md", of)
    text = (tmp_path / "records.md").read_text()
    first, behind, within, sources, *details = read_tables(text)
    assert [row[0].split("<br>")[0] for row in first[1:]] == [record.name for record in RECORDS]
    assert len(sources) == 1 + len(RECORDS)
    assert len(details) == len(RECORDS)
    assert all(float(row[5].split(" ")[0]) < 0.0 or row[5].endswith("times") for row in behind[1:] + within[1:])
    words = [row[-1] for table in details for row in table[1:]]
    assert sum(int(n) for row in first[1:] for n in row[-1].split() if n.isdigit()) == len(words)
    assert len(behind) - 1 == words.count("behind")


def test_records_without_runs_are_left_out(tmp_path):
    of = [records.read(record, tmp_path) for record in RECORDS]
    records.write_report(tmp_path / "records.md", of)
    assert "of 0 records" in (tmp_path / "records.md").read_text()


def test_what_is_missing_is_run_quickly_and_once(tmp_path, monkeypatch):
    made = []

    def made_up(path, function, todo, jobs):
        made.extend(todo)
        record_here(path, lambda sampler, seed: {"sampler": sampler, "seed": seed}, todo)

    monkeypatch.setattr("benchmarks.processes.record", made_up)
    (record,) = (record for record in RECORDS if record.file == "redoxmers")
    for _ in range(2):
        record.run(tmp_path / "redoxmers.jsonl", Extent(quick=True, jobs=1))
    assert made == [("GSSBO", 0), ("GSSBO", 1)]


def test_quick_runs_take_every_fifth_task_and_one_seed():
    assert Extent(quick=True, jobs=1).of(range(12)) == [0, 5, 10]
    assert Extent(quick=True, jobs=1).seeds(5) == 1
    assert Extent(quick=False, jobs=1).of(range(12)) == list(range(12))
    assert Extent(quick=False, jobs=1).seeds(5) == 5


def test_functions_of_coco_have_groups():
    assert {group_of(f) for f in FUNCTIONS} == {group_of(f) for f in (1, 6, 10, 15, 20)}
    pairs = [pair_of(f) for f in range(1, 56)]
    assert [f for f, pair in enumerate(pairs, 1) if pair == "0-0"] == [1, 2, 11]
    assert [f for f, pair in enumerate(pairs, 1) if pair == "2-3"] == [37, 38, 42, 43]
    assert len(set(pairs)) == 15


def test_redoxmers_are_all_combinations_of_four_categories():
    assert len(redoxmers.table()) == 1408 == np.prod([len(d.choices) for d in redoxmers.space().values()])
    values = np.array(list(redoxmers.table().values()))
    assert redoxmers.share(values) == 1.0
    assert redoxmers.share([[1.0, 1.0, 1.0]]) == 0.0
    means = {name: shares.mean(axis=0) for name, shares in redoxmers.recorded().items()}
    assert means["BoTorch"] == pytest.approx([0.547, 0.714, 0.931, 0.976, 0.990], abs=6e-4)
    assert means["Gryffin"] == pytest.approx([0.539, 0.636, 0.802, 0.894, 0.966], abs=6e-4)
    assert all((np.diff(shares, axis=1) >= 0.0).all() for shares in redoxmers.recorded().values())

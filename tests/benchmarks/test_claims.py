"""What README and documentation say in words about the results holds."""

from __future__ import annotations

import json

import pytest

from benchmarks.compare import claims, pages, places


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(places.ROOT)))
def test_what_a_page_says_holds(page):
    assert claims.failing(page.read_text()) == []


def test_a_condition_that_does_not_hold_is_named():
    text = "A. <!-- holds: first suite GSSBO 300 --> B. <!-- holds: first suite Random 100 300 -->"
    assert claims.failing(text) == ["first suite Random 100 300"]


def test_a_condition_that_nobody_knows():
    with pytest.raises(ValueError, match=r"A condition must be one of first, .*; got 'best suite'\."):
        claims.failing("<!-- holds: best suite -->")


@pytest.fixture
def three(monkeypatch, tmp_path):
    """Runs on three problems, of which TPE did not finish the last one."""
    values = {"a": {"GSSBO": 1.0, "TPE": 2.0}, "b": {"GSSBO": 4.0, "TPE": 3.0}, "c": {"GSSBO": 1.0, "TPE": 5.0}}
    rows = [
        {
            "problem": problem,
            "sampler": sampler,
            "seed": 0,
            "trials": 100,
            "best": dict.fromkeys(("50",) if (problem, sampler) == ("c", "TPE") else ("50", "100"), value),
        }
        for problem, by in values.items()
        for sampler, value in by.items()
    ]
    (tmp_path / "trio.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(places, "RESULTS", tmp_path)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("first trio GSSBO 50", True),
        ("first trio TPE 50", False),
        ("last trio TPE 50", True),
        ("last trio GSSBO 50", False),
        ("before trio GSSBO TPE 50", True),
        ("before trio TPE GSSBO 50", False),
        ("behind trio GSSBO TPE 50 b", True),
        ("behind trio GSSBO TPE 50 a b", False),
        ("behind trio GSSBO TPE 50", False),
        ("behind trio TPE GSSBO 50 a c", True),
        ("behind trio TPE GSSBO 100 a", True),
        ("leads trio GSSBO 50 a c", True),
        ("leads trio GSSBO 100 a", True),
        ("leads trio GSSBO 100 a c", False),
        ("more trio GSSBO TPE 50", True),
        ("more trio TPE GSSBO 50", False),
        ("more trio GSSBO TPE 50 100", False),
    ],
)
def test_conditions_on_runs(condition, holds):
    assert claims.failing(f"<!-- holds: {condition} -->") == ([] if holds else [condition])


@pytest.mark.parametrize(
    ("ranks", "holds"),
    [
        ({"A": (1.5, 1.0, 2.0), "B": (1.8, 1.4, 2.2)}, True),
        ({"A": (1.5, 1.0, 2.0), "B": (1.8, 1.6, 2.2)}, False),
        ({"A": (1.5, 1.0, 1.7), "B": (1.8, 1.4, 2.2)}, False),
    ],
)
def test_samplers_are_level_if_each_is_in_the_interval_of_the_other(monkeypatch, ranks, holds):
    monkeypatch.setattr(places, "mean_ranks", lambda name, trials: ranks)
    assert claims.level("some", "A", "B", "100") == claims.level("some", "B", "A", "100") == holds


def test_conditions_on_the_table_of_a_report(monkeypatch, tmp_path):
    table = "| sampler | pruner | x | y |\n|---|---|---|---|\n| A | none | 0.5 / 0.1 | 2 |\n| A | curve | 0.4 | 3 |\n"
    (tmp_path / "some.md").write_text(f"| other |\n|---|\n| 1 |\n\n{table}")
    monkeypatch.setattr(places, "RESULTS", tmp_path)
    assert claims.less("some", "1", "A?none", "A?curve", "x", "y")
    assert not claims.less("some", "1", "A?curve", "A?none", "y", "x")


def test_problems_on_which_a_sampler_is_beaten(monkeypatch, tmp_path):
    rows = [
        ("a", "A", "2"),
        ("a", "B", "1"),
        ("b", "A", "-"),
        ("b", "B", "5"),
        ("c", "A", "3"),
        ("c", "B", "-"),
        ("d", "A", "3"),
    ]
    lines = ["| problem | sampler | 10 |", "|---|---|---|", *(f"| {p} | {s} | {value} |" for p, s, value in rows)]
    (tmp_path / "some.md").write_text("\n".join(lines))
    monkeypatch.setattr(places, "RESULTS", tmp_path)
    assert claims.beaten("some", "0", "A", "B", "10", "a", "b")
    assert not claims.beaten("some", "0", "A", "B", "10", "a")
    assert claims.beaten("some", "0", "B", "A", "10", "c")


def test_the_lowest_regret_on_recorded_searches(monkeypatch):
    monkeypatch.setattr(places, "hpob", lambda method, trials: "0.1" if method == "GP" else "0.2")
    assert claims.lowest("GP", "10", "20")
    assert not claims.lowest("GSSBO", "10")

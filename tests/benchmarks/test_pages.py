"""The numbers of README and documentation are those of the results."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks.compare import pages, places
from benchmarks.pictures import INK

#: Times and ranks, which are measured.
MEASURED = re.compile(
    r"\d ?ms\b|\d(?:\.\d)? seconds? (?:a|per) suggestion|mean rank (?:is|of) \d|\d times (?:faster|slower)"
)


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(places.ROOT)))
def test_every_place_is_filled_with_what_the_results_say(page):
    text = page.read_text()
    assert places.rendered(text) == text, "python -m benchmarks pages writes it"


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(places.ROOT)))
def test_measured_numbers_stand_in_places_only(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    assert not MEASURED.findall(places.PLACE.sub("", prose))


def test_a_place_is_filled_anew():
    text = "so <!-- results: rank suite GSSBO 1000 -->9.9<!-- end --> and\n"
    text += "<!-- results: batch-table -->\nold\n<!-- end -->."
    filled = places.rendered(text)
    assert f"-->{places.rank('suite', 'GSSBO', '1000')}<!-- end --> and" in filled
    assert "old" not in filled
    assert filled.count("| seeds |") == 1
    assert places.rendered(filled) == filled


def test_a_place_that_asks_for_what_is_not_there():
    with pytest.raises(ValueError, match=r"A place must ask for one of rank, .*; got 'ranks suite'\."):
        places.rendered("<!-- results: ranks suite --><!-- end -->")


def test_searches_and_functions_are_apart():
    searches, functions = (places.problems_of(f"few/{kind}") for kind in ("searches", "functions"))
    assert "svm-wine" in searches
    assert "zakharov-6" in functions
    assert sorted(searches + functions) == sorted(places.problems_of("few"))
    better, worse = (int(n) for n in places.ahead("few/searches", "GSSBO", "Random", "100").split(" : "))
    assert worse < better <= len(searches)


def test_a_table_of_a_report():
    lines = places.report_table("constrained", "0", "GSSBO", "Random").strip().splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["| sampler", "|---|---|---|---|---|", "| GSSBO", "| random"]


def test_ranks_are_those_of_the_report():
    """The mean over the table's problems of the ranks that its medians imply."""
    runs, problems = places.runs("branching"), places.problems_of("branching")
    samplers = [s for s in places.samplers_of("branching") if s in places.mean_ranks("branching", 500)]
    total = 0.0
    for problem in problems:
        medians = {s: sorted(r["best"]["500"] for r in runs[problem, s]) for s in samplers}
        medians = {s: max(values[len(values) // 2], 1e-9) for s, values in medians.items()}
        mine = medians["GSSBO"]
        total += 1 + sum(v < mine for v in medians.values()) + 0.5 * (sum(v == mine for v in medians.values()) - 1)
    assert places.mean_ranks("branching", 500)["GSSBO"][0] == pytest.approx(total / len(problems))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (9e-10, "0"), (2.96e-5, "3.0e-05"), (0.00123, "0.0012"), (391.0, "390"), (2e7, "2.0e+07")],
)
def test_regrets_have_two_digits(value, shown):
    assert places.number(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.37, "0.4 ms"), (17.2, "17 ms"), (1627.0, "1.6 s")])
def test_times_have_units(value, shown):
    assert places.milliseconds(value) == shown


def test_the_plots_are_drawn(tmp_path):
    pages.quality_and_time("branching", 100, tmp_path / "quality.png")
    pages.ask_plot(tmp_path / "ask.png")
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("quality.png", "ask.png"))


def test_pictures_have_the_ink_of_the_page(tmp_path):
    pages.ask_plot(tmp_path / "ask.svg")
    text = (tmp_path / "ask.svg").read_text()
    assert "prefers-color-scheme: dark" in text
    assert "stroke: var(--ink" in text
    assert text.count(INK) == text.count(f"var(--ink, {INK})") + 1
    assert "#ffffff" not in text


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(places.ROOT)))
def test_no_line_of_prose_begins_with_a_place(page):
    """Markdown ends a paragraph there."""
    lines = [line for line in page.read_text().splitlines() if line.lstrip().startswith("<!-- results:")]
    assert [line for line in lines if not line.endswith(" -->") or "<!-- end -->" in line] == []


def test_ahead_on_problems_that_both_have_finished(monkeypatch, tmp_path):
    rows = [
        {"problem": p, "sampler": s, "seed": 0, "trials": 100, "best": dict.fromkeys(marks, value)}
        for p, s, value, marks in [
            ("a", "GSSBO", 1.0, ("50", "100")),
            ("b", "GSSBO", 2.0, ("50", "100")),
            ("c", "GSSBO", 1e-12, ("50", "100")),
            ("a", "TPE", 2.0, ("50", "100")),
            ("b", "TPE", 1.0, ("50",)),
            ("c", "TPE", 1e-10, ("50", "100")),
        ]
    ]
    (tmp_path / "three.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(places, "RESULTS", tmp_path)
    text = places.ahead_table("three", "GSSBO", "50", "100", "500")
    assert "| beside | after 50 | after 100 | after 500 |" in text
    assert "| TPE | 1 : 1 | 1 : 0 | - |" in text  # regrets below 1e-9 are equal

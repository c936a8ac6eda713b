"""The files in ``benchmarks/results``: comparisons support a choice that names them, and long lists are compact."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from benchmarks.storage import LONG, line, load, rewrite

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
#: The name of a comparison, or a pattern of names.
NAMED = re.compile(r"compare-[a-z0-9*]+(?:-[a-z0-9*]+)*\.md")


def texts():
    """Code and documentation, and reports that are no comparisons."""
    for folder in ("src", "integrations", "benchmarks", "docs", "examples"):
        paths = (path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md"))
        yield from (path for path in paths if not path.name.startswith("compare-"))
    yield from ROOT.glob("*.md")


def named():
    """The comparisons that are named, with where."""
    return {name: path for path in texts() for name in NAMED.findall(path.read_text())}


def test_every_comparison_is_named_where_it_was_used():
    known = named().keys() - {"compare-*.md"}
    files = [path.name for path in RESULTS.glob("compare-*.md")]
    unnamed = [file for file in files if not any(fnmatch(file, name) for name in known)]
    assert not unnamed, "name them in a comment at the choice that they support, or delete them"


def test_every_comparison_that_is_named_exists():
    files = [path.name for path in RESULTS.glob("compare-*.md")]
    missing = {name: str(path) for name, path in named().items() if not any(fnmatch(file, name) for file in files)}
    assert not missing


def test_runs_belong_to_a_report():
    reports = {path.stem for path in RESULTS.glob("*.md")}
    alone = [path.name for path in RESULTS.glob("*.jsonl") if not reports & {path.stem, path.stem.split("-")[0]}]
    assert not alone


@pytest.mark.parametrize(
    "value",
    [
        [0.5] * 30 + [None, 0.25] + [True] * 40 + [1] * 9,
        [[t, 0.1 * (t // 7)] for t in range(50)],
        [[1, 2], [3]] * 20,
        [[[1], [2]]] * 30,
        [[]] * 30,
        [float("nan"), float("inf")] * 20,
        ["a", "b"] * 20,
        list(range(LONG - 1)),
        {"repeated": 3, "columns": 4},
        {"1": 0.123456789012345},
    ],
    ids=str,
)
def test_what_is_written_is_read(value, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(line({"seed": 0, "value": value}))
    (row,) = load(path)
    assert json.dumps(row["value"]) == json.dumps(rounded(value))
    assert len(path.read_text()) <= len(json.dumps({"seed": 0, "value": value})) + 1
    before = path.read_text()
    rewrite(path)
    assert path.read_text() == before


def rounded(value):
    """Numbers with seven digits, in long lists."""
    if isinstance(value, list) and len(value) >= LONG:
        return [
            [float(f"{x:.7g}") if isinstance(x, float) else x for x in one] if isinstance(one, list) else one
            for one in value
        ]
    return value


def test_a_long_search_is_short(tmp_path):
    row = {"best": [1.0] * 60 + [0.5] * 41}
    assert len(line(row)) < 60
    (tmp_path / "some.jsonl").write_text(line(row) + "torn")
    assert load(tmp_path / "some.jsonl") == [row]

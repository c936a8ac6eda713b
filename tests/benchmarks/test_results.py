"""The files in ``benchmarks/results``: comparisons support a choice that names them."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

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
    alone = [path.name for path in RESULTS.glob("*.jsonl") if not path.with_suffix(".md").exists()]
    assert not alone

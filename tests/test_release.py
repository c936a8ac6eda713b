"""What is said about numbo and its releases in several places is the same in all of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import numbo

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def names_in(table: str) -> set[str]:
    """The names in a table of ``pyproject.toml``."""
    text = PYPROJECT.split(f"\n[{table}]\n")[1].split("\n[")[0]
    return set(re.findall(r"^([a-z]+) = ", text, flags=re.MULTILINE))


def test_extras_and_groups_that_are_installed_exist():
    named = ("Makefile", ".readthedocs.yaml", "README.md", "CONTRIBUTING.md", "benchmarks/README.md")
    text = "\n".join(path.read_text() for path in (*(ROOT / name for name in named), *WORKFLOWS))
    extras = {name for some in re.findall(r"\.\[([a-z,]+)\]", text) for name in some.split(",")}
    groups = set(re.findall(r"--group\s+([a-z]+)", text))
    assert {"optuna", "all"} <= extras <= names_in("project.optional-dependencies")
    assert {"examples", "dev"} <= groups <= names_in("dependency-groups")


def test_the_summary_is_the_same_everywhere():
    (summary,) = re.findall(r'^description = "(.*)"$', PYPROJECT, flags=re.MULTILINE)
    assert numbo.__doc__.splitlines()[0] == summary
    assert f'\nsite_description: "{summary}"\n' in (ROOT / "mkdocs.yml").read_text()
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["abstract"] == summary
    assert cited["title"] == "numbo: " + summary.split(":")[0]


def test_the_papers_that_are_cited_are_those_of_the_algorithms():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    listed = " ".join((ROOT / "docs" / "references.md").read_text().split())
    assert [paper["notes"] for paper in cited] == ["GSSBO", "BKB", "BBKB", "S-BPE"]
    for paper in cited:
        authors = ", ".join(f"{author['given-names']} {author['family-names']}" for author in paper["authors"])
        assert f"{authors}: " in listed
        assert f"*{paper['title']}*" in listed
        year = listed.split(f"*{paper['title']}*")[1].split(". [")[0]
        assert str(paper["year"]) in year


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("address", ["", "https://example.org/numbo"])
def test_a_distribution_without_an_address_is_not_for_pypi(address):
    environment = os.environ | {"NUMBO_URL": address, "MAKEFLAGS": "", "MAKELEVEL": ""}
    command = ["make", "--dry-run", "dist"]
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert ("WARNING: not for PyPI" in said) == (not address)


def test_the_version_is_printed():
    command = [sys.executable, "-m", "numbo", "--version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"numbo {numbo.__version__}"


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_release_is_stopped_by_pages_from_before_it():
    (step,) = re.findall(r"^ *(! grep .*)$", (ROOT / ".github/workflows/release.yml").read_text(), flags=re.MULTILINE)
    found = subprocess.run(["bash", "-c", step], cwd=ROOT, capture_output=True, text=True)
    pages = {line.split(":")[0] for line in found.stdout.splitlines()}
    released = re.search(r"^## \[\d", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    before = set() if released else {"README.md", "docs/index.md", "examples/five_minutes.ipynb"}
    assert before <= pages
    assert found.returncode == bool(before), found.stderr

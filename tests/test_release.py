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


def step(name: str) -> str:
    """The program of a step of the workflow that releases."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    (program,) = (step["run"] for job in jobs.values() for step in job.get("steps", ()) if step.get("name") == name)
    return str(program)


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
    program = step("No page says that numbo is not on PyPI, or has to be installed from a clone")
    found = subprocess.run(["bash", "-c", program], cwd=ROOT, capture_output=True, text=True)
    pages = {line.split(":")[0] for line in found.stdout.splitlines()}
    released = re.search(r"^## \[\d", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    before = set() if released else {"README.md", "docs/index.md", "examples/five_minutes.ipynb"}
    assert before <= pages
    assert found.returncode == bool(before), found.stderr


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("git")), reason="bash or git is not installed")
@pytest.mark.parametrize(
    ("order", "older"),
    [
        (["src/numbo/run.py", "docs/images/run.svg", "examples", "src/numbo/__init__.py"], ""),
        (["docs/images/run.svg", "src/numbo/run.py", "examples"], "docs/images"),
        (["docs/images/run.svg", "examples", "integrations/optuna/sampler.py"], "docs/images"),
        (["examples", "docs/figures.py", "docs/images/run.svg"], "examples/five_minutes.ipynb"),
    ],
)
def test_the_release_is_stopped_by_pictures_and_notebooks_from_before_the_code(tmp_path, order, older):
    def git(*words: str, at: int = 0) -> None:
        known = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"}
        environment = os.environ | known | {"GIT_COMMITTER_DATE": f"{1_700_000_000 + at} +0000"}
        subprocess.run(["git", *words], cwd=tmp_path, env=environment, check=True, capture_output=True)

    git("init")
    notebooks = ["examples/five_minutes.ipynb", "examples/looking_inside.ipynb"]
    for at, name in enumerate(order):
        for path in notebooks if name == "examples" else [name]:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text("")
        git("add", ".")
        git("commit", "-m", name, at=at)
    program = step("Pictures and notebooks are not older than the code that they show")
    found = subprocess.run(["bash", "-e", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.strip() == (f"{older} is older than the code" if older else "")
    assert found.returncode == bool(older), found.stderr

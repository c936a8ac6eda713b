"""What is said about numbo and its releases in several places is the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path

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

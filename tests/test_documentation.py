"""Every code block of the README and of the documentation does what it says."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import optuna
import pytest

from benchmarks.__main__ import COMMANDS
from numbo.selection import CRITERIA

ROOT = Path(__file__).parents[1]
FIRST = ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
PAGES = [*(ROOT / name for name in FIRST), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page, also those in tabs, which are indented."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def with_python(uses_ray: bool) -> list:
    pages = [page for page in PAGES if blocks(page, "python")]
    chosen = [page for page in pages if any("tuner.fit()" in b for b in blocks(page, "python")) == uses_ray]
    assert chosen
    later = [pytest.mark.slow] if uses_ray else []
    return [pytest.param(page, id=page_id(page), marks=[] if page.name in FIRST else later) for page in chosen]


def programs(page: Path) -> list[str]:
    """The README's blocks stand for themselves; those of a page of the documentation follow one another."""
    code = blocks(page, "python")
    return code if page.name == "README.md" else ["\n".join(code)]


@pytest.fixture
def run(tmp_path, monkeypatch) -> Iterator[Callable[[str], None]]:
    """Runs a program as a script in an empty folder, without Optuna's messages."""
    monkeypatch.chdir(tmp_path)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    criteria = CRITERIA.copy()
    yield lambda program: exec(compile(program, "<page>", "exec"), {"__name__": "__main__"})
    CRITERIA.clear()
    CRITERIA.update(criteria)


@pytest.mark.parametrize("page", with_python(uses_ray=False))
def test_python_runs(page, run):
    if page.name == "study.md" and not hasattr(optuna.trial.Trial, "set_constraint"):
        pytest.skip("this Optuna has no Trial.set_constraint")
    for program in programs(page):
        run(program)


@pytest.mark.xdist_group("ray")
@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize("page", with_python(uses_ray=True))
def test_python_with_ray_runs(page, run):
    """As it is printed, but all trials in one process: otherwise each starts one of its own and imports Ray."""
    kept = "tune.TuneConfig(reuse_actors=True, max_concurrent_trials=1, "
    for program in programs(page):
        run(re.sub(r"tune\.TuneConfig\(", kept, program))


@pytest.mark.parametrize("page", with_python(uses_ray=False) + with_python(uses_ray=True))
def test_python_imports_what_it_uses(page):
    """The tests above would not miss the import of a module that is loaded anyway."""
    for program in programs(page):
        tree = list(ast.walk(ast.parse(program)))
        imported = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in tree if isinstance(node, ast.ImportFrom)}
        for node in tree:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numbo":
                name = f"numbo.{node.attr}"
                assert find_spec(name) is None or any(f"{module}.".startswith(f"{name}.") for module in imported), name


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_exist(page):
    """Commands are run by other tests and by hand; none of them may name what is not there."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    optional = (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]\n")[1].split("\n\n")[0]
    extras = set(re.findall(r"^([a-z]+) = \[", optional, flags=re.MULTILINE))
    written = [block.replace("\\\n", " ") for block in blocks(page, "console")]
    commands = [line for block in written for line in block.splitlines()]
    commands += re.findall(r"`((?:make|python) [^`]*)`", page.read_text())
    for line in commands:
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            assert set(words[1:]) <= targets, line
        elif words[:3] == ["python", "-m", "benchmarks"]:
            assert set(words[3:4]) <= set(COMMANDS), line
        elif words[:3] == ["python", "-m", "numbo"]:
            assert set(words[3:4]) <= {"info", "look"}, line
        elif words[:2] == ["python", "-m"]:
            assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").exists(), line
        elif words[:2] == ["pip", "install"]:
            assert {name for some in re.findall(r"\[(.*?)\]", line) for name in some.split(",")} <= extras, line
        elif words[0] == "python":
            assert (ROOT / words[1]).exists(), line
        else:
            assert words[0] == "export", f"{line}: nobody knows whether this works"


SHOWN = [*PAGES, *sorted((ROOT / "examples").glob("*.py"))]


@pytest.mark.parametrize("page", SHOWN, ids=page_id)
def test_code_fits_the_page(page):
    text = page.read_text()
    code = re.findall(r"```(?!text)\w+\n(.*?)```", text, flags=re.DOTALL) if page.suffix == ".md" else [text]
    assert [line for block in code for line in block.splitlines() if len(line) > 88] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_test_says_first_how_long_it_takes():
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", "test"]
    said = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=True).stdout
    assert re.match(r"echo '.*\d+ minutes", said)


def test_the_reference_shows_the_defaults_of_settings():
    griffe = pytest.importorskip("griffe")
    code = "class Some:\n    size: int = checked(3, integer, 1)\n    other: int = field(2)"
    with griffe.temporary_visited_module(code, extensions=griffe.load_extensions(ROOT / "docs/defaults.py")) as module:
        assert [str(module[f"Some.{name}"].value) for name in ("size", "other")] == ["3", "field(2)"]


def test_all_examples_are_on_their_page():
    page = (ROOT / "docs/project/examples.md").read_text()
    for example in [*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.ipynb")]:
        assert f"examples/{example.name}" in page


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_no_line_begins_with_a_year_and_a_full_stop(page):
    """Markdown begins a list there."""
    assert re.findall(r"^ *\d{4}\. .*", page.read_text(), flags=re.MULTILINE) == []


def test_mentioned_files_exist():
    for page in PAGES:
        for path in re.findall(r"`((?:examples|benchmarks|src|tests|integrations)/[\w/.-]+)`", page.read_text()):
            assert (ROOT / path).exists(), f"{page_id(page)}: {path}"

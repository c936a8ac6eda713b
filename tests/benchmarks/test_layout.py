"""How the benchmarks are put together: what imports what, what a command is, and what of numbo they use."""

from __future__ import annotations

import ast
import subprocess
import sys
from argparse import ArgumentParser
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import COMMANDS, description

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in ("benchmarks", "tests/harness")
    for path in sorted((ROOT / folder).rglob("*.py"))
}
#: From the ground up: a module imports from its own folder and from those below.
FLOORS = [
    {"benchmarks.markdown", "benchmarks.storage", "benchmarks.processes", "benchmarks.pictures"},
    {"benchmarks.arguments"},
    {"benchmarks.problems"},
    {"benchmarks.samplers"},
    {"benchmarks.compare"},
    {"benchmarks.bandits", "benchmarks.checks"},
    {"benchmarks.papers"},
    {"tests.harness"},
    {"benchmarks.study"},
    {"benchmarks.__main__", "benchmarks"},
]
#: Private names of numbo, of Ray, of COCO, and of the tables of others, that have no public counterpart.
PRIVATE = {
    "tests.harness.forks": {"_exit"},
    "benchmarks.bandits.runner": {"_model", "_sums", "_width"},  # a sample of the posterior of a batch
    "benchmarks.bandits.survival": {"_race"},  # at points of a continuous space
    "benchmarks.checks.situation_runs": {"_hooks", "_first"},  # to interrupt a call as it begins
    "benchmarks.papers.bkb": {"_model"},  # the variances of a run
    "benchmarks.problems.arms": {"_dataset"},
    "benchmarks.problems.bbob": {"_best_parameter"},  # where the optimum is
    "benchmarks.problems.tables": {"_dataset"},
    "benchmarks.samplers.smac": {"_distributions"},  # the conditions of a program's space
    "tests.harness.faults": {"_view"},  # when a worker counts as dead
    "tests.harness.program_runs": {
        *("_samplers", "_records", "_view", "_views", "_running"),  # what a sampler has learned and published
        *("_storage", "_trial_id", "_contains", "_getframe"),
    },
    "tests.harness.restores": {"_snapshot", "_private", "_global_node", "_local_tuner", "_tune_config"},
    "tests.harness.soak": {"_samplers", "_views"},  # the size of an optimizer's state
}


def imported(path: Path) -> set[str]:
    """The modules of benchmarks and of the harness that a file imports, in functions and for types as well."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {part if part in MODULES else node.module for part in parts}
    return names & MODULES.keys()


def floor(module: str) -> int:
    part = max((p for parts in FLOORS for p in parts if f"{module}.".startswith(f"{p}.")), key=len)
    return next(i for i, parts in enumerate(FLOORS) if part in parts)


def test_there_are_no_circles():
    graph = {module: imported(path) for module, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 100
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1][::-1]))


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module):
    for name in imported(MODULES[module]):
        assert floor(name) <= floor(module), f"{module} imports {name}"
        assert floor(name) < floor(module) or name.rpartition(".")[0] == module.rpartition(".")[0]


@pytest.mark.parametrize("module", MODULES)
def test_private_names_are_used_only_where_there_is_no_public_one(module):
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("numbo", "ray"):
            found |= {part for part in node.module.split(".") if part.startswith("_")}
            found |= {alias.name for alias in node.names if alias.name.startswith("_")}
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            found |= set() if ast.unparse(node.value) in ("self", "cls") else {node.attr}
    assert found == PRIVATE.get(module, set())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_does_and_has_options(name):
    first, *_ = description(COMMANDS[name]).splitlines()
    assert first.endswith(".")
    module = import_module(COMMANDS[name])
    assert module.__doc__.startswith(first)
    parser = ArgumentParser()
    module.add_arguments(parser)
    parser.format_help()
    assert callable(module.main)


def test_all_commands_are_known():
    with_main = {m for m, path in MODULES.items() if "\ndef main(arguments: argparse.Namespace)" in path.read_text()}
    assert with_main == set(COMMANDS.values())


def test_help_imports_no_command():
    code = "import sys, benchmarks.__main__ as b; sys.argv = ['', '--help']\n"
    code += "try: b.main()\nexcept SystemExit: print(sorted({'numpy', 'optuna', 'numbo'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(name in done.stdout for name in COMMANDS)


def test_results_are_runs_and_tables():
    command = ["git", "ls-files", "benchmarks/results"]
    kept = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {Path(name).suffix for name in kept.stdout.splitlines()} <= {".jsonl", ".md", ".csv"}

"""Which layer imports which, and what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: The floors of the house, from the ground up: a module may import from its own and from those below.
FLOORS = [
    {"numbo._types"},
    {"numbo._plain", "numbo._checks", "numbo._descriptions", "numbo._interrupts", "numbo._hooks", "numbo._rows"},
    {"numbo._forks"},
    {"numbo._imports", "numbo.compiling"},
    {"numbo.kernels"},
    {"numbo._elementary"},
    {"numbo.spaces", "numbo.trials"},
    {"numbo.models"},
    {"numbo._settings"},
    {"numbo.run"},
    {"numbo.search"},
    {"numbo.rules"},
    {"numbo.inspection", "numbo.optimizers.parts"},
    {"numbo.optimizers"},
    {"numbo.warming", "numbo.selection", "numbo.dictionaries", "numbo.plot"},
    {"numbo.optuna", "numbo.ray", "numbo"},
    {"numbo.__main__"},
]
#: Packages of others that a module may import.
FOREIGN = {
    "numbo._types": {"numpy"},
    "numbo._checks": {"numpy"},
    "numbo._descriptions": set(),
    "numbo._interrupts": set(),
    "numbo._forks": set(),
    "numbo._rows": {"numpy"},
    "numbo._plain": {"numpy"},
    "numbo._elementary": {"numpy"},
    "numbo._imports": set(),
    "numbo._hooks": set(),
    "numbo.compiling": {"numba", "llvmlite"},
    "numbo.kernels": {"numpy"},
    "numbo.spaces": {"numpy", "scipy"},
    "numbo.trials": {"numpy"},
    "numbo.models": {"numpy", "scipy"},
    "numbo.run": {"numpy", "scipy"},
    "numbo._settings": {"numpy", "typing_extensions"},
    "numbo.search": {"numpy", "scipy"},
    "numbo.rules": {"numpy"},
    "numbo.inspection": {"numpy", "scipy"},
    "numbo.optimizers": {"numpy", "typing_extensions"},
    "numbo.optimizers.parts": {"numpy", "scipy", "typing_extensions"},
    "numbo.warming": {"numpy"},
    "numbo.selection": {"numpy"},
    "numbo.dictionaries": set(),
    "numbo.plot": {"numpy", "plotly", "matplotlib"},
    "numbo.optuna": {"optuna"},
    "numbo.ray": {"ray"},
    "numbo": set(),
    "numbo.__main__": set(),
}
ALGORITHMS = {"bbkb", "bkb", "gp_ucb", "gssbo", "sbpe"}


def modules():
    adapters = [(ROOT / "integrations" / name, f"numbo.{name}") for name in ("optuna", "ray")]
    for root, prefix in ((ROOT / "src" / "numbo", "numbo"), *adapters):
        for path in sorted(root.rglob("*.py")):
            parts = [p for p in path.relative_to(root).with_suffix("").parts if p != "__init__"]
            yield pytest.param(path, ".".join([prefix, *parts]), id=".".join([prefix, *parts]))


def floor(part: str) -> int:
    """Where the part of the package stands."""
    return next(i for i, parts in enumerate(FLOORS) if part in parts)


def layer(module: str) -> str:
    return max((name for name in FOREIGN if f"{module}.".startswith(f"{name}.")), key=len)


@pytest.mark.parametrize(("path", "module"), list(modules()))
def test_imports_stay_within_the_layers(path, module):
    own = layer(module)
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "numbo" else [node.module]
        for name in names:
            if name.split(".")[0] == "numbo":
                assert layer(name) == own or floor(layer(name)) < floor(own), f"{module} imports {name}"
            elif name.split(".")[0] not in sys.stdlib_module_names:
                assert name.split(".")[0] in FOREIGN[own], f"{module} imports {name}"


def test_files_and_functions_are_short_enough_to_be_read():
    """Limits to notice what has grown, and no reason to pack: constructors and kernels may be longer."""
    beside = [path for folder in ("benchmarks", "tests/harness") for path in (ROOT / folder).rglob("*.py")]
    for path in (*(p.values[0] for p in modules()), *beside):
        text = path.read_text()
        assert len(text.splitlines()) <= 600, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__" and path.parent.name != "kernels":
                body = [
                    one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
                ]
                assert not body or node.end_lineno - body[0].lineno < 60, f"{path}: {node.name}"


def test_the_optimizers_are_the_algorithms_and_one_base():
    found = {path.stem for path in (ROOT / "src" / "numbo" / "optimizers").glob("*.py")}
    assert found == ALGORITHMS | {"base", "port", "_calls", "__init__"}


@pytest.mark.parametrize("name", ["BBKB", "BKB", "GPUCB", "GSSBO", "SBPE"])
def test_no_algorithm_is_more_than_one_class_away_from_the_base(name):
    from numbo import optimizers

    assert getattr(optimizers, name).__mro__.index(optimizers.Optimizer) <= 2


def test_the_layers_are_drawn_as_they_are():
    drawn = (ROOT / "CONTRIBUTING.md").read_text()
    for part in FOREIGN.keys() - {"numbo"}:
        name = part.removeprefix("numbo.").replace(".", "/")
        assert any(f"{name}{end}" in drawn for end in ("/", ".py")), f"{part} is missing from CONTRIBUTING.md"
    for path in re.findall(r"^    (\S+)", drawn, flags=re.MULTILINE):
        assert (ROOT / path).exists(), f"CONTRIBUTING.md draws {path}, which does not exist"


def test_importing_numbo_loads_nothing_heavy():
    code = "import sys, numbo; print(sorted({'numba', 'scipy', 'optuna', 'ray', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_without_optuna_the_core_works_and_the_adapter_says_what_to_do():
    code = """
import sys
sys.modules["optuna"] = None
import numbo
numbo.GSSBO({"x": numbo.Float(0, 1)}).ask()
try:
    import numbo.optuna
except ImportError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "numbo.optuna needs Optuna, which is not installed: pip install 'numbo[optuna]'."
    assert result.stderr == ""


def test_public_names():
    import numbo

    assert set(numbo.__all__) <= set(dir(numbo))
    for name in numbo.__all__:
        assert getattr(numbo, name).__doc__
    with pytest.raises(AttributeError, match="nothing"):
        _ = numbo.nothing

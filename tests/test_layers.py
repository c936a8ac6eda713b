"""Which layer imports which, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: A module may import from its own layer and from those listed for it.
ALLOWED = {
    "numbo._checks": set(),
    "numbo.kernels": set(),
    "numbo.models": {"numbo.kernels"},
    "numbo.selection": {"numbo._checks", "numbo.kernels", "numbo.models"},
    "numbo.dictionaries": {"numbo.kernels", "numbo.models"},
    "numbo.space": set(),
    "numbo.arms": set(),
    "numbo.optimizers": {
        "numbo._checks",
        "numbo.kernels",
        "numbo.models",
        "numbo.dictionaries",
        "numbo.selection",
        "numbo.space",
        "numbo.arms",
    },
    "numbo.first_use": {"numbo.kernels", "numbo.optimizers", "numbo.space"},
    "numbo.plot": {"numbo.optimizers", "numbo.space"},
    "numbo.optuna": {"numbo._checks", "numbo.optimizers", "numbo.space", "numbo.selection", "numbo.first_use"},
    "numbo.ray": {"numbo._checks", "numbo.optimizers", "numbo.space", "numbo.first_use"},
    "numbo": {"numbo.optimizers", "numbo.selection", "numbo.space", "numbo.arms", "numbo.first_use"},
}
FOREIGN = {
    "numbo._checks": {"numpy"},
    "numbo.kernels": {"numpy", "numba"},
    "numbo.models": {"numpy", "scipy", "threadpoolctl"},
    "numbo.selection": {"numpy"},
    "numbo.dictionaries": {"numpy", "scipy"},
    "numbo.space": {"numpy"},
    "numbo.arms": {"numpy", "scipy"},
    "numbo.optimizers": {"numpy", "scipy", "typing_extensions"},
    "numbo.first_use": {"numba"},
    "numbo.plot": {"numpy", "plotly", "matplotlib"},
    "numbo.optuna": {"optuna"},
    "numbo.ray": {"ray"},
    "numbo": set(),
}


def modules():
    adapters = [(ROOT / "integrations" / name, f"numbo.{name}") for name in ("optuna", "ray")]
    for root, prefix in ((ROOT / "src" / "numbo", "numbo"), *adapters):
        for path in sorted(root.rglob("*.py")):
            parts = [p for p in path.relative_to(root).with_suffix("").parts if p != "__init__"]
            yield pytest.param(path, ".".join([prefix, *parts]), id=".".join([prefix, *parts]))


def layer(module: str) -> str:
    return max((name for name in ALLOWED if f"{module}.".startswith(f"{name}.")), key=len)


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
                assert layer(name) == own or layer(name) in ALLOWED[own], f"{module} imports {name}"
            elif name.split(".")[0] not in sys.stdlib_module_names:
                assert name.split(".")[0] in FOREIGN[own], f"{module} imports {name}"


def test_every_file_is_one_idea():
    long = {str(p.values[0]): n for p in modules() if (n := len(p.values[0].read_text().splitlines())) > 400}
    assert not long


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

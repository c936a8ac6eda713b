"""The examples run as a user would run them, in short form."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Beside another Ray, on few cores, even a short run takes minutes.
LONG = 480
one_ray_at_a_time = pytest.mark.xdist_group("ray")


def test_diabetes_network_search():
    command = [sys.executable, str(ROOT / "examples" / "nas_diabetes.py"), "--trials", "30"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert result.returncode == 0, result.stderr
    error = float(re.search(r"Best test error ([\d.]+)%", result.stdout)[1])
    assert 15.0 < error < 24.0
    for name in ("batch_size", "learning_rate", "learning_rate_decay", "hidden_units", "Training took"):
        assert name in result.stdout
    assert "Warning" not in result.stderr


@one_ray_at_a_time
@pytest.mark.parametrize("name", ["ray_nas", "ray_optuna"])
def test_diabetes_network_search_on_ray(name):
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--trials", "12"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert result.returncode == 0, result.stderr
    error = float(re.search(r"Best test error ([\d.]+)% of 12 trials", result.stdout)[1])
    assert 15.0 < error < 30.0
    assert "hidden_units" in result.stdout


@one_ray_at_a_time
def test_readme_code_runs():
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        result = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=LONG)
        assert result.returncode == 0, f"{block}\n{result.stderr}"

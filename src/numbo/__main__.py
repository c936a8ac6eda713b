"""``python -m numbo info`` prints versions and compiles all kernels; ``look`` prints what is known of a study."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "optuna", "ray", "plotly", "matplotlib")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ALGORITHMS = ("GSSBO", "GPUCB", "BKB", "BBKB", "SBPE")


def info() -> None:
    """Print what a bug report should contain, and warm up."""
    import numbo
    from numbo.warming.first_use import cache_path, warmup

    print(f"numbo       {numbo.__version__}")
    print(f"python      {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores")
    for name in PACKAGES:
        try:
            print(f"{name:<11} {version(name)}")
        except PackageNotFoundError:
            print(f"{name:<11} not installed")
    limits = ", ".join(f"{name}={os.environ[name]}" for name in THREADS if name in os.environ)
    print(f"threads     kernels use the calling thread only; the BLAS: {limits or 'not limited by the environment'}")
    print(f"cache       {cache_path() or 'none: no folder is writable, kernels are compiled in each process'}")
    print("warming up ...", flush=True)
    print(f"kernels are ready after {warmup():.1f} s")


def arguments() -> argparse.ArgumentParser:
    import numbo

    parser = argparse.ArgumentParser(prog="python -m numbo")
    parser.add_argument("--version", action="version", version=f"numbo {numbo.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("info", help="print versions and folders, and compile all kernels")
    words = "print what is known of an Optuna study: the best and the recommended trial, and the model"
    look = commands.add_parser("look", help=words, description=f"{words[0].upper()}{words[1:]}. Nothing is changed.")
    look.add_argument("storage", metavar="STORAGE", help="URL of a database, or path of an SQLite file or a journal")
    look.add_argument("study", metavar="STUDY", nargs="?", help="its name, if there are several")
    look.add_argument("--sampler", choices=ALGORITHMS, default="GSSBO", help="whose model is asked; GSSBO by default")
    look.add_argument("--html", metavar="FILE", type=Path, help="write a page with plots, too")
    return parser


def main() -> None:
    parser = arguments()
    given = parser.parse_args()
    if given.command == "info":
        info()
        return
    try:
        from numbo.optuna._page import look

        print(look(given.storage, given.study, given.sampler, given.html), flush=True)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ImportError, ValueError) as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()

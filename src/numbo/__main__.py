"""``python -m numbo info``: print versions and the kernel cache folder, and compile all kernels."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("numpy", "scipy", "numba", "optuna", "ray", "plotly", "matplotlib")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def info() -> None:
    """Print what a bug report should contain, and warm up."""
    import numbo
    from numbo.compiling.first_use import cache_path, warmup

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m numbo", description=__doc__)
    parser.add_argument("command", choices=["info"], help="print versions and folders, and compile all kernels")
    parser.parse_args()
    info()


if __name__ == "__main__":
    main()

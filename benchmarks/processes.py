"""Runs in processes of their own."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """What ``function`` returns or raises in a new process, which ends with it."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextmanager
def kept(jobs: int) -> Iterator[Callable[..., Future[Any]]]:
    """Yield a ``submit`` for ``jobs`` processes that are used again; an error cancels the calls that wait."""
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool.submit
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def record(
    path: Path, function: Callable[..., dict[str, Any]], todo: Collection[tuple[Any, ...]], jobs: int, **also: Any
) -> None:
    """Append to the results file ``path`` what ``function`` returns for each call ``todo``, as soon as it is known.

    Each process has one thread. A result begins with what is recorded ``also``.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file, kept(jobs) as submit:
        futures = [submit(function, *arguments) for arguments in todo]
        for future in tqdm(as_completed(futures), total=len(todo), desc=path.stem, unit="run"):
            file.write(json.dumps(also | future.result()) + "\n")
            file.flush()


@contextmanager
def one_each(jobs: int) -> Iterator[Callable[..., Future[Any]]]:
    """Yield a ``submit`` that gives each call a new process, ``jobs`` at a time; an error cancels the calls that wait.

    The ``max_tasks_per_child`` of ``ProcessPoolExecutor`` does this too, from Python 3.11 on.
    """
    with ThreadPoolExecutor(jobs) as threads:
        try:
            yield lambda function, *arguments: threads.submit(alone, function, *arguments)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise

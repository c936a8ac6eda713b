"""Runs in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.storage import line

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def one_thread() -> None:
    """One thread for each process, unless the environment says otherwise; in this one if NumPy is not loaded yet."""
    for name in THREADS:
        os.environ.setdefault(name, "1")


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


def record(
    path: Path,
    function: Callable[..., dict[str, Any]],
    todo: Collection[tuple[Any, ...]],
    jobs: int,
    *,
    fresh: bool = False,
    lenient: bool = False,
    **also: Any,
) -> None:
    """Append to a results file what a function returns for each call, as soon as it is known.

    Each process has one thread.

    Args:
        path: the file, with a line of JSON for each call.
        function: what is called; it can be imported.
        todo: the arguments of each call.
        jobs: number of calls at the same time.
        fresh: whether each call has a new process.
        lenient: whether a call that fails is reported and left out, in place of ending all.
        also: what each line begins with.
    """
    one_thread()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file, (one_each if fresh else kept)(jobs) as submit:
        futures = {submit(function, *arguments): arguments for arguments in todo}
        for future in tqdm(as_completed(futures), total=len(todo), desc=path.stem, unit="run"):
            error = future.exception()
            if error is not None and lenient:
                tqdm.write(f"{futures[future]} failed: {error!r}")
                continue
            file.write(line(also | future.result()))
            file.flush()


def record_here(path: Path, function: Callable[..., dict[str, Any]], todo: Collection[tuple[Any, ...]]) -> None:
    """As `record`, one after the other in this process, with all of its threads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for arguments in tqdm(todo, desc=path.stem, unit="run"):
            file.write(line(function(*arguments)))
            file.flush()

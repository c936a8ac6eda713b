"""Runs in processes of their own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """What ``function`` returns or raises in a new process, which ends with it."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


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

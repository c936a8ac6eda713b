"""Runs in processes of their own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

#: Environment of a local Ray that says nothing, and waits for its processes on slow machines.
LOCAL_RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_raylet_start_wait_time_s": "600",
}


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

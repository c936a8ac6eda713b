"""The BLAS has one thread inside, and what it had before outside, whoever enters and leaves when."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its BLAS is limited too
from threadpoolctl import threadpool_info, threadpool_limits

from numbo.models import ExactGP
from numbo.models._threads import one_blas_thread


def counts() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    with threadpool_limits(3, user_api="blas"):
        if counts() != {3}:
            pytest.skip(f"the BLAS cannot be given three threads here: {counts()}")
        yield


def test_inside_and_outside(three_threads):
    with one_blas_thread():
        assert counts() == {1}
        with one_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {3}
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / 0  # noqa: B018
    assert counts() == {3}


def test_another_thread_that_comes_and_goes_meanwhile(three_threads):
    def other():
        with one_blas_thread():
            seen.append(counts())

    seen = []
    with one_blas_thread():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert seen == [{1}]
        assert counts() == {1}
    assert counts() == {3}


def test_a_fit_leaves_the_threads_as_they_were(three_threads):
    rng = np.random.default_rng(0)
    gp = ExactGP(np.zeros(2, dtype=bool))
    seen = []
    log_posterior = gp.log_posterior
    gp.log_posterior = lambda *a: seen.append(counts()) or log_posterior(*a)
    X = rng.random((20, 2))
    gp.fit(X, np.sin(5.0 * X).sum(axis=1))
    assert seen[0] == {3}  # before the optimisation
    assert seen[-1] == {1}
    assert counts() == {3}

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from numbo.kernels.acquisition import acquisition_gradient_into
from numbo.kernels.covariance import MATERN32, MATERN52, RBF, Covariance
from numbo.kernels.optional import active_columns
from numbo.spaces import INACTIVE
from tests.harness.local_ray import LOCAL_RAY

os.environ.setdefault("NUMBO_COMPILE_AHEAD", "0")  # tests keep both cores busy themselves
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

#: For tests of models that take long where kernels are interpreted; what they call of kernels, kernel tests call too.
compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes too long interpreted")
#: What takes longest. Begun first, it leaves no core idle at the end; the group "ray" stays on one of them.
LONG = (
    "::test_a_type_checker_knows",
    "::test_what_is_not_in_the_cache",
    "::test_a_read_only_installation",
    "::test_killed_workers",
    "::test_processes_threads_hash_seeds",
    "/test_examples.py",
    "/test_fuzz",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that belong to a group come first, then the long ones, then the others as they are."""

    def place(item: pytest.Item) -> int:
        grouped = item.get_closest_marker("xdist_group") is not None
        return 0 if grouped else 1 if any(part in item.nodeid for part in LONG) else 2

    items.sort(key=place)


@functools.cache
def entry(subroutine: Any) -> Callable[..., Any]:
    """A kernel that does nothing but call a subroutine, so that it can be called from Python."""

    @numba.njit(error_model="numpy")
    def kernel(*arguments):
        return subroutine(*arguments)

    return kernel


@numba.njit(error_model="numpy")
def gradient_at(posterior, acquisition, x):
    """An acquisition function at ``x (d,)``, and its gradient (d,)."""
    starts, columns = active_columns(posterior.XT, posterior.covariance.optional)
    gradient = np.empty_like(x)
    return acquisition_gradient_into(posterior, acquisition, starts, columns, x, gradient), gradient


def make_covariance(
    family: int,
    d: int,
    trend: bool,
    n_categorical: int = 0,
    noise: float = 1e-2,
    additive: bool = False,
    branching: bool = False,
) -> Covariance:
    rng = np.random.default_rng(d)
    categorical, optional = np.zeros(d, dtype=bool), np.zeros(d, dtype=bool)
    categorical[:n_categorical] = True
    optional[::2] = branching
    return Covariance(
        family,
        rng.uniform(0.3, 4.0, d),
        1.3,
        0.2 if trend else 0.0,
        0.1 if trend else 0.0,
        0.07 if trend else 0.0,
        noise,
        categorical,
        rng.uniform(0.2, 0.8, d),
        0.4,
        0.6 if additive else 0.0,
        30.0,
        optional,
    )


def make_points(n: int, d: int, n_categorical: int = 0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[:, :n_categorical] = (rng.integers(3, size=(n, n_categorical)) + 0.5) / 3
    return X


def points_of(cov: Covariance, n: int, seed: int = 0) -> np.ndarray:
    """Points of the dimensions of a covariance; about every third optional coordinate is inactive."""
    X = make_points(n, len(cov.categorical), int(cov.categorical.sum()), seed)
    return np.where(cov.optional & (np.random.default_rng(seed).random(X.shape) < 1 / 3), INACTIVE, X)


COVARIANCES = [
    pytest.param(
        (family, d, trend, cats, 1e-2, additive, branching),
        id=f"{name}-d{d}{'-trend' if trend else ''}{'-additive' if additive else ''}{f'-{cats}cat' if cats else ''}"
        f"{'-branching' if branching else ''}",
    )
    for family, name in ((MATERN52, "matern52"), (MATERN32, "matern32"), (RBF, "rbf"))
    for d, trend, additive, cats, branching in (
        (1, False, False, 0, False),
        (3, True, False, 0, False),
        (4, False, False, 2, False),
        (4, True, False, 1, False),
        (3, False, True, 0, False),
        (5, True, True, 1, False),
        (2, False, True, 2, False),
        (4, False, False, 1, True),
        (6, True, True, 1, True),
        (5, True, False, 0, True),
        (3, False, True, 1, True),
    )
]


@pytest.fixture(params=COVARIANCES)
def covariance(request: pytest.FixtureRequest) -> Covariance:
    return make_covariance(*request.param)


@pytest.fixture(scope="session")
def local_ray() -> Iterator[str]:
    """One small Ray for all tests that need a running one, which belong to the group "ray"; yields its address."""
    os.environ.update(LOCAL_RAY)
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture(autouse=True)
def no_fallback(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test passes on a fallback: a model that could not be fitted is an error, unless the test says otherwise."""
    yield
    if "allows_fallback" not in request.keywords:
        records = [r for when in ("setup", "call") for r in caplog.get_records(when)]
        bad = [r for r in records if r.name.startswith("numbo") and r.levelno >= logging.WARNING]
        assert not bad, [r.getMessage() + (f"\n{r.exc_text}" if r.exc_text else "") for r in bad]

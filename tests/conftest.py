from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from numbo.kernels.covariance import MATERN32, MATERN52, RBF, Covariance
from tests.harness.local_ray import LOCAL_RAY
from tests.helpers import make_covariance

os.environ.setdefault("NUMBO_COMPILE_AHEAD", "0")  # tests keep both cores busy themselves
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

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
        bad = [r for r in bad if r.name != "numbo.compiling"]  # the first use of this working tree
        assert not bad, [r.getMessage() + (f"\n{r.exc_text}" if r.exc_text else "") for r in bad]


@pytest.fixture(autouse=True)
def the_log_is_heard() -> Iterator[None]:
    """Benchmarks silence numbo in the process that they run in."""
    yield
    logging.getLogger("numbo").setLevel(logging.NOTSET)

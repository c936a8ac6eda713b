from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, settings

from numbo.kernels.covariance import MATERN32, MATERN52, RBF, Covariance
from tests.harness.local_ray import LOCAL_RAY
from tests.helpers import INTERPRETED, make_covariance

os.environ.setdefault("NUMBO_COMPILE_AHEAD", "0")  # tests keep both cores busy themselves
#: The same examples in every run, as a suite must not fail by luck; `make soak` draws others, and more.
settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="NUMBO_FUZZ" not in os.environ,
)
settings.load_profile("any machine")


# No test cuts the power, so none waits for the disk at each write: two thirds of the time of a study over SQLite.
os.fsync = lambda descriptor: None


@sqlalchemy.event.listens_for(sqlalchemy.Engine, "connect")
def _write_later(connection: Any, record: Any) -> None:
    if type(connection).__module__ == "sqlite3":
        connection.execute("PRAGMA synchronous=OFF")


#: What takes longest. Begun first, it leaves no core idle at the end; the group "ray" stays on one of them.
LONG = (
    "::test_a_type_checker_knows",
    "::test_what_is_not_in_the_cache",
    "::test_a_read_only_installation",
    "::test_killed_workers",
    "::test_processes_threads_hash_seeds",
    "::test_suggestions_do_not_depend",
    "/test_examples.py",
    "/test_fuzz",
)

#: Folders all of whose tests depend on rounding.
ROUNDED = tuple(Path(__file__).parent / name for name in ("kernels", "models", "search"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that belong to a group come first, then the long ones, then the others as they are."""
    for item in items:
        if any(folder in item.path.parents for folder in ROUNDED):
            item.add_marker("arithmetic")

    def place(item: pytest.Item) -> int:
        grouped = item.get_closest_marker("xdist_group") is not None
        return 0 if grouped else 1 if any(part in item.nodeid for part in LONG) else 2

    items.sort(key=place)


FAMILIES = ((MATERN52, "matern52"), (MATERN32, "matern32"), (RBF, "rbf"))
STRUCTURES = (
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
#: Every structure with every family; interpreted, which is slow and for coverage, with the first one only, but for one.
COVARIANCES = [
    pytest.param(
        (family, d, trend, cats, 1e-2, additive, branching),
        id=f"{name}-d{d}{'-trend' if trend else ''}{'-additive' if additive else ''}{f'-{cats}cat' if cats else ''}"
        f"{'-branching' if branching else ''}",
    )
    for family, name in FAMILIES
    for d, trend, additive, cats, branching in STRUCTURES[: 1 if INTERPRETED and family != FAMILIES[0][0] else None]
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

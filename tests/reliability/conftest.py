from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from tests.harness import faults


@pytest.fixture(scope="session")
def postgres() -> None:
    """PostgreSQL is there: installed first where that is welcome (CI), or else the test is skipped."""
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: pip install 'psycopg[binary]'")
    if faults.postgres_programs() is None:
        if not (os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get")):
            pytest.skip("PostgreSQL is not installed; the test installs it itself only as root on Debian with CI=true")
        quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "capture_output": True, "check": True}
        try:
            subprocess.run(["apt-get", "update"], **quiet)
            subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", "postgresql"], **quiet)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"PostgreSQL cannot be installed here: {error.stderr.decode().strip()[-300:]}")

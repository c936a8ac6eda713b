"""A Ray of a machine's own, for tests and for restored runs."""

from __future__ import annotations

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

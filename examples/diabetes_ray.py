"""For the Ray examples: a quiet local Ray, the network's space, and printed results."""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")

import ray
from ray import tune

SPACE = {
    "batch_size": tune.randint(32, 129),
    "learning_rate": tune.loguniform(1e-6, 1.0),
    "learning_rate_decay": tune.loguniform(1e-6, 1.0),
    "hidden_units": tune.randint(1, 9),
}


def start(description: str, trials: int) -> argparse.Namespace:
    """Start Ray and return the command line's ``trials`` and ``seed``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    return arguments


def show(results: tune.ResultGrid, note: str = "") -> None:
    """Print the best test error and its configuration."""
    best = results.get_best_result()
    assert best.metrics is not None
    assert best.config is not None
    print(
        f"Best test error {best.metrics['error']:.2%} of {len(results)} trials{note}:"
    )
    for name in SPACE:
        print(f"  {name:20s} {best.config[name]:.4g}")

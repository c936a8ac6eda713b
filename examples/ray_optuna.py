"""The diabetes network search on a local Ray, through its OptunaSearch with a sampler of numbo.

For those who have OptunaSearch in place; `examples/ray_nas.py` is the native way.

    python examples/ray_optuna.py [--trials 40] [--seed 0]
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")

from numbo.optuna import GSSBOSampler
from ray.tune.search.optuna import OptunaSearch

import optuna
import ray
from diabetes import Data, final_error, load
from ray import tune

SPACE = {
    "batch_size": tune.randint(32, 129),
    "learning_rate": tune.loguniform(1e-6, 1.0),
    "learning_rate_decay": tune.loguniform(1e-6, 1.0),
    "hidden_units": tune.randint(1, 9),
}


def trainable(config: dict[str, float], data: Data) -> None:
    """Report the test error after the last epoch."""
    batch, hidden = int(config["batch_size"]), int(config["hidden_units"])
    tune.report({"error": final_error(data, batch, config["learning_rate"], config["learning_rate_decay"], hidden)})


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune a network on the Pima diabetes data through OptunaSearch.")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    tuner = tune.Tuner(
        tune.with_parameters(trainable, data=load()),
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="error",
            mode="min",
            num_samples=arguments.trials,
            max_concurrent_trials=4,
            search_alg=OptunaSearch(sampler=GSSBOSampler(seed=arguments.seed)),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="numbo-diabetes-optuna", verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result()
    assert best.metrics is not None
    assert best.config is not None
    print(f"Best test error {best.metrics['error']:.2%} of {len(results)} trials:")
    for name in SPACE:
        print(f"  {name:20s} {best.config[name]:.4g}")


if __name__ == "__main__":
    main()

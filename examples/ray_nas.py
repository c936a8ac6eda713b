"""The diabetes network search on a local Ray: parallel trials, bad ones stopped early by ASHA.

python examples/ray_nas.py [--trials 60] [--seed 0]
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")

from numbo.ray import GSSBOSearch

import ray
from diabetes import EPOCHS, Data, load, mean_errors
from ray import tune

SPACE = {
    "batch_size": tune.randint(32, 129),
    "learning_rate": tune.loguniform(1e-6, 1.0),
    "learning_rate_decay": tune.loguniform(1e-6, 1.0),
    "hidden_units": tune.randint(1, 9),
}


def trainable(config: dict[str, float], data: Data) -> None:
    """Report the test error every ten epochs."""
    batch, hidden = int(config["batch_size"]), int(config["hidden_units"])
    errors = mean_errors(data, batch, config["learning_rate"], config["learning_rate_decay"], hidden)
    for epoch, error in enumerate(errors, start=1):
        if epoch % 10 == 0:
            tune.report({"error": error, "epoch": epoch})


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune a network on the Pima diabetes data with numbo and Ray Tune.")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    tuner = tune.Tuner(
        tune.with_parameters(trainable, data=load()),
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="error",
            mode="min",
            num_samples=arguments.trials,
            search_alg=GSSBOSearch(seed=arguments.seed),
            scheduler=tune.schedulers.ASHAScheduler(time_attr="epoch", max_t=EPOCHS, grace_period=20),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="numbo-diabetes", verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result()
    stopped = sum(r.metrics is not None and r.metrics["epoch"] < EPOCHS for r in results)
    assert best.metrics is not None
    assert best.config is not None
    print(f"Best test error {best.metrics['error']:.2%} of {len(results)} trials, {stopped} of them stopped early:")
    for name in SPACE:
        print(f"  {name:20s} {best.config[name]:.4g}")


if __name__ == "__main__":
    main()

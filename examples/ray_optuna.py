"""The diabetes network search on a local Ray, by a sampler in its OptunaSearch.

For projects that already use OptunaSearch; `examples/ray_nas.py` shows the native
searcher.

    python examples/ray_optuna.py [--trials 40] [--seed 0]
"""

from __future__ import annotations

import optuna
from numbo.optuna import GSSBOSampler
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from diabetes import Data, final_error, load
from diabetes_ray import SPACE, show, start


def trainable(config: dict[str, float], data: Data) -> None:
    """Report the test error after the last epoch."""
    batch, hidden = int(config["batch_size"]), int(config["hidden_units"])
    tune.report(
        {
            "error": final_error(
                data,
                batch,
                config["learning_rate"],
                config["learning_rate_decay"],
                hidden,
            )
        }
    )


def main() -> None:
    arguments = start(
        "Tune a network on the Pima diabetes data through OptunaSearch.", trials=40
    )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
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
    show(tuner.fit())


if __name__ == "__main__":
    main()

"""Tune a whole scikit-learn pipeline on a local Ray, by choices between dicts.

python examples/ray_pipeline.py [--trials 60] [--seed 0]
"""

from __future__ import annotations

import json
from typing import Any

from numbo.ray import GSSBOSearch
from ray import tune

from diabetes_ray import start
from regression import SCALERS, error

SPACE = {
    "scaler": tune.choice(list(SCALERS)),
    "features": tune.choice(
        [
            {"by": "all"},
            {"by": "pca", "components": tune.randint(1, 11)},
            {"by": "test", "k": tune.randint(1, 11)},
        ]
    ),
    "model": tune.choice(
        [
            {
                "kind": "svm",
                "C": tune.loguniform(1e-2, 1e4),
                "epsilon": tune.loguniform(0.1, 100.0),
                "kernel": tune.choice(
                    [
                        {"name": "linear"},
                        {"name": "rbf", "gamma": tune.loguniform(1e-4, 1e1)},
                    ]
                ),
            },
            {
                "kind": "linear",
                "alpha": tune.loguniform(1e-4, 1e2),
                "l1_ratio": tune.uniform(0.0, 1.0),
            },
            {
                "kind": "neighbours",
                "n_neighbors": tune.randint(1, 61),
                "p": tune.uniform(1.0, 4.0),
            },
            {
                "kind": "boosting",
                "n_estimators": tune.randint(5, 101),
                "max_depth": tune.randint(1, 6),
                "learning_rate": tune.loguniform(0.01, 1.0),
                "subsample": tune.uniform(0.3, 1.0),
            },
        ]
    ),
}


def trainable(config: dict[str, Any]) -> None:
    tune.report({"error": error(config)})


def main() -> None:
    arguments = start(
        "Tune a scikit-learn pipeline with numbo and Ray Tune.", trials=60
    )
    search = GSSBOSearch(seed=arguments.seed)
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="error",
            mode="min",
            num_samples=arguments.trials,
            search_alg=search,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="numbo-pipeline", verbose=0),
    )
    results = tuner.fit()
    best = results.get_best_result()
    assert best.metrics is not None
    print(f"Best error {best.metrics['error']:.3f} of {len(results)} trials:")
    print(json.dumps(best.config, indent=2))


if __name__ == "__main__":
    main()

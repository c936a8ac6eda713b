"""Trade accuracy against latency in the table of NAS-Bench-201, on a local Ray.

python examples/ray_trade_off.py [--trials 100] [--seed 0]
"""

from __future__ import annotations

from typing import Any

from numbo.ray import GSSBOSearch
from ray import tune

from constraints import OPERATIONS, Network, measured
from diabetes_ray import start
from trade_off import show


def trainable(config: dict[str, Any]) -> None:
    tune.report(measured(config)._asdict())


def main() -> None:
    arguments = start("Tune accuracy and latency with Ray Tune.", trials=100)
    search = GSSBOSearch(
        metric=["accuracy", "latency"], mode=["max", "min"], seed=arguments.seed
    )
    tuner = tune.Tuner(
        trainable,
        param_space={name: tune.choice(list(c)) for name, c in OPERATIONS.items()},
        tune_config=tune.TuneConfig(
            metric="accuracy",  # of both, the one by which Tune reports its best result
            mode="max",
            num_samples=arguments.trials,
            search_alg=search,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="numbo-trade-off", verbose=0),
    )
    results = tuner.fit()
    show((Network(*values) for _, values in search.front()), len(results))
    best = results.get_best_result().metrics
    assert best is not None
    print(f"Tune's best result has {best['accuracy']:.2f}%")


if __name__ == "__main__":
    main()

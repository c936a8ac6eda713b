"""The diabetes network search on a local Ray, where ASHA stops bad trials early.

python examples/ray_nas.py [--trials 60] [--seed 0]
"""

from __future__ import annotations

from numbo.ray import GSSBOSearch
from ray import tune

from diabetes import EPOCHS, Data, load, mean_errors
from diabetes_ray import SPACE, show, start


def trainable(config: dict[str, float], data: Data) -> None:
    """Report the test error every ten epochs."""
    batch, hidden = int(config["batch_size"]), int(config["hidden_units"])
    errors = mean_errors(
        data, batch, config["learning_rate"], config["learning_rate_decay"], hidden
    )
    for epoch, error in enumerate(errors, start=1):
        if epoch % 10 == 0:
            tune.report({"error": error, "epoch": epoch})


def main() -> None:
    arguments = start(
        "Tune a network on the Pima diabetes data with numbo and Ray Tune.", trials=60
    )
    tuner = tune.Tuner(
        tune.with_parameters(trainable, data=load()),
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            metric="error",
            mode="min",
            num_samples=arguments.trials,
            search_alg=GSSBOSearch(seed=arguments.seed),
            scheduler=tune.schedulers.ASHAScheduler(
                time_attr="epoch", max_t=EPOCHS, grace_period=20
            ),
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(name="numbo-diabetes", verbose=0),
    )
    results = tuner.fit()
    stopped = sum(
        r.metrics is not None and r.metrics["epoch"] < EPOCHS for r in results
    )
    show(results, f", {stopped} of them stopped early")


if __name__ == "__main__":
    main()

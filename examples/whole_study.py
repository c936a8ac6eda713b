"""One study from the first line to the last, with everything that real programs have.

python examples/whole_study.py [--storage sqlite:///whole.db] [--workers 2]

Which model reads handwritten digits best, among those that fit into 200 kilobytes? The
program branches, some of its settings fail, bad trainings are pruned, several processes
share the study, a study of last month's digits is known, and it ends when a trial is no
longer worth it. A page with plots is written beside the storage.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import optuna
from numbo.optuna import CurvePruner, GSSBOSampler, StopWhenDone
from optuna.trial import TrialState
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

STEPS = 15
LIMIT = 200_000  # bytes
WORTH = 1e-4  # of the loss: what a trial has to bring
IMAGES = {"last-month": 500, "this-month": 1797}


def suggested_inputs(trial: optuna.Trial) -> PCA | None:
    """What a model sees: the 64 pixels of an image, or so many principal components.

    There are no more components than pixels. A trial that wants more of them fails.
    """
    if trial.suggest_categorical("inputs", ["pixels", "components"]) == "pixels":
        return None
    return PCA(trial.suggest_int("components", 4, 100))


def suggested_model(trial: optuna.Trial) -> Any:
    """A model; which parameters there are depends on others."""
    kind = trial.suggest_categorical("model", ["network", "forest", "linear"])
    if kind == "forest":
        return RandomForestClassifier(
            n_estimators=0,
            max_depth=trial.suggest_int("depth", 2, 16),
            max_features=trial.suggest_float("features", 0.05, 1.0, log=True),
            warm_start=True,
            random_state=0,
        )
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    alpha = trial.suggest_float("alpha", 1e-6, 1.0, log=True)
    if kind == "linear":
        return SGDClassifier(
            loss="log_loss",
            learning_rate="constant",
            eta0=rate,
            alpha=alpha,
            random_state=0,
        )
    solver = trial.suggest_categorical("solver", ["adam", "sgd"])
    return MLPClassifier(
        trial.suggest_int("units", 4, 256, log=True),
        solver=solver,
        momentum=trial.suggest_float("momentum", 0.0, 0.99) if solver == "sgd" else 0.9,
        learning_rate_init=rate,
        alpha=alpha,
        random_state=0,
    )


def trained(model: Any, pca: PCA | None, images: int) -> Iterator[float]:
    """The validation loss after each step."""
    X, y = (some[:images] for some in load_digits(return_X_y=True))
    X, X_valid, y, y_valid = train_test_split(X / 16, y, test_size=0.3, random_state=0)
    if pca is not None:
        X, X_valid = pca.fit_transform(X), pca.transform(X_valid)
    for _ in range(STEPS):
        if isinstance(model, RandomForestClassifier):
            model.set_params(n_estimators=model.n_estimators + 4).fit(X, y)
        else:
            model.partial_fit(X, y, classes=np.arange(10))
        yield float(log_loss(y_valid, model.predict_proba(X_valid)))


def objective(trial: optuna.Trial) -> float:
    pca, model = suggested_inputs(trial), suggested_model(trial)
    loss = np.inf
    for step, loss in enumerate(trained(model, pca, IMAGES[trial.study.study_name])):
        trial.set_user_attr("bytes", len(pickle.dumps((model, pca))))
        trial.report(loss, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def too_large(trial: optuna.trial.FrozenTrial) -> Sequence[float]:
    """The limit is kept where this is at most 0."""
    return [trial.user_attrs["bytes"] / LIMIT - 1.0]


def work(storage: str, name: str, earlier: list[str], trials: int) -> None:
    """One worker: it runs trials until the study is done."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")  # of scikit-learn, about extreme settings
    sampler = GSSBOSampler(constraints_func=too_large, earlier=earlier)
    study = optuna.load_study(
        study_name=name,
        storage=storage,
        sampler=sampler,
        pruner=CurvePruner(n_startup_trials=10),
    )
    done = StopWhenDone(worth=WORTH, n_startup_trials=30)
    most = optuna.study.MaxTrialsCallback(trials, states=None)
    study.optimize(objective, callbacks=[done, most], catch=ValueError)


def tuned(
    storage: str, name: str, earlier: list[str], trials: int, workers: int
) -> optuna.Study:
    """A study, after all workers have ended. One that is there is continued."""
    study = optuna.create_study(study_name=name, storage=storage, load_if_exists=True)
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=work, args=(storage, name, earlier, trials))
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a worker ended with code {process.exitcode}")
    return study


def show(study: optuna.Study) -> None:
    """What came of it."""
    states = [trial.state for trial in study.trials]
    pruned, failed = states.count(TrialState.PRUNED), states.count(TrialState.FAIL)
    steps = sum(len(trial.intermediate_values) for trial in study.trials)
    print(f"{study.study_name}: {len(states)} trials, {pruned} pruned, {failed} failed")
    print(f"  {steps} of {STEPS * len(states)} steps")
    sampler = GSSBOSampler(constraints_func=too_large)
    best = sampler.best_predicted_trial(study)
    if best is not None:
        size = best.user_attrs["bytes"] / 1000
        print(f"  best loss {best.value:.4f} with {size:.0f} kB")
        for name, value in best.params.items():
            print(f"    {name} = {value}")
        print(f"  {sampler.remaining(50, study)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="One study with everything.")
    parser.add_argument("--storage", default="sqlite:///whole.db")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trials", type=int, default=150, help="at most so many")
    arguments = parser.parse_args()
    storage, workers = arguments.storage, arguments.workers
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    show(tuned(storage, "last-month", [], min(40, arguments.trials), workers))
    earlier = [f"{storage}#last-month"]
    show(tuned(storage, "this-month", earlier, arguments.trials, workers))

    page = storage.split("///")[-1].removesuffix(".db") + ".html"
    look = [
        sys.executable,
        "-m",
        "numbo",
        "look",
        storage,
        "this-month",
        "--html",
        page,
    ]
    print("$ python", *look[1:], flush=True)
    subprocess.run(look, check=True)


if __name__ == "__main__":
    main()

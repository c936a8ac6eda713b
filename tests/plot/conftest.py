"""Sources that many plots are drawn of, each made once."""

from __future__ import annotations

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import optuna
import pytest
from tests.plot.shown import SPACE, objective

from numbo import GSSBO, Categorical, Float, Int
from numbo.optuna import GSSBOSampler


@pytest.fixture(scope="session")
def study():
    def trained(trial):
        x = trial.suggest_float("x", 1e-4, 1.0, log=True)
        if trial.number == 7:
            raise optuna.TrialPruned
        return objective(
            {"x": x, "k": trial.suggest_int("k", 1, 9), "act": trial.suggest_categorical("act", ["relu", "tanh"])}
        )

    study = optuna.create_study(sampler=GSSBOSampler(seed=0, buffer_size=20))
    study.optimize(trained, n_trials=50)
    return study


@pytest.fixture(scope="session")
def searcher():
    tune = pytest.importorskip("ray.tune", reason="Ray Tune is not installed: pip install 'numbo[ray]'")
    from numbo.ray import GSSBOSearch

    space = {
        "x": tune.loguniform(1e-4, 1.0),
        "net": {"k": tune.quniform(1, 9, 0.5), "act": tune.choice([np.tanh, None])},
    }
    searcher = GSSBOSearch(space, metric="loss", mode="min", seed=0)
    for i in range(30):
        config = searcher.suggest(str(i))
        searcher.on_trial_complete(str(i), {"loss": float(config["net"]["k"] + (config["net"]["act"] is None))})
    return searcher


@pytest.fixture(scope="session")
def optimizer():
    opt = GSSBO(SPACE, seed=0)
    for _ in range(30):
        p = opt.ask()
        opt.tell(p, objective(p))
    return opt


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def branching():
    """A space of two branches, of which one has a branch that no observation has."""
    space = {
        "kind": Categorical(["a", "b"]),
        "rate": Float(0.0, 1.0),
        "slope": Float(0.0, 1.0, when={"kind": "a"}),
        "width": Int(1, 9, when={"kind": "b"}),
        "never": Float(0.0, 1.0, when={"width": 9, "kind": "a"}),
    }
    opt, rng = GSSBO(space, seed=0), np.random.default_rng(0)
    for x in opt.space.snap(rng.random((40, 5))):
        p = opt.space.decode(x)
        opt.tell(p, p["rate"] + (3.0 * (p["slope"] - 0.3) ** 2 if p["kind"] == "a" else 1.0 + 0.1 * p["width"]))
    return opt

"""What is best if parameters can only be met so well."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from ray import tune
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO, Categorical, Float, Int
from numbo.inspection.predictions import Predictions
from numbo.inspection.tolerance import over_errors
from numbo.models.moments import Prediction
from numbo.optuna import GSSBOSampler
from numbo.ray import GSSBOSearch

SPACE = {"x": Float(0.0, 1.0), "kind": Categorical(["u", "v"])}
WIDTH = 0.1


def needle(x):
    """A narrow optimum at 0.2, and a broad one that is nearly as good at 0.7."""
    return 1.0 - np.exp(-(((x - 0.2) / 0.02) ** 2)) - 0.8 * np.exp(-(((x - 0.7) / 0.2) ** 2))


def tolerant(x):
    return needle(np.clip(x + np.linspace(-WIDTH, WIDTH, 2001), 0.0, 1.0)).mean()


def run(seed):
    opt = GSSBO(SPACE, seed=seed)
    for x in (0.2, 0.7):
        opt.tell({"x": x, "kind": "u"}, needle(x))
    for _ in range(40):
        p = opt.ask()
        opt.tell(p, needle(p["x"]))
    return opt


@over_seeds()
def test_a_broad_optimum_beats_a_needle():
    opt = run(seeded(0))
    assert abs(opt.best_predicted()[0]["x"] - 0.2) < 0.05
    for anywhere in (False, True):
        point, mean = opt.best_predicted(tolerance={"x": WIDTH}, anywhere=anywhere)
        assert tolerant(point["x"]) < tolerant(opt.best[0]["x"]), MOSTLY
        assert abs(mean - tolerant(point["x"])) < 0.2, MOSTLY


def test_means_over_errors_are_those_of_the_model():
    opt = run(0)
    view = opt._view(opt._run.quiet())
    X = np.array([[0.0, 0.25], [0.4, 0.75]])
    found = over_errors(opt.space, view.mean_sd, X, {"x": WIDTH})
    for x, mean, std in zip(X, *found, strict=True):
        missed = np.clip(x[0] + np.linspace(-WIDTH, WIDTH, 4001), 0.0, 1.0)
        dense = view.mean_sd(np.column_stack([missed, np.full(4001, x[1])]))
        near = 0.05 * float(np.ptp(view.mean_sd(opt.observations[0]).mean))
        assert mean == pytest.approx(dense.mean.mean(), abs=near)
        assert std == pytest.approx(dense.std.mean(), abs=near)
    np.testing.assert_array_equal(over_errors(opt.space, view.mean_sd, X, {}), view.mean_sd(X))


@pytest.mark.parametrize("anywhere", [False, True])
def test_what_is_best_is_the_mean_less_one_standard_deviation(anywhere):
    """It is at least that at all observations, and anywhere no less than among these; what is told is the mean."""
    opt = run(seeded(0))
    view = opt._view(opt._run.quiet())
    point, mean = opt.best_predicted(tolerance={"x": WIDTH}, anywhere=anywhere)
    own = over_errors(opt.space, view.mean_sd, opt.space.encode(point)[None], {"x": WIDTH})
    others = over_errors(opt.space, view.mean_sd, opt._run.history.X, {"x": WIDTH})
    assert mean == pytest.approx(-float(own.mean[0]))
    assert (own.mean - own.std)[0] >= (others.mean - others.std).max() - 1e-9


@pytest.mark.parametrize("tolerance", [{"z": 0.1}, {"kind": 0.1}, {"x": -0.1}, {"x": None}, 0.1])
def test_errors_name_what_is_wrong(tolerance):
    with pytest.raises(ValueError, match=r"^tolerance"):
        run(0).best_predicted(tolerance=tolerance)


def test_anywhere_is_where_constraints_hold_and_trials_succeed():
    """The objective falls towards x = 1, but constraints hold, and trials succeed, up to 0.5 only."""
    for fails in (False, True):
        opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, constraints=() if fails else ("c",), seed=0)
        for x, y in np.random.default_rng(0).random((40, 2)):
            value = (y - 0.5) ** 2 - x
            constraints = None if fails else {"c": x - 0.5}
            opt.tell({"x": x, "y": y}, None if fails and x > 0.5 else value, constraints=constraints)
        point, _ = opt.best_predicted(tolerance={"y": WIDTH}, anywhere=True)
        assert 0.4 < point["x"] < 0.6


def test_anywhere_in_a_finite_space():
    opt = GSSBO({"i": Int(0, 30), "j": Int(0, 30)}, seed=0)
    for i in range(0, 31, 5):
        for j in range(0, 31, 5):
            opt.tell({"i": i, "j": j}, (i - 17.0) ** 2 + (j - 13.0) ** 2)
    assert opt.best_predicted(tolerance={"i": 1})[0] == {"i": 15, "j": 15}
    assert opt.best_predicted(tolerance={"i": 1}, anywhere=True)[0] == {"i": 17, "j": 13}


def test_the_adapters_take_it():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    study.optimize(lambda trial: needle(trial.suggest_float("x", 0, 1)), n_trials=12)
    params, value = study.sampler.best_predicted(tolerance={"x": WIDTH})
    assert study.sampler.best_predicted_trial(tolerance={"x": WIDTH}).params == params
    assert np.isfinite(value)
    search = GSSBOSearch({"a": {"x": tune.quniform(0, 1, 0.05)}}, "loss", "min", seed=0)
    for i in range(8):
        config = search.suggest(f"t{i}")
        search.on_trial_complete(f"t{i}", {"loss": needle(config["a"]["x"]), "training_iteration": 1})
    assert set(search.best_predicted(tolerance={"a/x": WIDTH})[0]) == {"a"}


def test_anywhere_is_not_where_predictions_are_unsure(monkeypatch):
    """By the deviations that are told, which are larger than the model's where it has been too sure."""
    opt = run(0)
    monkeypatch.setattr(
        Predictions, "widened", lambda self, view, X: Prediction(np.zeros(len(X)), np.full(len(X), 1e9))
    )
    point, mean = opt.best_predicted(tolerance={"x": WIDTH}, anywhere=True)
    assert (point, mean) == opt.best_predicted(tolerance={"x": WIDTH})

"""Beliefs and defaults in Ray Tune, by the names of parameters."""

from __future__ import annotations

import pytest
from ray import tune

from numbo import Guess, Table
from numbo.ray import BKBSearch, GSSBOSearch

SPACE = {
    "lr": tune.loguniform(1e-5, 1),
    "d": {"q": tune.quniform(0, 1, 0.1), "c": tune.choice(["u", "v"])},
    "net": tune.choice([{"width": tune.randint(1, 9)}, {"depth": tune.randint(1, 9)}]),
}
PRIOR = {
    "lr": Guess(1e-3),
    "d/q": lambda q: float(q > 0.65) * (1.0 - q),
    "d/c": {"u": 1, "v": 4},
    "net": Guess({"depth": 3}),
}


def go(search, first, last):
    configs = []
    for i in range(first, last):
        configs.append(search.suggest(f"t{i}"))
        search.on_trial_complete(f"t{i}", {"loss": configs[-1]["lr"] + configs[-1]["d"]["q"], "training_iteration": 1})
    return configs


def test_the_first_config_is_the_mode_or_the_default():
    search = GSSBOSearch(SPACE, "loss", "min", seed=0, prior=PRIOR, default={"net/depth": 5})
    assert go(search, 0, 1) == [{"lr": pytest.approx(1e-3), "d": {"q": 0.7, "c": "v"}, "net": {"depth": 5}}]


def test_the_space_of_a_run_has_them():
    search = GSSBOSearch(metric="loss", mode="min", seed=0, prior=PRIOR, default={"net/depth": 5})
    search.set_search_properties("loss", "min", SPACE)
    assert search.suggest("t")["net"] == {"depth": 5}


@pytest.mark.filterwarnings("ignore:Trials disagree")
def test_a_restored_searcher_has_them_also_functions_of_a_script(tmp_path):
    search = GSSBOSearch(SPACE, "loss", "min", seed=0, prior=PRIOR, default={"net/depth": 5})
    go(search, 0, 6)
    search.save(str(tmp_path / "state"))
    twin = GSSBOSearch(SPACE, "loss", "min")
    twin.restore(str(tmp_path / "state"))
    assert go(twin, 6, 9) == go(search, 6, 9)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"^prior must name parameters of the space, .* got 'q'\.$"):
        GSSBOSearch(SPACE, "loss", "min", prior={"q": Guess(0.1)})
    with pytest.raises(ValueError, match=r"^default\['lr'\] must be a value of Float"):
        GSSBOSearch(SPACE, "loss", "min", default={"lr": 3.0})
    with pytest.raises(ValueError, match=r"^prior is of parameters, and the rows of a Table have none\.$"):
        GSSBOSearch(Table({"a": [1, 2]}), "loss", "min", prior={"a": Guess(1)})
    with pytest.raises(TypeError, match=r"^BKBSearch does not take beliefs into account, and has no setting 'prior'"):
        BKBSearch(SPACE, "loss", "min", prior={})

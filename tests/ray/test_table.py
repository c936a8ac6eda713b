"""A table of candidates as the space of a searcher."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from ray import tune
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo.ray import BBKBSearch, GSSBOSearch, SBPESearch, Table

rng = np.random.default_rng(0)
FRAME = pd.DataFrame({"rate": 10.0 ** rng.uniform(-5, -1, 2500), "act": rng.choice(["relu", "tanh"], 2500)})
TABLE = Table(FRAME, log=["rate"])
LOSSES = ((np.log10(FRAME["rate"]) + 3.0) ** 2 + (FRAME["act"] != "tanh")).to_numpy()


def play(searcher, n, prefix="t"):
    rows = []
    for i in range(n):
        config = searcher.suggest(f"{prefix}{i}")
        rows.append(config["row"])
        searcher.on_trial_complete(f"{prefix}{i}", {"loss": LOSSES[config["row"]], "config": config})
    return rows


@pytest.mark.parametrize("cls", [GSSBOSearch, BBKBSearch, SBPESearch])
def test_rows_are_suggested(cls):
    searcher = cls(TABLE, "loss", "min", seed=0, avoid_repeats=True)
    rows = play(searcher, 40)
    assert len(set(rows)) == 40
    assert {type(row) for row in rows} == {int}


@over_seeds()
def test_one_of_the_best_rows_is_found_also_after_a_restore(tmp_path):
    searcher = GSSBOSearch(TABLE, "loss", "min", seed=seeded(0))
    play(searcher, 25)
    searcher.save(str(tmp_path / "state.pkl"))
    restored = GSSBOSearch(TABLE, "loss", "min")
    restored.restore(str(tmp_path / "state.pkl"))
    rows = play(restored, 15, "u")
    assert rows == play(searcher, 15, "u")
    assert (restored.best_predicted()[1] - 0.05 > LOSSES).sum() <= 5, MOSTLY
    assert restored.best_predicted()[0].keys() == {"row"}
    assert np.isfinite(restored.predict({"row": 3})).all()
    assert pickle.loads(pickle.dumps(searcher)).suggest("x") == searcher.suggest("x")


def test_points_to_evaluate_and_evaluated_rewards():
    searcher = GSSBOSearch(TABLE, "loss", "min", seed=0, points_to_evaluate=[{"row": 9}, {"row": 4}])
    assert [searcher.suggest("a"), searcher.suggest("b")] == [{"row": 9}, {"row": 4}]
    searcher = GSSBOSearch(TABLE, "loss", "min", points_to_evaluate=[{"row": 9}], evaluated_rewards=[LOSSES[9]], seed=0)
    assert searcher.optimizer.best == ({"row": 9}, LOSSES[9])


def test_the_param_space_may_name_the_row_again_and_hold_constants():
    searcher = GSSBOSearch(TABLE, seed=0)
    assert searcher.set_search_properties("loss", "min", {"row": tune.randint(0, len(TABLE)), "epochs": 3})
    assert searcher.suggest("a").keys() == {"row"}
    assert not GSSBOSearch(TABLE, seed=0).set_search_properties("loss", "min", {"x": tune.uniform(0, 1)})


def test_what_is_no_space_is_refused():
    with pytest.raises(ValueError, match=r"space must be a mapping such as .*, or a Table, got 3"):
        GSSBOSearch(3, "loss", "min")

"""How values become the targets of a GP, and when that is decided again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import make_points

from numbo.models import ExactGP, OutputTransform
from numbo.models.targets import DECISION_EVERY, REFIT, Targets
from numbo.models.transforms import KINDS
from numbo.trials import Data

X = make_points(40, 2)
SMOOTH = np.sin(3.0 * X[:, 0]) + X[:, 1]


def steep(y):
    return -np.exp(-6.0 * y)


def outlying(y):
    out = y.copy()
    out[::9] -= 1e4 * (1.0 + np.random.default_rng(0).random(len(out[::9])))
    return out


@pytest.mark.parametrize(
    ("winsorize", "warp", "values", "kind"),
    [
        (False, False, outlying(SMOOTH), "plain"),
        (True, False, outlying(SMOOTH), "winsorize"),
        (True, False, SMOOTH, "winsorize"),  # without outliers it clips nothing, and there is no choice
        (True, True, SMOOTH, "plain"),
        (False, True, steep(SMOOTH), "log"),
    ],
)
def test_the_kind_is_the_one_that_predicts_best_of_those_that_are_allowed(winsorize, warp, values, kind):
    targets = Targets(winsorize=winsorize, warp=warp)
    targets.fit(ExactGP(np.zeros(2, dtype=bool)), Data.of(X, values))
    assert targets.kind == kind


def test_targets_are_those_of_a_transform_fitted_to_the_values():
    targets = Targets(winsorize=True, warp=False)
    found = targets.of(Data(X, outlying(SMOOTH), np.full(40, 0.5)))
    expected = OutputTransform.fit(outlying(SMOOTH), "winsorize")
    assert targets.transform == expected
    np.testing.assert_array_equal(found.y, expected.forward(outlying(SMOOTH)))
    np.testing.assert_array_equal(found.variance, expected.variances(outlying(SMOOTH), np.full(40, 0.5)))


def test_outliers_are_what_clipping_would_change():
    y = outlying(SMOOTH)
    np.testing.assert_array_equal(Targets(winsorize=True, warp=False).outliers(y), np.arange(40) % 9 == 0)
    assert not Targets(winsorize=False, warp=True).outliers(y).any()


def test_the_kind_is_decided_at_every_third_fit():
    targets, gp, kinds = Targets(winsorize=False, warp=True), ExactGP(np.zeros(2, dtype=bool)), []
    for k in range(2 * DECISION_EVERY + 1):
        values = SMOOTH if k == 0 else steep(SMOOTH)
        targets.fit(gp, Data.of(X, values))
        kinds.append(targets.kind)
    assert kinds == ["plain"] * DECISION_EVERY + ["log"] * (DECISION_EVERY + 1)


def known(y, kind):
    return OutputTransform.fit(y, kind).forward(y)


def test_settled_fits_are_short_and_try_one_other_kind_at_a_time():
    y = outlying(steep(SMOOTH))
    targets = Targets(winsorize=True, warp=True)
    gp = ExactGP(np.zeros(2, dtype=bool))
    fitted = []
    iterations = []
    fit = gp.fit

    def watched(X, values, *args, **kwargs):
        fitted.append(values.copy())
        iterations.append(kwargs["iterations"])
        fit(X, values, *args, **kwargs)

    gp.fit = watched
    targets.restore({"kind": "plain", "decisions": DECISION_EVERY})
    tried = {"plain"}
    for k in range(6 * DECISION_EVERY):
        before = targets.kind
        fitted.clear()
        targets.fit(gp, Data.of(X, y), settled=True)
        (values,) = fitted
        kind = next(kind for kind in KINDS if np.array_equal(known(y, kind), values))
        assert (kind == before) == bool(k % DECISION_EVERY)
        assert targets.kind in (kind, before)
        tried.add(kind)
    assert tried == {"plain", "winsorize", "log"}
    assert set(iterations) == {REFIT}


def test_the_first_fit_is_never_short():
    targets = Targets(winsorize=True, warp=True)
    gp = ExactGP(np.zeros(2, dtype=bool))
    twin = ExactGP(np.zeros(2, dtype=bool))
    targets.fit(gp, Data.of(X, outlying(SMOOTH)), settled=True)
    Targets(winsorize=True, warp=True).fit(twin, Data.of(X, outlying(SMOOTH)))
    np.testing.assert_array_equal(gp.theta, twin.theta)
    assert targets.kind == "winsorize"


def test_a_challenger_that_predicts_worse_leaves_no_trace():
    targets = Targets(winsorize=False, warp=True)
    gp = ExactGP(np.zeros(2, dtype=bool))
    targets.fit(gp, Data.of(X, SMOOTH))
    before = gp.theta
    targets.restore({"kind": "plain", "decisions": DECISION_EVERY})
    targets.fit(gp, Data.of(X, SMOOTH), settled=True)
    assert targets.kind == "plain"
    np.testing.assert_array_equal(gp.theta, before)


def test_a_challenger_that_predicts_better_stays():
    targets = Targets(winsorize=False, warp=True)
    gp = ExactGP(np.zeros(2, dtype=bool))
    targets.restore({"kind": "plain", "decisions": DECISION_EVERY})
    targets.fit(gp, Data.of(X, steep(SMOOTH)), settled=True)
    assert targets.kind == "log"


def test_the_count_of_fits_survives_a_restore():
    targets, gp = Targets(winsorize=False, warp=True), ExactGP(np.zeros(2, dtype=bool))
    targets.restore({"kind": "log", "decisions": DECISION_EVERY - 1})
    targets.fit(gp, Data.of(X, SMOOTH))
    assert targets.kind == "log"  # it is no turn
    targets.fit(gp, Data.of(X, SMOOTH))
    assert targets.kind == "plain"

"""Reports of trials that run: what is expected of them shapes suggestions, and nothing is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, configured, inside, over_seeds, pending_of, reseeded, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Float, GSSBOSettings, Space
from numbo.trials import SCOUT

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
LAST = 12


def end(p):
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


def reports(p, count=LAST):
    return {step: end(p) + math.exp(-0.4 * step) for step in range(1, count + 1)}


def told(opt, n, every=2):
    """After ``n`` trials, of which all but one in ``every`` were stopped."""
    for i in range(n):
        p = opt.ask()
        whole = i % every == 0
        found = reports(p, LAST if whole else 3)
        opt.tell(p, list(found.values())[-1], partial=not whole, reports=found)
    return opt


def state(opt):
    return repr(opt.state_dict())


def running_of(opt):
    """The curves of running trials that have reported something."""
    return [curve for curve in opt.snapshot().curves() if curve.kind == "running"]


def ends(opt):
    """The ends that the search expects of stopped trials."""
    return [(curve.end, curve.std) for curve in opt.snapshot().curves() if curve.kind == "pruned"]


@pytest.mark.parametrize("make", [GSSBO, GPUCB])
def test_reports_are_those_of_tell(make):
    one, other = told(make(SPACE, seed=0), 20), told(make(SPACE, seed=0), 20)
    p, q = one.ask(), other.ask()
    for step, value in reports(p, 4).items():
        one.report(p, step, value)
    last = reports(p, 4)[4]
    one.tell(p, last, partial=True)
    other.tell(q, last, partial=True, reports=reports(q, 4))
    assert state(one) == state(other)
    assert one.ask() == other.ask()


def test_what_tell_says_counts_beside_reports():
    opt = told(GSSBO(SPACE, seed=0), 8)
    p = opt.ask()
    opt.report(p, 1, 5.0)
    opt.report(p, 2, 4.0)
    opt.tell(p, 3.0, partial=True, reports={2: 4.5, 3: 3.0})
    curve = opt.snapshot().curves()[-1]
    assert curve.steps.tolist() == [1.0, 2.0, 3.0]
    assert curve.values.tolist() == [5.0, 4.5, 3.0]


def test_reports_come_in_any_order_and_twice():
    one, other = told(GSSBO(SPACE, seed=0), 20), told(GSSBO(SPACE, seed=0), 20)
    p, q = one.ask(), other.ask()
    for step, value in [
        (3, 0.5),
        (1, 9.0),
        (2, 0.7),
        (1, 0.9),
        (5, math.nan),
        (4, None),
    ]:
        one.report(p, step, value)
    for step, value in [(1, 0.9), (2, 0.7), (3, 0.5)]:
        other.report(q, step, value)
    assert state(one) == state(other)
    assert one.ask() == other.ask()


@pytest.mark.parametrize("make", [GSSBO, GPUCB])
@over_seeds()
def test_a_running_trial_is_expected_to_end_where_it_would_if_it_were_stopped(make):
    opt = told(make(SPACE, seed=seeded(0)), 21)
    p = opt.ask()
    for step, value in reports(p, 5).items():
        opt.report(p, step, value)
    (running,) = running_of(opt)
    value, std = opt.predict_end(reports(p, 5))
    # a prediction takes all trials into account, a search those up to its last fit
    assert running.end == pytest.approx(value, abs=0.5 * std), MOSTLY
    assert 0.0 < running.std < np.inf


def test_points_that_have_not_reported_are_unknown():
    opt = told(GSSBO(SPACE, seed=0), 20)
    p, q = opt.ask(2)
    opt.report(q, 1, end(q) + 0.5)
    (running,) = running_of(opt)
    assert running.values.tolist() == [end(q) + 0.5]
    assert np.isfinite([running.end, running.std]).all()
    assert p != q


@pytest.mark.parametrize(("noise", "n", "by"), [(0.0, 60, 0.3), (0.3, 60, 0.0)])
@over_seeds()
def test_a_good_report_attracts_and_a_bad_one_repels(noise, n, by):
    """Under noise the model stands on all observations, through some of them: what these leave open counts as noise."""
    means = []
    for offset in (-0.6, 0.6):
        opt, rng = GSSBO(SPACE, seed=seeded(0), buffer_size=16, avoid_repeats=False), np.random.default_rng(seeded(0))
        for i in range(n):
            p = opt.ask()
            value = end(p) + noise * rng.normal() + 0.2 * math.sin(60.0 * (p["x"] + p["y"]))
            opt.tell(p, value, partial=i == 3, reports={1: value + 1.0, 2: value})
        p = {"x": 0.9, "y": 0.1}
        opt.hold("it", p)
        for step in (1, 2):
            opt.report(p, step, end(p) + offset + 2 - step)
        search = inside(opt, "search")
        search.next_point(inside(opt, "run"), opt.explain().members)  # pending points stay in the models
        surrogate = search.surrogate
        means.append(surrogate.mean_sd(opt.space.encode(p)[None])[0][0])
        assert len(surrogate.means) == len(surrogate.rows)
    assert means[0] > means[1] + by, MOSTLY


def test_a_model_forgets_what_it_expected():
    one, other = told(GSSBO(SPACE, seed=0), 40), told(GSSBO(SPACE, seed=0), 40)
    for opt in (one, other):
        opt.hold("it", {"x": 0.9, "y": 0.1})
    one.report({"x": 0.9, "y": 0.1}, 2, -5.0)
    one.ask()
    one.hold_only({})
    other.ask()
    other.hold_only({})
    one = reseeded(one, 1)
    other = reseeded(other, 1)
    p = one.ask(3)
    np.testing.assert_allclose([list(a.values()) for a in p], [list(a.values()) for a in other.ask(3)], atol=1e-6)


def test_a_state_keeps_what_was_reported():
    opt = told(GSSBO(SPACE, seed=0), 30)
    points = opt.ask(4)
    for k, p in enumerate(points[1:]):
        for step, value in reports(p, 2 + k).items():
            opt.report(p, step, value)
    twin = GSSBO.from_state_dict(opt.state_dict())
    assert state(twin) == state(opt)
    assert twin.ask() == opt.ask()
    twin.hold(("asked", 31), points[1])  # again: nothing is forgotten
    assert pending_of(twin)[("asked", 31)].curve.steps.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [BKB, BBKB, SBPE])
def test_algorithms_that_learn_no_curves_take_no_notice(make):
    extra = {"horizon": 50} if make is SBPE else {}
    one, other = (configured(make, SPACE, seed=0, **extra) for _ in range(2))
    for _ in range(15):
        p, q = one.ask(), other.ask()
        one.report(p, 1, 0.0)
        one.tell(p, end(p))
        other.tell(q, end(q))
    assert one.ask() == other.ask()


def test_without_curves_reports_change_nothing():
    one, other = (told(GSSBO(SPACE, seed=0, settings=GSSBOSettings(use_curves=False)), 20) for _ in range(2))
    p = one.ask()
    other.ask()
    one.report(p, 1, -100.0)
    assert one.ask() == other.ask()


def test_what_is_not_pending_cannot_report():
    opt = told(GSSBO(SPACE, seed=0), 3)
    with pytest.raises(
        ValueError, match=r"^params must be pending: asked for, or held, and not told yet; got \{'x': 0"
    ):
        opt.report({"x": 0.5, "y": 0.5}, 1, 0.0)
    with pytest.raises(ValueError, match="y"):
        opt.report({"x": 0.5}, 1, 0.0)
    with pytest.raises(ValueError, match=r"params must be a mapping of names to values .*, got None"):
        opt.report(None, 1, 0.0)
    p = opt.ask()
    with pytest.raises(ValueError, match="key must be that of a pending point, got 'other'"):
        opt.report(p, 1, 0.0, key="other")
    for step in ("six", None, math.nan, math.inf, [1], 1j):
        with pytest.raises(ValueError, match="step must be a finite number"):
            opt.report(p, step, 0.0)
    with pytest.raises(ValueError, match="value must be a number or None for a failure, got 'low'"):
        opt.report(p, 1, "low")
    opt.report(p, 1, 0.0)
    opt.tell(p, 0.0)
    with pytest.raises(ValueError, match="pending"):
        opt.report(p, 2, 0.0)


def test_before_any_trial_has_ended_a_report_waits():
    opt = GSSBO(SPACE, seed=0, n_initial=2)
    points = opt.ask(3)
    opt.report(points[0], 1, 0.5)
    assert np.isnan([curve.end for curve in running_of(opt)]).all()
    opt.tell(points[1], 1.0)
    opt.tell(points[2], 2.0, reports={1: 2.5, 2: 2.0})
    assert np.isfinite([curve.end for curve in running_of(opt)]).all()
    opt.ask()


@pytest.mark.parametrize("ended", [1, 20])
@pytest.mark.parametrize("first", ["stopped", "running"])
def test_the_first_trial_that_reports_may_come_late(ended, first):
    opt = GSSBO(SPACE, seed=0)
    for _ in range(ended):
        p = opt.ask()
        opt.tell(p, end(p))
    p = opt.ask()
    for step, value in reports(p, 2).items():
        opt.report(p, step, value)
    if first == "stopped":
        opt.tell(p, 1.0, partial=True)
        assert np.isfinite([curve.end for curve in opt.snapshot().curves() if curve.kind == "pruned"]).all()
    opt.ask(2)


def test_expectations_depend_on_what_was_told_and_not_on_when_they_were_asked_for():
    often, once = GSSBO(SPACE, seed=0), GSSBO(SPACE, seed=0)
    rng = np.random.default_rng(3)
    for i in range(50):
        p = {"x": float(rng.random()), "y": float(rng.random())}
        value = None if i % 7 == 0 else end(p)
        for opt in (often, once):
            opt.tell(p, value, partial=i % 3 == 0, reports=reports(p, 4) if i % 2 and i > 10 else None)
        often.hold("it", p)
        often.report(p, 1, 0.5)
        often.suggest()  # by the models, which take the expected value of the pending point
    for one in (often, GSSBO.from_state_dict(often.state_dict())):
        assert ends(one) == ends(once)
    assert len(ends(once)) == 5


def scouts_of(settings, n=40):
    opt = told(GSSBO(SPACE, seed=0, settings=settings), n)
    return int((opt._run.history.trials.origins == SCOUT).sum())


def test_scouts_need_curves_and_are_refused_without():
    assert scouts_of(GSSBOSettings()) == scouts_of(GSSBOSettings(scouting=0.5)) > 0
    assert scouts_of(GSSBOSettings(use_curves=False)) == scouts_of(GSSBOSettings(use_curves=False, scouting=0.0)) == 0
    for share in (0.5, 0.3):
        with pytest.raises(ValueError, match=rf"^scouting must be 0 with use_curves=False, .*; got {share}\.$"):
            GSSBOSettings(use_curves=False, scouting=share)
    assert scouts_of(GSSBOSettings.of_preset("paper", use_curves=False), n=12) == 0

"""The curves of a snapshot: of which kind each is, and where it is expected to end, in the units of the objective."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GSSBO, Float, GSSBOSettings

SPACE = {"x": Float(0.0, 1.0)}


def reports(x, count):
    return {step: (x - 0.3) ** 2 + math.exp(-0.4 * step) for step in range(count)}


def run(direction, n=16, count=8):
    """Trials of which each third is stopped, each seventh fails, and each fifth does not report, and is a bad one."""
    sign = 1.0 if direction == "minimize" else -1.0
    opt, told = GSSBO(SPACE, direction=direction, seed=seeded(0)), []
    for i in range(n):
        p = opt.ask()
        stopped = i % 3 == 1
        found = {step: sign * value for step, value in reports(p["x"], 3 if stopped else count).items()}
        last = list(found.values())[-1]
        given = None if i % 5 == 4 else found
        end = last if given is not None else last + sign
        opt.tell(p, None if i % 7 == 6 else end, partial=stopped, reports=given)
        if given is not None and i % 7 != 6:
            told.append((stopped, found))
    return opt, told


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_curves_are_those_of_the_trials_that_reported_in_their_order(direction):
    opt, told = run(direction)
    found = opt.snapshot().curves()
    assert [dict(zip(c.steps, c.values, strict=True)) for c in found] == [known for _, known in told]
    pick = min if direction == "minimize" else max
    whole = [k for k, (stopped, _) in enumerate(told) if not stopped]
    ends = [list(known.values())[-1] for _, known in told]
    best = pick(whole, key=lambda k: ends[k])
    assert opt.best[1] == ends[best]
    assert [c.kind for c in found] == [
        "pruned" if stopped else "best" if k == best else "complete" for k, (stopped, _) in enumerate(told)
    ]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@over_seeds()
def test_ends_are_expected_of_stopped_and_running_trials_alone(direction):
    opt, _ = run(direction)
    silent, running = opt.ask(2)
    known = {step: value if direction == "minimize" else -value for step, value in reports(running["x"], 4).items()}
    for step, value in known.items():
        opt.report(running, step, value)
    assert silent in opt.pending
    found = opt.snapshot().curves()
    assert [c.kind for c in found].count("running") == 1
    assert found[-1].kind == "running"
    assert dict(zip(found[-1].steps, found[-1].values, strict=True)) == known
    for curve in found:
        ended = curve.kind in ("complete", "best")
        assert np.isnan([curve.end, curve.std]).tolist() == [ended, ended]
        if not ended:
            value, std = opt.predict_end(dict(zip(curve.steps, curve.values, strict=True)))
            # a prediction takes all trials into account, a search those up to its last fit
            assert curve.end == pytest.approx(value, abs=2.0 * std), MOSTLY
            assert 0.0 < curve.std < 1.0, MOSTLY


def test_curves_are_copies():
    opt, _ = run("minimize")
    before = opt.snapshot().curves()
    for curve in opt.snapshot().curves():
        curve.steps[:] = -1.0
        curve.values[:] = 0.0
    for one, other in zip(opt.snapshot().curves(), before, strict=True):
        np.testing.assert_array_equal(one.steps, other.steps)
        np.testing.assert_array_equal(one.values, other.values)


def test_without_trials_there_are_no_curves_and_without_their_use_an_error():
    assert GSSBO(SPACE, seed=0).snapshot().curves() == []
    opt = GSSBO(SPACE, settings=GSSBOSettings(use_curves=False))
    with pytest.raises(ValueError, match=r"^There are no learning curves: this GSSBO does not use the curves of"):
        opt.snapshot().curves()

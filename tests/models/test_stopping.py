"""The rule for early stopping."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbo.models.stopping import Stopping
from numbo.trials import Curve

LAST = 20


def trained(rng, quality):
    """A curve that ends near ``quality``, larger values being better."""
    steps = np.arange(1.0, LAST + 1.0)
    return Curve(steps, quality * (1.0 - np.exp(-0.3 * steps)) + 0.01 * rng.normal(size=LAST))


def learned(n, seed=0, **settings):
    rng = np.random.default_rng(seed)
    rule = Stopping(settings.get("probability", 0.5), settings.get("complete", 4))
    for quality in rng.random(n):
        curve = trained(rng, quality)
        rule.learn(None, curve, curve.last)
    return rule, rng


def steps_of(rule, curve):
    """How many steps a trial makes under a rule."""
    key = object()
    for count in range(1, LAST + 1):
        if rule.verdict(key, Curve(curve.steps[:count], curve.values[:count])).stop:
            return count
    return LAST


def test_bad_trials_stop_early_and_those_that_become_the_best_go_on():
    rule, rng = learned(30)
    bad = [steps_of(rule, trained(rng, quality)) for quality in np.linspace(0.0, 0.6, 20)]
    good = [steps_of(rule, trained(rng, quality)) for quality in np.linspace(1.05, 1.5, 20)]
    assert np.mean(bad) < 0.4 * LAST
    assert good == [LAST] * 20


def test_stated_probabilities_are_the_shares_of_trials_that_end_better():
    """Of trials after some steps, in groups by what was stated."""
    stated, better = [], []
    for seed in range(60):
        rng, rule = np.random.default_rng(seed), Stopping(0.5, 4)
        known = [trained(rng, quality) for quality in rng.random(24)]
        for curve in known:
            rule.learn(None, curve, curve.last)
        for quality in rng.random(40):
            curve, count = trained(rng, quality), int(rng.integers(1, LAST - 1))
            stated.append(rule.verdict(object(), Curve(curve.steps[:count], curve.values[:count])).probability)
            better.append(curve.last > max(other.last for other in known))
    order = np.argsort(stated)
    for group in np.array_split(order, 8):
        assert abs(np.mean(np.array(stated)[group]) - np.mean(np.array(better)[group])) < 0.15
    assert abs(np.mean(stated) - np.mean(better)) < 0.05


def test_nothing_stops_before_enough_trials_have_ended():
    rng = np.random.default_rng(0)
    rule = Stopping(0.5, 4)
    for k in range(4):
        assert not rule.verdict(object(), Curve(np.array([1.0]), np.array([-1e9]))).stop
        curve = trained(rng, 1.0 + k)
        rule.learn(None, curve, curve.last)
    rule.learn(None, trained(rng, 0.5), math.nan)
    assert rule.verdict(object(), Curve(np.array([1.0]), np.array([-1e9]))).stop


def test_the_leader_at_its_step_goes_on_and_so_does_all_if_the_best_would_not():
    """The best trial began as the worst: the rule would have stopped it, and stops none at its early steps."""
    rng = np.random.default_rng(0)
    rule = Stopping(0.5, 4)
    known = [trained(rng, rng.random()) for _ in range(30)]
    for curve in known:
        rule.learn(None, curve, curve.last)
    leader = Curve(np.array([1.0]), np.array([max(curve.values[0] for curve in known) + 1e-6]))
    assert not rule.verdict(object(), leader).stop
    worst = Curve(np.array([1.0]), np.array([-1.0]))
    assert rule.verdict(object(), worst).stop
    late = Curve(np.arange(1.0, LAST + 1.0), np.append(np.full(LAST - 1, -1.0), 5.0))
    rule.learn(None, late, late.last)
    assert not rule.verdict(object(), worst).stop


def test_one_verdict_at_every_rung_at_the_steps_where_it_is_asked_for():
    """Asked after every fifth report, none of which is at a rung."""
    rule, rng = learned(30)
    curve, asked = trained(rng, 0.1), []
    for count in range(1, LAST + 1):
        if count % 5 == 0 and rule.due("trial", float(count)):
            asked.append(count)
            part = Curve(curve.steps[:count], curve.values[:count])
            if rule.verdict("trial", part).stop:
                break
            assert not rule.due("trial", float(count))
            assert rule.verdict("trial", part).reason == "nothing new is known"
    assert asked[0] == 5
    assert count < LAST


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
def test_steps_may_begin_anywhere(offset):
    rng = np.random.default_rng(0)
    rule = Stopping(0.5, 4)
    for quality in rng.random(30):
        curve = trained(rng, quality)
        rule.learn(None, Curve(curve.steps + offset, curve.values), curve.last)
    curve = trained(rng, 0.2)
    assert steps_of(rule, Curve(curve.steps + offset, curve.values)) < LAST


def test_one_trial_that_is_longer_does_not_end_the_stopping():
    rule, rng = learned(30)
    long = trained(rng, 0.5)
    rule.learn(None, Curve(np.append(long.steps, LAST + 1.0), np.append(long.values, long.last)), long.last)
    assert steps_of(rule, trained(rng, 0.2)) < LAST


def test_trials_above_the_stated_probability_never_stop():
    strict, rng = learned(30, probability=0.0)
    assert all(steps_of(strict, trained(rng, quality)) == LAST for quality in np.linspace(0.0, 1.2, 13))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308, -1e308, 0.0])
def test_any_value_gets_a_verdict(value):
    rule, _ = learned(10)
    rule.learn(None, Curve(np.array([1.0, 2.0]), np.array([value, value])), value)
    for _ in range(3):
        verdict = rule.verdict(object(), Curve(np.array([1.0, 2.0, 3.0]), np.array([0.1, value, value])))
        assert 0.0 <= verdict.probability <= 1.0


def test_equal_curves_that_never_move():
    rule = Stopping(0.5, 4)
    flat = Curve(np.arange(1.0, 6.0), np.zeros(5))
    for _ in range(10):
        rule.learn(None, flat, 0.0)
    assert not rule.verdict(object(), Curve(np.array([1.0]), np.zeros(1))).stop

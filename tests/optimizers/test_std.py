"""Values that are told with the standard deviation of their error."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Float, Space

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
TAKE_IT = [GSSBO, GPUCB]


def bowl(p):
    return (p["x"] - 0.3) ** 2 + 2.0 * (p["y"] - 0.6) ** 2


@pytest.mark.parametrize("make", TAKE_IT)
def test_no_error_is_what_is_told_without_one(make):
    one, other = make(SPACE, seed=0), make(SPACE, seed=0)
    for _ in range(25):
        p = one.ask()
        assert other.ask() == p
        one.tell(p, bowl(p))
        other.tell(p, bowl(p), std=0.0)


@pytest.mark.parametrize("make", TAKE_IT)
def test_a_value_with_a_large_error_says_nothing(make):
    """As if it had not been told, in predictions and recommendations, though it is by far the best one."""
    rng = np.random.default_rng(0)
    points = [{"x": float(x), "y": float(y)} for x, y in rng.random((30, 2))]
    one, other = make(SPACE, seed=0), make(SPACE, seed=0)
    one.tell(points, [bowl(p) for p in points])
    other.tell([*points, {"x": 0.9, "y": 0.1}], [*map(bowl, points), -5.0], std=[0.0] * 30 + [1e3])
    queries = [{"x": float(x), "y": float(y)} for x, y in rng.random((20, 2))]
    expected, found = one.predict(queries)[0], other.predict(queries)[0]
    assert np.abs(found - expected).max() < 0.1 * np.std(expected)
    best, value = other.best_predicted()
    assert bowl(best) < 0.1
    assert value > -0.1


@pytest.mark.parametrize("make", TAKE_IT)
def test_certain_values_count_more_than_uncertain_ones(make):
    """Values of two thirds of the points are the mean of one fold, and of a third those of a hundred."""
    rng, errors = np.random.default_rng(0), {False: [], True: []}
    for repeat in range(6):
        X = rng.random((60, 2))
        std = np.where(np.arange(60) % 3 == 0, 0.01, 0.5)
        points = [{"x": float(x), "y": float(y)} for x, y in X]
        values = [bowl(p) + s * rng.normal() for p, s in zip(points, std, strict=True)]
        queries = [{"x": float(x), "y": float(y)} for x, y in rng.random((40, 2))]
        truth = np.array([bowl(p) for p in queries])
        for told in errors:
            opt = make(SPACE, seed=repeat)
            opt.tell(points, values, std=std if told else None)
            errors[told].append(float(np.sqrt(np.mean((opt.predict(queries)[0] - truth) ** 2))))
    assert np.median(errors[True]) < 0.5 * np.median(errors[False])


@pytest.mark.parametrize("make", TAKE_IT)
def test_a_restored_optimizer_goes_on_to_the_last_bit(make):
    rng, opt = np.random.default_rng(0), make(SPACE, seed=0)
    for t in range(40):
        if t == 25:
            opt = type(opt).from_state_dict(copy.deepcopy(opt.state_dict()))
            twin = copy.deepcopy(opt)
        p = opt.ask()
        if t >= 25:
            assert twin.ask() == p
        std = float(rng.exponential(0.3)) * (t % 2)
        value = bowl(p) + std * rng.normal()
        for one in (opt, twin) if t >= 25 else (opt,):
            one.tell(p, value, std=std)


@pytest.mark.parametrize("std", [-1.0, np.nan, np.inf, "a", [1.0], True])
def test_what_is_no_deviation_is_refused(std):
    opt = GSSBO(SPACE, seed=0)
    p = opt.ask()
    with pytest.raises(ValueError, match=r"std must be a (finite )?number of at least 0, got"):
        opt.tell(p, 1.0, std=std)
    assert opt.n_told == 0
    assert opt.pending == [p]


def test_lengths_must_agree():
    opt = GSSBO(SPACE, seed=0)
    points = opt.ask(3)
    with pytest.raises(ValueError, match="3 points and 3 values and 2 std; they must match"):
        opt.tell(points, [1.0, 2.0, 3.0], std=[0.1, 0.2])
    assert opt.n_told == 0


@pytest.mark.parametrize("make", [BKB, BBKB, SBPE])
def test_algorithms_that_take_none_say_so(make):
    opt = make(SPACE, seed=0)
    p = opt.ask()
    with pytest.raises(ValueError, match=f"std is not supported by {make.__name__}"):
        opt.tell(p, 1.0, std=0.1)
    assert opt.n_told == 0


@pytest.mark.parametrize("make", TAKE_IT)
def test_errors_that_values_contradict_are_worth_one_warning_and_count_less(make):
    rng = np.random.default_rng(0)
    opt = make(SPACE, seed=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(48):
            p = opt.ask()
            opt.tell(p, bowl(p) + 0.05 * rng.normal(), std=2.0)
    told = [str(one.message) for one in caught if "std" in str(one.message)]
    assert len(told) == 1
    assert "times too large" in told[0]
    assert opt.predict(opt.best_predicted()[0])[1] < 0.5


def test_errors_that_may_be_right_are_worth_no_warning():
    rng = np.random.default_rng(0)
    opt = GSSBO(SPACE, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(48):
            p = opt.ask()
            opt.tell(p, bowl(p) + 0.05 * rng.normal(), std=0.05)

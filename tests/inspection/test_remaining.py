"""What more trials would bring: in the user's units, of what counts, and when to stop."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import MOSTLY, gains, over_seeds, seeded
from tests.inspection.runs import ALGORITHMS, algorithms, run

from numbo import GSSBO, Arms, Float, Int
from numbo.inspection.remaining import HORIZONS, Remaining, TooEarly
from numbo.models.improvements import Improvements

SQUARE = {"x": Float(0, 1), "y": Float(0, 1)}


def bowl(p):
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


def told(values, **settings):
    """An optimizer that was told these values, at random points."""
    opt = GSSBO(SQUARE, seed=0, **settings)
    rng = np.random.default_rng(5)
    for value in values:
        opt.tell({"x": rng.random(), "y": rng.random()}, value)
    return opt


@algorithms
def test_every_algorithm_answers(make):
    opt = run(make, 30)
    before = opt.state_dict()
    found = opt.remaining(20)
    assert found.trials == 20
    assert 0.0 <= found.probability <= 1.0
    assert 0.0 <= found.low <= found.median <= found.high
    assert opt.remaining(20) == found == opt.snapshot().remaining(20)
    assert str(opt.state_dict()) == str(before)


def test_every_algorithm_was_asked():
    assert len(ALGORITHMS) >= 5


def test_it_is_the_forecast_of_the_values_told():
    values = [3.0, 2.0, None, 2.5, 1.0, 0.5, 0.75, 0.25]
    found = told(values).remaining(10, least=0.01)
    samples = gains(-np.array([np.nan if v is None else v for v in values]), 10)
    assert found == Remaining.of(samples, 10, 0.01)
    assert found.probability == np.mean(samples > 0.01)
    assert found.expected == pytest.approx(samples.mean())
    assert told([None if v is None else -v for v in values], direction="maximize").remaining(10, least=0.01) == found


def test_words():
    assert str(Remaining(1, 0.0, 0.5, 0.1, 0.0, 0.05, 0.3)).startswith("1 more trial: better with 50%")
    assert "better by 0.01 with 5%" in str(Remaining(20, 0.01, 0.05, 0.1, 0.0, 0.05, 0.3))


def test_points_that_violate_a_constraint_gain_nothing():
    opt = GSSBO(SQUARE, seed=0, constraints=["late"])
    rng = np.random.default_rng(0)
    for i, value in enumerate([5.0, 4.0, 1.0, 3.0, 0.5]):
        opt.tell({"x": rng.random(), "y": rng.random()}, value, constraints={"late": 1.0 if value <= 1.0 else -1.0})
        if i == 0:
            with pytest.raises(TooEarly, match="different values"):
                opt.remaining(5)
    values = -np.array([5.0, 4.0, np.nan, 3.0, np.nan])
    assert opt.remaining(5) == Remaining.of(gains(values, 5), 5)


def test_values_that_are_not_final_gain_nothing():
    opt = told([5.0, 4.0, 3.0])
    opt.tell({"x": 0.1, "y": 0.1}, 1.0, partial=True)
    assert opt.remaining(5) == Remaining.of(gains(np.array([-5.0, -4.0, -3.0, np.nan]), 5), 5)


@over_seeds()
def test_luck_is_no_improvement():
    """Under noise a record may be luck, and expected values improve less often."""
    rng = np.random.default_rng(seeded(0))
    opt = GSSBO(SQUARE, seed=seeded(0))
    values = []
    for _ in range(30):
        p = {"x": rng.random(), "y": rng.random()}
        for _ in range(2):
            values.append(bowl(p) + 0.5 * rng.normal())
            opt.tell(p, values[-1])
    assert opt.explain().noisy, MOSTLY
    assert opt.remaining(60).high < Remaining.of(gains(-np.array(values), 60), 60).high, MOSTLY


def test_the_volume_of_several_objectives():
    opt = GSSBO(SQUARE, seed=0, directions=["minimize", "maximize"])
    for _ in range(25):
        p = opt.ask()
        opt.tell(p, (bowl(p), p["x"]))
    found = opt.remaining(20, reference=(1.0, 0.0))
    volumes = opt.hypervolumes((1.0, 0.0))
    assert found == Remaining.of(gains(volumes, 20), 20)
    assert opt.remaining(20).expected > 0.0
    with pytest.raises(ValueError, match="reference must be 2 finite numbers"):
        opt.remaining(20, reference=(1.0,))


def test_of_one_objective_nothing_counts_up_to_a_reference():
    opt = GSSBO(SQUARE, seed=0)
    values = []
    for _ in range(25):
        p = opt.ask()
        opt.tell(p, bowl(p))
        values.append(-bowl(p))
    reference = float(np.median(values))
    assert opt.remaining(20, reference=(-reference,)) == Remaining.of(gains(np.maximum(values, reference), 20), 20)
    with pytest.raises(ValueError, match=r"^A forecast needs"):
        opt.remaining(20, reference=(-1.0,))


def test_nothing_is_left_of_what_was_tried():
    opt = GSSBO({"n": Int(1, 6)}, seed=0)
    for n in range(1, 5):
        opt.tell({"n": n}, float(-n))
    assert opt.remaining(100).probability > 0.0
    assert opt.remaining(100).expected == opt.remaining(2).expected
    opt.ask()
    for n in (5, 6):
        opt.tell({"n": n}, float(-n))
    assert opt.remaining(100) == Remaining(100, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert opt.worthwhile(1e-9) is None


def test_the_forecast_knows_how_many_points_are_left():
    """Of one objective: the best of few was perhaps found. A front goes on for longer."""
    space = {"n": Int(1, 100)}
    values = (np.random.default_rng(0).permutation(100) + 1.0)[:20]
    one, two = GSSBO(space, seed=0), GSSBO(space, seed=0, directions=["maximize", "maximize"])
    for n, value in enumerate(values.tolist(), 1):
        one.tell({"n": n}, -value)
        two.tell({"n": n}, (value, -value))
    assert one.remaining(20) == Remaining.of(Improvements(values, 80.0).gains(20), 20)
    assert one.remaining(20).probability < 0.8 * Remaining.of(gains(values, 20), 20).probability
    volumes = two.hypervolumes((0.0, -101.0))
    assert two.remaining(20, reference=(0.0, -101.0)) == Remaining.of(gains(volumes, 20), 20)


def test_nothing_is_left_where_all_values_are_equal():
    opt = GSSBO({"n": Int(1, 3)}, seed=0)
    for n in (1, 2):
        opt.tell({"n": n}, 5.0)
    with pytest.raises(TooEarly, match="different values"):
        opt.remaining(5)
    opt.tell({"n": 3}, 5.0)
    assert opt.remaining(5).probability == 0.0
    assert opt.worthwhile(1e-9) is None


def test_a_front_of_one_point():
    """Up to what is the worst of all values, where the front has no range."""
    opt = GSSBO(SQUARE, seed=0, directions=["minimize", "minimize"])
    rng = np.random.default_rng(0)
    for x in rng.random(20):
        opt.tell({"x": x, "y": 0.5}, (x, x * x))
    assert opt.remaining(20).expected > 0.0
    assert opt.worthwhile(1e9) is None


def test_gains_of_any_size():
    opt = told([1e308, -1e308, 1e307, -1.5e308])
    assert np.isfinite(opt.remaining(50).expected)


def test_arms_that_are_left():
    opt = GSSBO(arms=Arms(np.random.default_rng(0).random((8, 2))), seed=0)
    for _ in range(8):
        row = opt.ask()
        opt.tell(row, float(row % 5))
    assert opt.remaining(3).probability == 0.0


def test_going_on_pays_as_long_as_some_number_of_trials_does():
    opt = told([0.9**i for i in range(40)])
    found = {k: opt.remaining(k).expected for k in HORIZONS}
    pays = opt.worthwhile(1e-6)
    assert pays.expected - 1e-6 * pays.trials == max(gain - 1e-6 * k for k, gain in found.items())
    assert opt.worthwhile(1.01 * max(gain / k for k, gain in found.items())) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda o: o.remaining(0), "trials must be an integer of at least 1, got 0"),
        (lambda o: o.remaining(2.5), "trials must be an integer of at least 1, got 2.5"),
        (lambda o: o.remaining(5, least=-1.0), "least must be a number of at least 0, got -1.0"),
        (lambda o: o.worthwhile(0.0), "worth must be a number above 0, got 0.0"),
        (lambda o: o.worthwhile("x"), "worth must be a number above 0, got 'x'"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(told([2.0, 1.0]))


def test_before_anything_is_known():
    with pytest.raises(TooEarly, match="a successful observation"):
        GSSBO(SQUARE).remaining(5)
    with pytest.raises(TooEarly, match="different values"):
        told([1.0, 1.0, None]).remaining(5)

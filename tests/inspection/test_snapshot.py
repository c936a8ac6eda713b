"""predict, best_predicted and acquisition_values: true, in the units of the user, and without side effects."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.helpers import MOSTLY, configured, inside, over_seeds, seeded
from tests.inspection.runs import ALGORITHMS, ARMS, SPACE, algorithms, objective, run

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, BBKBSettings, Float, GPUCBSettings, GSSBOSettings, Space
from numbo.inspection import recommendation


@algorithms
def test_one_point_and_many_are_the_same(make):
    opt = run(make, 25)
    points = [opt.space.decode(x) for x in np.random.default_rng(1).random((5, 3))]
    mean, std = opt.predict(points)
    assert mean.shape == std.shape == (5,)
    one = opt.predict(points[2])
    assert one == (mean[2], std[2])
    assert all(type(v) is float for v in one)


@algorithms
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@over_seeds()
def test_predictions_are_in_the_units_and_the_direction_of_the_objective(make, direction):
    opt, sign = make(seed=seeded(0), direction=direction), 1.0 if direction == "minimize" else -1.0
    told = []
    for _ in range(45):
        p = opt.ask()
        told.append((objective(p), p))
        opt.tell(p, 100.0 + sign * objective(p))
    told.sort(key=lambda one: one[0])
    values = np.array([value for value, _ in told])
    mean, _ = opt.predict([p for _, p in told[:22]])
    assert np.median(np.abs(mean - (100.0 + sign * values[:22]))) < 0.1 * np.std(values), MOSTLY
    assert sign * mean[0] < sign * opt.predict(told[-1][1])[0], MOSTLY


@algorithms
def test_looking_changes_nothing(make):
    looked, alone = run(make, 30), run(make, 30)
    looked.hold("out", {"x": 0.0, "k": 3, "act": "relu"})
    alone.hold("out", {"x": 0.0, "k": 3, "act": "relu"})
    before = pickle.dumps(looked.state_dict())
    looked.best_predicted()
    looked.acquisition_values([{"x": 0.1, "k": 3, "act": "relu"}])
    looked.explain()
    looked.predict([])
    assert pickle.dumps(looked.state_dict()) == before
    for _ in range(12):
        a, b = looked.ask(), alone.ask()
        assert a == b
        looked.explain()
        looked.tell(a, objective(a))
        alone.tell(b, objective(b))


@algorithms
@over_seeds()
def test_best_predicted_is_an_observed_point_and_less_lucky_than_the_best(make):
    opt = run(make, 60, noise=0.3)
    params, value = opt.best_predicted()
    told = {tuple(x) for x in opt.observations[0]}
    assert tuple(opt.space.encode(params)) in told
    assert opt.best[1] < value, MOSTLY  # the best of noisy values is too good


@pytest.mark.parametrize("restored", [False, True])
def test_best_predicted_is_exactly_as_it_was_told(restored):
    space = {"rate": Float(1e-6, 1.0, log=True), "y": Float(-0.7, 0.9)}
    told = []
    opt, rng = GSSBO(space, seed=0), np.random.default_rng(0)
    for _ in range(40):
        told.append({"rate": float(10.0 ** rng.uniform(-6, 0)), "y": float(rng.uniform(-0.7, 0.9))})
        opt.tell(told[-1], abs(np.log10(told[-1]["rate"]) + 3) + told[-1]["y"] ** 2 + rng.normal())
        if restored:
            opt = pickle.loads(pickle.dumps(GSSBO.from_state_dict(opt.state_dict())))
        assert opt.best_predicted()[0] in told
        assert opt.best[0] in told


def spike(p):
    """A narrow dip in a wide plain, which a model of the whole space takes for noise."""
    r = sum((v - 0.4) ** 2 for v in p.values()) / len(p)
    return 1.0 - np.exp(-((r / 0.03) ** 0.5)) + 0.05 * np.cos(40.0 * p["x0"])


CUBE = {f"x{i}": Float(0.0, 1.0) for i in range(5)}


@pytest.mark.parametrize("cls", [GSSBO, GPUCB, BKB, BBKB, SBPE])
@over_seeds()
def test_without_noise_the_best_predicted_is_the_best(cls):
    settings = {"horizon": 200} if cls is SBPE else {}
    opt = configured(cls, CUBE, seed=seeded(0), **settings)
    for _ in range(110):
        p = opt.ask()
        opt.tell(p, spike(p))
    assert opt.best_predicted() == opt.best, MOSTLY


def test_a_given_noise_is_believed():
    """Equal arms: their measured values differ by the given noise only, and none is believed."""
    opt = BBKB(arms=ARMS, lengthscale=0.5, noise_std=0.3, seed=0)
    values = 0.3 * np.random.default_rng(0).normal(size=30)
    opt.tell(list(range(30)), values.tolist())
    _, value = opt.best_predicted()
    assert value < 0.6 * values.max()


@pytest.mark.parametrize("cls", [BKB, BBKB, SBPE])
@over_seeds()
def test_poor_arms_are_predicted_too(cls):
    X = np.random.default_rng(seeded(0)).random((300, 3))
    truth = -np.sum((X - 0.35) ** 2 * [1.0, 4.0, 9.0], axis=1)
    opt = cls(arms=X, seed=seeded(0))
    for _ in range(120):
        i = opt.ask()
        opt.tell(i, truth[i])
    poor = np.argsort(truth)[:150]
    mean, std = opt.predict(poor.tolist())
    assert np.abs(mean - truth[poor]).mean() < 0.1 * truth.std(), MOSTLY
    assert np.mean(np.abs(mean - truth[poor]) <= 2.0 * std) > 0.9, MOSTLY


@algorithms
def test_failures_are_never_the_best_predicted(make):
    opt = make(seed=0)
    for i in range(20):
        p = opt.ask()
        opt.tell(p, None if i % 2 else objective(p))
    params, _ = opt.best_predicted()
    X, y = opt.observations
    row = np.flatnonzero((np.abs(X - opt.space.encode(params)) < 1e-12).all(axis=1))[0]
    assert np.isfinite(y[row])


def test_acquisition_is_what_the_next_ask_maximises():
    opt = GPUCB(Space({"x": Float(0, 1), "z": Float(0, 1)}), seed=0)
    rng = np.random.default_rng(0)
    for x in rng.random((25, 2)):
        opt.tell(opt.space.decode(x), float(np.sin(5 * x[0]) + x[1]))
    others = [opt.space.decode(x) for x in rng.random((300, 2))]
    values = opt.acquisition_values(others)
    mean, std = opt.predict(others)
    found = opt.explain()
    scale = np.polyfit(values, -mean + found.beta * std, 1)  # up to the standardisation of the values
    np.testing.assert_allclose(np.polyval(scale, values), -mean + found.beta * std, atol=1e-8)
    assert opt.acquisition_values([opt.ask()])[0] >= values.max() - 1e-9


@algorithms
def test_before_the_first_success(make):
    opt = make(seed=0)
    assert opt.best_predicted() is None
    for call in (
        opt.explain,
        lambda: opt.predict([{"x": 0.0, "k": 1, "act": "relu"}]),
        lambda: opt.acquisition_values([]),
    ):
        with pytest.raises(ValueError, match="needs at least one successful observation"):
            call()
    opt.tell(opt.ask(), None)
    assert opt.best_predicted() is None


def test_points_outside_of_the_space_are_named():
    opt = run(ALGORITHMS["GSSBO"], 12)
    with pytest.raises(ValueError, match=r"params\['k'\] = 12 is not in"):
        opt.predict({"x": 0.0, "k": 12, "act": "relu"})


def test_points_that_are_out_while_exploring_are_no_observations():
    def explored(held):
        settings = BBKBSettings(min_batch=8, kernel="rbf", lengthscale=0.4, noise_std=0.3)
        opt = BBKB(arms=ARMS, seed=0, settings=settings)
        for _ in range(4):
            rows = opt.ask(2)
            opt.tell(rows, 4.0 + ARMS[rows, 0])
        if held:
            opt.ask(6)
        return opt.predict(list(range(60)))

    (mean, std), (held_mean, held_std) = explored(False), explored(True)
    np.testing.assert_allclose(held_mean, mean, atol=0.35)  # another dictionary may have been drawn
    np.testing.assert_allclose(held_std, std, atol=0.2)


@algorithms
def test_a_snapshot_stays_as_it_was(make):
    opt = run(make, 25)
    opt.tell(opt.ask(), None)
    asked = opt.ask()
    shot, points = opt.snapshot(), [opt.space.decode(x) for x in np.random.default_rng(1).random((5, 3))]

    def looks(one):
        told = one.explain()
        return [
            *(values.tolist() for values in (*one.predict(points), one.acquisition_values(points), *one.observations)),
            *(one.best, one.best_predicted(), one.n_told, one.pending, one.parameter_names, one.space),
            *(told.members.tolist(), told.relevance, told.noise_std, told.beta, told.n_told, told.n_pending),
        ]

    before = repr(looks(shot))  # NaN is not itself
    assert repr(looks(opt)) == before
    for i in range(10):
        opt.tell(opt.ask(), None if i % 3 == 0 else objective(asked) - 1.0 - i)
    opt.hold_only({})
    assert repr(looks(shot)) == before


def test_a_snapshot_is_drawn_like_its_optimizer():
    from numbo.plot._data import Subject

    opt = run(ALGORITHMS["GSSBO"], 15)
    np.testing.assert_array_equal(Subject(opt.snapshot()).history()[1], Subject(opt).history()[1])


@algorithms
@pytest.mark.parametrize("noise", [0.0, 0.5])
@over_seeds()
def test_the_best_point_anywhere_is_at_least_as_good_by_the_model(make, noise):
    opt = run(make, 40, noise)
    (here, value), (there, other) = opt.best_predicted(), opt.best_predicted(anywhere=True)
    opt.space.encode(there)  # it lies in the space
    assert type(other) is float
    if there != here:
        mean, std = opt.predict(there)
        assert other == mean or abs(other - mean) < 3.0 * std, MOSTLY  # by a model of more observations than a subset
        if noise == 0.0:
            assert other < value, MOSTLY
    assert opt.best_predicted(anywhere=True) == (there, other)


def test_a_recommendation_under_noise_is_made_by_a_model_of_more_than_the_subset(monkeypatch):
    recommending, original = [], recommendation.recommending_view

    def spy(*args, **options):
        recommending.append(original(*args, **options))
        return recommending[-1]

    monkeypatch.setattr(recommendation, "recommending_view", spy)
    subset = ALGORITHMS["GSSBO-subset"]
    noisy, plain = run(subset, 60, 0.5).snapshot(), run(subset, 60).snapshot()
    assert len(noisy.explain().members) == 20
    same = GPUCBSettings(trend=True, additive=True, winsorize=True)
    twin = GPUCB(SPACE, seed=0, settings=same)  # an exact GP
    X, y = noisy.observations
    twin.tell([SPACE.decode(x) for x in X], y)
    assert noisy.best_predicted()[1] == pytest.approx(twin.predict(noisy.best_predicted()[0])[0], abs=0.1)
    assert plain.best_predicted() == plain.best
    assert [len(view.members) for view in recommending] == [60]  # without noise it is the usual model


@over_seeds()
def test_the_optimum_of_the_mean_is_found():
    space, rng = Space({"x": Float(-2.0, 2.0), "y": Float(-2.0, 2.0)}), np.random.default_rng(seeded(0))
    opt = GPUCB(space, seed=seeded(0), n_initial=60)
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.5) ** 2 + (p["y"] + 0.25) ** 2 + 0.01 * rng.normal())
    here, there = opt.best_predicted()[0], opt.best_predicted(anywhere=True)[0]
    off = [np.hypot(p["x"] - 0.5, p["y"] + 0.25) for p in (here, there)]
    assert off[1] < min(0.05, off[0]), MOSTLY


def test_the_best_point_anywhere_may_be_an_arm_never_pulled_but_none_that_is_barred():
    line = np.linspace(-1.0, 1.0, 41)[:, None]
    opt = BKB(arms=line, seed=0, n_initial=1)
    for row in (0, 12, 28, 40):
        opt.tell(row, -float((line[row, 0] - 0.1) ** 2))
    row, value = opt.best_predicted(anywhere=True)
    assert row not in (0, 12, 28, 40)
    assert value > opt.best_predicted()[1]
    barred = set(range(row - 2, row + 3)) - {0, 12, 28, 40}
    for other in barred:
        opt.exclude(other)
    assert opt.best_predicted(anywhere=True)[0] not in barred


def test_anywhere_is_a_flag():
    with pytest.raises(ValueError, match=r"^anywhere must be one of True, False, got 'yes'\.$"):
        run(ALGORITHMS["GSSBO"], 12).best_predicted(anywhere="yes")


def plateau(p):
    """Two plateaus with a cliff between them."""
    x = np.array(list(p.values()))
    return float(np.tanh(4.0 * (x.sum() - 3.0)) + 0.1 * x[0])


def crowded():
    """A search that crowds on one of two plateaus."""
    opt = GSSBO({f"x{i}": Float(0.0, 1.0) for i in range(6)}, direction="minimize", seed=seeded(0))
    for _ in range(100):
        p = opt.ask()
        opt.tell(p, plateau(p))
    return opt


@over_seeds()
def test_a_value_that_was_told_is_predicted_near_what_was_told():
    """However far it lies from where the search crowds."""
    opt = crowded()
    X, y = opt.observations
    mean, _ = opt.predict([opt.space.decode(x) for x in X])
    assert mean == pytest.approx(y, abs=0.2), MOSTLY
    assert y.max() > 0.9, MOSTLY


@over_seeds()
def test_values_are_not_clipped_where_that_is_switched_off():
    asked = crowded()
    opt = GSSBO(asked.space, seed=seeded(0), settings=GSSBOSettings(winsorize=False))
    X, y = asked.observations
    opt.tell([opt.space.decode(x) for x in X], y.tolist())
    mean, _ = opt.predict([opt.space.decode(x) for x in X])
    assert mean == pytest.approx(y, abs=0.2), MOSTLY
    assert y.max() > 0.9, MOSTLY


@pytest.mark.parametrize("make", list(ALGORITHMS.values()), ids=list(ALGORITHMS))
@over_seeds()
def test_every_algorithm_knows_what_its_model_takes_for_noise(make):
    opt = run(make, 40, noise=2.0)
    again = type(opt).from_state_dict(opt.state_dict())
    claims = [inside(one, "run").noise.claimed for one in (opt, again)]
    assert claims[0] == claims[1] > 0.0, MOSTLY

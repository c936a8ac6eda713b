"""Algorithm 1, line by line."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.helpers import compiled_only, configured

from numbo import GPUCB, GSSBO, Categorical, Float, GSSBOSettings, Space
from numbo.optimizers.gssbo import TURN
from numbo.optimizers.parts.buffer import DynamicBuffer, iteration_work
from numbo.run.run import GLOBAL
from numbo.search.gp_search import LINES_FROM
from numbo.selection import CRITERIA

SPACE = Space({"x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)})


def f(p):
    return np.sin(7 * p["x"]) + (p["y"] - 0.3) ** 2 + p["z"]


def drive(opt, n):
    for _ in range(n):
        p = opt.ask()
        opt.tell(p, f(p))
    return opt


def test_before_the_switch_the_paper_preset_is_gp_ucb():
    a = GSSBO(SPACE, preset="paper", buffer_size=100, n_initial=8, seed=0)
    b = GPUCB(SPACE, n_initial=8, seed=0)
    for _ in range(40):
        p, q = a.ask(), b.ask()
        assert p == q
        a.tell(p, f(p))
        b.tell(q, f(q))


def test_acquisition_functions_alternate_by_the_turn():
    settings = GSSBOSettings(acquisition="alternate", trust_region=False)
    opt = drive(GSSBO(SPACE, n_initial=8, seed=0, settings=settings), 8)
    for n in range(8, 24):
        twins = {}
        for kind in ("ucb", "log_ei"):
            state = opt.state_dict()
            state["settings"]["acquisition"] = kind
            twins[kind] = GSSBO.from_state_dict(state)
        p = opt.ask()
        assert p == twins["ucb" if n // TURN % 2 == 0 else "log_ei"].ask()
        opt.tell(p, f(p))


def test_improvement_counts_from_the_best_posterior_mean():
    opt = GSSBO(SPACE, n_initial=4, seed=0, settings=GSSBOSettings(trust_region=False, acquisition="log_ei"))
    rng = np.random.default_rng(0)
    for _ in range(100):
        p = {name: float(rng.random()) for name in "xyz"}
        opt.tell(p, p["x"] + 0.3 * float(rng.normal()))
    opt.ask()
    incumbent = opt._search.acquisition(opt._run).parameter
    best = opt._search.surrogate.transform.forward(np.array([opt._run.history.values().max()]))[0]
    assert incumbent < best - 0.5
    mean, _ = opt._search.surrogate.gp.mean_sd(opt._run.history.X)
    assert incumbent == pytest.approx(mean.max(), abs=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("reselect", [0.0, 0.3])
def test_the_subset_has_m_samples_with_the_initial_and_the_newest(criterion, reselect):
    opt = GSSBO(
        SPACE,
        buffer_size=15,
        n_initial=6,
        seed=0,
        settings=GSSBOSettings.of_preset("paper", criterion=criterion, reselect=reselect),
    )
    drive(opt, 14)
    for n in range(14, 40):
        members = opt._subset.members(opt._run, opt._search)
        assert len(members) == min(n, 15) == len(set(members.tolist()))
        assert set(range(6)) <= set(members.tolist())
        assert n - 1 in members
        drive(opt, 1)


def test_the_best_samples_are_kept():
    opt = drive(
        GSSBO(SPACE, buffer_size=20, n_initial=5, seed=0, settings=GSSBOSettings(elites=0.4, trust_region=False)), 50
    )
    best = set(np.argsort(-opt._run.history.y, kind="stable")[:8].tolist())
    assert best <= set(opt._subset.members(opt._run, opt._search).tolist())
    crowded = drive(GSSBO(SPACE, buffer_size=20, n_initial=17, seed=0, settings=GSSBOSettings(elites=0.9)), 50)
    assert len(crowded._subset.members(crowded._run, crowded._search)) == 20


def test_reselection_from_all_data_brings_back_what_was_dropped():
    opt = drive(
        GSSBO(
            SPACE, buffer_size=12, n_initial=4, seed=0, settings=GSSBOSettings.of_preset("paper", criterion="random")
        ),
        60,
    )
    previous, back = set(), 0
    for _ in range(20):
        members = set(opt._subset.members(opt._run, opt._search).tolist())
        back += len({m for m in members - previous if m < opt.n_told - 1}) if previous else 0
        previous = members
        drive(opt, 1)
    assert back > 20
    streaming = drive(
        GSSBO(
            SPACE,
            buffer_size=12,
            n_initial=4,
            seed=0,
            settings=GSSBOSettings(criterion="random", reselect=1e6, elites=0.0),
        ),
        60,
    )
    streaming._subset._from_all.at = 10**9
    previous = set(streaming._subset.members(streaming._run, streaming._search).tolist())
    for _ in range(20):
        drive(streaming, 1)
        members = set(streaming._subset.members(streaming._run, streaming._search).tolist())
        assert members - previous <= {streaming.n_told - 1}
        previous = members


def test_the_work_rule_switches_where_the_model_says():
    opt = GSSBO(SPACE, n_initial=10, seed=0, settings=GSSBOSettings.of_preset("paper", buffer_factor=1.5))
    mean = np.mean([iteration_work(n, 3) for n in range(11, 21)])
    expected = next(n for n in range(12, 1000) if iteration_work(n, 3) > 1.5 * mean)
    drive(opt, expected + 10)
    assert opt._subset.buffer.size == expected
    assert len(opt._subset.members(opt._run, opt._search)) == expected


def test_the_paper_default_is_about_a_hundred_samples():
    assert 60 <= DynamicBuffer(20, 20, 4.0, "work")._work_size <= 140


def test_the_time_rule_switches_at_the_first_slow_iteration():
    buffer = DynamicBuffer(n_initial=5, d=3, factor=4.0, rule="time")
    for n in range(6, 11):
        assert buffer.limit(n) == n
        buffer.record(n, 1.0)
    for n, seconds in ((11, 3.9), (12, 4.1)):
        assert buffer.limit(n) == n
        buffer.record(n, seconds)
    assert buffer.limit(13) == 12
    buffer.record(13, 100.0)
    assert buffer.limit(500) == 12


def test_a_long_history_is_not_taken_for_an_initial_iteration():
    buffer = DynamicBuffer(n_initial=5, d=3, factor=4.0, rule="time")
    assert buffer.limit(10_000) < 300


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_long_history_at_once(preset):
    opt = GSSBO(SPACE, preset=preset, seed=0)
    rng = np.random.default_rng(0)
    points = [SPACE.decode(x) for x in rng.random((3000, 3))]
    opt.tell(points, [f(p) for p in points])
    p = opt.ask()
    assert f(p) < np.quantile([f(q) for q in points], 0.2)
    assert opt._search.surrogate.gp.n <= 200


def test_perturbation_and_ties_follow_the_seed():
    subsets = []
    for seed in (0, 0, 1):
        opt = drive(GSSBO(SPACE, preset="paper", buffer_size=12, n_initial=6, seed=7), 30)
        opt.reseed(seed)
        opt._subset._selected_at = 0
        subsets.append(sorted(opt._subset.members(opt._run, opt._search).tolist()))
    assert subsets[0] == subsets[1] != subsets[2]


BAD = [
    ({"preset": "fast"}, "'fast'"),
    ({"criterion": "best"}, "'best'"),
    ({"buffer_size": 6}, "n_initial"),
    ({"buffer_size": 2.5}, "2.5"),
    ({"buffer_size": "auto"}, "'auto'"),
    ({"buffer_factor": 1.0}, "buffer_factor"),
    ({"buffer_rule": "clock"}, "'clock'"),
    ({"perturbation": -0.1}, "perturbation"),
    ({"elites": 1.0}, "elites"),
    ({"reselect": float("nan")}, "reselect"),
]


@pytest.mark.parametrize(("settings", "words"), BAD)
def test_bad_settings_get_one_clear_sentence(settings, words):
    with pytest.raises(ValueError, match=words) as error:
        configured(GSSBO, SPACE, **settings)
    assert "\n" not in str(error.value)


NOISE = 0.1


def noisy(p, rng):
    return (p["x"] - 0.4) ** 2 + (p["y"] - 0.3) ** 2 + (p["z"] - 0.6) ** 2 + NOISE * rng.normal()


@compiled_only
def test_under_noise_the_model_stands_on_all_observations_and_a_restored_one_goes_on_exactly():
    opt, rng = GSSBO(SPACE, seed=0), np.random.default_rng(0)
    for _ in range(170):
        p = opt.ask()
        opt.tell(p, noisy(p, rng))
    assert len(opt.explain().members) == 128
    assert opt._search.surrogate.averages(opt._run.noise)
    assert len(opt._search.surrogate.rows) > 128
    again = GSSBO.from_state_dict(opt.state_dict())
    for _ in range(20):
        p, q = opt.ask(), again.ask()
        assert p == q
        value = noisy(p, rng)
        opt.tell(p, value)
        again.tell(q, value)
    best, _ = opt.best_predicted()
    lost = (best["x"] - 0.4) ** 2 + (best["y"] - 0.3) ** 2 + (best["z"] - 0.6) ** 2
    assert lost < 0.25 * NOISE  # of one measurement


def test_under_noise_the_region_follows_what_the_model_expects():
    opt, rng = GSSBO(SPACE, seed=0), np.random.default_rng(0)
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, noisy(p, rng))
    (local,) = opt._engines
    local.update(opt._run)
    surrogate, history = local.surrogate, opt._run.history
    assert surrogate.averages(opt._run.noise)
    best = surrogate.rows[np.argmax(surrogate.means)]
    assert local.trust_region.center == best
    assert local.trust_region.best == pytest.approx(surrogate.mean_sd(history.X[[best]])[0][0])
    assert local.trust_region.best < history.y.max()  # the luckiest value is no measure


def test_exploring_suggestions_differ_from_the_best_point_in_one_coordinate():
    settings = {"trust_region": False, "coordinate_lines": True, "n_initial": 8, "seed": 0}
    opt, changed = configured(GSSBO, SPACE, **settings), []
    for n in range(LINES_FROM + 4 * TURN):
        p = opt.ask()
        if n >= LINES_FROM and n // TURN % 2 == 0:
            best = opt._search.surrogate.rows[np.argmax(opt._search.surrogate.means)]
            near = opt.space.decode(opt._run.history.X[best])
            changed.append(sum(p[name] != near[name] for name in p))
        opt.tell(p, f(p))
    assert changed == [1] * len(changed)
    assert len(changed) == 2 * TURN


def test_lines_of_which_every_point_was_tried_give_way_to_the_whole_space():
    space = Space({f"c{i}": Categorical("abcdef") for i in range(7)})
    opt = GSSBO(space, seed=0, n_initial=8, avoid_repeats=True, settings=GSSBOSettings(coordinate_lines=True))
    best = dict.fromkeys(space.names, "a")
    opt.tell([best | {name: c} for name in best for c in "bcdef"] + [best], [1.0] * 35 + [0.0])
    rng = np.random.default_rng(0)
    for _ in range(LINES_FROM):
        opt.tell({name: "abcdef"[rng.integers(6)] for name in best}, 2.0)
    while not opt._search.maximiser.exploring(opt._run) or opt._run.step % TURN:
        opt.tell(opt.ask(), 2.0)
    before = opt._run.design._points
    p = opt.ask()
    assert sum(p[name] != "a" for name in p) >= 2
    assert opt._run.design._points is before  # it is no point of the space-filling sequence


TWICE = [
    partial(GSSBO, SPACE),
    partial(GPUCB, SPACE),
    partial(GSSBO, SPACE, settings=GSSBOSettings(trust_region=False)),
]


@pytest.mark.parametrize("make", TWICE)
def test_results_that_are_told_twice_count_once(make):
    """Copies teach nothing: models, predictions and recommendations are those of the results themselves."""
    once, twice, rng = make(seed=0), make(seed=0), np.random.default_rng(0)
    points = [{name: float(rng.random()) for name in "xyz"} for _ in range(60)]
    values = [noisy(p, rng) for p in points]
    once.tell(points, values)
    twice.tell(points + points, values + values)
    Z = [{name: float(rng.random()) for name in "xyz"} for _ in range(20)]
    for found, expected in zip(twice.snapshot().predict(Z), once.snapshot().predict(Z), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02)
    assert twice.best_predicted()[0] == once.best_predicted()[0]


def bump(p, noise):
    """Noise on a floor, and a bump that is ten times as high."""
    z = sum(((p[name] - at) / 0.22) ** 2 for name, at in (("x", 0.7), ("y", 0.35), ("z", 0.6)))
    return 10.0 * max(0.0, 1.0 - z) + noise


def test_as_long_as_nothing_stands_out_from_the_noise_points_fill_the_space():
    """What is flat and noisy has a luckiest point, where a local search would stay."""
    rng = np.random.default_rng(0)
    opt = GSSBO({name: Float(0, 1) for name in "xyz"}, seed=0, direction="maximize")
    local = []
    for _ in range(120):
        suggestion = opt.suggest()
        opt.tell(opt.space.decode(suggestion.x), rng.normal())
        local.append(suggestion.origin >= 0)
    assert opt._run.noise.found
    assert np.mean(local[60:]) < 0.2  # three of four otherwise


def test_a_bump_on_a_noisy_floor_is_found():
    """Two of three runs never left the floor before."""
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        opt = GSSBO({name: Float(0, 1) for name in "xyz"}, seed=seed, direction="maximize")
        for _ in range(150):
            p = opt.ask()
            opt.tell(p, bump(p, rng.normal()))
        assert bump(opt.best_predicted()[0], 0.0) > 3.0  # noise deviations above the floor


def test_where_something_stands_out_the_local_search_has_its_turns():
    rng = np.random.default_rng(0)
    opt = GSSBO({name: Float(0, 1) for name in "xyz"}, seed=0)
    local = []
    for _ in range(80):
        suggestion = opt.suggest()
        p = opt.space.decode(suggestion.x)
        opt.hold("now", p, suggestion.origin)
        opt.tell(p, sum((v - 0.4) ** 2 for v in p.values()) + 0.05 * rng.normal(), key="now")
        local.append(suggestion.origin >= 0)
    assert opt._run.noise.found
    assert np.mean(local[20:]) > 0.6


def test_what_stands_out_is_judged_by_the_noise_of_the_best_members():
    """The noise of the worst values says nothing of that of the best ones."""
    rng = np.random.default_rng(0)
    opt = GSSBO({"x": Float(0, 1)}, seed=0)
    points = [{"x": x} for x in rng.random(60).tolist()]
    opt.tell(points, [p["x"] * (1.0 + 0.8 * rng.normal()) for p in points])
    opt.tell(points[:2], [p["x"] * (1.0 + 0.8 * rng.normal()) for p in points[:2]])  # there is noise
    opt.suggest()
    search = opt._search
    assert opt._run.noise.found
    assert search._noise_of_the_best() < 0.5 * np.sqrt(search.surrogate.gp.covariance.noise_variance)
    assert search.stands_out(opt._run)


def test_an_optimizer_that_was_told_everything_knows_what_stands_out():
    """As one that has asked: it would take some suggestions until its global model has had a turn."""
    rng = np.random.default_rng(0)
    points = [dict(zip("xyz", x.tolist(), strict=True)) for x in rng.random((60, 3))]
    opt = GSSBO({name: Float(0, 1) for name in "xyz"}, seed=0)
    opt.tell(points, rng.normal(size=60))
    opt.tell(points[:2], rng.normal(size=2))  # there is noise
    assert opt.suggest().origin == GLOBAL
    assert not opt._search.stands_out(opt._run)


def test_what_fills_the_space_keeps_away_from_where_trials_fail():
    rng = np.random.default_rng(0)
    opt = GSSBO({name: Float(0, 1) for name in "xyz"}, seed=0, direction="maximize")
    failed = []
    for _ in range(150):
        p = opt.ask()
        failed.append(p["x"] > 0.5)
        opt.tell(p, None if failed[-1] else rng.normal())
    assert np.mean(failed[75:]) < 0.2


@pytest.mark.parametrize(("d", "expected"), [(1, 5), (5, 5), (6, 10), (40, 10)])
def test_the_initial_design_is_shorter_in_few_dimensions(d, expected):
    opt = GSSBO({f"x{j}": Float(0, 1) for j in range(d)}, seed=0)
    assert opt.n_initial == expected
    assert GSSBO.from_state_dict(opt.state_dict()).n_initial == expected
    assert GSSBO(arms=np.random.default_rng(0).random((9, d)), seed=0).n_initial == expected


@pytest.mark.parametrize("failing", [0, 3, 20])
def test_failures_are_made_up_for_by_more_points_of_the_design(failing):
    """Up to as many again: the model starts with five successes, or after ten trials."""
    space = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    opt, design = GSSBO(space, seed=0), GSSBO(space, seed=0)
    by_design = 0
    for t in range(12):
        found = opt.suggest(position=t).x
        by_design += np.array_equal(found, design._run.space_filling(t)) and by_design == t
        p = space.decode(found)
        opt.tell(p, None if 1 <= t <= failing else p["x"])
        design.tell(p, None)
    assert by_design == min(5 + failing, 10)

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import MOSTLY, inside, over_seeds, seeded

from numbo import GSSBO, Float, GSSBOSettings, Int, Space
from numbo.models.noise import NOISY, ODDS, SCATTER, Noise, robust_std, tie
from numbo.trials import UNASKED, History, point_key

ASKED = -1


class Model:
    """A model that claims some noise."""

    def __init__(self, claimed_noise):
        self.claimed_noise = claimed_noise


def history(points, values, origins=None):
    out = History(1)
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        out.add(np.array([float(x)]), float(y), {}, ASKED if origins is None else origins[i])
    return out


def distinct(values):
    """Points of which no two are equal, with values."""
    return list(range(len(values))), list(values)


SMOOTH = [math.sin(i) for i in range(30)]
LABELS = [float(i % 3 > 0) for i in range(30)]


@given(st.lists(st.integers(0, 3), min_size=3, max_size=12))
def test_the_chance_of_a_tie_by_counting_pairs(values):
    """Of values so far apart beside their spread that noise of a hundredth of the variance hides between them."""
    pairs = list(itertools.combinations(values, 2))
    tied = (sum(a == b for a, b in pairs) + 1) / (len(pairs) + 2)
    same = 2 * sum(v == values[0] for v in values) / len(values)
    by_step = 1.0
    if len(set(values)) > 1:
        step = min(abs(a - b) for a, b in pairs if a != b)
        by_step = math.erf(step / (4.0 * math.sqrt(NOISY) * robust_std(np.array(values, dtype=float))))
    assert tie(np.array(values, dtype=float), values[0], values[0]).chance() == pytest.approx(
        max(min(tied, 1.0), min(1.0, same)) if by_step == 1.0 else min(max(tied, min(1.0, same)), by_step)
    )


def test_plateaus_of_fine_values_are_not_taken_for_ties_of_noise():
    """Errors of a classifier: half of all points have the best one, among many others that lie close together."""
    rng = np.random.default_rng(0)
    errors = np.append(rng.integers(0, 150, 40) / 150.0, np.zeros(40))
    assert tie(errors, 0.0, 0.0).chance() < 0.1
    assert tie(np.round(errors), 0.0, 0.0).chance() > 0.5


def test_the_more_noise_is_claimed_the_less_likely_are_ties_of_fine_values():
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=2_000), 1)
    for noise in (0.01, 0.05, 0.3):
        pair = 0.02 + math.sqrt(noise) * rng.normal(size=(200_000, 2))
        assert tie(values, 0.0, 0.0)._replace(common=1.0).chance(noise) == pytest.approx(
            float(np.mean(np.diff(np.round(pair, 1)) == 0.0)), rel=0.1
        )
    outcomes = tie(rng.integers(0, 2, 100).astype(float), 1.0, 1.0)
    assert outcomes.chance(0.9) == outcomes.chance() > 0.5


def test_repeats_that_agree_are_left_out_of_models_where_noise_is_refuted():
    points, values = distinct(SMOOTH)
    seen = history([*points, 3, 7], [*values, values[3], values[7]])
    np.testing.assert_array_equal(Noise(seen).distinct(np.arange(32)), np.arange(30))
    noisy = history([*points, 3, 7], [*values, values[3], values[7] + 1.0])
    np.testing.assert_array_equal(Noise(noisy).distinct(np.arange(32)), np.arange(32))
    assert Noise(seen).copies.tolist() == [30, 31]
    assert len(Noise(noisy).copies) == 0


def test_one_repeat_that_agrees_refutes_noise_of_continuous_values_and_none_of_labels():
    points, values = distinct(SMOOTH)
    assert Noise(history([*points, 3], [*values, values[3]])).refuted
    points, values = distinct(LABELS)
    known = Noise(history([*points, 1], [*values, values[1]]), (Model(0.5),), asks=True)
    assert not known.refuted
    assert known.credible(0.5)


def test_labels_that_agree_at_a_rare_value_at_many_points_refute_noise():
    """Where half of all values are equal, one point says nothing, however often it is measured."""
    values = [float(i % 8 == 0) for i in range(128)]
    points, told = distinct(values)
    rare = [i for i in points if values[i] == 1.0]
    once = Noise(history([*points, *[rare[0]] * 9], [*told, *[1.0] * 9]))
    assert not once.refuted
    many = Noise(history([*points, *rare], [*told, *[1.0] * len(rare)]))
    assert many.refuted


def test_copies_count_for_nothing():
    points, values = distinct(SMOOTH)
    origins = [ASKED] * 30 + [UNASKED] * 20
    known = Noise(history(points + points[:20], values + values[:20], origins), (Model(0.2),))
    assert len(known.repeats.gaps) == 0
    assert known.share == 0.0
    assert not known.refuted
    assert known.found


def test_values_that_differ_are_noise_whoever_measured_them():
    points, values = distinct(SMOOTH)
    for origin in (ASKED, UNASKED):
        known = Noise(history([*points, 3], [*values, values[3] + 0.5], [ASKED] * 30 + [origin]), asks=True)
        assert known.found
        assert not known.refuted
        assert known.share == pytest.approx(0.125 / robust_std(np.array([*values, values[3] + 0.5])) ** 2)


@pytest.mark.parametrize("size", [1e-305, 1e-160, 1.0, 1e160, 1e305])
def test_values_of_any_size_differ_alike(size):
    points, values = distinct([size * v for v in SMOOTH])
    known = Noise(history([*points, 3], [*values, values[3] + 0.5 * size]))
    expected = Noise(history([*range(30), 3], [*SMOOTH, SMOOTH[3] + 0.5]))
    assert known.share == pytest.approx(expected.share)


def test_rounding_errors_agree():
    points, values = distinct(SMOOTH)
    known = Noise(history([*points, 3], [*values, values[3] * (1.0 + 1e-9)]))
    assert 0.0 < known.share < SCATTER
    assert known.refuted


def test_a_claim_is_not_believed_before_somebody_has_looked():
    seen = history(*distinct(SMOOTH))
    asking, trusting = Noise(seen, (Model(0.1),), asks=True), Noise(seen, (Model(0.1),))
    assert asking.unsettled
    assert asking.plausible(0.1)
    assert not asking.credible(0.1)
    assert trusting.credible(0.1)
    assert not trusting.unsettled
    assert not Noise(seen, (Model(NOISY),), asks=True).unsettled
    assert not Noise(seen, (Model(None),), asks=True).unsettled


def test_only_finished_trials_are_evidence_of_noise():
    """Whatever else was stopped; a point's first finished trial is what later ones are compared with."""
    points, values = distinct(SMOOTH)
    seen = history(points, values)
    known = Noise(seen, (Model(0.1),), asks=True)
    seen.add(np.array([3.0]), 5.0, {}, ASKED, final=False)  # a repeat that was stopped
    seen.add(np.array([50.0]), 7.0, {}, ASKED, final=False)  # a new point, stopped at first
    seen.add(np.array([50.0]), 0.2, {}, ASKED)
    assert (known.share, len(known.repeats.gaps), known.checks) == (0.0, 0, 1)
    assert not known.shown
    assert known.credible(0.1)  # where ends are expected only, a claim is more than noise of measurements
    seen.add(np.array([50.0]), 0.6, {}, ASKED)
    seen.add(np.array([3.0]), values[3] - 0.2, {}, ASKED)
    assert known.deviation == pytest.approx(math.sqrt((0.4**2 + 0.2**2) / 4.0))
    assert known.shown
    assert known.checks == 3
    fresh = Noise(seen, (Model(0.1),), asks=True)
    assert (fresh.share, fresh.checks, fresh.found) == (known.share, known.checks, known.found)


def test_ties_are_counted_among_finished_trials():
    points, values = distinct(SMOOTH)
    seen = history([*points, 3], [*values, values[3]])
    for k in range(60):
        seen.add(np.array([100.0 + k]), 0.5, {}, ASKED, final=False)  # a step at which many were stopped
    assert Noise(seen).refuted


def told_with(variances, noise, repeats, common=0.0, seed=0):
    """A history of thirty values with known variances, and some repeats."""
    rng = np.random.default_rng(seed)
    out = History(1)
    for x in [*range(30), *range(repeats)]:
        error = math.sqrt(variances + common) * rng.normal()
        out.add(np.array([float(x)]), math.sin(x) + noise * error, {}, ASKED, variance=noise**2 * variances)
    return out


def test_known_variances_are_noise_where_they_matter():
    assert Noise(told_with(0.25, 1.0, 0)).found
    assert not Noise(told_with(0.25, 1e-3, 0)).found
    assert Noise(told_with(0.25, 1.0, 0)).known == pytest.approx(
        0.25 / robust_std(told_with(0.25, 1.0, 0).values()) ** 2
    )
    assert not Noise(told_with(0.25, 1.0, 0), (Model(0.5),), asks=True).unsettled  # nothing is left to find out


def test_repeats_that_known_variances_explain_are_no_common_noise():
    within = [Noise(told_with(0.25, 1.0, 10, seed=seed)) for seed in range(40)]
    assert np.mean([one.share == 0.0 for one in within]) > 0.8
    assert all(one.deviation == 0.0 for one in within if one.share == 0.0)
    assert all(one.found for one in within)
    beyond = [Noise(told_with(0.01, 1.0, 25, common=0.5, seed=seed)) for seed in range(40)]
    assert np.median([one.deviation for one in beyond]) == pytest.approx(math.sqrt(0.5), rel=0.15)


def test_claims_are_the_largest_of_the_models_that_have_one():
    assert Noise(History(1), (Model(None), Model(0.3), Model(0.2))).claimed == 0.3
    assert Noise(History(1), (Model(None),)).claimed is None


@pytest.mark.parametrize("values", [SMOOTH * 12, LABELS * 12])
def test_at_most_two_of_the_first_hundred_and_one_of_two_hundred_later_are_spent(values):
    values = [v + (1e-3 * i if values is not LABELS else 0.0) for i, v in enumerate(values)]
    seen, spent = History(1), []
    known = Noise(seen, (Model(0.5),), asks=True)
    for n in range(len(values)):
        if n >= 20 and known.unsettled:
            spent.append(n)
            seen.add(seen.X[len(spent)], float(seen.y[len(spent)]), {}, ASKED)
        seen.add(np.array([float(n)]), values[n], {}, ASKED)
    assert len([n for n in spent if n < 100]) <= 2
    assert len([n for n in spent if n < 300]) <= 2 + 1
    assert len(spent) <= 2 + len(values) // 200


def test_what_is_known_does_not_depend_on_when_it_was_asked_for():
    rng, points = np.random.default_rng(0), []
    for _ in range(200):
        points.append(float(rng.integers(30)))
    values = [math.sin(x) + 0.1 * rng.integers(3) for x in points]
    seen = History(1)
    early = Noise(seen)
    for x, y in zip(points, values, strict=True):
        seen.add(np.array([x]), y, {}, ASKED)
        assert early.share >= 0.0
    told = history(points, values)
    late = Noise(told)
    for what in ("share", "scatter", "repeats", "refuted", "unsettled"):
        assert getattr(early, what) == getattr(late, what)
    np.testing.assert_array_equal(early.copies, late.copies)
    assert set(early.repeats.asked) == set(late.repeats.asked)
    copy = replace(late, history=told.copy())
    told.add(np.array([points[0]]), 5.0, {}, ASKED)
    assert len(copy.repeats.gaps) == len(late.repeats.gaps) - 1


def test_odds_are_those_of_distinct_points():
    points, values = distinct(SMOOTH)
    known = Noise(history([*points, 3, 3, 4], [*values, values[3], values[3], values[4]]))
    assert sorted(known.repeats.asked) == [3, 4]
    chances = [tie(np.delete(values, i), values[i], values[i]).chance() for i in (3, 4)]
    assert -sum(math.log(chance) for chance in chances) > math.log(ODDS)
    assert known.refuted


def test_values_that_tie_at_all_take_two_repeats_that_agree():
    """Accuracies of a hundred: at one point of five noisy ones agree by chance."""
    accuracies = [round(0.5 + 0.5 * abs(math.sin(i)), 2) for i in range(30)]
    points, values = distinct(accuracies)
    assert not Noise(history([*points, 2], [*values, values[2]])).refuted
    assert Noise(history([*points, 2, 3], [*values, values[2], values[3]])).refuted


def test_rounding_errors_make_no_new_values():
    rng = np.random.default_rng(0)
    outcomes = rng.integers(0, 2, 100).astype(float)
    dusty = outcomes + 1e-13 * rng.normal(size=100)
    assert tie(dusty, 1.0, 1.0).chance() == pytest.approx(tie(outcomes, 1.0, 1.0).chance())


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_values_that_nearly_agree_may_do_so_by_chance(noise):
    rng = np.random.default_rng(0)
    values = rng.normal(size=500)
    gaps = math.sqrt(2.0 * noise) * np.abs(rng.normal(size=100_000))
    for gap in (0.003, 0.014):
        nearly = tie(values, 0.0, gap * robust_std(values))
        assert nearly.chance(noise) == pytest.approx(np.mean(gaps < gap), rel=0.1)


def test_copies_are_left_out_unless_other_points_have_their_value():
    points, values = distinct(SMOOTH)
    origins = [ASKED] * 30 + [UNASKED] * 2
    told = Noise(history([*points, 3, 3], [*values, values[3], values[3]], origins))
    assert told.copies.tolist() == [30, 31]
    points, values = distinct(LABELS)
    assert len(Noise(history([*points, 3, 3], [*values, values[3], values[3]], origins)).copies) == 0


def test_a_copy_of_the_best_point_does_not_keep_it_from_being_measured():
    points, values = distinct(SMOOTH)
    told = Noise(history([*points, 3], [*values, values[3]], [ASKED] * 30 + [UNASKED]))
    assert 3 not in told.repeats.asked
    assert 3 in Noise(history([*points, 3], [*values, values[3]])).repeats.asked


def test_coarse_outcomes_are_measured_again_until_they_differ():
    """Two that agree say next to nothing, whatever the model claims."""
    points, values = distinct(LABELS)
    known = Noise(history([*points, 1, 2], [*values, values[1], values[2]]), (Model(0.0),), asks=True)
    assert known.unsettled
    differing = Noise(history([*points, 1, 2], [*values, values[1], 1.0 - values[2]]), (Model(0.0),), asks=True)
    assert not differing.unsettled


def test_the_scatter_of_repeats_whatever_outliers_there_are():
    rng = np.random.default_rng(0)
    values = [*SMOOTH, *(np.array(SMOOTH[:20]) + 0.1 * rng.normal(size=20)), 1e6]
    known = Noise(history([*range(30), *range(20), 20], values))
    assert known.scatter == pytest.approx(0.1 / math.sqrt(2.0), rel=0.5)


@pytest.mark.parametrize("repeats", [1, 2, 5, 20])
def test_the_scatter_of_few_repeats_is_a_lower_bound(repeats):
    """It is above the noise in 5 % of cases at most, and with many repeats hardly ever far below it."""
    rng = np.random.default_rng(repeats)
    above, far_below, cases = 0, 0, 400
    for _ in range(cases):
        again = np.array(SMOOTH[:repeats]) + 0.1 * math.sqrt(2.0) * rng.normal(size=repeats)
        known = Noise(history([*range(30), *range(repeats)], [*SMOOTH, *again]))
        above += known.scatter > 0.1
        far_below += known.scatter < 0.1 / 3.0
    assert above / cases < 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / cases)
    assert repeats < 20 or far_below / cases < 0.02


@pytest.mark.parametrize("size", [1.0, 1e200, 1e-200])
def test_the_deviation_of_repeats(size):
    rng = np.random.default_rng(0)
    points = [*range(30), *range(20)]
    first = size * rng.normal(size=30)
    again = first[:20] + 0.1 * size * rng.normal(size=20)
    known = Noise(history(points, [*first, *again]))
    assert known.deviation / size == pytest.approx(np.sqrt(np.mean(((again - first[:20]) / size) ** 2) / 2.0))
    assert Noise(history(range(30), first)).deviation == 0.0


# -- in a run ------------------------------------------------------------------------------------------------------

RIPPLED = Space({f"x{i}": Float(-5.0, 5.0) for i in range(5)})


def ripples(p):
    x = np.array(list(p.values())) - 0.7
    return float(np.sum(x * x - 10.0 * np.cos(2.0 * np.pi * x)) + 3.0 * np.sin(7.0 * x.sum()))


def suggested(opt, t):
    return opt.suggest((5, t), position=t)


@over_seeds()
def test_a_rough_objective_is_searched_as_without_averaging_to_the_last_bit():
    opt, plain = GSSBO(RIPPLED, seed=seeded(0)), GSSBO(RIPPLED, seed=seeded(0), settings=GSSBOSettings(all_data=False))
    told, again = {}, 0
    for t in range(90):
        found = suggested(opt, t)
        if point_key(found.x) in told:
            again += 1  # noise was claimed
        else:
            expected = suggested(plain, t)
            # without averaging, a claim of noise counts before it is checked: some seeds fill the space then
            assert np.array_equal(found.x, expected.x), MOSTLY
            assert found.origin == expected.origin, MOSTLY
        params = opt.space.decode(found.x)
        for one in (opt, plain):
            one.hold(t, params, found.origin)
            one.tell(params, ripples(params), key=t)
        told.setdefault(point_key(found.x), params)
    assert 1 <= again <= 2, MOSTLY
    refuted = inside(opt, "run").noise.refuted  # then what was told is exact, and else all but the noise of a fit
    for params in told.values():
        assert opt.predict(params)[0] == pytest.approx(ripples(params), rel=0.0, abs=0.0 if refuted else 0.1)


def test_models_that_averaged_start_again_when_noise_is_refuted():
    """Ties were so common that repeats which agreed said little, until there were many."""
    space = Space({"a": Int(0, 29), "b": Int(0, 29), "x": Float(0.0, 1.0)})
    rng, opt = np.random.default_rng(0), GSSBO(space, seed=0)
    told = []
    while not inside(opt, "run").noise.refuted:
        params = {"a": int(rng.integers(30)), "b": int(rng.integers(30)), "x": float(rng.random())}
        value = math.floor(3.0 * (math.sin(37.0 * sum(params.values())) * 999.0 % 1.0))
        repeat = told[int(rng.integers(len(told)))] if len(told) > 30 and rng.random() < 0.2 else (params, value)
        told.append(repeat)
        opt.hold(len(told), repeat[0])
        opt.tell(repeat[0], repeat[1], key=len(told))
        if len(told) % 10 == 0:
            suggested(opt, len(told))
            inside(opt, "search").surrogate.averaged = True
    assert not opt.state_dict()["model"]["search"]["outputs"]["objectives"][0]["averaged"]
    fresh = GSSBO(space, seed=0, settings=GSSBOSettings(all_data=False))
    for k, (params, value) in enumerate(told):
        fresh.hold(k, params)
        fresh.tell(params, value, key=k)
    for t in range(3):
        np.testing.assert_array_equal(suggested(opt, 1000 + t).x, suggested(fresh, 1000 + t).x)


def test_asking_whether_a_space_is_exhausted_changes_nothing():
    space = Space({"a": Int(0, 4), "b": Int(0, 4)})
    rng, twins = np.random.default_rng(0), [GSSBO(space, seed=0) for _ in range(2)]
    for a, b in itertools.product(range(5), repeat=2):
        value = a + b + 3.0 * rng.normal()
        for opt in twins:
            opt.tell({"a": a, "b": b}, value)
    assert twins[0].exhausted == twins[0].exhausted
    for _ in range(3):
        found, expected = (opt.ask() for opt in twins)
        assert found == expected
        for opt in twins:
            assert opt.exhausted in (True, False)
            opt.tell(found, 1.0)


def test_the_noise_of_a_second_objective_is_that_of_its_own_history():
    """Contours of one objective look at a history that has no other."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        opt = GSSBO({"x": Int(0, 40), "y": Int(0, 40)}, directions=("minimize", "minimize"), seed=seed)
        for _ in range(30):
            p = opt.ask()
            opt.tell(p, [round(((p["x"] - 9) / 40) ** 2 + 0.3 * rng.integers(0, 2), 3), ((p["y"] - 20) / 40) ** 2])
        for objective in (0, 1):
            alone = opt._run.of_output(objective)
            assert alone.noise.refuted == opt._run.noises[objective].refuted

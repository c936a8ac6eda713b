"""Cells of a front against brute force, and expected improvements against simulation and quadrature."""

import itertools
import math

import numpy as np
import pytest
from tests.helpers import INTERPRETED

from numbo.kernels.front import Front, cells, front_of, hypervolume, improvement_gradient_into, improvements
from numbo.trials.front import closeness, extent, isolation, joined, non_dominated, thinned


def sphere(f, k, seed=0):
    points = np.abs(np.random.default_rng(seed).normal(size=(f, k)))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def naive_hypervolume(points, reference):
    """Inclusion and exclusion of the boxes between the points and the reference."""
    total = 0.0
    for size in range(1, len(points) + 1):
        for some in itertools.combinations(points, size):
            total -= (-1) ** size * np.prod(np.maximum(np.min(some, axis=0) - reference, 0.0))
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_cells_are_what_no_point_dominates_each_once(k):
    points, reference = sphere(12, k) if k > 1 else np.array([[0.7]]), np.full(k, -0.2)
    lower, upper, _ = cells(np.ascontiguousarray(points[np.lexsort(-points.T)]), reference)
    drawn = np.random.default_rng(1).uniform(-0.2, 1.3, size=(4000, k))
    inside = ((drawn[:, None] > lower) & (drawn[:, None] <= upper)).all(axis=2).sum(axis=1)
    dominated = (drawn[:, None] <= points).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(inside, np.where(dominated, 0, 1))


def test_cells_are_few():
    counts = {k: len(front_of(sphere(48, k), np.zeros(k)).lower) for k in (2, 3)}
    assert counts == {2: 49, 3: 97}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_hypervolume_is_that_of_the_union_of_boxes(k):
    points, reference = sphere(9, k, seed=2), np.full(k, 0.1)
    points = points[non_dominated(points)]
    assert hypervolume(points, reference) == pytest.approx(naive_hypervolume(points, reference), rel=1e-12)
    assert hypervolume(points, np.full(k, 2.0)) == 0.0
    assert hypervolume(points[:0], reference) == 0.0


def improved(front, reference, y):
    return improvements_by(front, reference, [y])[0]


def improvements_by(front, reference, outcomes):
    """By how much each of the ``outcomes`` alone would raise the volume."""
    before, gains = hypervolume(front, reference), []
    for y in outcomes:
        points = np.vstack([front, y])
        points = points[non_dominated(points)]
        gains.append(hypervolume(points, reference) - before)
    return gains


@pytest.mark.parametrize("k", [2, 3, 4])
def test_expected_improvement_is_that_of_simulated_outcomes(k):
    points, reference, rng = sphere(8, k, seed=3), np.full(k, -0.1), np.random.default_rng(0)
    mean, sd = np.full(k, 0.6), np.linspace(0.1, 0.2, k)
    outcomes = mean + sd * rng.normal(size=(300 if INTERPRETED else 3000, k))
    gains = improvements_by(points, reference, outcomes)
    found = math.exp(improvements(front_of(points, reference), mean[:, None], sd[:, None])[0])
    assert found == pytest.approx(np.mean(gains), abs=4.0 * np.std(gains) / math.sqrt(len(gains)))


def test_one_objective_is_expected_improvement():
    """With one point the front is a value, and the improvement that of Jones et al. (1998)."""
    from scipy.stats import norm

    front = front_of(np.array([[0.3]]), np.array([-5.0]))
    for mu, sd in ((0.0, 0.1), (0.5, 0.2), (-3.0, 0.3)):
        z = (mu - 0.3) / sd
        expected = sd * (norm.pdf(z) + z * norm.cdf(z))
        assert math.exp(improvements(front, np.array([[mu]]), np.array([[sd]]))[0]) == pytest.approx(expected, rel=1e-8)


def test_a_certain_outcome_gains_what_it_dominates():
    points, reference = sphere(6, 2), np.zeros(2)
    y = np.array([0.9, 0.9])
    found = improvements(front_of(points, reference), y[:, None], np.full((2, 1), 1e-9))
    assert math.exp(found[0]) == pytest.approx(improved(points, reference, y), rel=1e-6)


@pytest.mark.parametrize("distance", [1.0, 30.0, 200.0])
def test_logarithms_stay_finite_and_ordered_far_below_the_front(distance):
    front, sd = front_of(sphere(20, 3), np.full(3, -1.0)), np.full((3, 2), 1e-2)
    far = np.full((3, 1), 0.5) - 1e-2 * distance
    values = improvements(front, np.hstack([far, far - 1e-3]), sd)
    assert np.isfinite(values).all()
    assert values[0] > values[1]


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("shift", [6.0, 0.2, -0.3, -2.0, -8.0, -30.0])
def test_gradients_are_those_of_differences(k, shift):
    front = front_of(sphere(10, k), np.full(k, -0.5))
    mean, sd = np.full(k, 0.6 + shift), np.linspace(0.1, 0.3, k)
    value, d_mean, d_sd = through_a_kernel(front, mean, sd)
    assert value == pytest.approx(improvements(front, mean[:, None], sd[:, None])[0], rel=1e-12)
    for moments, found in ((mean, d_mean), (sd, d_sd)):
        for j in range(k):
            sides = []
            for step in (1e-6, -1e-6):
                moments[j] += step
                sides.append(improvements(front, mean[:, None], sd[:, None])[0])
                moments[j] -= step
            assert found[j] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-7)


def through_a_kernel(front, mean, sd):
    import numba

    @numba.njit(error_model="numpy")
    def call(front, mean, sd):
        d_mean, d_sd = np.empty(len(mean)), np.empty(len(mean))
        value = improvement_gradient_into(front, mean, sd, d_mean, d_sd)
        return value, d_mean, d_sd

    return call(front, mean.copy(), sd.copy())


def test_what_is_infinitely_far_below_gains_nothing():
    front, mean, sd = front_of(sphere(5, 3), np.full(3, -1.0)), np.full(3, -1e152), np.full(3, 1e-3)
    assert improvements(front, mean[:, None], sd[:, None])[0] == -np.inf
    value, *derivatives = through_a_kernel(front, mean, sd)
    assert value == -np.inf
    np.testing.assert_array_equal(derivatives, 0.0)


@pytest.mark.parametrize("k", [2, 3])
def test_volumes_beyond_any_double_are_infinite(k):
    assert hypervolume(np.full((1, k), 1e300), np.full(k, -1e300)) == np.inf


def test_points_below_the_reference_do_not_count():
    above, reference = sphere(5, 2), np.full(2, 0.1)
    front = front_of(above, reference)
    with_others = front_of(np.vstack([above, [[2.0, 0.05]]]), reference)
    assert isinstance(front, Front)
    np.testing.assert_array_equal(front.bounds, with_others.bounds)


# -- fronts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
def test_non_dominated_points_are_those_that_no_other_dominates(k):
    Y = np.round(np.random.default_rng(4).normal(size=(60, k)), 1)
    expected = []
    for i, y in enumerate(Y):
        better = any((o >= y).all() and (o > y).any() for o in Y)
        expected.append(not better and not any((o == y).all() for o in Y[:i]))
    np.testing.assert_array_equal(non_dominated(Y), expected)


def test_points_of_the_front_are_the_closest():
    Y = np.vstack([sphere(30, 2), 0.7 * sphere(30, 2, seed=1), 0.2 * sphere(30, 2, seed=2)])
    front = Y[non_dominated(Y)]
    near = closeness(Y, front)
    assert near.max() == pytest.approx(1.0)
    assert np.median(near[:30]) > near[30:60].max()
    assert near[30:60].min() > near[60:].max()
    scaled = closeness(Y * [1e-6, 1e9] + [5.0, -3.0], front * [1e-6, 1e9] + [5.0, -3.0])
    np.testing.assert_allclose(scaled, near, rtol=1e-6)


def test_thinned_fronts_keep_their_ends_or_what_is_near():
    points = np.stack([np.linspace(0.0, 1.0, 200), 1.0 - np.linspace(0.0, 1.0, 200) ** 2], axis=1)
    some = thinned(points, 20)
    assert len(set(some.tolist())) == 20
    assert {0, 199} <= set(some.tolist())
    assert np.diff(np.sort(some)).max() <= 25
    around = thinned(points, 20, points[100])
    assert set(range(96, 105)) <= set(around.tolist())
    np.testing.assert_array_equal(thinned(points[:5], 20), np.arange(5))


@pytest.mark.parametrize("k", [2, 3])
def test_joined_fronts_leave_nothing_to_gain_from_points_that_are_left_out(k):
    points = sphere(300, k)
    points = points[non_dominated(points)]
    some = joined(points, 40)
    assert len(some) <= 40
    covered = (some[None] >= points[:, None]).all(axis=2).any(axis=1)
    assert covered.all()
    assert np.ptp(some, axis=0) == pytest.approx(np.ptp(points, axis=0), rel=0.2)
    np.testing.assert_array_equal(joined(points[:30], 40), points[:30])


def test_isolation_and_extent():
    points = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0]])
    found = isolation(points)
    assert found[2] > 5.0 * found[0]
    low, span = extent(points[:1], np.array([2.0, 3.0]))
    np.testing.assert_array_equal(low, points[0])
    np.testing.assert_array_equal(span, [2.0, 3.0])


@pytest.mark.parametrize("best", [np.inf, 1e308])
def test_what_exceeds_all_numbers_is_infinite(best):
    assert hypervolume(np.array([[best, 1.0], [0.0, 1e3]]), np.array([-1e3, -1e3])) == np.inf


@pytest.mark.parametrize("k", [3, 4, 5])
def test_small_volumes_within_a_large_box_keep_their_digits(k):
    """A share of 1e-12 of the box: what is subtracted from the whole would be lost."""
    points = np.full((k, k), 1e-3)
    points[np.arange(k), np.arange(k)] = 1e3
    exact = k * 1e3 * 1e-3 ** (k - 1) - (k - 1) * 1e-3**k
    assert hypervolume(points, np.zeros(k)) == pytest.approx(exact, rel=1e-13)


def added(points, reference):
    """Slices below each value of the last objective, from the reference up: nothing but products of gaps, added."""
    points = points[(points > reference).all(axis=1)]
    if points.shape[1] == 1:
        return float(np.max(points - reference, initial=0.0))
    heights = np.unique(points[:, -1])
    gaps = np.diff(heights, prepend=reference[-1])
    return math.fsum(
        gap * added(points[points[:, -1] >= height, :-1], reference[:-1])
        for height, gap in zip(heights, gaps, strict=True)
    )


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("decades", [0, 4, 12])
def test_volumes_of_values_over_decades_are_those_of_slices(k, decades):
    """Each objective covers this many decades: large and small boxes are part of one volume."""
    rng = np.random.default_rng(k)
    points = sphere(10, k, seed=k) * 10.0 ** rng.uniform(-decades, 0.0, size=(10, k))
    points = points[non_dominated(points)]
    expected = added(points, np.zeros(k))
    assert hypervolume(points, np.zeros(k)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_volumes_are_those_of_another_program(k):
    moocore = pytest.importorskip("moocore")
    points = sphere(15 if INTERPRETED else 40, k, seed=k)
    points = points[non_dominated(points)]
    expected = moocore.hypervolume(-points, ref=np.full(k, 0.1))
    assert hypervolume(points, np.full(k, -0.1)) == pytest.approx(expected, rel=1e-12)

"""The quadratic regression against least squares, and its rank-one updates against fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, somersd

from numbo.models.quadratic import BETTER, HEAVIEST, Quadratic, rank_correlation
from numbo.spaces import Corners


def concave(d: int, seed: int = 0):
    """A concave quadratic, and where it is largest."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    top = rng.uniform(0.3, 0.7, d)
    return lambda x: 5.0 - (x - top) @ (A @ A.T + np.eye(d)) @ (x - top), top


def told(model: Quadratic, X, f) -> Quadratic:
    for x in X:
        model.add(x, f(x))
    return model


def terms(X, kind):
    """The monomials that a kind of model has, by a loop."""
    rows = []
    for x in X:
        row = [1.0, *x]
        if kind >= 1:
            row += [a * a for a in x]
        if kind == 2:
            row += [x[i] * x[j] for i in range(len(x)) for j in range(i + 1, len(x))]
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(("n", "kind"), [(8, 0), (17, 1), (60, 2)])
def test_predictions_are_those_of_least_squares_on_the_better_three_quarters_weighted_by_rank(n, kind):
    rng = np.random.default_rng(0)
    X = rng.random((n, 4))
    y = np.sin(5.0 * X).sum(axis=1) + rng.standard_normal(n)
    model = Quadratic(4)
    for x, value in zip(X, y, strict=True):
        model.add(x, float(value))
    model.refresh()
    kept = 2 * 15  # two points for each coefficient of the full quadratic
    X, y = X[-kept:], y[-kept:]
    coefficients = terms(X, kind).shape[1]
    used = max(int(BETTER * len(y)), min(len(y), coefficients + 2))
    order = np.argsort(-y)[:used]
    root = np.sqrt(np.linspace(HEAVIEST, 1.0, used))
    expected = np.linalg.lstsq(terms(X[order], kind) * root[:, None], y[order] * root, rcond=None)[0]
    Z = rng.random((20, 4))
    np.testing.assert_allclose(model.values(Z), terms(Z, kind) @ expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("d", [2, 5])
def test_a_quadratic_is_found_from_enough_points(d):
    f, top = concave(d)
    rng = np.random.default_rng(0)
    model = told(Quadratic(d), rng.random((4 * d * d + 10, d)), f)
    model.refresh()
    Z = rng.random((30, d))
    np.testing.assert_allclose(model.values(Z), [f(z) for z in Z], atol=1e-5)
    np.testing.assert_allclose(model.largest(np.full(d, 0.5), Corners.of_cube(d)), top, atol=1e-5)
    assert model.tau(15) == 1.0


def test_points_between_two_fits_count_as_in_a_fit_with_their_weights():
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    y = np.cos(4.0 * X).sum(axis=1)
    model = Quadratic(3)
    for x, value in zip(X[:19], y[:19], strict=True):
        model.add(x, float(value))
    model.refresh()
    used = np.argsort(-y[:19])[: int(BETTER * 19)]
    limit = y[used].min()
    weights = np.linspace(HEAVIEST, 1.0, len(used))
    rows, w = list(used), list(weights)
    for i in range(19, 40):
        model.add(X[i], float(y[i]))
        if y[i] > limit:
            rank = np.count_nonzero(y[used] > y[i])
            rows.append(i)
            w.append(HEAVIEST + (1.0 - HEAVIEST) * rank / (len(used) - 1))
    root = np.sqrt(w)
    expected = np.linalg.lstsq(terms(X[rows], 2) * root[:, None], y[rows] * root, rcond=None)[0]
    np.testing.assert_allclose(model.values(X), terms(X, 2) @ expected, atol=1e-5)
    assert len(rows) > len(used)


def test_fits_are_made_anew_once_enough_points_are_new():
    f, _ = concave(3)
    rng = np.random.default_rng(0)
    model = told(Quadratic(3), rng.random((40, 3)), f)
    model.refresh()
    for new in (1, 0, 1):  # a twentieth of the 20 points that are kept is one
        told(model, rng.random((1, 3)), f)
        model.refresh()
        assert model.state_dict()["new"] == new


@pytest.mark.parametrize("rotated", [False, True])
def test_a_narrow_valley_is_found_from_points_along_it(rotated):
    """Curvatures differ by a factor of a million, and points lie where values are similar."""
    d = 6
    rng = np.random.default_rng(4)
    steep = 10.0 ** np.linspace(0.0, 6.0, d)
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0] if rotated else np.eye(d)
    top = rng.uniform(0.4, 0.6, d)

    def f(x):
        return -np.sum(steep * (axes @ (x - top)) ** 2)

    X = top + 0.3 * rng.standard_normal((120, d)) / np.sqrt(steep) @ axes
    model = told(Quadratic(d), X[: 120 if rotated else 20], f)
    model.refresh()
    assert model.full == rotated
    np.testing.assert_allclose(model.values(X), [f(x) for x in X], atol=1e-6)
    np.testing.assert_allclose(f(model.largest(np.full(d, 0.5), Corners.of_cube(d))), 0.0, atol=1e-9)


@pytest.mark.parametrize("n", [2, 10, 45, 47])
def test_a_restored_model_is_the_same_to_the_bit_and_goes_on_so(n):
    rng = np.random.default_rng(0)
    X = rng.random((80, 4))
    y = np.cos(4.0 * X).sum(axis=1).tolist()
    model = Quadratic(4)
    for x, value in zip(X[:n], y[:n], strict=True):
        model.add(x, value)
        if len(model.newest(100)[1]) % 5 == 0:
            model.refresh()
    twin = Quadratic(4)
    twin.restore(model.state_dict())
    for one in (model, twin):
        for x, value in zip(X[n:], y[n:], strict=True):
            one.add(x, value)
        one.refresh()
    np.testing.assert_array_equal(twin.values(X), model.values(X))


def test_the_optimum_in_a_box_is_not_worse_than_a_dense_search():
    rng = np.random.default_rng(3)
    for seed in range(5):
        f, _ = concave(3, seed)
        model = told(Quadratic(3), rng.random((60, 3)), f)
        model.refresh()
        box = Corners(np.zeros(3), np.full(3, 0.3))
        found = model.largest(np.full(3, 0.1), box)
        assert box.hold(found[None]).all()
        assert model.values(found[None])[0] >= model.values(rng.uniform(0.0, 0.3, (4_000, 3))).max() - 1e-9


def test_without_a_maximum_the_optimum_lies_at_the_bounds():
    model = told(Quadratic(2), np.random.default_rng(0).random((40, 2)), lambda x: (x[0] - 0.4) ** 2 + x[1])
    model.refresh()
    np.testing.assert_array_equal(model.largest(np.array([0.5, 0.5]), Corners.of_cube(2)), [1.0, 1.0])


@pytest.mark.parametrize("n", [12, 40])
def test_a_coordinate_that_all_points_share_stays(n):
    """Where an optimum is at a bound, a search leaves its points there."""
    X = np.random.default_rng(0).random((n, 3))
    X[:, 0] = 1.0
    model = told(Quadratic(3), X, lambda x: -float(np.sum((x[1:] - 0.4) ** 2)))
    model.refresh()
    found = model.largest(np.array([0.98, 0.5, 0.5]), Corners.of_cube(3))
    np.testing.assert_allclose(found[1:], 0.4, atol=1e-5)
    assert found[0] >= 0.98


@pytest.mark.parametrize("thickness", [0.0, 1e-6, 1e-3])
def test_points_almost_in_a_plane_have_an_optimum_no_worse_than_the_best_of_them(thickness):
    d = 6
    for seed in range(5):
        rng = np.random.default_rng(seed)
        plane = np.linalg.qr(rng.standard_normal((d, d)))[0]
        Z = rng.uniform(-0.4, 0.4, (80, d))
        Z[:, -1] *= thickness
        X = 0.5 + Z @ plane.T

        def f(x):
            return -float(np.sum((x - 0.45) ** 2))

        model = told(Quadratic(d), X, f)
        model.refresh()
        assert f(model.largest(np.full(d, 0.5), Corners.of_cube(d))) >= max(map(f, X))


@pytest.mark.parametrize("width", [1e-3, 1e-8])
def test_points_far_from_the_others_leave_finite_values(width):
    d = 5
    rng = np.random.default_rng(0)
    model = told(Quadratic(d), 0.5 + width * rng.standard_normal((60, d)), lambda x: -float(np.sum((x - 0.6) ** 2)))
    model.refresh()
    told(model, rng.random((40, d)), lambda x: 1.0 - float(np.sum((x - 0.6) ** 2)))
    X = rng.random((20, d))
    assert np.isfinite(model.values(X)).all()
    twin = Quadratic(d)
    twin.restore(model.state_dict())
    np.testing.assert_array_equal(twin.values(X), model.values(X))


def test_a_value_that_is_better_by_more_than_any_ratio_calls_for_a_new_fit():
    rng = np.random.default_rng(0)
    model = Quadratic(2)
    for k, x in enumerate(rng.random((60, 2))):
        model.add(x, 5e-324 * (k % 2))
    model.refresh()
    model.add(np.full(2, 0.5), 1.0)
    assert np.isfinite(model.values(rng.random((9, 2)))).all()
    assert model.state_dict()["new"] == 0


def test_many_coordinates_have_no_mixed_terms():
    model = told(Quadratic(60), np.random.default_rng(0).random((400, 60)), lambda x: -x @ x)
    model.refresh()
    assert model.kept == 2 * 121
    assert not model.full
    np.testing.assert_allclose(model.values(np.full((1, 60), 0.25)), -3.75, atol=1e-6)


def test_the_rank_correlation_is_somers_d():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 30))
    assert rank_correlation(a, b) == pytest.approx(kendalltau(a, b)[0])
    levels = np.floor(5.0 * b)
    assert rank_correlation(a, levels) == pytest.approx(somersd(levels, a).statistic)
    assert rank_correlation(b, levels) == 1.0
    assert rank_correlation(a, np.zeros(30)) == 0.0
    assert rank_correlation(a[:1], b[:1]) == 0.0


@pytest.mark.parametrize("fitted", [False, True])
def test_old_points_are_forgotten_without_a_refresh(fitted):
    model = Quadratic(2)
    rng = np.random.default_rng(0)
    for k, x in enumerate(rng.random((500, 2))):
        model.add(x, float(x.sum()))
        if fitted and k == 5:
            model.refresh()
    assert len(model.state_dict()["y"]) <= 3 * model.kept
    twin = Quadratic(2)
    twin.restore(model.state_dict())
    if fitted:
        np.testing.assert_array_equal(twin.values(rng.random((5, 2))).shape, (5,))
        np.testing.assert_equal(twin.state_dict(), model.state_dict())


def test_a_model_that_interpolates_its_points_is_not_determined():
    model = told(Quadratic(8), np.random.default_rng(0).random((9, 8)), lambda x: float(x.sum()))
    model.refresh()
    assert model.fitted
    assert not model.determined
    told(model, np.random.default_rng(1).random((8, 8)), lambda x: float(x.sum()))
    assert model.determined

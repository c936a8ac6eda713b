"""What a user believes of good values, as densities in the coordinates of a space."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from numbo import Categorical, Float, Guess, Int, Space
from numbo.spaces import INACTIVE
from numbo.spaces.beliefs import UNIFORM, translated

DIMENSIONS = {
    "lr": Float(1e-5, 1, log=True),
    "x": Float(-2, 2),
    "k": Int(1, 9),
    "wide": Int(1, 1000, log=True),
    "o": Categorical(["a", "b", None]),
    "m": Float(0, 1, when={"o": "b"}),
}
PRIOR = {
    "lr": Guess(1e-3, "high"),
    "x": lambda v: max(0.0, 2.0 - abs(v)),
    "k": Guess(8, 0.2),
    "wide": lambda v: 1.0 / v,
    "o": {"a": 3, "b": 1, None: 0},
    "m": Guess(0.25),
}


@pytest.fixture
def space():
    return Space(DIMENSIONS, prior=PRIOR)


def test_densities_have_the_mean_1_over_the_range(space):
    points = np.random.default_rng(0).random((200_000, space.d))
    density = np.exp(space.beliefs.single(points))
    np.testing.assert_allclose(density.mean(axis=0), 1.0, atol=0.02)


def test_densities_are_those_that_are_said(space):
    def at(**params):
        return space.beliefs.values(space.encode(params)[None])[0]

    base = {"lr": 1e-3, "x": 0.0, "k": 8, "wide": 10, "o": "a"}

    def ratio(**changed):
        return math.exp(at(**base | changed) - at(**base))

    assert ratio(x=1.0) == pytest.approx(0.5, rel=0.06)  # a share of all of them is uniform
    assert ratio(o=None) < 0.1
    assert ratio(k=2) < 0.1 < ratio(k=7)
    peak = 1.0 / (0.1 * math.sqrt(2.0 * math.pi))
    known = UNIFORM + (1 - UNIFORM) * peak * math.exp(-0.5 * (0.2 / 0.1) ** 2)
    assert ratio(lr=1e-2) == pytest.approx(known / (UNIFORM + (1 - UNIFORM) * peak), rel=0.01)


def test_an_inactive_parameter_has_no_say(space):
    params = {"lr": 1e-3, "x": 0.0, "k": 8, "wide": 10, "o": "a"}
    x = space.encode(params)
    assert x[5] == INACTIVE
    single = space.beliefs.single(x[None])[0]
    assert np.isnan(single[5])
    assert space.beliefs.values(x[None])[0] == pytest.approx(np.nansum(single))


def test_points_are_drawn_from_the_densities(space):
    U = np.random.default_rng(1).random((4000, space.d))
    X = space.beliefs.drawn(U)
    places = np.linspace(0.0, 1.0, 5001)
    for j in (0, 1, 3, 5):
        density = np.exp(np.interp(places, np.linspace(0, 1, space.beliefs.logs.shape[1]), space.beliefs.logs[j]))
        below = np.cumsum(density) / np.sum(density)
        assert stats.kstest(X[:, j], lambda u, below=below: np.interp(u, places, below)).pvalue > 1e-4
    shares = np.bincount(space.cells(X)[:, 4], minlength=3) / len(X)
    np.testing.assert_allclose(shares, (1 - UNIFORM) * np.array([0.75, 0.25, 0.0]) + UNIFORM / 3, atol=0.03)


def test_the_usual_point_is_the_mode_or_the_default(space):
    usual = space.decode(space.snap(space.usual[None])[0])
    assert usual == {"lr": pytest.approx(1e-3), "x": 0.0, "k": 8, "wide": 1, "o": "a"}
    both = Space(DIMENSIONS, prior=PRIOR, default={"k": 2, "o": "b"})
    usual = both.decode(both.snap(both.usual[None])[0])
    assert usual == {"lr": pytest.approx(1e-3), "x": 0.0, "k": 2, "wide": 1, "o": "b", "m": 0.25}


def test_a_space_with_functions_can_be_pickled(space):
    twin = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(twin.beliefs.logs, space.beliefs.logs)


@pytest.mark.parametrize("confidence", ["sure", 0.0, -1.0, math.nan, None, True])
def test_a_confidence_is_a_word_or_a_share(confidence):
    with pytest.raises(ValueError, match=r"^confidence of Guess must be one of \['low', 'medium', 'high'\] or "):
        Guess(1.0, confidence)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([1], "prior must be a mapping such as "),
        ({"lr": 1e-3}, r"prior\['lr'\] must be a Guess, weights of categories, or a function"),
        ({"lr": float}, r"prior\['lr'\] must be a Guess, weights of categories, or a function"),
        ({"y": Guess(1)}, r"prior must name parameters of the space, \[.*\], got 'y'\."),
        ({"lr": Guess(2.0)}, r"prior\['lr'\] must guess a value of Float.*, got 2\.0\."),
        ({"k": Guess(2.5)}, r"prior\['k'\] must guess a value of Int.*, got 2\.5\."),
        ({"lr": {"a": 1}}, r"prior\['lr'\] must be a Guess or a function, as "),
        ({"o": {"a": 1}}, r"prior\['o'\] must have weights of all of \['a', 'b', None\], got "),
        ({"o": {"a": 1, "b": -1, None: 0}}, r"prior\['o'\] must be finite numbers of at least 0, got -1 for 'b'\."),
        ({"x": lambda v: math.nan}, r"prior\['x'\] must be finite numbers of at least 0, got nan for "),
        ({"x": lambda v: "1"}, r"prior\['x'\] must be finite numbers of at least 0, got '1' for "),
        ({"x": lambda v: 0}, r"prior\['x'\] must be above 0 for some values of "),
    ],
)
def test_what_cannot_be_believed_is_refused(prior, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Space(DIMENSIONS, prior=prior)


@pytest.mark.parametrize(
    ("default", "message"),
    [
        (3, r"default must be a mapping such as "),
        ({"y": 1}, r"default must name parameters of the space, \[.*\], got 'y'\."),
        ({"k": 10}, r"default\['k'\] must be a value of Int.*, got 10\."),
    ],
)
def test_a_default_that_does_not_fit_is_refused(default, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Space(DIMENSIONS, default=default)


def test_beliefs_of_other_values_are_translated():
    inner, outer = {"a": 0, "b": 1}.get, "ab".__getitem__
    assert translated(Guess("b", "low"), inner, outer) == Guess(1, "low")
    assert translated({"a": 1, "b": 2}, inner, outer) == {0: 1, 1: 2}
    assert translated({"a": 3.0, "b": 4.0}.get, inner, outer)(1) == 4.0


def test_many_categories_are_told_apart():
    choices = list(range(300))
    space = Space({"c": Categorical(choices)}, prior={"c": {c: float(c == 123) for c in choices}})
    X = np.array([space.encode({"c": c}) for c in choices])
    values = space.beliefs.values(X)
    assert np.argmax(values) == 123
    np.testing.assert_allclose(np.delete(values, 123), math.log(UNIFORM))

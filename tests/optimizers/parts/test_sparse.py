"""Settings of the sparse algorithms, what is decided by them, and the model and chooser that follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import make_points
from tests.runs import new_run, tell

from numbo import BBKB, SBPE, Arms, Categorical, Float, Space
from numbo._settings import INITIAL
from numbo.kernels.covariance import MATERN32, MATERN52
from numbo.models.confidence import Information
from numbo.models.dictionaries import DictionaryRule
from numbo.optimizers.parts.sparse import DELTA, LEAST_NOISE, RESPARSIFY, SparseSettings, sparse_search
from numbo.search.arm_search import ArmSearch
from numbo.search.box_search import BoxSearch

SPACE = Space({"x": Float(-1.0, 3.0), "y": Float(0.0, 1.0)})
ARMS = Arms(make_points(40, 2) * [4.0, 1.0])
FIXED = {"lengthscale": 0.5, "noise_std": 0.1}


def test_a_learned_kernel_has_an_initial_design_a_limit_and_a_schedule():
    settings = SparseSettings()
    assert not settings.fixed
    assert settings.initial(2) == INITIAL
    assert settings.redrawn == RESPARSIFY
    assert settings.dictionary == SparseSettings.LEARNED_DICTIONARY
    assert settings.failing == DELTA
    assert settings.scales(SPACE) is None


def test_a_fixed_kernel_has_none_of_them_as_in_the_papers():
    settings = SparseSettings(**FIXED)
    assert settings.fixed
    assert settings.initial(2) == 1
    assert settings.redrawn == 0.0
    assert settings.dictionary is None


@pytest.mark.parametrize("kernel", [{}, FIXED])
def test_what_is_set_counts(kernel):
    settings = SparseSettings(n_initial=3, resparsify=0.3, max_dictionary=7, delta=0.2, **kernel)
    found = settings.initial(2), settings.redrawn, settings.dictionary, settings.failing
    assert found == (3, 0.3, 7, 0.2)
    assert SparseSettings(max_dictionary=None, **kernel).dictionary is None
    assert SparseSettings(resparsify=0.0, **kernel).redrawn == 0.0


def test_arms_are_pulled_again_and_points_of_spaces_where_values_are_noisy():
    assert SparseSettings().avoiding(explicit=True) is False
    assert SparseSettings().avoiding(explicit=False) == "auto"
    for given in (True, False, "auto"):
        assert {SparseSettings(avoid_repeats=given).avoiding(explicit) for explicit in (True, False)} == {given}


def test_lengthscales_are_in_the_units_of_the_features_of_arms_and_of_the_cube_of_a_space():
    one = SparseSettings(**FIXED)
    each = SparseSettings(lengthscale=[0.5, 0.25], noise_std=0.1)
    assert (one.dimensions, each.dimensions) == (1, 2)
    np.testing.assert_allclose(one.scales(SPACE), 0.5)
    np.testing.assert_allclose(each.scales(SPACE), [0.5, 0.25])
    np.testing.assert_allclose(one.scales(ARMS), 0.5 / ARMS.ranges)
    np.testing.assert_allclose(each.scales(ARMS), [0.5, 0.25] / ARMS.ranges)
    three = SparseSettings(lengthscale=(1.0, 2.0, 3.0), noise_std=0.1)
    for domain in (SPACE, ARMS):
        with pytest.raises(
            ValueError, match=r"^lengthscale must be a positive number or 2 of them, got \(1\.0, 2\.0, 3\.0\)\.$"
        ):
            three.scales(domain)


@pytest.mark.parametrize(
    "value",
    [
        0.0,
        -1.0,
        math.inf,
        math.nan,
        [],
        [0.5, 0.0],
        [[0.5]],
        "long",
        object(),
        "0.5",
        True,
        [True, 0.5],
        ["1"],
        [[1], [1, 2]],
    ],
)
def test_lengthscales_are_positive_numbers(value):
    with pytest.raises(ValueError, match=r"^lengthscale must be a positive number or one for each coordinate, got "):
        SparseSettings(lengthscale=value, noise_std=0.1)


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(2), 3])
def test_the_noise_is_a_number_of_any_type(value):
    found = SparseSettings(lengthscale=0.5, noise_std=value).noise_std
    assert (found, type(found)) == (value, float)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, "low", [0.1], True])
def test_the_noise_is_a_positive_number(value):
    with pytest.raises(ValueError, match=r"^noise_std must be a positive number, got .*: its square, lambda, regulari"):
        SparseSettings(lengthscale=0.5, noise_std=value)


def test_noise_that_rounding_would_lose_is_refused():
    assert SparseSettings(lengthscale=0.5, noise_std=LEAST_NOISE).noise_std == LEAST_NOISE
    with pytest.raises(ValueError, match=r"^noise_std must be at least 1e-06 of the kernel's unit standard deviation"):
        SparseSettings(lengthscale=0.5, noise_std=0.9 * LEAST_NOISE)


@pytest.mark.parametrize("value", [0, -3, 2.5, "many", True])
def test_a_limit_of_the_dictionary_is_a_number_or_none_or_auto(value):
    with pytest.raises(ValueError, match=r"^max_dictionary must be 'auto', None or an integer of at least 1, got "):
        SparseSettings(max_dictionary=value)


@pytest.mark.parametrize("alone", FIXED)
def test_a_kernel_is_fixed_by_both_or_learned(alone):
    with pytest.raises(ValueError, match=r"^lengthscale and noise_std fix the kernel together: give both, or neither"):
        SparseSettings(**{alone: 0.3})


@pytest.mark.parametrize(("domain", "chooser"), [(SPACE, BoxSearch), (ARMS, ArmSearch)])
def test_the_chooser_is_that_of_the_domain(domain, chooser):
    assert type(sparse_search(new_run(domain), SparseSettings())[1]) is chooser
    few = Space({"c": Categorical(["a", "b"])})  # all points can be listed
    assert type(sparse_search(new_run(few), SparseSettings())[1]) is ArmSearch


@pytest.mark.parametrize(
    ("domain", "settings", "one_by_one"),
    [(SPACE, FIXED, False), (ARMS, FIXED, True), (ARMS, {}, False), (ARMS, {"resparsify": 0.0}, True)],
)
def test_pulls_are_hallucinated_one_by_one_for_arms_as_in_the_papers(domain, settings, one_by_one):
    model, _ = sparse_search(new_run(domain), SparseSettings(**settings))
    assert model.one_by_one == one_by_one


def test_the_model_is_that_of_the_settings():
    settings = SparseSettings(
        kernel="matern32",
        lengthscale=[0.5, 0.25],
        noise_std=0.1,
        qbar=3.0,
        max_dictionary=20,
        initial_dictionary="rls",
        delta=0.2,
        resparsify=0.4,
    )
    model, _ = sparse_search(new_run(SPACE), settings, by_variance=True)
    covariance = model.kernel.covariance
    assert (covariance.family, covariance.noise_variance) == (MATERN32, pytest.approx(0.01))
    np.testing.assert_allclose(model.kernel.lengthscales, [0.5, 0.25])
    assert vars(model.dictionary) == vars(DictionaryRule(3.0, 20, "rls", 0.2))
    assert (model.resparsify, model.by_variance) == (0.4, True)
    usual, _ = sparse_search(new_run(SPACE), SparseSettings())
    assert not usual.kernel.fixed
    assert usual.kernel.covariance.family == MATERN52
    assert not usual.by_variance
    assert usual.kernel.winsorize
    assert not sparse_search(new_run(SPACE), SparseSettings(winsorize=False))[0].kernel.winsorize


def twice(run, model):
    """The model after a first history and a second one."""
    for n in (20, 40):
        for x in make_points(n, 2, seed=n):
            tell(run, run.space.decode(x), float(np.sin(5.0 * x[0])))
        model.redraw(run.history, run.rng)
    return model


@pytest.mark.parametrize("on_schedule", [True, False])
def test_the_kernel_is_learned_again_on_a_schedule_or_by_the_owner(on_schedule):
    run = new_run(SPACE)
    model = twice(run, sparse_search(run, SparseSettings(), on_schedule=on_schedule)[0])
    assert model.kernel.fits.at == (60 if on_schedule else 20)


def test_information_is_counted_as_the_algorithm_does():
    found = []
    for weight in (1.0, 3.0):
        run = new_run(SPACE)
        model, _ = sparse_search(run, SparseSettings(**FIXED), Information(weight, by_arrival=True))
        found.append(twice(run, model).information)
    assert 0.0 < found[0] < found[1]


def test_the_kernel_knows_the_kinds_of_the_dimensions():
    space = Space({"kind": Categorical(["a", "b", "c"]), "x": Float(0, 1, when={"kind": "b"}), "y": Float(0, 1)})
    covariance = sparse_search(new_run(space), SparseSettings())[0].kernel.covariance
    np.testing.assert_array_equal(covariance.categorical, space.categorical)
    np.testing.assert_array_equal(covariance.optional, space.conditional)
    assert covariance.categorical.sum() == covariance.optional.sum() == 1


def test_the_run_hears_what_the_kernel_takes_for_noise():
    opt = BBKB(SPACE, lengthscale=0.5, noise_std=0.3)
    assert opt._run.noise.claimed == pytest.approx(0.09)
    learned = SBPE(SPACE, n_initial=4, seed=0)
    assert learned._run.noise.claimed is None
    for _ in range(20):
        p = learned.ask()
        learned.tell(p, p[next(iter(p))])
    assert learned._run.noise.claimed == learned._model.kernel.claimed_noise

"""What tests of several folders build their cases from."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Hashable
from typing import Any

import numba
import numpy as np
import pytest
from scipy import stats

from numbo.kernels.acquisition import acquisition_gradient_into
from numbo.kernels.covariance import Covariance
from numbo.kernels.optional import active_columns
from numbo.models.curves import Curves
from numbo.models.improvements import Improvements
from numbo.optimizers import GSSBO, Optimizer
from numbo.search.local_search import LocalSearch
from numbo.search.population_search import PopulationSearch
from numbo.spaces import INACTIVE
from numbo.trials import Curve, History, Pending

#: How many times as many random sequences of calls are tried as in the suite: `make soak` tries more.
LONGER = int(os.environ.get("NUMBO_FUZZ", "1"))
#: Whether kernels are interpreted, which takes a hundred times as long.
INTERPRETED = bool(numba.config.DISABLE_JIT)
#: For tests of models that take long where kernels are interpreted; what they call of kernels, kernel tests call too.
compiled_only = pytest.mark.skipif(INTERPRETED, reason="takes too long interpreted")


#: What an assertion says that may fail for some seeds, in a test `over_seeds`.
MOSTLY = "holds for most seeds"
#: How often a test may fail by chance.
SELDOM = 1e-4
#: Which seeds the tests of quality take; with the number of the repeat of a test `over_seeds`, which sets it.
_seeds = {"shift": int(os.environ.get("NUMBO_TEST_SEED", "0")), "repeat": 0}


def seeded(seed: int) -> int:
    """A seed of a test of quality: another one with another ``NUMBO_TEST_SEED``, and in each repeat of the test."""
    return seed + 1_000 * (100 * _seeds["shift"] + _seeds["repeat"])


def failure(test: Callable[..., None], repeat: int, *args: Any, **kwargs: Any) -> AssertionError | None:
    """What did not hold that a test asserts with `MOSTLY`, in one repeat."""
    _seeds["repeat"] = repeat
    try:
        test(*args, **kwargs)
    except AssertionError as error:
        if not str(error).startswith(MOSTLY):
            raise
        return error
    finally:
        _seeds["repeat"] = 0
    return None


def over_seeds(share: float = 0.9, of: int = 5) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of what holds for at least a ``share`` of all seeds, whatever rounding does to the path of a search.

    It runs with one seed after the other until it has held so often that fewer times, ``of`` seeds, would be chance
    less than once in ten thousand times. That concerns what it asserts with `MOSTLY`; all else must hold for each seed.
    """
    least = int(stats.binom.ppf(SELDOM, of, share))
    if least < 1:
        raise ValueError(f"{of} seeds say nothing of a share of {share}.")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def repeated(*args: Any, **kwargs: Any) -> None:
            held = 0
            for repeat in range(of):
                found = failure(test, repeat, *args, **kwargs)
                held += found is None
                if held == least:
                    return
                if repeat + 1 - held > of - least:
                    words = (
                        f"It held for {held} of {repeat + 1} seeds, where {least} of {of} are expected of {share:.0%}."
                    )
                    raise AssertionError(words) from found

        return pytest.mark.arithmetic(repeated)

    return decorate


def played(opt: Optimizer, n: int, objective: Callable[[Any], float]) -> list[Any]:
    """The points of ``n`` trials that are asked for and told one after the other."""
    points = []
    for _ in range(n):
        points.append(opt.ask())
        opt.tell(points[-1], objective(points[-1]))
    return points


def gains(values: np.ndarray, trials: int) -> np.ndarray:
    """Samples of the gain in so many more trials, after ``values``."""
    return Improvements(values).gains(trials)


@functools.cache
def entry(subroutine: Any) -> Callable[..., Any]:
    """A kernel that does nothing but call a subroutine, so that it can be called from Python."""

    @numba.njit(error_model="numpy")
    def kernel(*arguments):
        return subroutine(*arguments)

    return kernel


@numba.njit(error_model="numpy")
def gradient_at(posterior, acquisition, x):
    """An acquisition function at ``x (d,)``, and its gradient (d,)."""
    starts, columns = active_columns(posterior.XT, posterior.covariance.optional)
    gradient = np.empty_like(x)
    return acquisition_gradient_into(posterior, acquisition, starts, columns, x, gradient), gradient


def make_covariance(
    family: int,
    d: int,
    trend: bool,
    n_categorical: int = 0,
    noise: float = 1e-2,
    additive: bool = False,
    branching: bool = False,
) -> Covariance:
    rng = np.random.default_rng(d)
    categorical, optional = np.zeros(d, dtype=bool), np.zeros(d, dtype=bool)
    categorical[:n_categorical] = True
    optional[::2] = branching
    return Covariance(
        family,
        rng.uniform(0.3, 4.0, d),
        1.3,
        0.2 if trend else 0.0,
        0.1 if trend else 0.0,
        0.07 if trend else 0.0,
        noise,
        categorical,
        rng.uniform(0.2, 0.8, d),
        0.4,
        0.6 if additive else 0.0,
        30.0,
        optional,
    )


def make_points(n: int, d: int, n_categorical: int = 0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[:, :n_categorical] = (rng.integers(3, size=(n, n_categorical)) + 0.5) / 3
    return X


def points_of(cov: Covariance, n: int, seed: int = 0) -> np.ndarray:
    """Points of the dimensions of a covariance; about every third optional coordinate is inactive."""
    X = make_points(n, len(cov.categorical), int(cov.categorical.sum()), seed)
    return np.where(cov.optional & (np.random.default_rng(seed).random(X.shape) < 1 / 3), INACTIVE, X)


def trials_told(optimizer: Optimizer) -> dict[str, Any]:
    """The trials that an optimizer saves: points ``"X"``, outputs ``"Y"``, constraints ``"C"``, ``"final"`` and others.

    Larger outputs are better, constraints hold up to 0, and NaN is a failure or a constraint that is not known.
    """
    trials: dict[str, Any] = optimizer.state_dict()["run"]["history"]
    return trials


def configured(make, *args, **given):
    """``make(*args, **given)`` for an optimizer, sampler or searcher, or a `functools.partial` of one.

    Settings that are not in its signature go in ``settings``.
    """
    cls = make.func if isinstance(make, functools.partial) else make
    named = inspect.signature(cls.__init__).parameters
    own = {name: value for name, value in given.items() if name in named}
    rest = {name: value for name, value in given.items() if name not in named}
    kind = (cls if issubclass(cls, Optimizer) else cls._optimizer).settings_class
    if not rest or not set(rest) <= set(kind.names()):
        return make(*args, **given)
    base = {name: own.pop(name) for name in ("settings", "preset") if name in own}
    return make(*args, **own, settings=kind.of(**({"settings": None} | base | rest)))


class EarlyPopulation(PopulationSearch):
    """A population search that starts after three observations."""

    def _starts_after(self, history: History, i: int) -> bool:
        return i >= 2


class Early(GSSBO):
    """GSSBO with an `EarlyPopulation`."""

    @functools.wraps(GSSBO.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self._engines and len(self.directions) == 1:
            beside = self._engines[0]
            assert isinstance(beside, LocalSearch)
            self._engines = (beside, EarlyPopulation(self.space, beside, number=1))
            self._rules = self._new_rules()


def history_of(opt: Optimizer) -> History:
    """The history of an optimizer, rebuilt from its state, without pending points."""
    curves = getattr(opt.settings, "use_curves", False) and len(opt.directions) == 1
    return restored_history(opt.state_dict()["run"]["history"], Curves if curves else None)


def restored_history(state: dict[str, Any], ends: Any = None) -> History:
    """A history from its state."""
    history = History(*(state[name].shape[1] for name in ("X", "Y", "C")), ends)
    history.restore(state)
    return history


def pending_of(opt: Optimizer) -> dict[Hashable, Pending]:
    """The pending points of an optimizer by their keys, from its state."""
    return {
        key: Pending.of(opt.space.encode(params), params, origin, None if curve is None else Curve(*curve))
        for key, params, origin, curve in opt.state_dict()["run"]["pending"]
    }


def reseeded(opt: Optimizer, seed: int) -> Optimizer:
    """The same optimizer with another random stream."""
    state = opt.state_dict()
    state["run"]["rng"] = np.random.default_rng(seed).bit_generator.state
    return type(opt).from_state_dict(state)


def inside(opt: Optimizer, part: str) -> Any:
    """A part of an optimizer that no public view shows, such as its ``"model"``: for white-box tests alone."""
    return getattr(opt, f"_{part}")

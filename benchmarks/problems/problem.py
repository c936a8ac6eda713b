"""What a problem is, and how one is made of a function. All are minimised, through Optuna's distributions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import BaseTrial, Trial

from benchmarks.problems import functions

Array = NDArray[np.float64]
Params = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """``function`` maps parameters in ``space`` to a value of at least ``minimum``.

    ``noise`` is the standard deviation of the noise added to the value that a sampler is told; regrets exclude it.
    A trial fails where ``fails`` returns True, and anywhere with probability ``failure_rate``.
    """

    space: Mapping[str, BaseDistribution]
    function: Callable[[Params], float]
    minimum: float = 0.0
    noise: float = 0.0
    fails: Callable[[Params], bool] = lambda params: False
    failure_rate: float = 0.0
    #: Numbers of trials at which a run is looked at.
    checkpoints: tuple[int, ...] = (100, 300, 500, 1000)
    #: What a sampler is told, where it is not the value with normal noise.
    told: Callable[[Params, np.random.Generator], float] | None = None
    #: Whether a sampler is judged by what it recommends, and not by its best trial.
    recommended: bool = False

    def ask(self, study: Study) -> Trial:
        """The next trial of a study."""
        return study.ask(fixed_distributions=dict(self.space))

    def value(self, trial: Trial) -> float:
        """The value of a trial, without noise."""
        return self.function(trial.params)


class Timed:
    """A trial that adds up the ``seconds`` that its suggestions take."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._trial, name)
        if not name.startswith("suggest_"):
            return attribute

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            value = attribute(*args, **kwargs)
            self.seconds += time.perf_counter() - started
            return value

        return timed


class Program(Problem):
    """A problem whose function takes a trial, and asks it for what it needs."""

    def ask(self, study: Study) -> Trial:
        return Timed(study.ask())  # type: ignore[return-value]

    def value(self, trial: Trial) -> float:
        return self.function(trial)  # type: ignore[arg-type]


def program(function: Callable[[BaseTrial], float], minimum: float) -> Problem:
    """A define-by-run problem."""
    return Program({}, function, minimum, checkpoints=(30, 50, 100, 200, 500))  # type: ignore[arg-type]


def box(
    function: Callable[[Array], float], d: int, low: float, high: float, minimum: float = 0.0, noise: float = 0.0
) -> Problem:
    """A function of a point in ``[low, high]^d``."""
    names = [f"x{i}" for i in range(d)]
    space = {n: FloatDistribution(low, high) for n in names}
    return Problem(space, lambda params: function(np.array([params[n] for n in names])), minimum, noise)


def moved(
    function: Callable[[Array], float],
    d: int,
    low: float,
    high: float,
    seed: int,
    *,
    rotate: bool = False,
    noise: float = 0.0,
) -> Problem:
    """A function with minimum 0 at the origin, with the origin moved to a random point of the inner box."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(low + 0.2 * (high - low), high - 0.2 * (high - low), d)
    turn = functions.rotation(d, seed) if rotate else np.eye(d)
    return box(lambda x: function(turn @ (x - center)), d, low, high, noise=noise)


def marked(make: Callable[[], Problem], checkpoints: tuple[int, ...]) -> Problem:
    """A problem whose runs are looked at after other numbers of trials."""
    return replace(make(), checkpoints=checkpoints)


def failing(problem: Problem, fails: Callable[[Array], bool] | None = None, rate: float = 0.0) -> Problem:
    """A problem that fails at random, and where ``fails`` is true of the point, in the order of the space."""
    if fails is None:
        return replace(problem, failure_rate=rate)
    where = fails
    names = list(problem.space)
    return replace(problem, fails=lambda params: where(np.array([params[n] for n in names])), failure_rate=rate)

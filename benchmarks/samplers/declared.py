"""Samplers that are told the whole space before the first trial, and the space as vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

Array = NDArray[np.float64]
Params = Mapping[str, Any]


class Declared(BaseSampler):
    """A sampler of the space of the benchmark problem that the study's user attribute ``problem`` names, as `run` does.

    Raises:
        ValueError: at the first trial, if the study names no problem.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.space: dict[str, BaseDistribution] = {}

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if not self.space:
            from benchmarks.problems.suites import make

            if "problem" not in study.user_attrs:
                raise ValueError(
                    f"{type(self).__name__} needs a study whose user attribute 'problem' names its problem."
                )
            self.space = dict(make(study.user_attrs["problem"]).space)
            self.begin()
        return self.space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        told = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return self.suggest([t.params for t in told], np.array([t.value for t in told]))

    def sample_independent(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        raise ValueError(f"{name} is not in the space of problem {study.user_attrs['problem']}.")

    @abstractmethod
    def begin(self) -> None:
        """Called once, when ``space`` is known."""

    @abstractmethod
    def suggest(self, params: list[Params], values: Array) -> dict[str, Any]:
        """The next configuration, after n others with values (n,) that are minimised."""


class OneHot:
    """Configurations as vectors (D,): numbers on [0, 1], by their logarithms where declared; categories one-hot."""

    def __init__(self, space: Mapping[str, BaseDistribution]) -> None:
        self.space = space
        widths = [len(d.choices) if isinstance(d, CategoricalDistribution) else 1 for d in space.values()]
        ends = np.cumsum(widths)
        self.columns = {name: slice(end - w, end) for name, end, w in zip(space, ends, widths, strict=True)}
        self.width = int(ends[-1])

    def snap(self, X: Array) -> Array:
        """The nearest vectors of configurations to some X (n, D)."""
        snapped = np.empty_like(X)
        for name, d in self.space.items():
            of = self.columns[name]
            if isinstance(d, CategoricalDistribution):
                snapped[:, of] = np.eye(len(d.choices))[X[:, of].argmax(axis=1)]
            else:
                snapped[:, of] = _unit(d, _number(d, X[:, of]))
        return snapped

    def encode(self, params: Params) -> Array:
        """The vector (D,) of a configuration."""
        x = np.zeros(self.width)
        for name, d in self.space.items():
            of = self.columns[name]
            if isinstance(d, CategoricalDistribution):
                x[of.start + d.choices.index(params[name])] = 1.0
            else:
                x[of] = _unit(d, params[name])
        return x

    def decode(self, x: Array) -> dict[str, Any]:
        """The configuration nearest to a vector (D,)."""
        params: dict[str, Any] = {}
        for name, d in self.space.items():
            of = self.columns[name]
            if isinstance(d, CategoricalDistribution):
                params[name] = d.choices[int(np.argmax(x[of]))]
            else:
                value = float(_number(d, x[of])[0])
                params[name] = int(value) if isinstance(d, IntDistribution) else value
        return params


def _ends(d: BaseDistribution) -> tuple[float, float]:
    assert isinstance(d, FloatDistribution | IntDistribution)
    return (float(np.log(d.low)), float(np.log(d.high))) if d.log else (d.low, d.high)


def _unit(d: BaseDistribution, value: Any) -> Any:
    """Values of a range, on [0, 1]."""
    low, high = _ends(d)
    return ((np.log(value) if d.log else value) - low) / (high - low)  # type: ignore[attr-defined]


def _number(d: BaseDistribution, u: Array) -> Array:
    """Values of a range, of numbers on [0, 1]; those of integers are rounded."""
    assert isinstance(d, FloatDistribution | IntDistribution)
    low, high = _ends(d)
    value = low + (high - low) * np.clip(u, 0.0, 1.0)
    value = np.exp(value) if d.log else value
    if isinstance(d, IntDistribution):
        value = d.low + d.step * np.rint((value - d.low) / d.step)
    return np.asarray(np.clip(value, d.low, d.high))

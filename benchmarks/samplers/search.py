"""Searches: what asks for a configuration, and is told its objectives, and its constraints if there are any."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler

from benchmarks.problems.spaces import from_cube

if TYPE_CHECKING:
    from numbo import Space


def numbo_space(space: Mapping[str, BaseDistribution]) -> Space:
    """A space without steps as numbo's core has it."""
    from numbo import Categorical, Float, Int, Space

    def dimension(of: BaseDistribution) -> Categorical | Float | Int:
        if isinstance(of, CategoricalDistribution):
            return Categorical(of.choices)
        assert isinstance(of, FloatDistribution | IntDistribution)
        return (Float if isinstance(of, FloatDistribution) else Int)(of.low, of.high, of.log)  # type: ignore

    return Space({name: dimension(distribution) for name, distribution in space.items()})


class Study:
    """A search by one of Optuna's samplers, of k objectives that are minimised."""

    def __init__(self, space: dict[str, BaseDistribution], sampler: BaseSampler, k: int = 1) -> None:
        self._space = space
        self._study = optuna.create_study(directions=["minimize"] * k, sampler=sampler)

    def ask(self) -> dict[str, Any]:
        """The next configuration."""
        self._trial = self._study.ask(self._space)
        return self._trial.params

    def tell(self, values: float | Sequence[float], limits: Sequence[float] | None = None) -> None:
        """Its objectives, and its constraints, which become the attribute ``c`` of the trial."""
        if limits is not None:
            self._trial.set_user_attr("c", limits)
        self._study.tell(self._trial, values)


class Core:
    """A search by GSSBO without Optuna, of k objectives that are minimised, and one constraint if it is ``limited``."""

    def __init__(self, space: Mapping[str, BaseDistribution], k: int, seed: int, *, limited: bool = False) -> None:
        from numbo import GSSBO

        logging.getLogger("numbo").setLevel(logging.ERROR)
        directions: dict[str, Any] = {"directions": ("minimize",) * k}
        constraints = ("c",) if limited else ()
        self._optimizer = GSSBO(numbo_space(space), seed=seed, constraints=constraints, **directions)

    def ask(self) -> dict[str, Any]:
        self._params: dict[str, Any] = self._optimizer.ask()
        return self._params

    def tell(self, values: Sequence[float], limit: float | None = None) -> None:
        """Its objectives, and the value of its constraint."""
        told: Any = tuple(values) if len(values) > 1 else values[0]
        self._optimizer.tell(self._params, told, constraints=None if limit is None else {"c": limit})


class InCube:
    """A search by a ``peer`` that knows the unit cube only: integers are rounded, categories have equal shares."""

    def __init__(self, space: Mapping[str, BaseDistribution], peer: Any) -> None:
        self._space = space
        self._peer = peer

    def ask(self) -> dict[str, Any]:
        self._x = self._peer.ask()
        return from_cube(self._space, self._x)

    def tell(self, *told: Any) -> None:
        self._peer.tell(self._x, *told)

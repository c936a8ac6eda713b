"""Peers that choose configurations and their numbers of steps: DEHB and SMAC's multi-fidelity facade.

They have their defaults, and are optional (``pip install dehb smac``).
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

#: More trials than any run has; a share of what SMAC is told is the most that its initial design may have.
MANY = 100_000


class Peer(ABC):
    """One that asks for a number of steps of a configuration, and is told the value after the last of them."""

    @abstractmethod
    def ask(self) -> tuple[dict[str, Any], float]:
        """The next configuration, and its number of steps before it is rounded."""

    @abstractmethod
    def tell(self, value: float) -> None:
        """The value of what was asked for."""


def _configuration_space(space: dict[str, BaseDistribution], seed: int) -> Any:
    from ConfigSpace import ConfigurationSpace
    from ConfigSpace.hyperparameters import UniformFloatHyperparameter, UniformIntegerHyperparameter

    found = ConfigurationSpace(seed=seed)
    for name, distribution in space.items():
        assert isinstance(distribution, FloatDistribution | IntDistribution)
        whole = isinstance(distribution, IntDistribution)
        kind = UniformIntegerHyperparameter if whole else UniformFloatHyperparameter
        found.add(kind(name, distribution.low, distribution.high, log=distribution.log))
    return found


def _params(space: dict[str, BaseDistribution], config: Any) -> dict[str, Any]:
    """In the order of the space, as numbers of Python."""
    return {name: (int if isinstance(d, IntDistribution) else float)(config[name]) for name, d in space.items()}


class DEHB(Peer):
    """Differential evolution and Hyperband (Awad et al. 2021)."""

    def __init__(self, space: dict[str, BaseDistribution], steps: int, seed: int) -> None:
        import dehb
        from loguru import logger

        self._space = space
        self._dehb = dehb.DEHB(
            cs=_configuration_space(space, seed),
            min_fidelity=1,
            max_fidelity=steps,
            n_workers=1,
            seed=seed,
            save_freq="end",
            output_path=tempfile.mkdtemp(),
        )
        logger.remove()

    def ask(self) -> tuple[dict[str, Any], float]:
        self._job = self._dehb.ask()
        return _params(self._space, self._job["config"]), float(self._job["fidelity"])

    def tell(self, value: float) -> None:
        self._dehb.tell(self._job, {"fitness": value, "cost": self._job["fidelity"]})


class SMAC(Peer):
    """SMAC's multi-fidelity facade: random forests and Hyperband (Lindauer et al. 2022)."""

    def __init__(self, space: dict[str, BaseDistribution], steps: int, seed: int) -> None:
        from smac import MultiFidelityFacade, Scenario

        warnings.simplefilter("ignore")
        self._space = space
        scenario = Scenario(
            _configuration_space(space, seed),
            deterministic=True,
            min_budget=1,
            max_budget=steps,
            n_trials=MANY,
            seed=seed,
            output_directory=Path(tempfile.mkdtemp()),
        )
        self._smac = MultiFidelityFacade(
            scenario, lambda config, seed=0, budget=0.0: 0.0, overwrite=True, logging_level=False
        )

    def ask(self) -> tuple[dict[str, Any], float]:
        self._info = self._smac.ask()
        return _params(self._space, self._info.config), float(self._info.budget)

    def tell(self, value: float) -> None:
        from smac.runhistory.dataclasses import TrialValue

        self._smac.tell(self._info, TrialValue(cost=value), save=False)


PEERS: dict[str, type[DEHB] | type[SMAC]] = {"DEHB": DEHB, "SMAC": SMAC}


def installed() -> list[str]:
    """The names of the peers that can be imported."""
    return [name for name in PEERS if importlib.util.find_spec(name.lower()) is not None]

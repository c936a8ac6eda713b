"""SMAC (``pip install smac``) as an Optuna sampler, for comparison.

SMAC searches spaces that are declared, with their conditions. Those of a program are inferred from random trials that
it does not pay for.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from ConfigSpace import ConfigurationSpace
from ConfigSpace.conditions import (
    AndConjunction,
    Condition,
    Conjunction,
    GreaterThanCondition,
    InCondition,
    LessThanCondition,
    OrConjunction,
)
from ConfigSpace.hyperparameters import (
    CategoricalHyperparameter,
    UniformFloatHyperparameter,
    UniformIntegerHyperparameter,
)
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from benchmarks.problems.problem import Program
from benchmarks.problems.suites import make
from numbo.optuna._distributions import KnownSpace, Searched, to_external
from numbo.spaces.conditions import OneOf

#: Random trials from which the space of a program is inferred.
RANDOM = 300
#: Number of trials that SMAC is told it has, which decides how many of them are its initial design.
BUDGET = 100


def space_of(problem_name: str) -> Searched:
    """The parameters and conditions of a problem."""
    problem = make(problem_name)
    if not isinstance(problem, Program):
        return Searched(dict(problem.space))
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for _ in range(RANDOM):
        trial = problem.ask(study)
        study.tell(trial.number, problem.value(trial))
    known = KnownSpace()
    known.add(study.trials)
    return known.searched()


def configuration_space(searched: Searched, seed: int) -> ConfigurationSpace:
    """The same space as SMAC takes it, with categories as their indices."""
    space = ConfigurationSpace(seed=seed)
    parts = {name: _hyperparameter(name, d) for name, d in searched.distributions.items()}
    space.add(*parts.values())
    for name, condition in searched.conditions.items():
        groups = [
            _all_of([_condition(parts[name], parts[parent], asked) for parent, asked in group])
            for group in condition.alternatives
        ]
        space.add(groups[0] if len(groups) == 1 else OrConjunction(*groups))
    return space


def _hyperparameter(name: str, d: BaseDistribution) -> Any:
    if isinstance(d, CategoricalDistribution):
        return CategoricalHyperparameter(name, list(range(len(d.choices))))
    if isinstance(d, IntDistribution) and d.step == 1:
        return UniformIntegerHyperparameter(name, d.low, d.high, log=d.log)
    if isinstance(d, FloatDistribution) and d.step is None:
        return UniformFloatHyperparameter(name, d.low, d.high, log=d.log)
    raise ValueError(f"SMAC knows no steps: {d}")


def _condition(child: Any, parent: Any, asked: Any) -> Condition:
    if isinstance(asked, OneOf):
        return InCondition(child, parent, list(asked.values))
    margin = 1 if isinstance(parent, UniformIntegerHyperparameter) else 0.0
    if asked.sign == ">=":
        return GreaterThanCondition(child, parent, type(margin)(asked.bound) - margin)
    return LessThanCondition(child, parent, type(margin)(asked.bound) + margin)


def _all_of(conditions: list[Condition]) -> Condition | Conjunction:
    return conditions[0] if len(conditions) == 1 else AndConjunction(*conditions)


def _facade(space: ConfigurationSpace, seed: int) -> HyperparameterOptimizationFacade:
    warnings.simplefilter("ignore")
    directory = Path(tempfile.mkdtemp())
    scenario = Scenario(space, n_trials=BUDGET, seed=seed, deterministic=True, output_directory=directory)
    return HyperparameterOptimizationFacade(scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False)


class SMACSampler(BaseSampler):
    """SMAC's facade for hyperparameter optimisation, with its defaults.

    It searches the space of the benchmark problem that the study's user attribute ``problem`` names.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = RandomSampler(seed=seed)
        self._searched = Searched({})
        self._smac: Any = None
        self._asked: dict[int, TrialInfo] = {}

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if self._smac is None:
            self._searched = space_of(study.user_attrs["problem"])
            self._smac = _facade(configuration_space(self._searched, self._seed), self._seed)
        return self._searched.distributions

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        info = self._smac.ask()
        self._asked[trial.number] = info
        params = {n: v.item() if hasattr(v, "item") else v for n, v in dict(info.config).items()}
        return to_external(params, self._searched.distributions)

    def sample_independent(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        return self._random.sample_independent(study, trial, name, distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if values is not None and trial.number in self._asked:
            self._smac.tell(self._asked.pop(trial.number), TrialValue(cost=values[0]))

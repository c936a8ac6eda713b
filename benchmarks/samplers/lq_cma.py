"""lq-CMA-ES (Hansen 2019, "A Global Surrogate Assisted CMA-ES") as an Optuna sampler, for comparison.

It needs ``pip install cma greenlet``. The search is pycma's `cma.fmin_lq_surr2` with its defaults. A linear or
quadratic model ranks each population, and as many points are evaluated as it takes for their ranks to agree with the
model's. A restart doubles the population and forgets the model. pycma calls the function; a greenlet turns that into
ask and tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import cma
import numpy as np
from greenlet import getcurrent, greenlet
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from benchmarks.problems.problem import Array
from benchmarks.problems.spaces import from_cube

#: Initial standard deviation, as a share of the width of the box.
SPREAD = 0.2
#: More restarts than any run has.
MANY = 1000


class LqCMAES:
    """lq-CMA-ES in the unit cube of d >= 2 dimensions. It starts, and restarts, at a point uniformly at random."""

    def __init__(self, d: int, seed: int) -> None:
        self._d = d
        self._rng = np.random.default_rng(seed)
        self._search = greenlet(self._run)
        self._told = tuple[float, ...]()

    def ask(self) -> Array:
        """The next point (d,); what was asked for before has been told."""
        x: Array = self._search.switch(*self._told)
        return x

    def tell(self, x: Array, value: float) -> None:
        """The value, finite, of the last point ``x`` that was asked for."""
        self._told = (value,)

    def _run(self) -> None:
        # On function 10 of COCO's suite bbob in 10 dimensions (15 instances), the expected time to 1 is 518 evaluations
        # without bounds, 838 with pycma's, and 844 with a penalty for the distance to the box.
        options = {
            "bounds": [0.0, 1.0],
            "randn": lambda *shape: self._rng.standard_normal(shape),
            "seed": math.nan,  # pycma would set the seed of NumPy's global generator
            "verbose": -9,
        }
        cma.fmin_lq_surr2(self._value, lambda: self._rng.random(self._d), SPREAD, options, restarts=MANY)

    def _value(self, x: Array) -> float:
        """What the function is to pycma: the point goes to `ask`, and its value comes back from there."""
        caller = getcurrent().parent
        assert caller is not None
        value: float = caller.switch(np.clip(x, 0.0, 1.0))
        return value


class LqCMAESSampler(BaseSampler):
    """lq-CMA-ES in the unit cube of the parameters that all trials have: integers are rounded, categories share it.

    The first trial is at random, since the parameters are known only after it. So are trials that are asked for while
    the search waits for the value of another one. A trial that fails counts as the worst value so far.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = RandomSampler(seed=seed)
        self._common = IntersectionSearchSpace()
        self._space = dict[str, BaseDistribution]()
        self._search: LqCMAES | None = None
        self._asked: tuple[int, Array] | None = None
        self._worst = -math.inf

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if self._asked is not None:
            return {}
        space = {name: d for name, d in self._common.calculate(study).items() if not d.single()}
        return space if len(space) > 1 else {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        if self._search is None or search_space != self._space:
            self._space = dict(search_space)
            self._search = LqCMAES(len(search_space), self._seed)
        x = self._search.ask()
        self._asked = trial.number, x
        return from_cube(search_space, x)

    def sample_independent(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        return self._random.sample_independent(study, trial, name, distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if values is not None:
            self._worst = max(self._worst, values[0])
        if self._search is not None and self._asked is not None and self._asked[0] == trial.number:
            self._search.tell(self._asked[1], self._worst if values is None else values[0])
            self._asked = None

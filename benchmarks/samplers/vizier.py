"""Google Vizier's default search, GP-UCB-PE, in an environment of its own, whose Python ``VIZIER_PYTHON`` names.

It needs ``pip install "google-vizier[jax]==0.1.24" optuna``, with releases as old as Vizier: ``jax==0.4.34
jaxlib==0.4.34 flax==0.10.2 tfp-nightly==0.25.0.dev20241001 "chex<0.1.90" "optax<0.2.5" "numpy<2.2" "scipy<1.15"``.
The middle of all ranges and the first categories are the first point. The number of trials is padded, and what JAX has
compiled is kept in a folder for temporary files: most of a suggestion would otherwise be compilation. Real numbers are
told on [0, 1], or their logarithms if so declared: Vizier drops what single precision rounds beyond a bound.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from vizier import algorithms, pyvizier
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit
from vizier.pyvizier.converters import padding

from benchmarks.problems.spaces import from_cube
from benchmarks.samplers.elsewhere import answer


class Vizier:
    """Asked and told one trial at a time; categories are told by their places."""

    def __init__(self, space: dict[str, BaseDistribution], seed: int) -> None:
        warnings.simplefilter("ignore")
        jax.config.update("jax_compilation_cache_dir", str(Path(tempfile.gettempdir()) / "benchmarks-vizier"))
        self._space = space
        problem = pyvizier.ProblemStatement()
        root = problem.search_space.root
        for name, d in space.items():
            if isinstance(d, CategoricalDistribution):
                places = [str(place) for place in range(len(d.choices))]
                root.add_categorical_param(name, places, default_value=places[0])
            elif isinstance(d, IntDistribution):
                scale = pyvizier.ScaleType.LOG if d.log else pyvizier.ScaleType.LINEAR
                root.add_int_param(name, d.low, d.high, scale_type=scale)
            else:
                root.add_float_param(name, 0.0, 1.0)
        goal = pyvizier.ObjectiveMetricGoal.MINIMIZE
        problem.metric_information.append(pyvizier.MetricInformation("value", goal=goal))
        schedule = padding.PaddingSchedule(num_trials=padding.PaddingType.MULTIPLES_OF_10)
        self._designer = VizierGPUCBPEBandit(problem, rng=jax.random.PRNGKey(seed), padding_schedule=schedule)
        self._number = 0

    def ask(self) -> dict[str, Any]:
        self._number += 1
        self._trial = self._designer.suggest(1)[0].to_trial(self._number)
        return {name: self._value(d, self._trial.parameters[name].value) for name, d in self._space.items()}

    def tell(self, value: float) -> None:
        self._trial.complete(pyvizier.Measurement({"value": value}))
        self._designer.update(algorithms.CompletedTrials([self._trial]), algorithms.ActiveTrials())

    @staticmethod
    def _value(d: BaseDistribution, told: Any) -> Any:
        if isinstance(d, CategoricalDistribution):
            return d.choices[int(told)]
        return int(told) if isinstance(d, IntDistribution) else from_cube({"": d}, np.array([told]))[""]


if __name__ == "__main__":
    answer(Vizier)

"""HEBO from OptunaHub, in an environment of its own, whose Python ``HEBO_PYTHON`` names.

It needs ``pip install hebo==0.3.6 "gpy>=1.13" "pymoo>=0.6" optuna optunahub``, which brings NumPy 1.24. Without its
``search_space`` the sampler makes a new HEBO for each trial, and the first points of all of them would be the same.
"""

from __future__ import annotations

import warnings

import numpy as np
import optuna
import torch
from optuna.distributions import BaseDistribution

from benchmarks.samplers.elsewhere import answer
from benchmarks.samplers.registry import hub
from benchmarks.samplers.search import Study


def make(space: dict[str, BaseDistribution], seed: int) -> Study:
    """A study that HEBO searches; it draws from the global generators, too."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    return Study(space, hub("hebo", "HEBOSampler", search_space=space)(seed))


if __name__ == "__main__":
    answer(make)

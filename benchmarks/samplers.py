"""The samplers that are compared, by name: numbo's, its ablations, and Optuna's."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import optuna


def _gssbo(**settings: object) -> Callable[[int], optuna.samplers.BaseSampler]:
    def make(seed: int) -> optuna.samplers.BaseSampler:
        from numbo.optuna import GSSBOSampler

        return GSSBOSampler(seed=seed, **settings)  # type: ignore[arg-type]

    return make


def _gp_ucb(seed: int) -> optuna.samplers.BaseSampler:
    from numbo.optuna import GPUCBSampler

    return GPUCBSampler(seed=seed)


def _gp_sampler(seed: int) -> optuna.samplers.BaseSampler:
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.GPSampler(seed=seed)


CRITERIA = ("sign", "nystrom", "random", "first", "kmeans++")

SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "GSSBO": _gssbo(),
    "GSSBO-paper": _gssbo(preset="paper"),
    **{f"GSSBO-{c}": _gssbo(criterion=c) for c in CRITERIA},
    **{f"GSSBO-paper-{c}": _gssbo(preset="paper", criterion=c) for c in CRITERIA},
    "GPUCB": _gp_ucb,
    "Random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "CMA-ES": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "GPSampler": _gp_sampler,
}

"""The samplers that are compared, by name: numbo's, its ablations, and Optuna's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import optuna


def _gssbo(preset: Any = "default", **settings: Any) -> Callable[[int], optuna.samplers.BaseSampler]:
    def make(seed: int) -> optuna.samplers.BaseSampler:
        from numbo import GSSBOSettings
        from numbo.optuna import GSSBOSampler

        return GSSBOSampler(seed=seed, settings=GSSBOSettings.of_preset(preset, **settings))

    return make


def _bbkb(seed: int) -> optuna.samplers.BaseSampler:
    from numbo.optuna import BBKBSampler

    return BBKBSampler(seed=seed)


def _bkb(seed: int) -> optuna.samplers.BaseSampler:
    from numbo.optuna import BKBSampler

    return BKBSampler(seed=seed)


def _gp_ucb(seed: int) -> optuna.samplers.BaseSampler:
    from numbo.optuna import GPUCBSampler

    return GPUCBSampler(seed=seed, n_startup_trials=20)  # as in the paper


def gp_sampler(seed: int) -> optuna.samplers.BaseSampler:
    """Optuna's, on one core."""
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.GPSampler(seed=seed)


def _smac(seed: int) -> optuna.samplers.BaseSampler:
    from benchmarks.samplers.smac import SMACSampler

    return SMACSampler(seed)


def _lq_cma(seed: int) -> optuna.samplers.BaseSampler:
    from benchmarks.samplers.lq_cma import LqCMAESSampler

    return LqCMAESSampler(seed)


def _textbook(seed: int) -> optuna.samplers.BaseSampler:
    from benchmarks.samplers.textbook import TextbookSampler

    return TextbookSampler(seed)


def _botorch(seed: int) -> optuna.samplers.BaseSampler:
    from benchmarks.samplers.botorch_default import BoTorchSampler

    return BoTorchSampler(seed)


def _elsewhere(name: str) -> Callable[[int], optuna.samplers.BaseSampler]:
    def make(seed: int) -> optuna.samplers.BaseSampler:
        from benchmarks.samplers.elsewhere import Elsewhere

        return Elsewhere(name, seed)

    return make


def hub(package: str, name: str, **settings: object) -> Callable[[int], optuna.samplers.BaseSampler]:
    """A sampler from OptunaHub: from the checkout that ``OPTUNAHUB_REGISTRY`` names, or else from the network."""

    def make(seed: int) -> optuna.samplers.BaseSampler:
        import optunahub

        checkout = os.environ.get("OPTUNAHUB_REGISTRY")
        if checkout is None:
            module = optunahub.load_module(f"samplers/{package}")
        else:
            module = optunahub.load_local_module(f"samplers/{package}", registry_root=f"{checkout}/package")
        sampler: optuna.samplers.BaseSampler = getattr(module, name)(seed=seed, **settings)
        return sampler

    return make


CRITERIA = ("sign", "nystrom", "random", "first", "kmeans++")

#: Variants of the default that differ in one setting each.
ABLATIONS: dict[str, dict[str, Any]] = {
    "GSSBO-no-trend": {"trend": False},
    "GSSBO-no-additive": {"additive": False},
    "GSSBO-no-region": {"trust_region": False},
    "GSSBO-no-population": {"population": False},
    "GSSBO-no-winsorizing": {"winsorize": False},
    "GSSBO-no-warp": {"warp": False},
    "GSSBO-no-averaging": {"all_data": False},
    "GSSBO-no-lines": {"coordinate_lines": False},
    "GSSBO-no-repeats": {"avoid_repeats": True},
    "GSSBO-ucb": {"acquisition": "ucb"},
    "GSSBO-no-ties": {"avoid_ties": False},
    "GSSBO-no-cover": {"cover_categories": False},
    "GSSBO-log-ei": {"acquisition": "log_ei"},
    "GSSBO-matern32": {"kernel": "matern32"},
    "GSSBO-initial-10": {"n_initial": 10},
    "GSSBO-initial-20": {"n_initial": 20},
    "GSSBO-M64": {"buffer_size": 64},
    "GSSBO-M256": {"buffer_size": 256},
}

SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "GSSBO": _gssbo(),
    "GSSBO-paper": _gssbo(preset="paper", n_initial=20),
    **{name: _gssbo(**settings) for name, settings in ABLATIONS.items()},
    **{f"GSSBO-{c}": _gssbo(criterion=c) for c in CRITERIA},
    **{f"GSSBO-paper-{c}": _gssbo(preset="paper", n_initial=20, criterion=c) for c in CRITERIA},
    "BKB": _bkb,
    "BBKB": _bbkb,
    "GPUCB": _gp_ucb,
    "Random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "TPE-group": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
    "CMA-ES": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "GPSampler": gp_sampler,
    "SMAC": _smac,
    "Textbook": _textbook,
    "BoTorch": _botorch,
    "lq-CMA-ES": _lq_cma,
    "AutoSampler": hub("auto_sampler", "AutoSampler"),
    "TuRBO": hub("turbo", "TuRBOSampler"),
    "CMA-ES-restarts": hub("restart_cmaes", "RestartCmaEsSampler", restart_strategy="ipop"),
    "HEBO": _elsewhere("hebo"),
    "Vizier": _elsewhere("vizier"),
}

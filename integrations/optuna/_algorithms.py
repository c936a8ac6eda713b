"""The samplers: one class per algorithm, with everyday settings in the signature."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from optuna.samplers import BaseSampler

from numbo._settings import handed_on
from numbo._types import AvoidRepeats, Beta, BufferSize, PhaseBeta, Preset, ScheduledBeta
from numbo.optimizers import (
    BBKB,
    BKB,
    GPUCB,
    GSSBO,
    SBPE,
    BBKBSettings,
    BKBSettings,
    GPUCBSettings,
    GSSBOSettings,
    SBPESettings,
)
from numbo.optuna._callable import ConstraintsFunc
from numbo.optuna._distributions import SearchSpace
from numbo.optuna._samplers import NumboSampler


class GSSBOSampler(NumboSampler):
    """GSSBO: a GP on a chosen subset of the trials, with a local search around the best.

    Takes milliseconds per suggestion at any number of trials.

    Args:
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 3.
    """

    _optimizer = GSSBO

    @handed_on(GSSBOSettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        constraints_func: ConstraintsFunc | None = None,
        earlier: Sequence[Any] = (),
        cost: str | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        allowed: Any = (),
        prior: Any = MappingProxyType({}),
        default: Any = MappingProxyType({}),
        avoid_repeats: AvoidRepeats | None = None,
        buffer_size: BufferSize | None = None,
        preset: Preset | None = None,
        settings: GSSBOSettings | None = None,
    ) -> None: ...


class GPUCBSampler(NumboSampler):
    """GP-UCB on all trials, the exact baseline: for comparisons, and for up to a few hundred trials."""

    _optimizer = GPUCB

    @handed_on(GPUCBSettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        constraints_func: ConstraintsFunc | None = None,
        earlier: Sequence[Any] = (),
        cost: str | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        allowed: Any = (),
        prior: Any = MappingProxyType({}),
        default: Any = MappingProxyType({}),
        avoid_repeats: AvoidRepeats | None = None,
        beta: Beta | None = None,
        settings: GPUCBSettings | None = None,
    ) -> None: ...


class BKBSampler(NumboSampler):
    """BKB: GP-UCB on a sparse posterior of all trials."""

    _optimizer = BKB

    @handed_on(BKBSettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: ScheduledBeta | None = None,
        settings: BKBSettings | None = None,
    ) -> None: ...


class BBKBSampler(NumboSampler):
    """BBKB: batched GP-UCB on a sparse posterior of all trials, for many workers."""

    _optimizer = BBKB

    @handed_on(BBKBSettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: ScheduledBeta | None = None,
        settings: BBKBSettings | None = None,
    ) -> None: ...


class SBPESampler(NumboSampler):
    """S-BPE: batches of pure exploration that rule out, with confidence, points that cannot be the optimum.

    For noisy objectives and large budgets.
    """

    _optimizer = SBPE

    @handed_on(SBPESettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        horizon: int | None = None,
        beta: PhaseBeta | None = None,
        settings: SBPESettings | None = None,
    ) -> None: ...

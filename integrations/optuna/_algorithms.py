"""The samplers: one class per algorithm, with everyday settings in the signature."""

from __future__ import annotations

from optuna.samplers import BaseSampler

from numbo import _checks
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
from numbo.optimizers.parts.settings import names_checked
from numbo.optuna._distributions import SearchSpace
from numbo.optuna._samplers import ConstraintsFunc, NumboSampler


class GSSBOSampler(NumboSampler):
    """GSSBO: a GP on a chosen subset of the trials, with a local search around the best.

    Takes milliseconds per suggestion at any number of trials.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 3.
        independent_sampler: sampler for parameters that are not in the suggestion; by default the model, given the
            trial's other values; a parameter that the model does not know gets its usual value in the first trial that
            asks for it, and is random in others.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters for which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``; or a `Table`, whose rows are
            suggested. By default, all parameters of the trials, with inferred conditions; the first trial is then
            sampled independently.
        constraints_func: takes a trial that has ended and returns its constraints, a sequence of numbers that are met
            at 0 or less, as in Optuna's samplers. Constraints of ``trial.set_constraint`` need no setting.
        avoid_repeats: whether to avoid points that were observed or are running while others are left. With ``"auto"``,
            the default, observed points may be measured again if values are noisy.
        buffer_size: M, number of trials that the model is fitted to; by default 128, or more with a large initial
            design.
        preset: ``"default"``, or ``"paper"`` for the algorithm as published; in place of ``settings``.
        settings: all settings of the algorithm, `numbo.GSSBOSettings`; settings given by name take precedence.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = GSSBO
    _usual_startup = None
    _constrained = True
    _most_objectives = _checks.MOST_OBJECTIVES

    @names_checked(GSSBOSettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        constraints_func: ConstraintsFunc | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        buffer_size: BufferSize | None = None,
        preset: Preset | None = None,
        settings: GSSBOSettings | None = None,
    ) -> None:
        super().__init__(
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            search_space=search_space,
            constraints_func=constraints_func,
            settings=GSSBOSettings.of(settings, avoid_repeats=avoid_repeats, buffer_size=buffer_size, preset=preset),
        )


class GPUCBSampler(NumboSampler):
    """GP-UCB on all trials, the exact baseline: for comparisons, and for up to a few hundred trials.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 10.
        independent_sampler: sampler for parameters that are not in the suggestion; by default the model, given the
            trial's other values; a parameter that the model does not know gets its usual value in the first trial that
            asks for it, and is random in others.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters for which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``; or a `Table`, whose rows are
            suggested. By default, all parameters of the trials, with inferred conditions; the first trial is then
            sampled independently.
        constraints_func: takes a trial that has ended and returns its constraints, a sequence of numbers that are met
            at 0 or less, as in Optuna's samplers. Constraints of ``trial.set_constraint`` need no setting.
        avoid_repeats: whether to avoid points that were observed or are running while others are left. With ``"auto"``,
            the default, observed points may be measured again if values are noisy.
        beta: the multiplier of the standard deviation, by default 2, or ``"log"``.
        settings: all settings of the algorithm, `numbo.GPUCBSettings`; settings given by name take precedence.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = GPUCB
    _constrained = True
    _most_objectives = _checks.MOST_OBJECTIVES

    @names_checked(GPUCBSettings)
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        constraints_func: ConstraintsFunc | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: Beta | None = None,
        settings: GPUCBSettings | None = None,
    ) -> None:
        super().__init__(
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            search_space=search_space,
            constraints_func=constraints_func,
            settings=GPUCBSettings.of(settings, avoid_repeats=avoid_repeats, beta=beta),
        )


class BKBSampler(NumboSampler):
    """BKB: GP-UCB on a sparse posterior of all trials.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 10.
        independent_sampler: sampler for parameters that are not in the suggestion; by default the model, given the
            trial's other values; a parameter that the model does not know gets its usual value in the first trial that
            asks for it, and is random in others.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters for which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``; or a `Table`, whose rows are
            suggested. By default, all parameters of the trials, with inferred conditions; the first trial is then
            sampled independently.
        avoid_repeats: whether to avoid points that were observed or are running while others are left. With ``"auto"``,
            the default, observed points may be measured again if values are noisy.
        beta: ``"paper"``, ``"reference"``, or a multiplier of the standard deviation; by default 2.
        settings: all settings of the algorithm, `numbo.BKBSettings`; settings given by name take precedence.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = BKB

    @names_checked(BKBSettings)
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
    ) -> None:
        super().__init__(
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            search_space=search_space,
            settings=BKBSettings.of(settings, avoid_repeats=avoid_repeats, beta=beta),
        )


class BBKBSampler(NumboSampler):
    """BBKB: batched GP-UCB on a sparse posterior of all trials, for many workers.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 10.
        independent_sampler: sampler for parameters that are not in the suggestion; by default the model, given the
            trial's other values; a parameter that the model does not know gets its usual value in the first trial that
            asks for it, and is random in others.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters for which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``; or a `Table`, whose rows are
            suggested. By default, all parameters of the trials, with inferred conditions; the first trial is then
            sampled independently.
        avoid_repeats: whether to avoid points that were observed or are running while others are left. With ``"auto"``,
            the default, observed points may be measured again if values are noisy.
        beta: ``"paper"``, ``"reference"``, or a multiplier of the standard deviation; by default 2.
        settings: all settings of the algorithm, `numbo.BBKBSettings`; settings given by name take precedence.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = BBKB

    @names_checked(BBKBSettings)
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
    ) -> None:
        super().__init__(
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            search_space=search_space,
            settings=BBKBSettings.of(settings, avoid_repeats=avoid_repeats, beta=beta),
        )


class SBPESampler(NumboSampler):
    """S-BPE: batches of pure exploration that rule out, with confidence, points that cannot be the optimum.

    For noisy objectives and large budgets.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 10.
        independent_sampler: sampler for parameters that are not in the suggestion; by default the model, given the
            trial's other values; a parameter that the model does not know gets its usual value in the first trial that
            asks for it, and is random in others.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters for which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``; or a `Table`, whose rows are
            suggested. By default, all parameters of the trials, with inferred conditions; the first trial is then
            sampled independently.
        avoid_repeats: whether to avoid points that were observed or are running while others are left. With ``"auto"``,
            the default, observed points may be measured again where values are noisy.
        horizon: N, the expected number of trials, by default 1000; it determines the sizes of the batches.
        beta: multiplier of the standard deviation in the bounds: ``"union"``, the default, ``"paper"``, or a number.
        settings: all settings of the algorithm, `numbo.SBPESettings`; settings given by name take precedence.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = SBPE

    @names_checked(SBPESettings)
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
    ) -> None:
        super().__init__(
            seed=seed,
            n_startup_trials=n_startup_trials,
            independent_sampler=independent_sampler,
            warn_independent_sampling=warn_independent_sampling,
            search_space=search_space,
            settings=SBPESettings.of(settings, avoid_repeats=avoid_repeats, horizon=horizon, beta=beta),
        )

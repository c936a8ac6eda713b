"""The samplers: one class per algorithm, with all settings spelled out in the signature."""

from __future__ import annotations

from collections.abc import Sequence

from numbo.optuna._distributions import SearchSpace
from numbo.optuna._samplers import ConstraintsFunc, NumboSampler

from numbo import _checks
from numbo._types import Array
from numbo.optimizers import BBKB, BKB, GPUCB, GSSBO, SBPE
from optuna.samplers import BaseSampler


class GSSBOSampler(NumboSampler):
    """GSSBO: a GP on a chosen subset of the trials, with a local search around the best.

    Takes milliseconds per suggestion at any number of trials.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 5 in up to five dimensions, and 10 in more.
        independent_sampler: sampler for parameters that a suggestion did not foresee; by default the model, given what
            the trial has already, or a random one where the model does not know the parameter.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters under which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``. By default, all parameters of the
            trials, with the conditions that they show; the first trial is then sampled independently. Or a `Table`, of
            which rows are suggested.
        learn_failures: whether failed trials, and those pruned before their first report, mark regions to avoid:
            ``True``, ``False``, or ``"auto"``.
        constraints_func: takes a trial that has ended and returns its constraints, a sequence of numbers, which are met
            at 0 or less, as in Optuna's samplers. Those of ``trial.set_constraint`` need no setting.

    The other arguments are the algorithm's settings, described in `numbo.GSSBO`.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = GSSBO
    _constrained = True
    _most_objectives = _checks.MOST_OBJECTIVES

    @_checks.settings_by_name
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        learn_failures: bool | str = "auto",
        constraints_func: ConstraintsFunc | None = None,
        use_curves: bool = True,
        avoid_repeats: bool | str = "auto",
        preset: str = "default",
        criterion: str | None = None,
        buffer_size: int | str | None = None,
        buffer_factor: float = 4.0,
        buffer_rule: str = "work",
        perturbation: float | None = None,
        elites: float | None = None,
        reselect: float | None = None,
        trust_region: bool | None = None,
        kernel: str = "matern52",
        acquisition: str | None = None,
        beta: float | str = 2.0,
        trend: bool | None = None,
        additive: bool | None = None,
        winsorize: bool | None = None,
        warp: bool | None = None,
        all_data: bool | None = None,
        coordinate_lines: bool | None = None,
        cover_categories: bool | None = None,
        avoid_ties: bool | None = None,
        scouting: float | None = None,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))


class GPUCBSampler(NumboSampler):
    """GP-UCB on all trials, the exact baseline: for comparisons, and for up to a few hundred trials.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design.
        independent_sampler: sampler for parameters that a suggestion did not foresee; by default the model, given what
            the trial has already, or a random one where the model does not know the parameter.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters under which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``. By default, all parameters of the
            trials, with the conditions that they show; the first trial is then sampled independently. Or a `Table`, of
            which rows are suggested.
        learn_failures: whether failed trials, and those pruned before their first report, mark regions to avoid:
            ``True``, ``False``, or ``"auto"``.
        constraints_func: takes a trial that has ended and returns its constraints, a sequence of numbers, which are met
            at 0 or less, as in Optuna's samplers. Those of ``trial.set_constraint`` need no setting.

    The other arguments are the algorithm's settings, described in `numbo.GPUCB`.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = GPUCB
    _constrained = True
    _most_objectives = _checks.MOST_OBJECTIVES

    @_checks.settings_by_name
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        learn_failures: bool | str = "auto",
        constraints_func: ConstraintsFunc | None = None,
        use_curves: bool = True,
        avoid_repeats: bool | str = "auto",
        kernel: str = "matern52",
        acquisition: str = "ucb",
        beta: float | str = 2.0,
        trend: bool = False,
        additive: bool = False,
        winsorize: bool = False,
        warp: bool = False,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))


class BKBSampler(NumboSampler):
    """BKB: GP-UCB on a sparse posterior of all trials.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design.
        independent_sampler: sampler for parameters that a suggestion did not foresee; by default the model, given what
            the trial has already, or a random one where the model does not know the parameter.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters under which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``. By default, all parameters of the
            trials, with the conditions that they show; the first trial is then sampled independently. Or a `Table`, of
            which rows are suggested.
        learn_failures: whether failed trials, and those pruned before their first report, mark regions to avoid:
            ``True``, ``False``, or ``"auto"``.

    The other arguments are the algorithm's settings, described in `numbo.BKB`.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = BKB

    @_checks.settings_by_name
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        learn_failures: bool | str = "auto",
        avoid_repeats: bool | str | None = None,
        beta: float | str = 2.0,
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float = 0.1,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))


class BBKBSampler(NumboSampler):
    """BBKB: batched GP-UCB on a sparse posterior of all trials, for many workers.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design.
        independent_sampler: sampler for parameters that a suggestion did not foresee; by default the model, given what
            the trial has already, or a random one where the model does not know the parameter.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters under which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``. By default, all parameters of the
            trials, with the conditions that they show; the first trial is then sampled independently. Or a `Table`, of
            which rows are suggested.
        learn_failures: whether failed trials, and those pruned before their first report, mark regions to avoid:
            ``True``, ``False``, or ``"auto"``.

    The other arguments are the algorithm's settings, described in `numbo.BBKB`.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = BBKB

    @_checks.settings_by_name
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        learn_failures: bool | str = "auto",
        avoid_repeats: bool | str | None = None,
        ratio_threshold: float = 2.0,
        stopping: str = "global",
        beta: float | str = 2.0,
        min_batch: int = 1,
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float = 0.1,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))


class SBPESampler(NumboSampler):
    """S-BPE: batches of pure exploration that rule out, with confidence, what cannot be the optimum.

    For noisy objectives and large budgets.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design.
        independent_sampler: sampler for parameters that a suggestion did not foresee; by default the model, given what
            the trial has already, or a random one where the model does not know the parameter.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters under which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``. By default, all parameters of the
            trials, with the conditions that they show; the first trial is then sampled independently. Or a `Table`, of
            which rows are suggested.
        learn_failures: whether failed trials, and those pruned before their first report, mark regions to avoid:
            ``True``, ``False``, or ``"auto"``.

    The other arguments are the algorithm's settings, described in `numbo.SBPE`.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer = SBPE

    @_checks.settings_by_name
    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        learn_failures: bool | str = "auto",
        avoid_repeats: bool | str | None = None,
        horizon: int = 1000,
        beta: float | str = "union",
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float = 0.1,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))

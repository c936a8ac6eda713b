"""The searchers: one class per algorithm, with all settings spelled out in the signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numbo.ray._searchers import NumboSearch

from numbo import _checks
from numbo._types import Array
from numbo.optimizers import BBKB, BKB, GSSBO, SBPE
from numbo.spaces import Table


class GSSBOSearch(NumboSearch):
    """GSSBO: a GP on a chosen subset of the trials, with a local search around the best.

    Args:
        space: domains as in ``param_space``, or a `Table`, of which rows are suggested; by default, the ``param_space``
            of the `Tuner`.
        metric: name of the reported value; by default that of the `TuneConfig`. Or a list of two to five: then give one
            of them with its mode to the `TuneConfig`, for Tune to report the best result by, or neither.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`. Of several metrics, a list of as many.
        points_to_evaluate: configs to try first, exactly as given, nested or flat, with or without constants. Values
            that they leave out are suggested.
        evaluated_rewards: known values of all ``points_to_evaluate``, which are then learned instead of tried: numbers,
            or mappings of metrics, with those that have constraints, such as ``{"loss": 0.5, "latency": 12.0}``. Of
            several metrics, sequences of as many numbers, or mappings.
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_initial: number of trials before the model takes over from the initial design; by default 5 in up to five
            dimensions, and 10 in more.
        learn_failures: whether failed trials mark regions to avoid: ``True``, ``False``, or ``"auto"``.
        constraints: what reported metrics have to be, such as ``{"latency": ("<=", 20.0), "size": (">=", 1e6)}``. A
            trial whose last result lacks one is not known to violate it.

    The other arguments are the algorithm's settings, described in `numbo.GSSBO`.

    Raises:
        ValueError: for an invalid value of a setting, an invalid space or an invalid point.
        TypeError: for an unknown setting.
    """

    _optimizer = GSSBO
    _takes_several = True

    @_checks.settings_by_name
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Sequence[float] | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        learn_failures: bool | str = "auto",
        constraints: Mapping[str, tuple[str, float]] | None = None,
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


class _BoundedSearch(NumboSearch):
    """A searcher whose confidence bounds may fail with a probability that depends on the number of trials."""

    def _from_budget(self, num_samples: int) -> dict[str, Any]:
        return {"delta": min(0.5, 1.0 / num_samples)}


class BKBSearch(_BoundedSearch):
    """BKB: GP-UCB on a sparse posterior of all trials.

    Args:
        space: domains as in ``param_space``, or a `Table`, of which rows are suggested; by default, the ``param_space``
            of the `Tuner`.
        metric: name of the reported value; by default that of the `TuneConfig`.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`.
        points_to_evaluate: configs to try first, exactly as given, nested or flat, with or without constants. Values
            that they leave out are suggested.
        evaluated_rewards: known values of all ``points_to_evaluate``, which are then learned instead of tried: numbers,
            or mappings of metrics.
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_initial: number of trials before the model takes over from the initial design.
        learn_failures: whether failed trials mark regions to avoid: ``True``, ``False``, or ``"auto"``.
        delta: probability with which confidence bounds may fail; by default it follows from the ``num_samples`` of the
            `TuneConfig`, or is 0.1 if that is unknown.

    The other arguments are the algorithm's settings, described in `numbo.BKB`.

    Raises:
        ValueError: for an invalid value of a setting, an invalid space or an invalid point.
        TypeError: for an unknown setting.
    """

    _optimizer = BKB

    @_checks.settings_by_name
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int = 10,
        learn_failures: bool | str = "auto",
        avoid_repeats: bool | str | None = None,
        beta: float | str = 2.0,
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float | None = None,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))


class BBKBSearch(_BoundedSearch):
    """BBKB: batched GP-UCB on a sparse posterior of all trials, for many workers.

    Args:
        space: domains as in ``param_space``, or a `Table`, of which rows are suggested; by default, the ``param_space``
            of the `Tuner`.
        metric: name of the reported value; by default that of the `TuneConfig`.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`.
        points_to_evaluate: configs to try first, exactly as given, nested or flat, with or without constants. Values
            that they leave out are suggested.
        evaluated_rewards: known values of all ``points_to_evaluate``, which are then learned instead of tried: numbers,
            or mappings of metrics.
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_initial: number of trials before the model takes over from the initial design.
        learn_failures: whether failed trials mark regions to avoid: ``True``, ``False``, or ``"auto"``.
        delta: probability with which confidence bounds may fail; by default it follows from the ``num_samples`` of the
            `TuneConfig`, or is 0.1 if that is unknown.

    The other arguments are the algorithm's settings, described in `numbo.BBKB`.

    Raises:
        ValueError: for an invalid value of a setting, an invalid space or an invalid point.
        TypeError: for an unknown setting.
    """

    _optimizer = BBKB

    @_checks.settings_by_name
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int = 10,
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
        delta: float | None = None,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(**_checks.arguments(locals()))


class SBPESearch(NumboSearch):
    """S-BPE: batches of pure exploration that rule out, with confidence, what cannot be the optimum.

    For noisy objectives and large budgets.

    Args:
        space: domains as in ``param_space``, or a `Table`, of which rows are suggested; by default, the ``param_space``
            of the `Tuner`.
        metric: name of the reported value; by default that of the `TuneConfig`.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`.
        points_to_evaluate: configs to try first, exactly as given, nested or flat, with or without constants. Values
            that they leave out are suggested.
        evaluated_rewards: known values of all ``points_to_evaluate``, which are then learned instead of tried: numbers,
            or mappings of metrics.
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_initial: number of trials before the model takes over from the initial design.
        learn_failures: whether failed trials mark regions to avoid: ``True``, ``False``, or ``"auto"``.
        horizon: approximate number of trials; by default the ``num_samples`` of the `TuneConfig`, or 1000 if that is
            unknown.

    The other arguments are the algorithm's settings, described in `numbo.SBPE`.

    Raises:
        ValueError: for an invalid value of a setting, an invalid space or an invalid point.
        TypeError: for an unknown setting.
    """

    _optimizer = SBPE

    def _from_budget(self, num_samples: int) -> dict[str, Any]:
        return {"horizon": num_samples}

    @_checks.settings_by_name
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int = 10,
        learn_failures: bool | str = "auto",
        avoid_repeats: bool | str | None = None,
        horizon: int | None = None,
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

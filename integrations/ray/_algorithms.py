"""The searchers: one class per algorithm, with everyday settings in the signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from numbo._settings import handed_on
from numbo._types import AvoidRepeats, Preset
from numbo.optimizers import BBKB, BKB, GSSBO, SBPE, BBKBSettings, BKBSettings, GSSBOSettings, SBPESettings
from numbo.ray._arguments import Mode, Relation
from numbo.ray._searchers import NumboSearch
from numbo.spaces import Table


class GSSBOSearch(NumboSearch):
    """GSSBO: a GP on a chosen subset of the trials, with a local search around the best.

    Args:
        metric: name of the reported value; by default that of the `TuneConfig`. Or a list of two to five: then give
            the `TuneConfig` one of them with its mode, for Tune's own best result, or neither.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`. For several metrics, a list of as many.
        evaluated_rewards: known values of all ``points_to_evaluate``, which are then learned instead of tried: numbers,
            or mappings of metrics, including those with constraints, such as ``{"loss": 0.5, "latency": 12.0}``. For
            several metrics, sequences of as many numbers, or mappings.
        n_initial: number of trials before the model takes over from the initial design; by default 3.
        constraints: bounds of reported metrics, such as ``{"latency": ("<=", 20.0), "size": (">=", 1e6)}``. The last
            reported value counts; the bound of a metric that a trial never reports counts as met.
    """

    _optimizer = GSSBO

    @handed_on(GSSBOSettings)
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | Sequence[str] | None = None,
        mode: Mode | Sequence[Mode] | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Sequence[float] | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        constraints: Mapping[str, tuple[Relation, float]] | None = None,
        earlier: Sequence[Any] = (),
        cost: str | None = None,
        budget: float | None = None,
        allowed: Any = (),
        prior: Any = MappingProxyType({}),
        default: Any = MappingProxyType({}),
        avoid_repeats: AvoidRepeats | None = None,
        buffer_size: int | Literal["dynamic"] | None = None,
        preset: Preset | None = None,
        settings: GSSBOSettings | None = None,
    ) -> None: ...


class _BoundedSearch(NumboSearch):
    """A searcher with confidence bounds whose failure probability depends on the number of trials.

    Args:
        settings: all settings of the algorithm, as its optimizer in `numbo` takes them; settings given by name take
            precedence. ``delta`` follows from the ``num_samples`` of the `TuneConfig` unless it is set, or is 0.1
            without them.
    """

    def _from_num_samples(self, num_samples: int) -> dict[str, Any]:
        return {"delta": min(0.5, 1.0 / num_samples)}


class BKBSearch(_BoundedSearch):
    """BKB: GP-UCB on a sparse posterior of all trials."""

    _optimizer = BKB

    @handed_on(BKBSettings)
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | None = None,
        mode: Mode | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: float | Literal["paper", "reference"] | None = None,
        settings: BKBSettings | None = None,
    ) -> None: ...


class BBKBSearch(_BoundedSearch):
    """BBKB: batched GP-UCB on a sparse posterior of all trials, for many workers."""

    _optimizer = BBKB

    @handed_on(BBKBSettings)
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | None = None,
        mode: Mode | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        beta: float | Literal["paper", "reference"] | None = None,
        settings: BBKBSettings | None = None,
    ) -> None: ...


class SBPESearch(NumboSearch):
    """S-BPE: batches of pure exploration that rule out, with confidence, points that cannot be the optimum.

    For noisy objectives and large budgets.

    Args:
        horizon: approximate number of trials; by default the ``num_samples`` of the `TuneConfig`, or 1000 if that is
            unknown.
    """

    _optimizer = SBPE

    def _from_num_samples(self, num_samples: int) -> dict[str, Any]:
        return {"horizon": num_samples}

    @handed_on(SBPESettings)
    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | None = None,
        mode: Mode | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        horizon: int | None = None,
        settings: SBPESettings | None = None,
    ) -> None: ...

"""What BBKB, BKB and S-BPE are made of: their common settings, the model, and the chooser."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array
from numbo.models.confidence import Information
from numbo.models.dictionaries import DictionaryRule
from numbo.models.feedback import FeedbackModel
from numbo.models.gp import FAMILIES
from numbo.models.learned_kernel import LearnedKernel
from numbo.run.run import Run
from numbo.search.arm_search import ArmSearch
from numbo.search.box_search import BoxSearch
from numbo.spaces import Arms

#: Smallest noise_std of a fixed kernel. Its square meets rounding errors of the kernel's unit variance, 2e-16 times the
#: number of observations that are summed up: at 3e-8 and below models cannot be conditioned, or variances explode.
LEAST_NOISE = 1e-6
INITIAL_DICTIONARIES = ("bless", "rls")


@dataclass(frozen=True)
class SparseSettings:
    """Settings of a sparse model, as `numbo.BBKB` describes them, with all defaults resolved."""

    kernel: str
    lengthscale: float | Array | None
    noise_std: float | None
    norm_bound: float
    delta: float
    qbar: float
    max_dictionary: int | None
    initial_dictionary: str
    resparsify: float
    trend: bool
    winsorize: bool

    @classmethod
    def checked(cls, d: int, given: Mapping[str, Any], learned_dictionary: int) -> SparseSettings:
        """The settings of a model over ``d`` coordinates.

        Args:
            d: number of coordinates.
            given: the arguments of an optimizer's constructor.
            learned_dictionary: what ``max_dictionary="auto"`` means where the kernel is learned.

        Raises:
            ValueError: for a setting that is not accepted.
        """
        kernel = _checks.one_of("kernel", given["kernel"], FAMILIES)
        trend, winsorize = (_checks.flag(name, given[name]) for name in ("trend", "winsorize"))
        lengthscale, noise_std = _check_kernel(given["lengthscale"], given["noise_std"], d)
        fixed = lengthscale is not None
        resparsify = (0.0 if fixed else 0.1) if given["resparsify"] is None else given["resparsify"]
        return cls(
            kernel=kernel,
            lengthscale=lengthscale,
            noise_std=noise_std,
            norm_bound=_checks.number("norm_bound", given["norm_bound"], 0.0, above=True),
            delta=_checks.number("delta", given["delta"], 0.0, 1.0, above=True),
            qbar=_checks.number("qbar", given["qbar"], 0.0, above=True, infinite=True),
            max_dictionary=_check_limit(given["max_dictionary"], None if fixed else learned_dictionary),
            initial_dictionary=_checks.one_of("initial_dictionary", given["initial_dictionary"], INITIAL_DICTIONARIES),
            resparsify=_checks.number("resparsify", resparsify, 0.0),
            trend=trend,
            winsorize=winsorize,
        )


def sparse_search(
    run: Run,
    settings: SparseSettings,
    width: Callable[[FeedbackModel], float],
    counting: Information = Information(),  # noqa: B008, it is frozen
) -> tuple[FeedbackModel, ArmSearch | BoxSearch]:
    """The model of a sparse algorithm and its chooser, for the domain of a run.

    Args:
        run: what is known.
        settings: of the model.
        width, counting: as `numbo.models.feedback.FeedbackModel`.
    """
    scale = settings.lengthscale
    if scale is not None and isinstance(run.space, Arms):
        scale = np.asarray(scale) / run.space.ranges
    kernel = LearnedKernel(
        run.space.categorical,
        settings.kernel,
        None if scale is None else np.asarray(scale),
        settings.noise_std,
        trend=settings.trend,
        winsorize=settings.winsorize,
        optional=run.space.conditional,
    )
    rule = DictionaryRule(settings.qbar, settings.max_dictionary, settings.initial_dictionary, settings.delta)
    model = FeedbackModel(run.space.d, kernel, rule, resparsify=settings.resparsify, width=width, counting=counting)
    one_by_one = settings.resparsify == 0.0
    chooser = BoxSearch(run) if run.grid is None else ArmSearch(run, run.grid, one_by_one=one_by_one)
    model.chooser = chooser
    run.listen([kernel])
    return model, chooser


def _check_limit(limit: int | str | None, default: int | None) -> int | None:
    """Maximum dictionary size, None for no limit; ``"auto"`` means ``default``."""
    if limit is None or limit == "auto":
        return default if limit else None
    try:
        return _checks.integer("max_dictionary", limit, 1)
    except ValueError:
        raise ValueError(f"max_dictionary must be 'auto', None or an integer of at least 1, got {limit!r}.") from None


def _check_kernel(lengthscale: Any, noise_std: Any, d: int) -> tuple[Any, float | None]:
    if (lengthscale is None) != (noise_std is None):
        raise ValueError("lengthscale and noise_std fix the kernel together: give both, or neither to learn it.")
    if lengthscale is None:
        return None, None
    scales = np.asarray(lengthscale, dtype=np.float64)
    if scales.shape not in ((), (d,)) or not (np.isfinite(scales).all() and (scales > 0.0).all()):
        raise ValueError(f"lengthscale must be a positive number or {d} of them, got {lengthscale!r}.")
    if not (isinstance(noise_std, int | float) and 0.0 < noise_std < math.inf):
        raise ValueError(
            f"noise_std must be a positive number, got {noise_std!r}: its square, lambda, regularises the model. For "
            "an objective without noise take a small share of its range, such as 0.01."
        )
    if noise_std < LEAST_NOISE:
        raise ValueError(
            f"noise_std must be at least {LEAST_NOISE:g} of the kernel's unit standard deviation, got {noise_std!r}: "
            "smaller values are lost to rounding."
        )
    return float(scales) if scales.ndim == 0 else scales, float(noise_std)

"""What BBKB, BKB and S-BPE are made of: their common settings, the model, and the chooser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numbo import _checks
from numbo._settings import Settings, checked
from numbo._types import Array, InitialDictionary, Kernel, MaxDictionary
from numbo.models.confidence import Information
from numbo.models.dictionaries import DictionaryRule
from numbo.models.feedback import FeedbackModel
from numbo.models.gp import FAMILIES
from numbo.models.learned_kernel import LearnedKernel
from numbo.run.situation import Situation
from numbo.search.arm_search import ArmSearch
from numbo.search.box_search import BoxSearch
from numbo.spaces import Arms, Domain

#: Smallest noise_std of a fixed kernel. Its square meets rounding errors of the kernel's unit variance, 2e-16 times the
#: number of observations that are summed up: at 3e-8 and below models cannot be conditioned, or variances explode.
LEAST_NOISE = 1e-6
INITIAL_DICTIONARIES = ("bless", "rls")
#: Failure probability of the confidence bounds, unless it is set.
DELTA = 0.1
#: Growth after which the dictionary is drawn again where the kernel is learned, unless it is set.
RESPARSIFY = 0.1


def _scales(name: str, value: Any) -> float | tuple[float, ...]:
    """A positive number, or several."""
    scales = _checks.positive(name, value)
    return float(scales) if scales.ndim == 0 else tuple(scales.tolist())


def _noise(name: str, value: Any) -> float:
    """The standard deviation of the noise under a fixed kernel."""
    if not (_checks.is_finite(value) and value > 0.0):
        raise ValueError(
            f"{name} must be a positive number, got {value!r}: its square, lambda, regularises the model. For an "
            "objective without noise take a small share of its range, such as 0.01."
        )
    if value < LEAST_NOISE:
        raise ValueError(
            f"{name} must be at least {LEAST_NOISE:g} of the kernel's unit standard deviation, got {value!r}: smaller "
            "values are lost to rounding."
        )
    return float(value)


@dataclass(frozen=True, kw_only=True)
class SparseSettings(Settings):
    """Settings that BKB, BBKB and S-BPE have.

    Args:
        n_initial: number of points of the space-filling initial design: by default 1 under a fixed kernel, otherwise
            10.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left. With ``"auto"``,
            the default for spaces, observed points may be measured again where values are noisy; False for arms.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: a number or (d,), fixes the kernel; in the units of the arms' features, or of the unit cube that a
            space is mapped to. A fixed kernel has unit variance, and values are not standardised.
        noise_std: standard deviation of the noise under a fixed kernel, in the units of the objective, at least 1e-6;
            lambda is its square. Without these two, the kernel is learned from the data, on a schedule.
        norm_bound: F, a bound on the objective's RKHS norm under the kernel.
        delta: failure probability of the confidence bounds; by default 0.1.
        qbar: oversampling factor of the dictionary. With infinity every observed point is an atom: the exact GP.
        max_dictionary: maximum number of atoms in a draw, ``None`` for no limit; ``"auto"`` is `LEARNED_DICTIONARY`
            where the kernel is learned, and no limit under a fixed one.
        initial_dictionary: how the first dictionary is drawn from a history, ``"bless"`` or ``"rls"``.
        resparsify: the dictionary is drawn again when the history has grown by this share; in between, new points join
            it with their sampling probability as feedback is taken in. 0, the default under a fixed kernel, draws it at
            the end of every batch, as the papers do; the default where the kernel is learned is 0.1.
        trend: whether a learned kernel has a linear and quadratic part.
        winsorize: whether outliers on the bad side are clipped under a learned kernel.
    """

    #: Atoms of a dictionary under a learned kernel, unless it is set.
    LEARNED_DICTIONARY: ClassVar[int] = 96

    kernel: Kernel = checked("matern52", _checks.one_of, FAMILIES)
    lengthscale: float | Sequence[float] | Array | None = checked(None, _scales)
    noise_std: float | None = checked(None, _noise)
    norm_bound: float = checked(1.0, _checks.number, 0.0, above=True)
    delta: float | None = checked(None, _checks.number, 0.0, 1.0, above=True)
    qbar: float = checked(2.0, _checks.number, 0.0, above=True, infinite=True)
    max_dictionary: MaxDictionary = checked("auto", _checks.integer_or, 1, "auto", None)
    initial_dictionary: InitialDictionary = checked("bless", _checks.one_of, INITIAL_DICTIONARIES)
    resparsify: float | None = checked(None, _checks.number, 0.0)
    trend: bool = checked(True, _checks.flag)
    winsorize: bool = checked(True, _checks.flag)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.lengthscale is None) != (self.noise_std is None):
            raise ValueError("lengthscale and noise_std fix the kernel together: give both, or neither to learn it.")

    @property
    def fixed(self) -> bool:
        """Whether the kernel is fixed."""
        return self.lengthscale is not None

    @property
    def failing(self) -> float:
        """``delta``, decided."""
        return DELTA if self.delta is None else self.delta

    @property
    def redrawn(self) -> float:
        """``resparsify``, decided."""
        usual = 0.0 if self.fixed else RESPARSIFY
        return usual if self.resparsify is None else self.resparsify

    @property
    def dictionary(self) -> int | None:
        """``max_dictionary``, decided."""
        if isinstance(self.max_dictionary, int):
            return self.max_dictionary
        return None if self.max_dictionary is None or self.fixed else self.LEARNED_DICTIONARY

    @property
    def dimensions(self) -> int:
        return len(self.lengthscale) if isinstance(self.lengthscale, tuple) else 1

    def initial(self, d: int) -> int:
        usual = 1 if self.fixed else super().initial(d)
        return usual if self.n_initial is None else self.n_initial

    def avoiding(self, explicit: bool) -> bool | str:
        return False if explicit and self.avoid_repeats is None else super().avoiding(explicit)

    def scales(self, space: Domain) -> Array | None:
        """``lengthscale``, one number or (d,), in the units of the unit cube.

        Raises:
            ValueError: if it has another number of coordinates.
        """
        if self.lengthscale is None:
            return None
        scales = _checks.positive("lengthscale", self.lengthscale, space.d)
        return scales / space.ranges if isinstance(space, Arms) else scales


def sparse_search(
    run: Situation,
    settings: SparseSettings,
    counting: Information = Information(),  # noqa: B008, it is frozen
    *,
    by_variance: bool = False,
    on_schedule: bool = True,
) -> tuple[FeedbackModel, ArmSearch | BoxSearch]:
    """The model of a sparse algorithm (`FeedbackModel`) and its chooser, for the domain of a run."""
    kernel = LearnedKernel(
        run.space.categorical,
        settings.kernel,
        settings.scales(run.space),
        settings.noise_std,
        trend=settings.trend,
        winsorize=settings.winsorize,
        optional=run.space.conditional,
    )
    rule = DictionaryRule(settings.qbar, settings.dictionary, settings.initial_dictionary, settings.failing)
    model = FeedbackModel(
        run.space.d,
        kernel,
        rule,
        resparsify=settings.redrawn,
        one_by_one=run.grid is not None and settings.redrawn == 0.0,
        by_variance=by_variance,
        on_schedule=on_schedule,
        counting=counting,
    )
    return model, BoxSearch(run.named_space) if run.grid is None else ArmSearch(run.space, run.grid)

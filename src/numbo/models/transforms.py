"""Output transforms: from objective values to the GP's values, and back to the units of the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbo import _elementary
from numbo._types import Array
from numbo.models.moments import Prediction

#: Values larger than this, or smaller than its inverse, are scaled first, so that no sum of squares over- or
#: underflows.
LARGE = 1e100
KINDS = ("plain", "winsorize", "log", "soft")
#: Distance of Tukey's fence from the lower quartile, in units of the distance of the quartiles.
FENCE = 1.5
#: The largest and the smallest positive double.
LARGEST = float(np.finfo(float).max)
SMALLEST = float(np.finfo(float).smallest_subnormal)
#: A soft tail is possible if the best value is at most this many such units above the lower quartile.
FARTHEST = 1e6
#: Upper limit of the standard deviation of a transformed value; such a value has no information.
UNKNOWN = 1e6
#: Upper limit of the logarithm of a slope.
STEEPEST = 700.0
#: Knee of the log warp, as a share of the gap between best and median.
KNEE = 0.3


@dataclass(frozen=True)
class OutputTransform:
    """Standardisation ``(z - location) / scale`` of values ``z``, in which the bad tail may be compressed.

    * ``"plain"``: the values unchanged.
    * ``"winsorize"``: the bad tail is clipped at Tukey's fence ``q25 - 1.5 (q75 - q25)``: an outlier there only
      shows that a point is bad, and would otherwise determine the scale of all other values.
    * ``"log"``: ``z = -log(1 + (best - y) / knee)``, a warped GP (Snelson et al. 2004) with a fixed warp: differences
      are magnified near the best value, up to a knee of `KNEE` times the gap between best and median.
    * ``"soft"``: beyond Tukey's fence values are logarithmic, in units of ``q75 - q25``. Unlike clipping, this loses no
      information, for predictions anywhere in the space.

    Attributes:
        location, scale: mean and standard deviation of ``z``; if ``z`` is constant, ``scale`` is 1, or a power of two
            near values of extreme size (`LARGE`).
        floor: the value at which values are clipped, ``-inf`` for none; under a warp, the worst value, which is the
            limit of `backward`.
        best, knee: the value where the logarithm begins, and the gap from there up to which it is nearly linear; an
            infinite ``knee`` means no logarithm.
    """

    location: float
    scale: float
    floor: float = -np.inf
    best: float = 0.0
    knee: float = np.inf

    @classmethod
    def fit(cls, y: Array, kind: str = "plain") -> OutputTransform:
        """Fit to finite values ``y (n,)``, larger is better; ``kind`` is one of `KINDS`.

        ``"log"`` falls back to ``"plain"`` if half the values equal the best, or nearly so, and ``"soft"`` if half of
        them are equal around the median, or the best lies too far beyond them (`FARTHEST`). Values times a power of two
        are transformed to the same bits.
        """
        if kind in ("log", "soft"):
            best, knee = _logarithm(y, kind)
            if LARGEST >= knee > float(np.max(np.abs(y))) / LARGE and abs(best) <= LARGEST:
                values = cls(0.0, 1.0, best=best, knee=knee).forward(y)
                return cls(float(np.mean(values)), float(np.std(values)), float(np.min(y)), best, knee)
        floor = -np.inf
        if kind == "winsorize" and len(y) >= 4:
            unit = _unit(y)
            q25, q75 = np.quantile(y / unit, (0.25, 0.75))
            if q75 > q25:
                floor = float(q25 - FENCE * (q75 - q25)) * unit
        clipped = np.maximum(y, floor)
        unit = _unit(clipped)
        values = clipped / unit
        location = float(np.mean(values))
        scale = float(np.std(values))
        if not scale > 1e-12 * abs(location):
            scale = 1.0
        return cls(location * unit, max(scale * unit, SMALLEST), floor)

    @property
    def warped(self) -> bool:
        return self.knee < np.inf

    def forward(self, y: Array) -> Array:
        """Standardised values (n,); the warp is linear for values better than the best."""
        with np.errstate(over="ignore"):  # the transform may have been fitted to other values
            if not self.warped:
                return np.clip(_ratio(np.maximum(y, self.floor), self.location, self.scale), -LARGE, LARGE)
            gap = np.clip(_ratio(self.best, y, self.knee), -LARGE, LARGE)
        return (-np.where(gap > 0.0, _elementary.log1p(np.maximum(gap, 0.0)), gap) - self.location) / self.scale

    def backward(self, mean: Array, std: Array) -> Prediction:
        """Mean and standard deviation in the units of ``y``.

        Under a warp the distribution is not normal. The results are then the median, which is limited by the worst
        value, and half the distance between the quantiles one standard deviation to either side, where the warp is
        linear beyond the worst value. Results are clipped to the largest finite double.
        """
        if not self.warped:
            with np.errstate(over="ignore"):
                middle = np.clip(mean * self.scale + self.location, -LARGEST, LARGEST)
                return Prediction(middle, np.minimum(std * self.scale, LARGEST))
        low = self._undo(mean - std)
        high = self._undo(mean + std)
        return Prediction(np.maximum(self._undo(mean), self.floor), 0.5 * high - 0.5 * low)

    def _undo(self, standardised: Array) -> Array:
        z = standardised * self.scale + self.location
        longest = _elementary.log1p(_ratio(max(self.best, self.floor), self.floor, self.knee))
        half = _half(self.knee)
        with np.errstate(over="ignore"):
            beyond = _elementary.exp(np.minimum(longest, STEEPEST)) * np.maximum(-z - longest, 0.0)
            gap = half * self.knee * np.where(z < 0.0, -_elementary.expm1(np.clip(-z, 0.0, longest)) - beyond, z)
            found = (half * self.best + gap) / half
        return np.clip(found, -LARGEST, LARGEST)

    def slope(self, standardised: float) -> float:
        """``dy / d forward(y)`` at a standardised value."""
        if not self.warped:
            return self.scale
        distance = max(0.0, -(standardised * self.scale + self.location))
        return min(self.scale * self.knee * math.exp(min(distance, STEEPEST)), LARGEST)

    def variances(self, y: Array, variance: Array) -> Array:
        """The variances (n,) of `forward`, from the ``variance (n,)`` of ``y (n,)``, by the slope there."""
        if not variance.any():
            return variance
        with np.errstate(over="ignore", divide="ignore"):
            ratio = _elementary.exp(0.5 * _elementary.log(variance) - self.log_slopes(y))
        return np.minimum(ratio, UNKNOWN) ** 2

    def log_slopes(self, y: Array) -> Array:
        """Logarithm of ``dy / d forward(y)`` at values ``y (n,)`` that are not clipped."""
        if not self.warped:
            return np.full(len(y), _elementary.log(self.scale))
        half = _half(self.knee)
        slopes = np.maximum(half * self.best - half * y, 0.0) + half * self.knee
        out: Array = _elementary.log(slopes) + _elementary.log(self.scale) - _elementary.log(half)
        return out


def _logarithm(y: Array, kind: str) -> tuple[float, float]:
    """``best`` and ``knee`` of an `OutputTransform` of ``y (n,)`` that takes logarithms."""
    unit = _unit(y)
    if kind == "log":
        best = float(np.max(y))
        return best, KNEE * (best / unit - float(np.median(y / unit))) * unit
    low, high = np.quantile(y / unit, (0.25, 0.75)).tolist()
    if float(np.max(y / unit)) - low > FARTHEST * (high - low):  # rounding errors of the linear part would swallow logs
        return 0.0, 0.0
    return (low - FENCE * (high - low)) * unit, (high - low) * unit


def _unit(y: Array) -> float:
    """A power of two near the largest absolute value of ``y (n,)`` if that is of extreme size (`LARGE`), else 1."""
    largest = float(np.max(np.abs(y)))
    if largest == 0.0 or 1.0 / LARGE <= largest <= LARGE:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def _ratio(a: Any, b: Any, unit: float) -> Any:
    """``(a - b) / unit``; the difference may exceed the largest double."""
    half = _half(unit)
    return (half * a - half * b) / (half * unit)


def _half(unit: float) -> float:
    """A factor such that scaled differences of values with this ``unit`` are finite."""
    return 0.5 if unit > LARGE else 1.0

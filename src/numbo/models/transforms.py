"""Output transforms: from objective values to the GP's values, and back to the units of the objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Values larger than this are scaled down first, so that no sum of squares overflows, and are not warped.
LARGE = 1e100
KINDS = ("plain", "winsorize", "log", "soft")
#: Tukey's fence lies so many times the distance of the quartiles beyond the lower one.
FENCE = 1.5
#: Knee of the log warp, as a share of the gap between best and median.
KNEE = 0.3


@dataclass(frozen=True)
class OutputTransform:
    """Standardisation ``(z - location) / scale`` of values ``z``, in which the bad tail may count less.

    * ``"plain"``: the values unchanged.
    * ``"winsorize"``: the bad tail is clipped at Tukey's fence ``q25 - 1.5 (q75 - q25)``: an outlier there only
      says that a point is bad, and would otherwise set the scale of everything else.
    * ``"log"``: ``z = -log(1 + (best - y) / knee)``, a warped GP (Snelson et al. 2004) with a fixed warp: differences
      are magnified near the best value, up to a knee of `KNEE` times the gap between best and median.
    * ``"soft"``: beyond Tukey's fence differences count by their logarithm, in units of ``q75 - q25``. What was told is
      not lost as by clipping, for predictions that may be asked for anywhere.

    Attributes:
        location, scale: mean and standard deviation of ``z``; ``scale`` is 1 if ``z`` is constant.
        floor: where values are clipped, ``-inf`` for nowhere; under a warp, the worst value, where `backward` ends.
        best, knee: where the logarithm begins, and the gap from there up to which it is nearly linear; an infinite
            ``knee`` means none.
    """

    location: float
    scale: float
    floor: float = -np.inf
    best: float = 0.0
    knee: float = np.inf

    @classmethod
    def fit(cls, y: Array, kind: str = "plain") -> OutputTransform:
        """Fit to finite values ``y (n,)``, larger is better; ``kind`` is one of `KINDS`.

        ``"log"`` falls back to ``"plain"`` if half the values equal the best, ``"soft"`` if half of them are equal
        around the median, and both for values of extreme size (`LARGE`).
        """
        largest = float(np.max(np.abs(y)))
        if kind in ("log", "soft") and largest <= LARGE:
            low, middle, high = np.quantile(y, (0.25, 0.5, 0.75)).tolist()
            best = float(np.max(y)) if kind == "log" else low - FENCE * (high - low)
            knee = KNEE * (best - middle) if kind == "log" else high - low
            if knee > 1.0 / LARGE:
                values = cls(0.0, 1.0, best=best, knee=knee).forward(y)
                return cls(float(np.mean(values)), float(np.std(values)), float(np.min(y)), best, knee)
        unit = largest if largest > LARGE else 1.0
        values = y / unit
        floor = -np.inf
        if kind == "winsorize" and len(y) >= 4:
            q25, q75 = np.quantile(values, (0.25, 0.75))
            if q75 > q25:
                floor = float(q25 - FENCE * (q75 - q25))
                values = np.maximum(values, floor)
        location, scale = float(np.mean(values)), float(np.std(values))
        if not scale > 1e-12 * max(abs(location), 1e-290):
            scale = 1.0 / unit if unit > 1.0 else 1.0
        return cls(location * unit, scale * unit, floor * unit)

    @property
    def warped(self) -> bool:
        return self.knee < np.inf

    def forward(self, y: Array) -> Array:
        """Standardised values (n,); the warp is linear for values better than the best."""
        if not self.warped and self.scale > LARGE:  # a difference might overflow
            return np.maximum(y, self.floor) / self.scale - self.location / self.scale
        if not self.warped:
            return (np.maximum(y, self.floor) - self.location) / self.scale
        gap = (self.best - y) / self.knee
        return (-np.where(gap > 0.0, np.log1p(np.maximum(gap, 0.0)), gap) - self.location) / self.scale

    def backward(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Mean and standard deviation in the units of ``y``.

        Under a warp the distribution is not normal: these are the median, and half the distance between the quantiles
        one standard deviation to either side, none of them beyond the worst value. They are finite: what would be
        larger than the largest double is that one.
        """
        if not self.warped:
            largest = np.finfo(float).max
            with np.errstate(over="ignore"):
                middle = np.clip(mean * self.scale + self.location, -largest, largest)
                return middle, np.minimum(std * self.scale, largest)
        low, middle, high = (self._undo(mean + step * std) for step in (-1.0, 0.0, 1.0))
        return middle, 0.5 * (high - low)

    def _undo(self, standardised: Array) -> Array:
        z = standardised * self.scale + self.location
        longest = np.log1p(max(self.best - self.floor, 0.0) / self.knee)
        return self.best + self.knee * np.where(z < 0.0, -np.expm1(np.clip(-z, 0.0, longest)), z)

    def log_slopes(self, y: Array) -> Array:
        """Logarithm of ``dy / d forward(y)`` at values ``y (n,)`` that are not clipped."""
        slopes = np.maximum(self.best - y, 0.0) + self.knee if self.warped else np.ones(len(y))
        out: Array = np.log(slopes) + np.log(self.scale)
        return out

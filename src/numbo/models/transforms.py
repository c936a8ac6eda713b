"""Output transforms: what the GP sees of the objective values, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Beyond this size values are scaled down first, so that no sum of squares overflows.
LARGE = 1e100


def finite_range(y: Array) -> Array:
    """``y (n,)`` with what is not finite replaced: +-inf by the best and worst finite value, NaN by the worst.

    Larger is better here. Without any finite value all become 0.
    """
    finite = np.isfinite(y)
    if finite.all():
        return y
    if not finite.any():
        return np.zeros_like(y)
    low, high = y[finite].min(), y[finite].max()
    return np.clip(np.nan_to_num(y, nan=low, posinf=high, neginf=low), low, high)


@dataclass(frozen=True)
class OutputTransform:
    """Standardisation ``(y - location) / scale`` after clipping bad values at ``floor`` (winsorising).

    Only the bad tail is clipped, at Tukey's fence ``q25 - 1.5 (q75 - q25)``: an outlier there says no more than
    "bad", and would otherwise set the scale of everything else.
    """

    location: float
    scale: float
    floor: float

    @classmethod
    def fit(cls, y: Array, winsorize: bool = True) -> OutputTransform:
        """From finite values ``y (n,)``, larger is better. A constant ``y`` gets scale 1."""
        largest = float(np.max(np.abs(y)))
        unit = largest if largest > LARGE else 1.0
        values = y / unit
        floor = -np.inf
        if winsorize and len(y) >= 4:
            q25, q75 = np.quantile(values, (0.25, 0.75))
            if q75 > q25:
                floor = float(q25 - 1.5 * (q75 - q25))
                values = np.maximum(values, floor)
        location, scale = float(np.mean(values)), float(np.std(values))
        if not scale > 1e-12 * max(abs(location), 1e-290):
            scale = 1.0 / unit if unit > 1.0 else 1.0
        return cls(location * unit, scale * unit, floor * unit)

    def forward(self, y: Array) -> Array:
        """Standardised values (n,)."""
        return (np.maximum(y, self.floor) - self.location) / self.scale

    def backward(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Mean and standard deviation in the units of ``y``."""
        return mean * self.scale + self.location, std * self.scale

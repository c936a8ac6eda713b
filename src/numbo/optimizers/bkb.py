"""BKB: budgeted kernelised bandits (Calandriello et al. 2019, algorithm 1)."""

from __future__ import annotations

from typing import Any

from numbo.optimizers.bbkb import BBKB


class BKB(BBKB):
    """Budgeted kernelised bandits: feedback after every point, a dictionary drawn by posterior variance.

    It is `BBKB` with batches of one point. Points that are asked for while others are out are hallucinated.

    Args:
        beta: ``"paper"``, ``"reference"`` (the authors' code), or a multiplier of the standard deviation.
        options: those of `BBKB`, without ``ratio_threshold``, ``stopping`` and ``min_batch``.
    """

    def __init__(self, space: Any = None, **options: Any) -> None:
        for name in ("ratio_threshold", "stopping", "min_batch"):
            if name in options:
                raise TypeError(f"BKB has no {name}: it takes in feedback after every point. BBKB has it.")
        super().__init__(space, ratio_threshold=1.0, **options)

    def _width(self, schedule: str) -> float:
        """beta_t of a named schedule."""
        n, lam = self._history.n, self._kernel.covariance.noise_variance
        return self._confidence.bkb(schedule, self._effective_dimension, n, self._largest_prior(), lam)

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        for name in ("ratio_threshold", "stopping", "min_batch"):
            del settings[name]
        return settings

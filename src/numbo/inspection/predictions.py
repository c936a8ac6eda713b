"""What the models of an optimizer predict at points, in the terms of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from numbo._types import Array, Indices
from numbo.inspection.variation import Variation
from numbo.models.moments import Prediction, moments
from numbo.models.transforms import LARGEST
from numbo.models.view import ModelView
from numbo.run.situation import Situation
from numbo.trials import point_key


class Predictions:
    """The models of all objectives, and how far they are believed.

    Args:
        run: the data.
        view: the model of all observations; None before the first success.
    """

    def __init__(self, run: Situation, view: ModelView | None) -> None:
        self.run = run
        self.view = view

    def model(self, what: str) -> ModelView:
        """The model, which ``what`` needs.

        Raises:
            ValueError: before the first success.
        """
        if self.view is None:
            raise ValueError(f"{what} needs at least one successful observation; tell one first.")
        return self.view

    def views(self, what: str) -> list[ModelView]:
        """The models of all objectives, which ``what`` needs."""
        view = self.model(what)
        return [view, *view.others]

    def encoded(self, params: Any) -> tuple[Array, bool]:
        """The points (c, d) of a user's point, or of a sequence of such, and whether it is one."""
        one = isinstance(params, Mapping) or np.ndim(params) == 0
        space = self.run.space
        return np.array([space.encode(p) for p in ([params] if one else params)]).reshape(-1, space.d), one

    def predict(self, params: Any) -> tuple[Any, Any]:
        """Mean and standard deviation in the user's units (`numbo.optimizers.Optimizer.predict`)."""
        views = self.views("predict")
        X, one = self.encoded(params)
        found = [self._in_units(view, j, X) for j, view in enumerate(views)]
        if not self.run.history.several:
            mean = found[0].mean
            std = found[0].std
            return (float(mean[0]), float(std[0])) if one else (mean, std)
        mean, std = stacked(found)
        return (mean[0], std[0]) if one else (mean, std)

    def _in_units(self, view: ModelView, objective: int, X: Array) -> Prediction:
        """Mean and standard deviation (c,) of an ``objective`` at ``X (c, d)``, in the user's units."""
        history = self.run.history
        found = self.widened(view, X)
        mean = found.mean
        if self.run.noises[objective].refuted:  # repeats show no noise: measured values are exact
            told: Indices = np.array([history.visits.first.get(point_key(x), -1) for x in X], dtype=np.int64)
            mean = np.where(told >= 0, history.values(output=objective)[told], mean)
        return Prediction(self.run.goal.value(mean, objective), found.std)

    def widened(self, view: ModelView, X: Array) -> Prediction:
        """`ModelView.mean_sd` at ``X (c, d)``, with larger deviations where the model is too sure."""
        found = view.mean_sd(X)
        with np.errstate(over="ignore"):
            return self.unsure(view, X, found._replace(std=np.minimum(view.widening * found.std, LARGEST)))

    def unsure(self, view: ModelView, X: Array, found: Prediction) -> Prediction:
        """What was ``found`` at ``X (c, d)``, at least as uncertain as values are that were not tried."""
        if view.noise_is_given:  # and the covariance, too
            return found
        unknown = self.variation.unknown(X)
        if not unknown.any():
            return found
        latent = moments(view.posterior, X)
        least = view.transform.backward(latent.mean, np.sqrt(unknown)).std
        return found._replace(std=np.maximum(found.std, least))

    @cached_property
    def variation(self) -> Variation:
        """Which parameters were varied."""
        return Variation(self.run.history.X, self.run.space)


def stacked(found: list[Prediction]) -> Prediction:
    """What was ``found`` of each of k objectives, as (c, k)."""
    return Prediction(*(np.stack(parts, axis=1) for parts in zip(*found, strict=True)))

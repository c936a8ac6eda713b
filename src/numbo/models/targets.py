"""How the values of a history become the targets of a GP: the output transform, and how it is chosen."""

from __future__ import annotations

from numbo._types import Array, Mask
from numbo.models.gp import ExactGP
from numbo.models.transform_choice import ITERATIONS, Loss, choose, surprise
from numbo.models.transforms import OutputTransform

#: The output transform is selected again at every third fit only: the comparison costs one fit per candidate.
DECISION_EVERY = 3


class Targets:
    """The transform of the values that a model is fitted to.

    Args:
        winsorize, warp: whether outliers may be clipped, and values warped by a logarithm, where that predicts better
            (`numbo.models.OutputTransform`).

    Attributes:
        kind: of the transform (`numbo.models.transforms.KINDS`).
        transform: the last one.
    """

    def __init__(self, *, winsorize: bool, warp: bool) -> None:
        self.winsorize, self.warp = winsorize, warp
        self.kind = "winsorize" if winsorize else "plain"
        self.transform = OutputTransform(0.0, 1.0)
        self.decisions = 0

    def of(self, y: Array) -> Array:
        """The targets (n,) of the values ``y (n,)``, by a transform that is fitted to them."""
        self.transform = OutputTransform.fit(y, self.kind)
        return self.transform.forward(y)

    def outliers(self, y: Array) -> Mask:
        """Which of ``y (n,)`` clipping would change; none if it is off."""
        return y <= OutputTransform.fit(y, "winsorize" if self.winsorize else "plain").floor

    def fit(self, gp: ExactGP, X: Array, y: Array) -> None:
        """Fit the hyperparameters of ``gp`` to ``y (n,)`` at ``X (n, d)``, and decide how the values are transformed.

        Clipping keeps outliers from setting the scale of all other values, unclipped values show the whole bowl to the
        trend, and logarithms tell the bottom of a steep valley from its walls. Every `DECISION_EVERY` fits, the
        transforms that may matter are compared, and the model with the highest leave-one-out density of the values that
        are not outliers is kept (Rasmussen & Williams 2006, section 5.4.2).
        """
        inner = ~self.outliers(y)
        kinds = ["plain"] + ["winsorize"] * (not inner.all()) + ["log"] * self.warp
        decide = self.decisions % DECISION_EVERY == 0
        self.decisions += 1
        if len(kinds) > 1 and decide:
            self.choose(gp, X, y, kinds, surprise(y, inner))
        else:
            gp.fit(X, OutputTransform.fit(y, self.kind).forward(y), iterations=ITERATIONS)

    def choose(self, gp: ExactGP, X: Array, y: Array, kinds: list[str], loss: Loss) -> None:
        """Fit ``gp`` under each of the transforms, and keep the one with the smallest loss."""
        self.kind = choose(gp, X, y, {kind: OutputTransform.fit(y, kind) for kind in kinds}, loss)

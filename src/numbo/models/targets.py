"""The targets of a GP: the transform of the values of a history, and its choice."""

from __future__ import annotations

from numbo._plain import Kept
from numbo._types import Array, Mask
from numbo.models.gp import ExactGP
from numbo.models.transform_choice import ITERATIONS, Loss, choose, fit_under, loss_under, surprise, transformed
from numbo.models.transforms import OutputTransform
from numbo.trials import Data

#: The output transform is selected again at every third fit only: the comparison costs one fit per candidate.
DECISION_EVERY = 3
#: Maximum number of L-BFGS-B iterations of a fit that goes on from a settled one (`benchmarks/results/single-runs.md`).
REFIT = 8


class Targets(Kept):
    """The transform of the values that a model is fitted to.

    Args:
        winsorize, warp: whether outliers may be clipped, and values warped by a logarithm, if that predicts better
            (`numbo.models.OutputTransform`).

    Attributes:
        kind: of the transform (`numbo.models.transforms.KINDS`).
        transform: the last one.
        decisions: number of fits.
        deviation: standard deviation of the noise that repeats show, in units of the values; 0 if they show none, or
            fits are not to know it.
        uncertain: whether variances that values were told with matter. Nothing is warped then: in warped units the
            variance of a value depends on its luck.
    """

    _kept = ("kind", "decisions")

    def __init__(self, *, winsorize: bool, warp: bool) -> None:
        self.winsorize = winsorize
        self.warp = warp
        self.kind = "winsorize" if winsorize else "plain"
        self.transform = OutputTransform(0.0, 1.0)
        self.decisions = 0
        self.deviation = 0.0
        self.uncertain = False

    def of(self, data: Data) -> Data:
        """The ``data`` with targets in place of values, by a transform fitted to them."""
        self.transform = OutputTransform.fit(data.y, self.kind)
        return transformed(data, self.transform)

    def outliers(self, y: Array) -> Mask:
        """Which of ``y (n,)`` clipping would change; none if it is off."""
        return y <= OutputTransform.fit(y, "winsorize" if self.winsorize else "plain").floor

    def fit(self, gp: ExactGP, data: Data, *, settled: bool = False) -> None:
        """Fit the hyperparameters of ``gp`` to the ``data``, and choose the transform of the values.

        With clipping, outliers do not determine the scale of all other values. Unclipped values let the trend fit a
        whole bowl. Logarithms resolve the bottom of a steep valley. Every `DECISION_EVERY` fits, the transforms that
        may matter are compared. Where hyperparameters are ``settled``, one of the others challenges the present one,
        which is not fitted again. The model with the highest leave-one-out density of the values that are not outliers
        is kept (Rasmussen & Williams 2006, section 5.4.2).
        """
        inner = ~self.outliers(data.y)
        warp = self.warp and not self.uncertain
        if self.kind == "log" and not warp:
            self.kind = "plain"
        kinds = ["plain"] + ["winsorize"] * (not inner.all()) + ["log"] * warp
        decision, step = divmod(self.decisions, DECISION_EVERY)
        settled = settled and self.decisions > 0 and self.kind in kinds
        self.decisions += 1
        if step != 0 or len(kinds) == 1:
            iterations = REFIT if settled else ITERATIONS
            fit_under(OutputTransform.fit(data.y, self.kind), gp, data, iterations, self.deviation)
        elif settled:
            others = [kind for kind in kinds if kind != self.kind]
            self._challenge(gp, data, others[decision % len(others)], surprise(data.y, inner))
        else:
            self.choose(gp, data, kinds, surprise(data.y, inner))

    def _challenge(self, gp: ExactGP, data: Data, kind: str, loss: Loss) -> None:
        """Fit ``gp``, fitted under the present transform, under ``kind`` too; keep the one with the smaller loss."""
        before = gp.theta
        known = loss_under(OutputTransform.fit(data.y, self.kind), gp, data, loss)
        other = OutputTransform.fit(data.y, kind)
        fit_under(other, gp, data, REFIT, self.deviation)
        if loss_under(other, gp, data, loss) < known:
            self.kind = kind
        else:
            gp.theta = before

    def choose(self, gp: ExactGP, data: Data, kinds: list[str], loss: Loss) -> None:
        """Fit ``gp`` under each of the transforms, and keep the one with the smallest loss."""
        transforms = {kind: OutputTransform.fit(data.y, kind) for kind in kinds}
        self.kind = choose(gp, data, transforms, loss, self.deviation)

"""An exact GP on a subset of the history, kept up to date by the cheapest exact update.

Glossary: ``y`` values in the units of the history, larger is better; ``targets`` transformed values; ``members`` rows
of the history that the GP is conditioned on; ``frame`` center (d,) and radius of the box in whose units it is fitted.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from numbo._types import Array, Mask, ObservationIndices
from numbo.kernels.acquisition import Posterior, mean_variance
from numbo.models.fitc import FITC
from numbo.models.gp import ExactGP
from numbo.models.noise import Noise
from numbo.models.priors import VALUES, Prior
from numbo.models.schedule import Schedule
from numbo.models.sparse_gp import SparseGP
from numbo.models.transform_choice import ITERATIONS, Loss, choose, mean_error, surprise
from numbo.models.transforms import OutputTransform
from numbo.trials import History

#: The output transform is selected again at every third fit only: the comparison costs one fit per candidate.
DECISION_EVERY = 3
#: The atoms of a posterior on more than the members are chosen again after this share of new observations.
STALE = 0.02, 8
#: Likewise, if a point was measured again that the atoms do not represent.
LACKING = 0.002
#: Maximum number of such points that become atoms.
MORE = 64
#: Share of a normal distribution, and how many standard deviations around its mean hold it.
HELD, HALF_WIDTH = 0.9, 1.645
#: Number of members on which models without them are tried, and number of these models.
DOUBTED, FOLDS = 16, 4


class Surrogate:
    """A GP, the output transform of its members, and the hyperparameter schedule.

    Args:
        categorical, optional, kernel, trend, additive: as for `numbo.models.ExactGP`.
        winsorize, warp: whether outliers may be clipped, and values warped by a logarithm, where that predicts better
            (`numbo.models.OutputTransform`).
        growth: hyperparameters are refitted when the number of observations has grown by this share.
        longest: maximum number of new observations between refits.
        prior: prior on the hyperparameters (`numbo.models.priors`).
        all_data: whether `update_all` conditions on more than members under noise.
    """

    def __init__(
        self,
        categorical: Mask,
        optional: Mask | None = None,
        *,
        kernel: str,
        trend: bool,
        additive: bool,
        winsorize: bool,
        warp: bool = False,
        growth: float = 0.1,
        longest: int | None = None,
        prior: Prior = VALUES,
        all_data: bool = False,
    ) -> None:
        self.gp = ExactGP(categorical, optional, kernel=kernel, trend=trend, additive=additive, prior=prior)
        self.winsorize, self.warp, self.all_data = winsorize, warp, all_data
        #: Of fits, and of posteriors on more than the members.
        self.fits, self._builds = Schedule(growth, longest=longest), Schedule(*STALE)
        self.kind, self._fits = "winsorize" if winsorize else "plain", 0
        self.transform = OutputTransform(0.0, 1.0)
        self.members: ObservationIndices = np.empty(0, dtype=np.int64)
        self.updated_at = self._conditioned = 0
        self._all: FITC | None = None
        self._anchor = -1
        self._rows: ObservationIndices = self.members
        #: Variance of the noise, in units of the variance of the values; None before the first fit.
        self.claimed_noise: float | None = None
        #: Whether the posterior ever stood on more than the members.
        self.averaged = False

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in the units of the history's values, unless they are warped."""
        return math.sqrt(self.gp.covariance.noise_variance) * self.transform.scale

    def averages(self, noise: Noise) -> bool:
        """Whether there is noise that averaging more values than those of the members reduces."""
        return self.all_data and noise.credible(self.claimed_noise)

    @property
    def rows(self) -> ObservationIndices:
        """The observations that the posterior stands on."""
        return self.members if self._all is None else self._rows

    @property
    def sparse(self) -> SparseGP | None:
        """The sparse model behind a posterior that stands on more than the members."""
        return None if self._all is None else self._all.gp

    @property
    def _model(self) -> ExactGP | FITC:
        return self.gp if self._all is None else self._all

    @property
    def posterior(self) -> Posterior:
        """The posterior in the form that kernels take, given what is held."""
        return self._model.posterior

    @property
    def means(self) -> Array:
        """Posterior means at the `rows`."""
        return self._model.fitted_means

    @property
    def best_mean(self) -> float:
        """The largest posterior mean at the `rows` and at what is held."""
        return self._model.best_mean

    def update_all(
        self,
        X: Array,
        y: Array,
        members: ObservationIndices,
        rows: Callable[[], ObservationIndices],
        noise: Noise,
        frame: tuple[Array, float] | None = None,
        anchor: int = -1,
    ) -> None:
        """`update`, and where there is noise, condition on all of the ``rows`` through the members.

        Without noise, the function that finds the ``rows`` is not called.

        Until hyperparameters are fitted, another ``anchor`` is given or many observations are new (`STALE`), members
        stay as they are, and what is new is added to the ``rows``.
        """
        n = len(y)
        if self._all is not None and anchor == self._anchor and not (self.fits.due(n) or self._stale(n, self._all)):
            self._all.release()
            self._add(X, y, self.updated_at, n)
            return
        self._all = None
        self.update(X, y, members, frame)
        if not self.averages(noise):
            return
        self.averaged, found = True, rows()
        if len(found) > len(members):
            self._builds.at, self._anchor, self._rows = n, anchor, found
            self._build(X, y)

    def _stale(self, n: int, posterior: FITC) -> bool:
        """Whether so much is new at ``n`` observations that other members are chosen."""
        return (replace(self._builds, growth=LACKING, shortest=1) if posterior.lacking else self._builds).due(n)

    def _build(self, X: Array, y: Array) -> None:
        """Condition on all of the rows through the members, and through other points that were measured again."""
        rows, atoms = X[self._rows], X[self.members]
        targets = self.transform.forward(y[self._rows])
        self._all = FITC(self.gp.covariance, rows, targets, atoms)
        if len(again := self._all.unrepresented()[:MORE]):
            self._all = FITC(self.gp.covariance, rows, targets, np.concatenate([atoms, rows[again]]))

    def _add(self, X: Array, y: Array, first: int, n: int) -> None:
        """Take in the observations from ``first`` to ``n``."""
        assert self._all is not None
        for x, target in zip(X[first:n], self.transform.forward(y[first:n]).tolist(), strict=True):
            self._all.add(x, target)
        self._rows, self.updated_at = np.append(self._rows, np.arange(first, n)), n

    def update(self, X: Array, y: Array, members: ObservationIndices, frame: tuple[Array, float] | None = None) -> None:
        """Condition on ``X[members]``, ``y[members]``; appends if members were only added and no fit is due.

        A fit uses the units of ``frame``, a center (d,) and a radius; without it, those of the last one given, at first
        the unit cube.
        """
        old = self.members
        grew = 0 < len(old) <= len(members) and np.array_equal(members[: len(old)], old)
        if self.fits.due(len(y)):
            if frame is not None:
                self.gp.center, self.gp.radius = frame
            self._fit(X[members], y[members])
            self.fits.at, grew = len(y), False
            self.claimed_noise = float(self.gp.covariance.noise_variance)
        self.transform = OutputTransform.fit(y[members], self.kind)
        targets = self.transform.forward(y[members])
        if not grew or not self._append(X, targets, members, len(old)):
            self._condition(X, targets, members)
        self.members, self.updated_at = members, len(y)

    def _fit(self, X: Array, y: Array) -> None:
        """Fit the hyperparameters, and decide how the values are transformed.

        Clipping keeps outliers from setting the scale of all other values, unclipped values show the whole bowl to the
        trend, and logarithms tell the bottom of a steep valley from its walls. Every `DECISION_EVERY` fits, the
        transforms that may matter are compared, and the model with the highest leave-one-out density of the values that
        are not outliers is kept (Rasmussen & Williams 2006, section 5.4.2).
        """
        inner = ~self._outliers(y)
        kinds = ["plain"] + ["winsorize"] * (not inner.all()) + ["log"] * self.warp
        decide = self._fits % DECISION_EVERY == 0
        self._fits += 1
        if len(kinds) == 1 or not decide:
            self.gp.fit(X, OutputTransform.fit(y, self.kind).forward(y), iterations=ITERATIONS)
            return

        self._choose(X, y, kinds, surprise(y, inner))

    def _outliers(self, y: Array) -> Mask:
        """Which of ``y (n,)`` clipping would change; none if it is off."""
        return y <= OutputTransform.fit(y, "winsorize" if self.winsorize else "plain").floor

    def _choose(self, X: Array, y: Array, kinds: list[str], loss: Loss) -> None:
        self.kind = choose(self.gp, X, y, {kind: OutputTransform.fit(y, kind) for kind in kinds}, loss)

    def _condition(self, X: Array, targets: Array, members: ObservationIndices) -> None:
        self.gp.condition(X[members], targets, spare=max(16, len(members) // 4))
        self._conditioned = len(members)

    def _append(self, X: Array, targets: Array, members: ObservationIndices, known: int) -> bool:
        self.gp.truncate(known)
        if not all(self.gp.append(X[members[i]], targets[i]) for i in range(known, len(members))):
            return False
        self.gp.set_values(targets)
        return True

    def shown(self, X: Array, y: Array) -> Surrogate:
        """The model for inspection: of the values as they are, or with a soft bad tail if that predicts all better.

        A search looks for the best values, and may warp or clip the others. An inspection may ask for any value, so the
        mean absolute error of leave-one-out predictions decides here, in the units of ``y``. Members count by how much
        the others leave open (`_open`).
        """
        inputs, values = X[self.members], y[self.members]
        outliers = bool((values <= OutputTransform.fit(values, "winsorize").floor).any())
        if self.kind != "log" and not outliers:
            return self

        twin = copy.deepcopy(self)
        _, open_ = self._left_out()
        kinds = ["plain", "soft"] if outliers and self.winsorize else ["plain"]
        twin._choose(inputs, values, kinds, mean_error(values, open_))
        twin.transform = OutputTransform.fit(values, twin.kind)
        twin.gp.condition(inputs, twin.transform.forward(values))
        if twin._all is not None:
            twin._build(X, y)
        return twin

    def _left_out(self) -> tuple[Array, Array]:
        """Residual (n,) of each member predicted from the others, and the variance (n,) that these leave open there.

        A search crowds where values are good. Places that nobody has looked at yet are like members that the others
        leave open.
        """
        residual, variance = self.gp.leave_one_out()
        return residual, np.maximum(variance - self.gp.covariance.noise_variance, np.finfo(float).tiny)

    def widening(self) -> float:
        """The factor of at least 1 by which predicted standard deviations are too small, judged by leaving out.

        With it, the intervals that should hold a share `HELD` of the values, as the model sees them, do so, noise
        included; members count by how much the others leave open (`_left_out`). Two estimates are made, of which the
        larger one is returned: from all members, each left out alone, and from the `DOUBTED` that the others leave most
        open, predicted in `FOLDS` parts by models that are fitted without them. The second sees what hyperparameters
        fitted to few values promise too much: on a plateau that crosses the space, intervals need 3 to 8 times the
        width, the first estimate is below 2 and the second from 3.7 to 6 (``tanh(4 (sum x - 3))`` in 6 dimensions).
        """
        residual, open_ = self._left_out()
        alone = self._needed(residual, open_)
        most = np.argsort(-open_, kind="stable")[: min(DOUBTED, len(open_) // 2)]
        if not len(most):
            return max(1.0, _quantile(alone, open_))
        together = np.empty(len(most))
        for part in range(FOLDS):
            rows = most[part::FOLDS]
            if len(rows):
                together[part::FOLDS] = self._needed_without(rows)
        return max(1.0, _quantile(alone, open_), _quantile(together, open_[most]))

    def _needed(self, residual: Array, open_: Array) -> Array:
        """Factors (n,) that make an interval end at a value, given residuals and latent variances (n,)."""
        noise = self.gp.covariance.noise_variance
        out: Array = np.sqrt(np.maximum((residual / HALF_WIDTH) ** 2 - noise, 0.0) / open_)
        return out

    def _needed_without(self, rows: ObservationIndices) -> Array:
        """Likewise (m,) for the members ``rows (m,)``, by a model that is fitted anew without them."""
        twin = copy.deepcopy(self)
        X, y = self.gp.points, self.gp.values
        others = np.delete(np.arange(len(y)), rows)
        twin.gp.start_anew()
        twin.gp.fit(X[others], y[others], iterations=ITERATIONS)
        twin.gp.condition(X[others], y[others])
        mean, std = twin.gp.mean_sd(X[rows])
        return twin._needed(y[rows] - mean, np.maximum(std**2, np.finfo(float).tiny))

    def hallucinate(self, points: Array) -> None:
        """Hallucinate pending ``points (p, d)`` until the next update."""
        if self._all is not None:
            self._all.hallucinate(points)
            return
        for x in points:
            self.gp.append(x, None)

    def release(self) -> None:
        """Forget the pending points."""
        if self._all is not None:
            self._all.release()
        self.gp.truncate(len(self.members))

    def mean_sd(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (c,) in the units of the history's values."""
        mean, variance = mean_variance(self.posterior, np.ascontiguousarray(X))
        return self.transform.backward(mean, np.sqrt(variance))

    def state_dict(self) -> dict[str, Any]:
        return {
            "theta": self.gp.theta.copy(),
            "center": self.gp.center.copy(),
            "radius": self.gp.radius,
            "kind": self.kind,
            "fits": self._fits,
            "fitted_at": self.fits.at,
            "updated_at": self.updated_at,
            "members": self.members.copy(),
            "conditioned": self._conditioned,
            "averaged": self.averaged,
            "all": None if self._all is None else self._all_state(),
        }

    def _all_state(self) -> dict[str, Any]:
        built = len(self._rows) - (self.updated_at - self._builds.at)
        return {"rows": self._rows[:built].copy(), "built_at": self._builds.at, "anchor": self._anchor}

    def restore_from(self, state: dict[str, Any], history: History) -> None:
        """`restore`, from the history that has gone on since: the surrogate knew its first observations."""
        self.restore(state, history.X, history.values(state["updated_at"]))

    def restore(self, state: dict[str, Any], X: Array, y: Array) -> None:
        """Restore a `state_dict`; ``X``, ``y`` are the history that was known at ``state["updated_at"]``.

        The factor is rebuilt by the original steps, so that it is bitwise identical.
        """
        self.gp.theta = state["theta"].copy()
        self.gp.center, self.gp.radius = state["center"].copy(), state["radius"]
        self.kind, self._fits = state["kind"], state["fits"]
        self.fits.at, self.updated_at = state["fitted_at"], state["updated_at"]
        self.members = state["members"].copy()
        self.claimed_noise = float(self.gp.covariance.noise_variance) if len(self.members) else None
        if len(self.members):
            self.transform = OutputTransform.fit(y[self.members], self.kind)
            targets, first = self.transform.forward(y[self.members]), state["conditioned"]
            self._condition(X, targets[:first], self.members[:first])
            self._append(X, targets, self.members, first)
        self._all, self.averaged = None, state["averaged"]
        if (wide := state["all"]) is not None:
            self._rows, self._builds.at, self._anchor = wide["rows"].copy(), wide["built_at"], wide["anchor"]
            self._build(X, y)
            self._add(X, y, self._builds.at, self.updated_at)


def _quantile(values: Array, weights: Array) -> float:
    """The smallest of ``values (n,)`` up to which they have the share `HELD` of the ``weights (n,)``."""
    order = np.argsort(values)
    held = np.cumsum(weights[order]) / np.sum(weights)
    return float(values[order][np.searchsorted(held, HELD)])

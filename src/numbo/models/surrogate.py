"""An exact GP on a subset of the history, kept up to date by the cheapest exact update.

If values are noisy, the posterior may use more observations than the subset (`numbo.models.overlay`).

Glossary: ``data`` observations with values in the units of the history; ``targets`` transformed values; ``members``
rows of the data that the GP is conditioned on; ``frame`` the box in whose units it is fitted.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from numbo._plain import Kept, Saved
from numbo._types import Array, Mask, ObservationIndices
from numbo.kernels.acquisition import Posterior
from numbo.models.fitc import FITC
from numbo.models.gp import ExactGP, Frame
from numbo.models.moments import Prediction, mean_at, moments
from numbo.models.noise import NOISY, Noise
from numbo.models.overlay import Overlay
from numbo.models.priors import VALUES, Prior
from numbo.models.sparse_gp import SparseGP
from numbo.models.targets import Targets
from numbo.models.transform_choice import mean_error, transformed
from numbo.models.transforms import LARGEST, OutputTransform
from numbo.models.widening import left_out
from numbo.trials import Data, History
from numbo.trials.schedule import Schedule

#: A posterior of fewer than `SMALL` points takes in pending ones up to that number; each takes in a quarter of its own
#: number (`benchmarks/results/single-runs.md`).
SMALL = 160
QUARTER = 4
#: From so many observations on, hyperparameters change little from fit to fit, and fits are short (`Targets.fit`), but
#: not while values are averaged: ``benchmarks/results/compare-settled.md`` and ``single-runs.md``.
SETTLED = 500


class Surrogate(Kept):
    """A GP on members of a history, with the transform of their values to targets, and a schedule of its fits.

    Args:
        categorical, optional, kernel, trend, additive: as for `numbo.models.ExactGP`.
        winsorize, warp: as for `numbo.models.targets.Targets`.
        growth: hyperparameters are refitted when the number of observations has grown by this share.
        longest: maximum number of new observations between refits.
        prior: prior on the hyperparameters (`numbo.models.priors`).
        all_data: whether `update_all` conditions on more than the members under noise.
        of: what it models: the data that it has seen after ``n`` observations, or trials, of a history.

    Attributes:
        gp, targets, fits: its parts.
        members: the observations that the GP is conditioned on.
        updated_at: number of observations at the last update.
        pending: (p, d) the hallucinated points.
        claimed_noise: variance of the noise, as a share of that of the targets; None before the first fit.
        averaged: whether it was ever updated while noise was credible, so that its posterior averaged values.
    """

    _kept = ("gp", "targets", "fits", "members", "_overlay")
    updated_at: Saved[int] = 0
    averaged: Saved[bool] = False
    claimed_noise: Saved[float | None] = None
    #: Number of members whose factor was computed at once; the later ones were appended to it.
    _conditioned: Saved[int] = 0

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
        of: Callable[[History, int], Data] = History.data,
    ) -> None:
        self.gp = ExactGP(categorical, optional, kernel=kernel, trend=trend, additive=additive, prior=prior)
        self.targets = Targets(winsorize=winsorize, warp=warp)
        self.fits = Schedule(growth, longest=longest)
        self.all_data = all_data
        self.of = of
        self.members: ObservationIndices = np.empty(0, dtype=np.int64)
        self._overlay: Overlay | None = None
        self._believed: Posterior | None = None
        self.pending = np.empty((0, len(categorical)))

    @property
    def transform(self) -> OutputTransform:
        """The transform from values to the targets of the members."""
        return self.targets.transform

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in the units of the history's values; under a warp, at their median."""
        middle = float(np.median(self.gp.values)) if self.gp.n else 0.0
        return min(math.sqrt(self.gp.covariance.noise_variance) * self.transform.slope(middle), LARGEST)

    def averages(self, noise: Noise) -> bool:
        """Whether the noise is large enough for all observations to improve the posterior."""
        return self.all_data and noise.credible(self.claimed_noise)

    # -- the posterior -------------------------------------------------------------------------------------------

    @property
    def rows(self) -> ObservationIndices:
        """The observations that the posterior is conditioned on."""
        return self.members if self._overlay is None else self._overlay.rows

    @property
    def sparse(self) -> SparseGP | None:
        """The sparse model of a posterior that uses more than the members; None otherwise."""
        return None if self._overlay is None else self._overlay.model.gp

    @property
    def _model(self) -> ExactGP | FITC:
        return self.gp if self._overlay is None else self._overlay.model

    @property
    def posterior(self) -> Posterior:
        """The posterior in the form that kernels take, including hallucinated points."""
        return self._model.posterior if self._believed is None else self._believed

    @property
    def means(self) -> Array:
        """Posterior means at the `rows`."""
        return self._model.fitted_means[: len(self.rows)]

    @property
    def best_mean(self) -> float:
        """The largest posterior mean at the `rows` and at hallucinated points."""
        known = self._model.fitted_means
        best = float(known.max())
        if not len(self.pending):
            return best
        return max(best, float(mean_at(self._model.posterior, self.pending).max()))

    def mean_sd(self, X: Array) -> Prediction:
        """Mean and standard deviation (c,) in the units of the history's values."""
        latent = moments(self.posterior, X)
        return self.transform.backward(latent.mean, latent.std)

    def hallucinate(self, pending: Data) -> int:
        """Add pending points to the posterior, after a `release`, until the next update.

        Points with a value count as observations. Those whose values are NaN reduce variances only; of many, only those
        are taken in that determine the others best.

        Returns:
            how many were taken in.
        """
        known = ~np.isnan(pending.y)
        expected = transformed(pending.at(known), self.transform)
        if self._overlay is not None:
            self._overlay.model.expect(expected)
        elif expected.n:
            self.gp.append(*expected)
        unknown = pending.X[~known]
        self.pending = pending.X
        n = self._model.posterior.n
        most = max(SMALL - n, n // QUARTER)
        self._believed = self._model.extended(unknown, most) if len(unknown) else None
        return expected.n + min(len(unknown), most)

    def release(self) -> None:
        """Forget the pending points."""
        self.pending = self.pending[:0]
        self._believed = None
        if self._overlay is not None:
            self._overlay.model.release()
        self.gp.truncate(len(self.members))

    # -- updates -------------------------------------------------------------------------------------------------

    def update_all(
        self,
        data: Data,
        members: ObservationIndices,
        rows: Callable[[], ObservationIndices],
        noise: Noise,
        frame: Frame | None = None,
        anchor: int = -1,
    ) -> None:
        """`update`, and under noise also condition on all of the ``rows``, with the members as atoms.

        Without noise, the function that finds the ``rows`` is not called.

        Members that lie anywhere (``anchor`` -1) are the best, or far from each other. Without neighbours that have
        other values, a fit may miss the noise that repeats show, so it is told (`fit_under`). Members around an anchor
        are neighbours, and noise may vanish near the best point.

        Between fits only new observations are added to the rows; ``members`` and ``frame`` are ignored then. Everything
        is rebuilt if a fit is due, the ``anchor`` changes, or many observations are new (`Overlay.stale`).
        """
        n = data.n
        noisy = self.averages(noise)
        self.targets.deviation = noise.deviation if noisy and anchor < 0 else 0.0
        self.targets.uncertain = noise.known > NOISY
        overlay = self._overlay
        if overlay is not None and anchor == overlay.anchor and not (self.fits.due(n) or overlay.stale(data)):
            self.release()
            overlay.add(data, noise.distinct(np.arange(self.updated_at, n)))
            self.updated_at = n
            return
        self._overlay = None
        self.update(data, members, frame, noisy=noisy)
        if not self.averages(noise):
            return
        self.averaged = True
        found = rows()
        if len(found) > len(members):
            self._overlay = Overlay(self.gp, self.transform, data, members, found, anchor, n)

    def update(
        self, data: Data, members: ObservationIndices, frame: Frame | None = None, *, noisy: bool = False
    ) -> None:
        """Condition on ``data.at(members)``; appends if members were only added and no fit is due.

        A fit uses the units of ``frame``; without it, those of the last one given, at first the unit cube. Where values
        are ``noisy``, it is never short.
        """
        self.release()
        old = self.members
        grew = 0 < len(old) <= len(members) and np.array_equal(members[: len(old)], old)
        if self.fits.due(data.n):
            if frame is not None:
                self.gp.center, self.gp.radius = frame
            self._weigh_sources(data.at(members))
            self.targets.fit(self.gp, data.at(members), settled=data.n >= SETTLED and not noisy)
            self._weigh_sources(data.at(members))
            self.fits.done(data.n)
            grew = False
            self.claimed_noise = float(self.gp.covariance.noise_variance)
        targets = self.targets.of(data.at(members))
        if not grew or not self._append(targets, len(old)):
            self._condition(targets)
        self.members = members
        self.updated_at = data.n

    def _weigh_sources(self, data: Data) -> None:
        """Choose the weights of earlier studies, under which hyperparameters are fitted, under the present ones."""
        if self.gp.sources is not None:
            self.gp.weigh(*self.targets.of(data))

    def _condition(self, targets: Data) -> None:
        self.gp.condition(*targets, spare=max(16, targets.n // 4))
        self._conditioned = targets.n

    def _append(self, targets: Data, known: int) -> bool:
        """Add the ``targets`` after the first ``known`` ones; False if the first ones have changed."""
        self.gp.truncate(known)
        if not np.array_equal(self.gp.extra, targets.variance[:known]):
            return False
        if not self.gp.append(*targets.at(slice(known, None))):
            return False
        self.gp.set_values(targets.y)
        return True

    # -- inspection ----------------------------------------------------------------------------------------------

    def shown(self, data: Data) -> Surrogate:
        """The model for inspection: of the values as they are, or with a soft bad tail if that predicts all better.

        A search needs the best values, and may warp or clip the others. An inspection may ask for any value. So the
        mean absolute error of leave-one-out predictions decides here, in the units of the values. Members are weighted
        by their leave-one-out variance (`numbo.models.widening.left_out`).
        """
        members = data.at(self.members)
        outliers = bool((members.y <= OutputTransform.fit(members.y, "winsorize").floor).any())
        if self.targets.kind != "log" and not outliers:
            return self

        twin = copy.deepcopy(self)
        kinds = ["plain", "soft"] if outliers and self.targets.winsorize else ["plain"]
        twin.targets.choose(twin.gp, members, kinds, mean_error(members.y, left_out(self.gp).variance))
        twin.gp.condition(*twin.targets.of(members))
        if (overlay := self._overlay) is not None:
            twin._overlay = Overlay(twin.gp, twin.transform, data, self.members, overlay.rows, overlay.anchor, data.n)
        return twin

    # -- state ---------------------------------------------------------------------------------------------------

    def _rebuild(self, state: Mapping[str, Any], data: History) -> None:
        known = self.of(data, self.updated_at)
        if len(self.members):
            targets = self.targets.of(known.at(self.members))
            first = self._conditioned
            self._condition(targets.at(slice(first)))
            self._append(targets, first)
        self._overlay = None
        if (saved := state["overlay"]) is not None:
            rows, later = np.split(saved["rows"], [saved["first_rows"]])
            built = saved["built"]["at"]
            self._overlay = Overlay(self.gp, self.transform, known, self.members, rows, saved["anchor"], built)
            self._overlay.add(known, later)

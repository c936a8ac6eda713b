"""The choice of the acquisition function of an exact GP, and its maximisation in a box."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from numbo import _elementary
from numbo._settings import GPSettings
from numbo._types import Array, ObservationIndices
from numbo.kernels.acquisition import IMPROVEMENTS, LOG_EI, UCB, Acquisition, Posterior, Term, acquisition_values
from numbo.kernels.covariance import squared_distances
from numbo.kernels.front import Front, front_of
from numbo.models.moments import mean_at, moments
from numbo.models.outputs import Outputs
from numbo.models.surrogate import Surrogate
from numbo.run.resolution import NEWEST, resolution
from numbo.run.situation import Situation
from numbo.search.fewer import fewer_changes
from numbo.search.maximize import Box, maximize
from numbo.search.utility import Utility, if_successful
from numbo.spaces import Corners
from numbo.trials import best_first
from numbo.trials.front import BEYOND, beaten, joined, non_dominated

#: The global model switches its acquisition function after this many suggestions.
PERIOD = 4
STARTS = 3
#: If noise is more than this share of the variance of the values, improvements are too uncertain for EI.
STRONG_NOISE = 0.06
#: With several objectives, the end of a front is looked for if it is expected to move by this share of the front's
#: width: ``benchmarks/results/compare-ends.md``.
WORTH = 1e-2
#: What lies beyond the front if outcomes are so many standard deviations better than expected: models that know some
#: pieces of a front are too certain of what lies between and beyond them: ``benchmarks/results/compare-beyond.md``.
BETTER = 4.0
GAP = 0.1
#: The least width of a front, in standard deviations of the values.
LEAST_WIDTH = 0.1
#: Maximum number f of points that represent a front, by the number of objectives, and around a local model. With two to
#: five objectives there are f + 1, 2 f, about 7 f and 30 f cells. Not tuned.
FRONT_POINTS = {2: 96, 3: 64, 4: 32, 5: 20}
FRONT_AROUND = 48
#: Pending points count as observed if they meet all constraints with more than this log probability.
EVEN_ODDS = math.log(0.5)


class Maximiser:
    """Finds the points that maximise an acquisition function, for the global model and for local ones.

    Args:
        settings: of the algorithm.
        noise_model: the model that decides whether noise is too strong for EI.
    """

    def __init__(self, settings: GPSettings, noise_model: Surrogate) -> None:
        self._settings = settings
        self._noise_model = noise_model

    def exploring(self, run: Situation) -> bool:
        """Whether it is the global model's turn to explore; False unless acquisition functions alternate."""
        alternating = self._settings.acquisition == "alternate"
        return alternating and (run.turn // PERIOD) % 2 == 0 and run.available.fixed is None

    def acquisition(self, run: Situation, outputs: Outputs, *, exploring: bool = False) -> Acquisition:
        """The acquisition function of one objective; if ``exploring``, with ``"alternate"``, UCB instead of log EI.

        Where costs count, it is log EI, as UCB has other units than a logarithm of costs. Turns that explore then take
        standard deviations beta times: the expected improvement of an optimist.

        The incumbent of expected improvement is the best posterior mean at an observed point: the best value without
        the part that the model attributes to noise (Picheny et al. 2013 compare such rules). Pending points count as
        observed with the model's mean (the kriging believer of Ginsbourger et al. 2010). Otherwise all points of a
        batch would go where the model expects an improvement.
        """
        kind = self._settings.acquisition
        surrogate = outputs.first
        if kind == "alternate":
            claimed = self._noise_model.claimed_noise
            noisy = claimed is not None and claimed + run.noise.known > STRONG_NOISE
            exploring |= noisy and self._noise_model.averages(run.noise) and not run.cost_terms()
            kind = "ucb" if exploring and run.available.fixed is None else "log_ei"
        elif run.cost_terms():
            kind = "log_ei"
        success = run.success()
        if kind == "log_ei":
            return Acquisition(LOG_EI, _incumbent(run, outputs), success)
        assert kind == "ucb", kind
        beta = self._settings.beta
        if beta == "log":
            beta = math.sqrt(0.2 * run.space.d * math.log(2.0 * max(run.history.n, 1)))
        if run.cost_terms():
            return Acquisition(LOG_EI, _incumbent(run, outputs), success, width=float(beta))
        return Acquisition(UCB, float(beta), success, float(surrogate.means.min()))

    def best(
        self,
        run: Situation,
        outputs: Outputs,
        groups: Sequence[Array],
        corners: Corners,
        *,
        starts: int = STARTS,
        exploring: bool = False,
        center: int | None = None,
        ends: bool = False,
    ) -> Array | None:
        """The best point (d,) in a box given all pending points, from groups of candidates; ``None`` if none is left.

        Pending points stay hallucinated in the models until their next update.

        Args:
            run: the run of the optimizer.
            outputs: models that are up to date.
            groups, starts: as in `numbo.search.maximize.maximize`.
            corners: (d,) of the box.
            exploring: as in `acquisition`.
            center: the observation around which pending points matter most; by default, the best one. With several
                objectives, the front is represented most densely around it.
            ends: whether an end of the front is to be moved, where it is worth it (`of_end`).
        """
        available = run.available
        surrogate = outputs.first
        with run.times.phase("search"):
            dormant = run.dormant(run.rng)
            alone, crowd = _hallucinated(run, outputs, center)
            if available.repeating and not run.space.continuous.any():  # no other point is near an observed one
                groups = [*groups, _again(run.history.X, surrogate, corners)]
            groups = [available.fix_points(group, dormant) for group in groups]
            if ends:
                utility = self.of_end(run, outputs, np.concatenate(groups))
            elif run.history.several:
                utility = self.improving(run, outputs, center)
            else:
                acquisition = self.acquisition(run, outputs, exploring=exploring)
                if available.fixed is not None and acquisition.kind in IMPROVEMENTS:
                    # the incumbent is the best mean among candidates with the fixed values
                    mean = moments(surrogate.posterior, np.concatenate(groups)).mean
                    acquisition = acquisition._replace(parameter=float(mean.max()))
                utility = self.of_one(run, outputs, acquisition)
            utility = utility._replace(alone=alone[: utility.objectives], crowd=crowd, prior=run.prior())
            box = Box(available, available.fix_corners(corners), dormant)
            fit = partial(run.costs.fit, run.history) if run.costs.limited else None
            taken = self._taken(run, surrogate)
            x = maximize(utility, box, groups, taken, starts=starts, fit=fit)
            if x is None or not starts or run.space.default is None:
                return x
            if utility.front is None and utility.terms[0].acquisition.kind == UCB:
                improvement = Acquisition(LOG_EI, _incumbent(run, outputs), run.success())
                gain = self.of_one(run, outputs, improvement)
                utility = gain._replace(alone=utility.alone, crowd=crowd, prior=utility.prior)
            return fewer_changes(utility, box, x, taken, fit)

    def improving(self, run: Situation, outputs: Outputs, center: int | None = None) -> Utility:
        """The expected hypervolume improvement per cost, times the probability that constraints hold."""
        success = run.success()
        acquisition = Acquisition(LOG_EI, 0.0, success)  # only its probability of success is used
        if not run.history.any_feasible:
            return self.of_one(run, outputs, acquisition)
        terms = [Term(posterior, acquisition) for posterior in outputs.posteriors]
        others = outputs.constraints.padded(*run.cost_terms())
        return Utility((*terms, *others), front=self._front(run, outputs, center))

    def of_end(self, run: Situation, outputs: Outputs, X: Array) -> Utility:
        """The log expected improvement of the best of one objective alone, times the probability that constraints hold.

        The objective is that with the largest one at some of the points ``X (c, d)``, as a share of the front's width.
        If the share is less than `WORTH`, or there is no front, it is the improvement of the volume (`improving`).
        """
        rows = outputs.front_rows(run.history)
        if not len(rows):
            return self.improving(run, outputs)
        known = self._expected(run, outputs, rows)
        gains = []
        for one, best, width in zip(outputs.objectives, known.max(axis=0), np.ptp(known, axis=0), strict=True):
            pending = mean_at(one.posterior, one.pending).max(initial=-np.inf)
            term = Term(one.posterior, Acquisition(LOG_EI, float(max(best, pending)), run.success()))
            utility = Utility(outputs.constraints.weigh(term, feasible=True))
            gain = float(utility.values(X).max()) - math.log(max(float(width), LEAST_WIDTH))
            gains.append((gain, term))
        gain, term = max(gains, key=lambda found: found[0])
        if gain <= math.log(WORTH):
            return self.improving(run, outputs)
        costs = run.cost_terms()
        return Utility(outputs.constraints.weigh(term, *costs, feasible=True))

    def beyond(self, run: Situation, outputs: Outputs, X: Array) -> Array | None:
        """The point (d,) of ``X (c, d)`` that would move the front farthest if it were much better than expected.

        That is, if all objectives were `BETTER` standard deviations better, as a share of the front's width: by how
        much the front has to be moved, in all objectives, to be as good (the additive epsilon indicator of Zitzler et
        al. 2003). It is weighed like an improvement, by the probabilities of constraints and success and by costs. None
        if that share is less than `GAP`, or if all points are taken.
        """
        history = run.history
        with run.times.phase("search"):
            alone, crowd = _hallucinated(run, outputs, None)
            known = joined(self._expected(run, outputs, outputs.front_rows(history)), FRONT_POINTS[history.k])
            found = [moments(one.posterior, X) for one in outputs.objectives]
            better = np.stack([one.mean + BETTER * one.std for one in found], axis=1)
            apart = (better[:, None] - known[None]) / np.maximum(np.ptp(known, axis=0), LEAST_WIDTH)
            gain = apart.max(axis=2).min(axis=1)
            success = run.success()
            values = if_successful(_elementary.log(np.maximum(gain, GAP)), success, X)
            for other in outputs.constraints.padded(*run.cost_terms()):
                values = values + acquisition_values(*other, X)
            terms = tuple(Term(posterior, Acquisition(LOG_EI, 0.0, success)) for posterior in outputs.posteriors)
            order = Utility(terms, alone=alone, crowd=crowd).uncrowded(X, values)
            taken = self._taken(run, outputs.first)
            return next((X[i] for i in order if gain[i] > GAP and not taken(X[i])), None)

    def of_one(self, run: Situation, outputs: Outputs, acquisition: Acquisition) -> Utility:
        """An acquisition function of the first objective, times the probability that constraints hold, per cost."""
        objective = Term(outputs.first.posterior, acquisition)
        costs = run.cost_terms()
        return Utility(outputs.constraints.weigh(objective, *costs, feasible=run.history.any_feasible))

    def _front(self, run: Situation, outputs: Outputs, center: int | None) -> Front:
        """The front to be improved, in the units of the models, including pending points with their expected values.

        The reference point lies below the worst values of its f points, by a tenth of their range plus 1 / f of the
        range of all members: a tenth of the range alone kept searches near the points of a small front, and the worst
        values of all members at the ends of a large one (`benchmarks/results/single-runs.md`).
        """
        history = run.history
        rows = history.front.rows if len(history.front.rows) else np.array([history.best])  # none is final
        noisy = any(noise.found for noise in run.noises)
        if noisy:  # lucky points need not be the best ones
            rows = np.union1d(rows, outputs.first.members)
        rows = outputs.meeting(history, rows)
        points = self._expected(run, outputs, rows)
        around = None if center is None else self._expected(run, outputs, np.array([center]))[0]
        most = FRONT_POINTS[history.k] if center is None else min(FRONT_AROUND, FRONT_POINTS[history.k])
        if noisy:
            points = points[non_dominated(points)]
        points = joined(points, most, around)
        pending = outputs.first.pending
        if len(pending):
            likely = pending[outputs.constraints.log_probability(pending) > EVEN_ODDS]
            means = np.stack([moments(one.posterior, likely).mean for one in outputs.objectives], axis=1)
            points = np.concatenate([points, joined(means[~beaten(means, points)], most, around)])
        points = points[non_dominated(points)]
        low = points.min(axis=0)
        high = points.max(axis=0)
        everything = self._expected(run, outputs, outputs.first.members)
        return front_of(points, low - BEYOND * (high - low) - np.ptp(everything, axis=0) / len(points))

    def _expected(self, run: Situation, outputs: Outputs, rows: ObservationIndices) -> Array:
        """The outputs (m, k) at some observations in the units of the models: means if values are noisy."""
        history = run.history
        columns = []
        for j, (one, noise) in enumerate(zip(outputs.objectives, run.noises, strict=True)):
            if noise.found:
                columns.append(moments(one.posterior, history.X[rows]).mean)
            else:
                columns.append(one.transform.forward(history.values(output=j)[rows]))
        return np.stack(columns, axis=1)

    def _taken(self, run: Situation, surrogate: Surrogate) -> Callable[[Array], bool]:
        """Which points must not be proposed: points that are not available, or most likely tie with a known one.

        Ties are not avoided if values are fixed, as no other points may be left.
        """
        available = run.available
        covariance = surrogate.gp.covariance
        apart = self._settings.avoid_ties and available.fixed is None and not run.history.several
        radius = resolution(run.history, run.noise, covariance) if apart else 0.0
        if radius == 0.0:
            return available.taken
        X = run.history.X[-NEWEST:]
        return lambda x: bool((squared_distances(covariance, X, x, radius) <= radius).any()) or available.taken(x)


def _hallucinated(run: Situation, outputs: Outputs, center: int | None) -> tuple[tuple[Posterior, ...], Array | None]:
    """The posteriors of the objectives before the pending points are added to the models, and those that are not.

    Nothing if nothing is pending. The points are those around observation ``center``, by default the best one.
    """
    if not run.history.pending:
        return (), None
    alone = outputs.posteriors
    surrogate = outputs.first
    around = surrogate.rows[np.argmax(surrogate.means)] if center is None else center
    return alone, outputs.hallucinate(run.history, run.history.X[around])


def _incumbent(run: Situation, outputs: Outputs) -> float:
    """The incumbent of expected improvement: the best mean at points that meet all constraints."""
    history = run.history
    surrogate = outputs.first
    constraints = outputs.constraints
    if not history.constrained or not history.any_feasible:
        return surrogate.best_mean
    means = surrogate.means[constraints.met(history, surrogate.rows)]
    if not len(means):
        return float(surrogate.transform.forward(history.values()[history.best : history.best + 1])[0])
    pending = surrogate.pending
    likely = pending[constraints.log_probability(pending) > EVEN_ODDS]
    return float(max(means.max(), mean_at(surrogate.posterior, likely).max(initial=-np.inf)))


def _again(X: Array, surrogate: Surrogate, corners: Corners) -> Array:
    """The best observed points (s, d) of ``X (n, d)`` by the model, in a box, as candidates for repeats."""
    best = X[surrogate.rows[best_first(surrogate.means)[:STARTS]]]
    return best[corners.hold(best)]

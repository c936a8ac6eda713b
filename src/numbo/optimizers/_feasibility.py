"""What failures say: whether they depend on the parameters, and how probable a success is where.

A trial may fail for reasons of its own (memory, preemption, a lost worker), or because of its parameters. The second
kind is a region to avoid, the first kind is nothing but a lost trial; which it is, the data say. Successes and failures
are labels 1 and 0 of a Gaussian process regression (Rasmussen & Williams 2006, section 6.5, "least-squares
classification"). When a label was told is one of its inputs: causes come and go, and what failed long ago may work now.
Its leave-one-out predictions are compared with those of the plain rate of successes, and the probability of success is
the mean of both models, weighted by the evidence:

    p(x) = w p_gp(x, now) + (1 - w) rate        w = 1 / (1 + exp(DOUBT - gain))

where ``gain`` is by how much the log density of the labels is larger under the GP. A success at the place of a failure
supersedes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.kernels.acquisition import CERTAIN, Success
from numbo.kernels.covariance import squared_distances
from numbo.kernels.selection import kmeans_plus_plus
from numbo.models.priors import LABELS
from numbo.optimizers._history import History
from numbo.optimizers._surrogate import Surrogate

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Number of trials in one unit of time, the last input of the GP.
TRIALS = 50.0
#: Failures at random that are more frequent than this are implausible: prior odds fall with this power of the share of
#: successes.
OFTEN, IMPLAUSIBLE = 0.55, 8.0
#: In the comparison no prediction of a label is surer than this.
SURE = 0.05
#: Where failures do depend on the parameters, and the probability of success is below this share of what successes have
#: (their 90 % quantile), nothing is tried for the sake of an improvement.
SHARE, QUANTILE = 0.85, 0.9
#: In nats: what a dependence on the parameters has to explain better before it is believed.
DOUBT = 3.0
#: Most labels that are chosen for the model: half of them nearest to the best point, the others spread out.
SIZE = 192
#: Labels that join until they are chosen again.
JOINING = 64
#: Below this weight the probability of success counts as the same everywhere.
NEGLIGIBLE = 1e-2
#: A point is given up as soon as so many failures in a row are less probable than this if they are random.
UNLIKELY = 0.05


class Feasibility:
    """The probability of success.

    Args:
        categorical: (d,) which dimensions compare by equality.
        learn: ``"auto"`` to let the data decide, True if failures do depend on the parameters, False if nothing is
            learned from them.

    Attributes:
        trust: w, the weight of the model in which failures depend on the parameters.
    """

    def __init__(self, categorical: NDArray[np.bool_], learn: bool | str) -> None:
        self.learn = learn
        self.trust = 0.0
        self._rate = 1.0
        self._surrogate = Surrogate(
            np.append(categorical, False), kernel="matern52", trend=False, additive=False, winsorize=False, prior=LABELS
        )

    def update(self, history: History) -> Success:
        """Take in what was told; returns the probability of success for the acquisition functions."""
        if self.learn is False or history.told == history.n:
            return CERTAIN
        surrogate = self._surrogate
        if history.told != surrogate.updated_at:
            X, live, labels = self._labels(history)
            failures = int(np.sum(labels[live] == 0.0))
            self._rate = 1.0 - failures / len(live)
            if failures == 0 or failures == len(live):
                self.trust = 0.0
                return CERTAIN
            surrogate.update(X, labels, self._members(X, live, history))
            self.trust = self._weigh(labels[surrogate.members])
        return self._success() if self.trust > NEGLIGIBLE else CERTAIN

    def _labels(self, history: History) -> tuple[Array, Indices, Array]:
        """All points told, with when, (told, d + 1), which of them count, and the labels (told,)."""
        X, y = history.in_order()
        failed = np.isnan(y)
        X = np.column_stack([X, np.arange(len(X)) / TRIALS])
        return X, np.flatnonzero(~history.superseded()), np.where(failed, 0.0, 1.0)

    def _members(self, X: Array, live: Indices, history: History) -> Indices:
        """Which of the ``live`` points the model takes: chosen by where they are, never by how they ended."""
        if len(live) <= SIZE:
            return live
        surrogate, old = self._surrogate, self._surrogate.members
        grown = np.concatenate([old, live[live >= surrogate.updated_at]])
        if len(old) and len(grown) <= SIZE + JOINING and np.isin(old, live).all() and not surrogate.refit_due(len(X)):
            return grown
        covariance = surrogate.gp.covariance
        here = np.append(history.X[history.best], len(X) / TRIALS)
        distances = squared_distances(covariance, X[live], here)
        near = np.argsort(distances, kind="stable")[: SIZE // 2]
        draws = np.random.default_rng(len(X)).random(SIZE)
        chosen = kmeans_plus_plus(covariance, np.ascontiguousarray(X[live].T), SIZE, near, draws)
        return np.sort(live[chosen])

    def _weigh(self, labels: Array) -> float:
        """w, from leave-one-out predictions of the labels (m,) of the members, by both models."""
        if self.learn is True:
            return 1.0
        surrogate, ones = self._surrogate, float(labels.sum())
        residual, _ = surrogate.gp.leave_one_out()
        transform = surrogate.transform
        predicted = (transform.forward(labels) - residual) * transform.scale + transform.location
        rate = (ones - labels + 1.0) / (len(labels) + 1.0)
        found, plain = (np.clip(p, SURE, 1.0 - SURE) for p in (predicted, rate))
        gain = float(np.sum(np.where(labels > 0.0, np.log(found / plain), np.log((1.0 - found) / (1.0 - plain)))))
        works = max(ones, 1.0) / len(labels)
        gain += IMPLAUSIBLE * max(0.0, math.log((1.0 - OFTEN) / works))
        return 1.0 / (1.0 + math.exp(min(DOUBT - gain, 700.0)))

    def _success(self) -> Success:
        gp, transform = self._surrogate.gp, self._surrogate.transform
        offset = self.trust * transform.location + (1.0 - self.trust) * self._rate
        slope = self.trust * transform.scale
        succeeded = gp.values > 0.0  # above the mean label
        usual = float(np.quantile(np.minimum(offset + slope * gp.fitted_means[succeeded], 1.0), QUANTILE))
        covariance, ago = gp.covariance, self._surrogate.updated_at / TRIALS - gp.posterior.XT[-1, : gp.n]
        elsewhere = covariance.inverse_squared_lengthscales[-1] * ago**2
        threshold = SHARE * usual if self.trust >= 0.5 else 0.0
        return Success(gp.posterior, offset, slope, threshold, elsewhere)

    @property
    def patience(self) -> int:
        """How many failures in a row a point is allowed, if it never succeeded."""
        if self.learn != "auto" or self.trust >= 0.5:
            return 1
        return max(1, math.floor(math.log(UNLIKELY) / math.log(1.0 - self._rate)) + 1) if 0.0 < self._rate < 1.0 else 1

    def state_dict(self) -> dict[str, Any]:
        return {"trust": self.trust, "rate": self._rate, "surrogate": self._surrogate.state_dict()}

    def restore(self, state: dict[str, Any], history: History) -> None:
        """Take in a `state_dict`; ``history`` knows at least what was known then."""
        self.trust, self._rate = state["trust"], state["rate"]
        X, _, labels = self._labels(history)
        self._surrogate.restore(state["surrogate"], X, labels)

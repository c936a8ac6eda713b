"""Learning from failures: whether they depend on the parameters, and how probable a success is at each point.

A trial may fail by accident (memory, preemption, a lost worker) or because of its parameters. An accident only costs
one trial; failures that depend on the parameters mark a region to avoid. The data decide which it is: successes and
failures are labels 1 and 0 of a Gaussian process regression (Rasmussen & Williams 2006, section 6.5, "least-squares
classification"). The time of a label is one of the inputs: causes come and go, and a point that failed long ago may
work now. Leave-one-out predictions are compared with those of the overall success rate. The probability of success is
the mean of both models, weighted by the evidence:

    p(x) = w p_gp(x, now) + (1 - w) rate        w = 1 / (1 + exp(DOUBT - gain))

where ``gain`` is the GP's advantage in the log probability of the labels, plus log prior odds if failures are frequent.
A success at the point of a failure supersedes the failure. Failures that are due to a value exactly on its bound
(`numbo.models.bounds`) are not used for the points beside it.
"""

from __future__ import annotations

import math

import numpy as np

from numbo import _elementary
from numbo._plain import Kept
from numbo._types import Array, Mask
from numbo.kernels.acquisition import CERTAIN, Success
from numbo.models.bounds import failing_bounds
from numbo.models.priors import LABELS
from numbo.models.spread import members_of
from numbo.models.surrogate import Surrogate
from numbo.trials import Data
from numbo.trials.history import History

#: Number of trials in one unit of time, the last input of the GP.
TRIALS = 50.0
#: Random failures more frequent than `OFTEN` are implausible: their prior odds fall with the success rate to the power
#: `IMPLAUSIBLE`.
OFTEN = 0.55
IMPLAUSIBLE = 8.0
#: Predicted probabilities of labels are clipped to [SURE, 1 - SURE] for the comparison.
SURE = 0.05
#: If failures depend on the parameters, points whose probability of success is below this share of the 90 % quantile
#: among successes are not tried, whatever their improvement.
SHARE = 0.85
QUANTILE = 0.9
#: Gain in nats above which a dependence on the parameters is more probable than chance.
DOUBT = 3.0
#: Maximum number of labels for the model: half are the nearest to the best point, the others are spread out.
SIZE = 192
#: Maximum number of labels that are added before the labels are chosen again.
JOINING = 64
#: Below this weight the probability of success is assumed to be constant.
NEGLIGIBLE = 1e-2
#: A point is given up once its number of successive failures is less probable than this under random failures.
UNLIKELY = 0.05


class Feasibility(Kept):
    """The probability of success.

    Args:
        categorical: (d,) which dimensions are compared by equality.
        optional: (d,) which dimensions may be inactive.
        learn: ``"auto"`` to let the data decide, True if failures depend on the parameters, False to learn nothing from
            failures.
        continuous: (d,) which dimensions have bounds that points may lie on; None for none.

    Attributes:
        closed: (2, d) lower and upper bounds on which points fail although points next to them succeed.
        trust: w, the weight of the model in which failures depend on the parameters.
    """

    _kept = ("closed", "trust", "_rate", "_surrogate")

    def __init__(
        self,
        categorical: Mask,
        learn: bool | str,
        optional: Mask | None = None,
        continuous: Mask | None = None,
    ) -> None:
        self.learn = learn
        self._continuous = np.zeros(len(categorical), dtype=bool) if continuous is None else continuous
        self.closed = np.zeros((2, len(categorical)), dtype=bool)
        self.trust = 0.0
        self._rate = 1.0
        self._surrogate = Surrogate(
            np.append(categorical, False),
            None if optional is None else np.append(optional, False),
            kernel="matern52",
            trend=False,
            additive=False,
            winsorize=False,
            prior=LABELS,
            of=labels_of,
        )

    def update(self, history: History) -> Success:
        """Learn from the history; returns the probability of success for the acquisition functions."""
        if self.learn is False or history.told == history.n:
            return CERTAIN
        surrogate = self._surrogate
        if history.told != surrogate.updated_at:
            labels = labels_of(history, history.told)
            self.closed, explained = failing_bounds(history.trials.X, history.trials.failed, self._continuous)
            live = np.flatnonzero(~(history.visits.superseded(history.told) | explained))
            failures = int(np.sum(labels.y[live] == 0.0))
            self._rate = 1.0 - failures / len(live)
            if failures == 0 or failures == len(live):
                self.trust = 0.0
                return CERTAIN
            n = labels.n
            here = np.append(history.X[history.best], n / TRIALS)
            # chosen by their location, never by their label
            members = members_of(surrogate, labels.X, live, here, SIZE, JOINING, n, anew=surrogate.fits.due(n))
            surrogate.update(labels, members)
            seen = labels.y[surrogate.members]
            # late in a run all points near the best one may have succeeded, so that no member failed
            self.trust = self._weigh(seen) if seen.min() < seen.max() else 0.0
        return self._success() if self.trust > NEGLIGIBLE else CERTAIN

    def _weigh(self, labels: Array) -> float:
        """w, from both models' leave-one-out predictions of the labels (m,) of the members."""
        if self.learn is True:
            return 1.0
        surrogate = self._surrogate
        ones = float(labels.sum())
        residual = surrogate.gp.leave_one_out().residual
        transform = surrogate.transform
        predicted = (transform.forward(labels) - residual) * transform.scale + transform.location
        rate = (ones - labels + 1.0) / (len(labels) + 1.0)
        found = np.clip(predicted, SURE, 1.0 - SURE)
        plain = np.clip(rate, SURE, 1.0 - SURE)
        working = _elementary.log(found / plain)
        failing = _elementary.log((1.0 - found) / (1.0 - plain))
        gain = float(np.sum(np.where(labels > 0.0, working, failing)))
        works = max(ones, 1.0) / len(labels)
        gain += IMPLAUSIBLE * max(0.0, math.log((1.0 - OFTEN) / works))
        return 1.0 / (1.0 + math.exp(min(DOUBT - gain, 700.0)))

    def _success(self) -> Success:
        gp = self._surrogate.gp
        transform = self._surrogate.transform
        offset = self.trust * transform.location + (1.0 - self.trust) * self._rate
        slope = self.trust * transform.scale
        succeeded = gp.values > 0.0  # above the mean label
        usual = float(np.quantile(np.minimum(offset + slope * gp.fitted_means[succeeded], 1.0), QUANTILE))
        covariance = gp.covariance
        n = gp.n
        w = covariance.inverse_squared_lengthscales
        XT = gp.posterior.XT[:, :n].copy()
        alpha = gp.posterior.alpha[:n]
        elsewhere = w[-1] * (self._surrogate.updated_at / TRIALS - XT[-1]) ** 2
        threshold = SHARE * usual if self.trust >= 0.5 else 0.0
        return Success(
            covariance.family,
            w,
            covariance.signal_variance,
            covariance.categorical,
            covariance.optional,
            XT,
            alpha.copy(),
            elsewhere,
            offset,
            slope,
            threshold,
        )

    @property
    def patience(self) -> int:
        """Number of failures after which a point that never succeeded is given up."""
        if self.learn != "auto" or self.trust >= 0.5:
            return 1
        return max(1, math.floor(math.log(UNLIKELY) / math.log(1.0 - self._rate)) + 1) if 0.0 < self._rate < 1.0 else 1


def labels_of(history: History, n: int) -> Data:
    """The labels of the first ``n`` trials, 1 for a success and 0 for a failure; points have their time, too."""
    timed = np.column_stack([history.trials.X[:n], np.arange(n) / TRIALS])
    return Data.of(timed, np.where(history.trials.failed[:n], 0.0, 1.0))

"""What earlier studies predict: a GP on each, whose means are basis functions of a new one (`numbo.kernels.basis`).

A study's values are replaced by the normal scores of their ranks, so that studies of any scale are comparable. A GP is
fitted once to some of its trials: the best, and others spread over its space. A parameter that the study lacks has no
influence on its predictions.

    f(x) = sum_m w_m phi_m(x) + g(x)      w_m ~ N(rho / M, v / M)

The weights, their uncertainty, and studies that mislead are Gaussian algebra: a study that does not help gets a weight
near 0, and one that is upside down a negative one. rho and v are chosen by the marginal likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from numbo._types import Array, Mask
from numbo.kernels.basis import Basis, features
from numbo.kernels.covariance import MATERN52
from numbo.spaces import Domain

#: Values of rho and of v among which the marginal likelihood chooses, with log-normal priors around 1 and .5. Without
#: these, or with the choice of no influence at all, tables of networks were worse after one to ten trials; with fixed
#: values, after twenty.
RHO = (0.5, 1.0, 2.0)
V = (0.1, 0.3, 1.0, 3.0)
RHO_SD, V_MEDIAN, V_SD = 0.35, 0.5, 0.5


class Weights(NamedTuple):
    """The prior of the weights of M studies.

    Attributes:
        mean, variance: of each weight.
        shifts: (M,) means of the studies' predictions at the observations, which are subtracted.
        log_prior: of rho and v.
    """

    mean: float
    variance: float
    shifts: Array
    log_prior: float = 0.0

    @property
    def silent(self) -> bool:
        """Whether the studies have no influence."""
        return self.mean == 0.0 and self.variance == 0.0


SILENT = Weights(0.0, 0.0, np.empty(0))


class Source(NamedTuple):
    """The posterior mean of a GP on one study.

    Attributes:
        name: of the study.
        X, alpha: (n, d) its points, and the weights (n,) of their covariances.
        weights: (d,) inverse squared lengthscales, 0 for parameters that the study lacks.
        signal_variance: of the covariance, which has the stationary term only.
        best: (b, d) its best points, in the coordinates of the new space, NaN where it lacks a parameter.
    """

    name: str
    X: Array
    alpha: Array
    weights: Array
    signal_variance: float
    best: Array


class Sources:
    """The posterior means of earlier studies, for one objective: of those that can be used, at least one."""

    def __init__(self, space: Domain, sources: Sequence[Source]) -> None:
        self.names = tuple(source.name for source in sources)
        self.best = [source.best for source in sources]
        M = len(sources)
        d = space.d
        most = max(len(source.X) for source in sources)
        X = np.zeros((M, most, d))
        alpha = np.zeros((M, most))
        for m, source in enumerate(sources):
            X[m, : len(source.X)] = source.X
            alpha[m, : len(source.X)] = source.alpha
        self._raw = Basis(
            weight=0.0,
            shifts=np.zeros(M),
            counts=np.array([len(source.X) for source in sources]),
            X=X,
            XT=np.ascontiguousarray(X.transpose(0, 2, 1)),
            alpha=alpha,
            family=MATERN52,
            categorical=space.categorical,
            optional=space.conditional,
            inverse_squared_lengthscales=np.array([source.weights for source in sources]),
            signal_variances=np.array([source.signal_variance for source in sources]),
        )
        self._known: dict[bytes, Array] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Sources:
        return self  # nothing changes but what is remembered

    @property
    def known(self) -> Mask:
        """Which parameters (d,) at least one study has."""
        out: Mask = np.any(self._raw.inverse_squared_lengthscales > 0.0, axis=0)
        return out

    def __len__(self) -> int:
        return len(self.names)

    def predicted(self, X: Array) -> Array:
        """The predictions (n, M) of the studies at ``X (n, d)``, in normal scores."""
        out: Array = features(self._raw, np.ascontiguousarray(X))
        return out

    def features(self, X: Array) -> Array:
        """As `predicted`, for observations: remembered."""
        keys = [x.tobytes() for x in X]
        if new := [i for i, key in enumerate(keys) if key not in self._known]:
            found = self.predicted(X[new])
            self._known |= {keys[i]: row for i, row in zip(new, found, strict=True)}
        return np.array([self._known[key] for key in keys]).reshape(len(X), len(self))

    def shifted(self, X: Array, weights: Weights) -> Array:
        """The basis functions (n, M) at observations ``X (n, d)``."""
        return self.features(X) - weights.shifts

    def basis(self, weights: Weights) -> Basis:
        """The studies with these weights, in the form that kernels take."""
        return self._raw._replace(weight=weights.mean, shifts=weights.shifts)

    def proposals(self, X: Array) -> list[Weights]:
        """The weights to choose from, given observations at ``X (n, d)``."""
        M = len(self)
        shifts = self.features(X).mean(axis=0)
        found = []
        for rho in RHO:
            for v in V:
                log_prior = -0.5 * (math.log(rho) / RHO_SD) ** 2 - 0.5 * (math.log(v / V_MEDIAN) / V_SD) ** 2
                found.append(Weights(rho / M, v / M, shifts, log_prior))
        return found

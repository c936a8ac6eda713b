"""GPs on earlier studies, and the first points by what they predict (`numbo.models.earlier`)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from numbo._rows import smallest
from numbo._types import Array, Indices
from numbo.models.earlier import Source, Sources
from numbo.models.gp import ExactGP
from numbo.spaces import INACTIVE, Corners, Domain, named_space
from numbo.spaces.placing import OTHER, placed
from numbo.trials.earlier import EarlierStudy
from numbo.trials.goal import Goal

#: Points of all studies together, and the least and the largest number of points of one. Prediction takes as long as
#: their number.
TOTAL = 1280
FEWEST, MOST = 24, 128
#: Share of a study's points that are its best trials; the others are spread.
BEST = 0.4
#: A study of fewer successful trials is not used.
LEAST_TRIALS = 4
#: Nor is one of n trials and d parameters of which less than 1.6 / sqrt(n) + d / 2n of the variance is predicted, each
#: value from the others, and at most .8; with fewer trials than so many, that cannot be told
#: (`benchmarks/results/compare-earlier.md`).
BY_CHANCE, BY_PARAMETERS, ENOUGH, TELLING = 1.6, 0.5, 0.8, 12
#: A parameter counts as known in a study if it is in at least this share of as many of its trials as any parameter is.
KNOWN = 0.5
#: Number of points that find out the share of the space that a trial stands for, its least share as a part of an equal
#: one, and number of cells that categories are told apart by.
SPREAD, LEAST_SHARE, CELLS = 4096, 0.1, 32
#: The largest variance of a value, in normal scores; and so many of a study's best points are candidates of the first.
LARGEST_VARIANCE = 1e6
CANDIDATES = 4
#: Maximum number of iterations of a fit.
ITERATIONS = 30


class _Trials(NamedTuple):
    """The trials of a study that have all of the parameters that it has.

    Attributes:
        name: of the study.
        X: (n, d) coordinates, NaN for the parameters that it lacks.
        outputs: (n, k), larger ones better; NaN for failures.
        std: (n,) standard deviations of their errors.
    """

    name: str
    X: Array
    outputs: Array
    std: Array


def sources_of(space: Domain, goal: Goal, studies: Sequence[EarlierStudy]) -> tuple[Sources, ...]:
    """For each objective, the `Sources` of those ``studies`` that can be used; empty if none can.

    Warns:
        UserWarning: of each study that cannot be used, with its name.
    """
    usable: list[_Trials] = []
    for study in studies:
        try:
            outputs = study.outputs(goal)
            X = _coordinates(space, study)
            whole = ~np.isnan(X[:, ~np.isnan(X).all(axis=0)]).any(axis=1)
            succeeded = outputs[whole & ~np.isnan(outputs).any(axis=1)]
            if len(succeeded) < LEAST_TRIALS:
                few = f"it has {len(succeeded)} successful trials, and at least {LEAST_TRIALS} are needed."
                raise ValueError(few)
            if (np.ptp(succeeded, axis=0) == 0.0).all():
                raise ValueError("all of its values are equal.")
        except ValueError as error:
            _warn(str(study.name), str(error))
        else:
            std = np.zeros(len(X)) if study.std is None else np.array(study.std)
            usable.append(_Trials(str(study.name), X[whole], outputs[whole], std[whole]))
    most = min(max(TOTAL // max(len(usable), 1), FEWEST), MOST)
    telling = []
    for trials in usable:
        fits = [_fitted(space, trials, y, most) for y in trials.outputs.T]
        if any(tells for _, tells in fits):
            telling.append([source for source, _ in fits])
        else:
            _warn(trials.name, "its values have no order: none can be predicted from the others.")
    return tuple(Sources(space, of_output) for of_output in zip(*telling, strict=True))


def _warn(name: str, reason: str) -> None:
    warnings.warn(f"The earlier study {name!r} is not used: {reason}", stacklevel=3)


def _coordinates(space: Domain, study: EarlierStudy) -> Array:
    """The coordinates (n, d) of the trials of a study; NaN for parameters that it lacks.

    Raises:
        ValueError: if it has no parameter of the space.
    """
    X = placed(space, study.points)
    lacking = np.isnan(X)
    asleep = lacking & space.conditional
    shares = (~lacking | asleep).sum(axis=0)
    known = (shares > 0) & (shares >= KNOWN * shares.max(initial=0))
    if not (known & ~lacking.all(axis=0)).any():
        raise ValueError(f"none of its trials has a parameter of the new one, {space.names}.")
    X[asleep] = INACTIVE
    X[:, ~known] = np.nan
    return X


def _fitted(space: Domain, trials: _Trials, y: Array, most: int) -> tuple[Source, bool]:
    """A GP on at most ``most`` trials of a study, with outputs ``y (n,)``; and whether these predict each other.

    If they do not, failures may have come by accident: then a GP on the others decides.
    """
    source, tells = _fitted_to(space, trials, y, most)
    if tells or not np.isnan(y).any():
        return source, tells
    rows = ~np.isnan(y)
    some = trials._replace(X=trials.X[rows], outputs=trials.outputs[rows], std=trials.std[rows])
    return _fitted_to(space, some, y[rows], most)


def _fitted_to(space: Domain, trials: _Trials, y: Array, most: int) -> tuple[Source, bool]:
    """As `_fitted`, with failures as the worst values."""
    X = trials.X
    known = ~np.isnan(X).all(axis=0)
    scores = normal_scores(y, _shares(space, X))
    extra = _variances(trials.std, y)
    rows = _chosen(X, y, most)
    own = X[rows]
    box = _box(space, X)
    scales = (box.upper - box.lower)[known]  # in the new units, a smooth function over ten times the range looks rough
    gp = ExactGP(space.categorical[known], space.conditional[known], trend=False)
    Z = np.where((own == INACTIVE) & space.conditional, own, own / (box.upper - box.lower))[:, known]
    gp.fit(Z, scores[rows], extra[rows], iterations=ITERATIONS)
    gp.condition(Z, scores[rows], extra[rows])
    cov = gp.covariance
    weights = np.zeros(space.d)
    weights[known] = cov.inverse_squared_lengthscales / scales**2
    source = Source(
        name=trials.name,
        X=np.where(np.isnan(own), 0.5, own),
        alpha=gp.posterior.alpha[: gp.n].copy(),
        weights=weights,
        signal_variance=cov.signal_variance,
        best=X[smallest(-np.nan_to_num(y, nan=-np.inf), CANDIDATES)],
    )
    n = len(rows)
    least = min(BY_CHANCE / math.sqrt(n) + BY_PARAMETERS * int(known.sum()) / n, ENOUGH)
    return source, n < TELLING or _predicted(gp, scores[rows]) >= least


def _box(space: Domain, X: Array) -> Corners:
    """The smallest box with the new space and the study's trials ``X (n, d)``."""
    own = np.where(np.isnan(X) | ((X == INACTIVE) & space.conditional) | space.categorical, 0.5, X)
    return Corners(np.minimum(own.min(axis=0), 0.0), np.maximum(own.max(axis=0), 1.0))


def _predicted(gp: ExactGP, y: Array) -> float:
    """The share of the variance of ``y (n,)`` that is predicted, each value from the others: at most 1."""
    n = len(y)
    alone = (y - y.mean()) * n / (n - 1)
    left = float(np.sum(alone**2))
    return 1.0 - float(np.sum(gp.leave_one_out().residual ** 2)) / left if left > 0.0 else 0.0


def _variances(std: Array, y: Array) -> Array:
    """The variances (n,) of normal scores of values ``y (n,)`` with standard deviations ``std (n,)``."""
    finite = y[np.isfinite(y)]
    if not std.any() or not len(finite):
        return np.zeros(len(y))
    with np.errstate(over="ignore"):  # values may be of any size
        spread = float(np.std(finite))
        return np.minimum((std / spread) ** 2, LARGEST_VARIANCE) if 0.0 < spread < np.inf else np.zeros(len(y))


def normal_scores(y: Array, shares: Array | None = None) -> Array:
    """The quantiles (n,) of a normal distribution at the ranks of ``y (n,)``; ties share a rank, and NaN is worst.

    ``shares (n,)`` are those of the space that each value stands for, equal by default.
    """
    from scipy.special import ndtri

    values = np.where(np.isnan(y), -np.inf, y)
    kinds, kind = np.unique(values, return_inverse=True)
    shares = np.full(len(y), 1.0 / len(y)) if shares is None else shares
    of_kind = np.bincount(kind, shares, len(kinds))
    least = 0.5 / len(y)
    out: Array = ndtri(np.clip(np.cumsum(of_kind) - 0.5 * of_kind, least, 1.0 - least)[kind])
    return out


def _shares(space: Domain, X: Array) -> Array:
    """The share (n,) of the space in which each of the trials ``X (n, d)`` is the nearest one, but at least a little.

    The space is that of the study and the new one.

    A search looks most where values are best. By their ranks among its trials, small differences there would seem as
    large as those between good and bad.
    """
    from scipy.spatial import cKDTree
    from scipy.stats import qmc

    if space.explicit:
        arms = space.grid()
        Z = arms[np.linspace(0, len(arms) - 1, min(SPREAD, len(arms))).round().astype(np.int64)]
    else:
        own = _box(space, X)
        Z = space.snap(qmc.Sobol(space.d, scramble=True, rng=0).random(SPREAD))
        Z = np.where((Z == INACTIVE) & space.conditional, Z, own.lower + Z * (own.upper - own.lower))
    _, nearest = cKDTree(_embedded(space, X)).query(_embedded(space, Z), eps=0.5)
    counts = np.bincount(nearest, minlength=len(X)) + LEAST_SHARE * SPREAD / len(X)
    out: Array = counts / counts.sum()
    return out


def _embedded(space: Domain, X: Array) -> Array:
    """Points ``X (n, d)`` as numbers, at distance 1 where categories differ, and apart where only one is active."""
    columns = []
    for j in range(space.d):
        x = X[:, j]
        if space.categorical[j]:
            cell = np.clip(np.floor(x * CELLS), -1, CELLS)  # a few of the categories may share one
            columns += [math.sqrt(0.5) * (cell == k) for k in range(CELLS)]
        else:
            columns.append(np.where(np.isnan(x) | ((x == INACTIVE) & space.conditional[j]), 0.5, x))
            if space.conditional[j]:
                columns.append(0.5 * (x == INACTIVE))
    return np.column_stack(columns).astype(np.float64)


def _chosen(X: Array, y: Array, most: int) -> Indices:
    """Rows of at most ``most`` different points: the best by ``y (n,)``, and others, evenly over the ranks."""
    order = np.argsort(-np.nan_to_num(y, nan=-np.inf), kind="stable")
    _, first = np.unique(X[order], axis=0, return_index=True)
    order = order[np.sort(first)]
    if len(order) <= most:
        return np.asarray(order)
    best = int(BEST * most)
    even = np.linspace(best, len(order) - 1, most - best).round().astype(np.int64)
    return np.concatenate([order[:best], order[even]])


def opening(space: Domain, sources: Sequence[Sources], candidates: Array, count: int) -> Array:
    """The first ``count`` points or fewer (q, d): what the studies expect to be best, and then what some of them do.

    The next point is the one that raises most the mean over the studies of the best prediction at the points so far;
    of several objectives, of the sum of predictions. Parameters that no study knows have their usual values. The best
    of each study are candidates, beside the ``candidates (c, d)``.
    """
    best = [X for one in sources for X in one.best]
    some = np.concatenate(best)
    some = np.where(np.isnan(some) | (some == OTHER), 0.5, some)
    points = np.concatenate([candidates, space.snap(np.where(some == INACTIVE, some, np.clip(some, 0.0, 1.0)))])
    if (named := named_space(space)) is not None:
        unknown = ~np.any([one.known for one in sources], axis=0) & ~space.conditional
        points = space.snap(np.where(unknown, named.usual, points))
    predicted = np.sum([one.predicted(points) for one in sources], axis=0)
    chosen: list[int] = []
    known = np.full(predicted.shape[1], -np.inf)
    for _ in range(min(count, len(points))):
        gains = np.maximum(predicted, known).mean(axis=1)
        if chosen and gains.max() <= known.mean() + 1e-9:
            break
        chosen.append(int(np.argmax(gains)))
        known = np.maximum(known, predicted[chosen[-1]])
    return points[chosen]

"""The best point if parameters can only be met so well: by the mean of a model over the errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Indices
from numbo.inspection.beyond import recommendable
from numbo.models.moments import Prediction
from numbo.models.view import ModelView
from numbo.run.situation import Situation
from numbo.spaces import INACTIVE, Categorical, Space
from numbo.trials import best_first

#: Number of errors over which a mean is taken.
ERRORS = 32
#: Number of the best points around which others are looked for, in so many rounds, each in steps smaller by a factor.
AROUND = 8
ROUNDS = 4
SHRINKING = 0.5


def widths(space: Space | None, tolerance: Any) -> dict[str, float]:
    """The ``tolerance`` of parameters by name, each a number of at least 0 in their units.

    Raises:
        ValueError: if it is no such mapping, or names an unknown parameter or one that is no number.
    """
    if not isinstance(tolerance, Mapping) or space is None:
        raise ValueError(f'tolerance must be a mapping of parameters such as {{"x": 0.05}}, got {tolerance!r}.')
    for name in tolerance:
        if name not in space.names or isinstance(space[name], Categorical):
            raise ValueError(f"tolerance must name parameters of the space that are numbers, got {name!r}.")
    return {name: _checks.number(f"tolerance[{name!r}]", value, 0.0) for name, value in tolerance.items()}


def over_errors(space: Space, view: ModelView, X: Array, wide: Mapping[str, float]) -> Prediction:
    """The mean (n,) of the objective over uniform errors at ``X (n, d)``, and of its standard deviation (n,).

    Errors are up to so ``wide`` to either side. Values beyond the range of a parameter are moved to its end.
    """
    from scipy.stats import qmc

    if not wide:
        return view.mean_sd(X)
    shares = 2.0 * qmc.Sobol(len(wide), scramble=True, rng=0).random(ERRORS) - 1.0
    missed = np.repeat(X[:, None], ERRORS, axis=1)
    for k, (name, width) in enumerate(wide.items()):
        part: Any = space[name]
        j = space.names.index(name)
        for i in np.flatnonzero(X[:, j] != INACTIVE):
            value = part.from_unit(float(X[i, j]))
            values = np.clip(value + width * shares[:, k], part.low, part.high)
            missed[i, :, j] = [part.to_unit(float(v)) for v in values]
    found = view.mean_sd(missed.reshape(-1, X.shape[1]))
    return Prediction(*(values.reshape(len(X), ERRORS).mean(axis=1) for values in found))


def _tolerant(space: Space, view: ModelView, X: Array, wide: Mapping[str, float]) -> tuple[Array, Array]:
    """The mean (n,) over errors at ``X (n, d)``, and this mean less the standard deviation (n,)."""
    mean, std = over_errors(space, view, X, wide)
    return mean, mean - std


def tolerated(
    run: Situation, view: ModelView, rows: Indices, tolerance: Mapping[str, float], *, anywhere: bool
) -> tuple[Any, float]:
    """The best of the observations ``rows``, or ``anywhere``, over errors of parameters, and the mean there.

    It is the best by this mean less the standard deviation: the maximum of many means is biased upwards, and errors
    may lead to where no trial was. Points without a trial have to be likely to succeed and to meet all constraints.

    Raises:
        ValueError: as `widths`.
    """
    space = run.named_space
    wide = widths(space, tolerance)
    assert space is not None
    points = run.history.X[rows]
    means, assured = _tolerant(space, view, points, wide)
    known = np.array(rows)
    rng = np.random.default_rng(0)
    for k in range(ROUNDS if anywhere else 0):
        best = points[best_first(assured)[:AROUND]]
        new = np.concatenate(run.around(best, view.lengthscales * SHRINKING**k, rng))
        new = new[recommendable(run, view, new)]
        found = _tolerant(space, view, new, wide)
        points = np.concatenate([points, new])
        means = np.concatenate([means, found[0]])
        assured = np.concatenate([assured, found[1]])
        known = np.concatenate([known, np.full(len(new), -1)])
    i = int(np.argmax(assured))
    params = space.decode(points[i]) if known[i] < 0 else run.history.params(int(known[i]))
    return params, run.goal.value(float(means[i]))

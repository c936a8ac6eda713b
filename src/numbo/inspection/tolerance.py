"""The best point if parameters can only be met so well: by the mean of a model over the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from numbo import _checks
from numbo._types import Array, Indices
from numbo.inspection.beyond import recommendable
from numbo.inspection.predictions import Predictions
from numbo.models.moments import Prediction
from numbo.models.view import ModelView
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


def over_errors(
    space: Space, predicted: Callable[[Array], Prediction], X: Array, wide: Mapping[str, float]
) -> Prediction:
    """The mean (n,) of what is ``predicted`` over uniform errors at ``X (n, d)``, and of its standard deviation (n,).

    Errors are up to so ``wide`` to either side. Values beyond the range of a parameter are moved to its end.
    """
    from scipy.stats import qmc

    if not wide:
        return predicted(X)
    shares = 2.0 * qmc.Sobol(len(wide), scramble=True, rng=0).random(ERRORS) - 1.0
    missed = np.repeat(X[:, None], ERRORS, axis=1)
    for k, (name, width) in enumerate(wide.items()):
        part: Any = space[name]
        j = space.names.index(name)
        for i in np.flatnonzero(X[:, j] != INACTIVE):
            value = part.from_unit(float(X[i, j]))
            values = np.clip(value + width * shares[:, k], part.low, part.high)
            missed[i, :, j] = [part.to_unit(float(v)) for v in values]
    found = predicted(missed.reshape(-1, X.shape[1]))
    return Prediction(*(values.reshape(len(X), ERRORS).mean(axis=1) for values in found))


def tolerated(
    predictions: Predictions, view: ModelView, rows: Indices, tolerance: Mapping[str, float], *, anywhere: bool
) -> tuple[Any, float]:
    """The best of the observations ``rows``, or ``anywhere``, over errors of parameters, and the mean there.

    It is the best by this mean less the standard deviation: the maximum of many means is biased upwards, and errors
    may lead to where no trial was. Points without a trial have to be likely to succeed and to meet all constraints, and
    the model has to be sure of them by the deviations that are told (`Predictions.widened`).

    Raises:
        ValueError: as `widths`.
    """
    run = predictions.run
    space = run.named_space
    wide = widths(space, tolerance)
    assert space is not None
    points = run.history.X[rows]
    means, std = over_errors(space, view.mean_sd, points, wide)
    assured = means - std
    known = np.array(rows)
    rng = np.random.default_rng(0)
    for k in range(ROUNDS if anywhere else 0):
        best = points[best_first(assured)[:AROUND]]
        new = np.concatenate(run.around(best, view.lengthscales * SHRINKING**k, rng))
        new = new[recommendable(run, view, new)]
        found = over_errors(space, partial(predictions.widened, view), new, wide)
        points = np.concatenate([points, new])
        means = np.concatenate([means, found.mean])
        assured = np.concatenate([assured, found.mean - found.std])
        known = np.concatenate([known, np.full(len(new), -1)])
    i = int(np.argmax(assured))
    params = space.decode(points[i]) if known[i] < 0 else run.history.params(int(known[i]))
    return params, run.goal.value(float(means[i]))

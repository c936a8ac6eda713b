"""What an optimizer tells about itself: what it believes, and where the time of an ask goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from numbo._interrupts import interrupts_get_out
from numbo.models.view import ModelView
from numbo.search.recommendation import expected_values, noise_near_best
from numbo.search.run import AskTimes, Run
from numbo.search.trust_region import Region
from numbo.spaces import INACTIVE, Condition, Domain, Space
from numbo.trials import own, point_key

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Points at which relevance is estimated, a power of two; the mean is computed at this number for each parameter.
SAMPLES = 256
#: Points that are drawn to find as many at which a conditional parameter is active.
DRAWN = 2**14
#: Share of noise in what the model leaves unexplained from which recommendations are cautious.
NOISE_PREVAILS = 0.25


def relevance(mean: Callable[[Array], Array], space: Domain) -> dict[str, float]:
    """Shares of the parameters in the variation of ``mean`` over the points (c, d) of a space.

    They sum to 1, or are all 0 where nothing varies.

    They are the total Sobol' indices (Saltelli et al. 2010), by Monte Carlo: how much of the variance over the space is
    left when all other parameters are known. Lengthscales alone would not say how far values change, only how fast. A
    conditional parameter counts by its effect where it is active.
    """
    names = space.names
    if isinstance(space, Space) and space.conditional.any():
        total = _effects(mean, space)
    else:
        total = _total_indices(lambda X: mean(space.snap(X)), space.d)
    shares = total / max(float(total.sum()), np.finfo(float).tiny)
    return {names[j]: float(shares[j]) for j in np.argsort(-shares, kind="stable")}


def _total_indices(mean: Callable[[Array], Array], d: int) -> Array:
    """Total Sobol' indices (d,) of a function of the unit cube."""
    from scipy.stats import sobol_indices, uniform

    if d == 1:
        return np.ones(1)
    found = sobol_indices(
        func=lambda x: mean(np.ascontiguousarray(x.T)),
        n=SAMPLES,
        dists=[uniform()] * d,
        rng=np.random.default_rng(0),
    )
    out: Array = np.nan_to_num(np.maximum(np.atleast_1d(found.total_order), 0.0))
    return out


def _effects(mean: Callable[[Array], Array], space: Space) -> Array:
    """Half the mean squared effect (d,) of drawing one parameter again, where it is active (Jansen 1999)."""
    rng = np.random.default_rng(0)
    drawn = rng.random((DRAWN, space.d))
    points, out = space.snap(drawn), np.zeros(space.d)
    for j in range(space.d):
        rows = np.flatnonzero(points[:, j] != INACTIVE)[:SAMPLES]
        if len(rows):
            other = drawn[rows]
            other[:, j] = rng.random(len(rows))
            out[j] = 0.5 * np.mean((mean(space.snap(other)) - mean(points[rows])) ** 2)
    return out


@dataclass(frozen=True, eq=False)
class Explanation:
    """What an optimizer's model is made of, given all observations.

    Attributes:
        algorithm: name of the optimizer.
        n_told, n_pending: numbers of observations and of pending points.
        members: (m,) observations that the model rests on, counted in the order in which they were told: the subset
            of GSSBO, the atoms of the dictionary of BKB, BBKB and S-BPE, all observations of GP-UCB.
        relevance: share of each parameter in the variation of the posterior mean over the space, the largest first.
        conditions: in words, of the parameters that have one: under which values of others they are used.
        lengthscales: of each parameter: distance in the unit cube over which values stay correlated, apart from the
            trend and the additive part.
        noise_std: standard deviation of the noise that the model sees, in the units of the objective.
        buffer_size: M, how many observations a chosen subset has; None where there is no limit (yet).
        beta: multiplier of the standard deviation in the confidence bounds; None where it is not used.
        effective_dimension: of a sparse model, ``sum var~(x_s)`` over the observations; None for other models.
        batch_sizes: of the batches that ended.
        region: the trust region, where there is one.
        phases: seconds of the last ask, by what was done: ``"selection"`` of the subset, ``"model"`` for fitting and
            conditioning it, ``"search"`` for maximising the acquisition function.
        asked_at, ask_seconds: (asks,) numbers of observations at which a point was asked for, and the time it took;
            in this process only.
    """

    algorithm: str
    n_told: int
    n_pending: int
    members: Indices = field(repr=False)
    relevance: dict[str, float]
    lengthscales: dict[str, float]
    noise_std: float
    conditions: dict[str, str] = field(default_factory=dict)
    buffer_size: int | None = None
    beta: float | None = None
    effective_dimension: float | None = None
    batch_sizes: tuple[int, ...] = ()
    region: Region | None = None
    phases: dict[str, float] = field(default_factory=dict)
    asked_at: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    ask_seconds: Array = field(default_factory=lambda: np.empty(0), repr=False)

    def __str__(self) -> str:
        lines = [
            f"{self.algorithm}: {self.n_told} observations, {self.n_pending} pending, model on {len(self.members)}",
            f"noise       {self.noise_std:.3g}",
            "relevance   " + ", ".join(f"{name} {share:.0%}" for name, share in self.relevance.items()),
        ]
        if self.conditions:
            lines.append("conditions  " + "; ".join(f"{name} where {words}" for name, words in self.conditions.items()))
        if self.buffer_size is not None:
            lines.append(f"buffer      {self.buffer_size} observations")
        if self.effective_dimension is not None:
            lines.append(f"dimension   {self.effective_dimension:.1f} effective")
        if self.beta is not None:
            lines.append(f"beta        {self.beta:.3g}")
        if self.batch_sizes:
            sizes = self.batch_sizes
            lines.append(f"batches     {len(sizes)}, the last of {sizes[-1]}")
        if self.region is not None:
            lines.append(f"region      number {self.region.number}, length {self.region.length:.3g}")
        if self.phases:
            lines.append("last ask    " + ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in self.phases.items()))
        return "\n".join(lines)


class Snapshot:
    """What an optimizer knew and believed at one moment. It can be queried later, and from another thread.

    Args:
        algorithm: name of the optimizer.
        run: what it knew, with what was pending; a copy of its own.
        sign: -1 if the objective is minimised, 1 if it is maximised.
        view: the model of all observations; None before the first success.
        region: the trust region, where there is one.
        times: of the optimizer.
    """

    def __init__(
        self, algorithm: str, run: Run, sign: float, view: ModelView | None, region: Region | None, times: AskTimes
    ) -> None:
        self.algorithm, self.space = algorithm, run.space
        self._history, self._sign, self._view, self._region = run.history, sign, view, region
        self._asks, self._phases = list(times.asks), dict(times.phases)

    def _model(self, what: str) -> ModelView:
        if self._view is None:
            raise ValueError(f"{what} needs at least one successful observation; tell one first.")
        return self._view

    @overload
    def predict(self, params: Mapping[str, Any] | int) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Any]) -> tuple[Array, Array]: ...
    @interrupts_get_out()
    def predict(self, params: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective (`numbo.optimizers.Optimizer.predict`)."""
        view = self._model("predict")
        if isinstance(params, Mapping) or np.ndim(params) == 0:
            mean, std = view.predict(self._encoded([params]))
            return self._sign * float(mean[0]), float(std[0])
        mean, std = view.predict(self._encoded(params))
        return self._sign * mean, std

    @interrupts_get_out()
    def best_predicted(self, having: Collection[str] = ()) -> tuple[Any, float] | None:
        """The observed point with the best expected value (`numbo.optimizers.Optimizer.best_predicted`).

        Only points ``having`` these conditional dimensions are considered; None if there is none.
        """
        history = self._history
        columns = [self.parameter_names.index(name) for name in having]
        rows = np.flatnonzero((history.X[:, columns] != INACTIVE).all(axis=1))
        if self._view is None or not len(rows):
            return None
        i = int(rows[np.argmax(self._assured[rows])])
        same = point_key(history.X[i]) == point_key(history.X[history.best])
        params = own(history.best_params) if same else self.space.decode(history.X[i])
        return params, self._sign * float(self._expected[i])

    @cached_property
    def _noise(self) -> float:
        """Standard deviation of the noise around the best observation."""
        view = self._model("best_predicted")
        return view.noise_std if view.noise_is_given else noise_near_best(self.space, self._history)

    @cached_property
    def _expected(self) -> Array:
        """The expected value (n,) of each successful observation."""
        history, view = self._history, self._model("best_predicted")
        mean, unexplained = view.at_observations(history.X)
        return expected_values(history, mean, unexplained, view.noise_std, self._noise)

    @cached_property
    def _assured(self) -> Array:
        """What a recommendation maximises (n,), at each successful observation.

        Among many uncertain values the largest is too large. So where most of what the model leaves unexplained is
        noise, it is the mean less one standard deviation.
        """
        view = self._model("best_predicted")
        if not self._noise**2 > NOISE_PREVAILS * view.noise_std**2:
            return self._expected
        mean, std = view.predict(self._history.X)
        out: Array = mean - std
        return out

    @interrupts_get_out()
    def woken(self, X: Array) -> Array:
        """Points ``X (c, d)`` where conditions hold: what they make active has the values of the best observation."""
        best = np.argsort(-self._expected, kind="stable")
        observed = self._history.X[best]
        first = np.argmax(observed != INACTIVE, axis=0)
        values: Array = observed[first, np.arange(self.space.d)]
        out: Array = self.space.snap(X, np.where(values == INACTIVE, 0.5, values)[None])
        return out

    @interrupts_get_out()
    def acquisition_values(self, params: Sequence[Any]) -> Array:
        """What the next ask maximises (`numbo.optimizers.Optimizer.acquisition_values`)."""
        view = self._model("acquisition_values")
        return view.acquire(self._encoded(params))

    @interrupts_get_out()
    def explain(self) -> Explanation:
        """What the model is made of, and where the time goes (`numbo.optimizers.Optimizer.explain`)."""
        view, history, names = self._model("explain"), self._history, self.parameter_names
        return Explanation(
            algorithm=self.algorithm,
            n_told=history.told,
            n_pending=len(history.pending),
            members=history.order_of(view.members),
            relevance=relevance(lambda X: view.predict(X)[0], self.space),
            lengthscales=dict(zip(names, view.lengthscales.tolist(), strict=True)),
            noise_std=view.noise_std,
            conditions={name: str(condition) for name, condition in self.conditions.items()},
            buffer_size=view.buffer_size,
            beta=view.beta,
            effective_dimension=view.effective_dimension,
            batch_sizes=view.batch_sizes,
            region=self._region,
            phases=self._phases,
            asked_at=np.array([n for n, _ in self._asks], dtype=np.int64),
            ask_seconds=np.array([seconds for _, seconds in self._asks], dtype=np.float64),
        )

    @property
    def parameter_names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates of the unit cube."""
        return self.space.names

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """Conditions of the dimensions that have one."""
        return self.space.conditions if isinstance(self.space, Space) else {}

    @property
    def observations(self) -> tuple[Array, Array]:
        """All points told (n, d) in the unit cube, in their order, and their values (n,), NaN for a failure.

        Inactive coordinates are `numbo.spaces.INACTIVE`, which is outside the cube.
        """
        X, y = self._history.in_order()
        return X, self._sign * y

    @property
    def best(self) -> tuple[Any, float] | None:
        """Best point and its value, ``None`` before the first success."""
        return self._history.best_of(self._sign)

    @property
    def n_told(self) -> int:
        """Number of observations, failures included."""
        return self._history.told

    @property
    def pending(self) -> list[Any]:
        """Points that were pending, oldest first."""
        return [own(p.params) for p in self._history.pending.values()]

    def _encoded(self, params: Sequence[Any]) -> Array:
        return np.array([self.space.encode(p) for p in params]).reshape(-1, self.space.d)


class Inspectable(ABC):
    """The part of `numbo.optimizers.Optimizer` that answers questions."""

    _run: Run
    _sign: float

    @abstractmethod
    def _repair(self) -> None: ...

    @abstractmethod
    def _view(self, run: Run) -> ModelView:
        """The model brought up to date with ``run``, a copy in which nothing is pending; this one stays as it is."""

    @abstractmethod
    def _region(self) -> Region | None: ...

    @overload
    def predict(self, params: Mapping[str, Any] | int) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Any]) -> tuple[Array, Array]: ...
    def predict(self, params: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective, without its noise, in the user's units.

        For one point, or as arrays (c,) for a sequence of ``c`` points. The model is fitted to the raw values, or to
        values with outliers clipped; the search itself may use log-transformed values.

        Raises:
            ValueError: before the first successful observation, or for points outside the space.
        """
        return self.snapshot().predict(params)

    def best_predicted(self) -> tuple[Any, float] | None:
        """The observed point with the best expected value, and that value; ``None`` before the first success.

        For noisy objectives, a better answer than `best`, which is the luckiest observation. The expectation is that of
        the model, corrected by the values observed at the point itself (`numbo.search.recommendation`); where noise
        prevails, the point is the one with the largest mean less one standard deviation. As long as the data show no
        evidence of noise, this is `best`.
        """
        return self.snapshot().best_predicted()

    def acquisition_values(self, params: Sequence[Any]) -> Array:
        """What the next ask maximises (c,), at a sequence of ``c`` points, with nothing pending; of the global model.

        Larger is better. For UCB it is the mean of the standardised values plus beta standard deviations, otherwise the
        logarithm of the expected improvement.

        Raises:
            ValueError: before the first successful observation, or for points outside the space.
        """
        return self.snapshot().acquisition_values(params)

    def explain(self) -> Explanation:
        """What the model is made of, and where the time goes; `ValueError` before the first successful observation."""
        return self.snapshot().explain()

    @interrupts_get_out()
    def snapshot(self) -> Snapshot:
        """A read-only copy for inspection, safe to use from another thread; its model knows all observations.

        It answers what the optimizer itself answers, and costs one update of the model however much it is asked.
        """
        self._repair()
        run = self._run.quiet()
        view, region = (None, None) if run.history.best < 0 else (self._view(run), self._region())
        run.history.pending.update(self._run.history.pending)
        return Snapshot(type(self).__name__, run, self._sign, view, region, self._run.times)

    @property
    def parameter_names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates of the unit cube."""
        return list(self._run.space.names)

    @property
    def observations(self) -> tuple[Array, Array]:
        """All points told (n, d) in the unit cube, in their order, and their values (n,), NaN for a failure."""
        X, y = self._run.history.in_order()
        return X, self._sign * y

"""What an optimizer tells about itself: what it believes, and where the time of an ask goes."""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from numbo.arms import Arms
from numbo.optimizers._history import History, own, point_key
from numbo.optimizers._interrupts import interrupts_get_out
from numbo.optimizers._recommendation import expected_values, noise_near_best

if TYPE_CHECKING:
    from typing_extensions import Self

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Points at which relevance is estimated, a power of two; the mean is computed at so many for each parameter.
SAMPLES = 256


class AskTimes:
    """Seconds that each ask took, and those of the phases of the last one."""

    def __init__(self) -> None:
        self.asks: list[tuple[int, float]] = []
        self.phases: dict[str, float] = {}

    @contextmanager
    def ask(self, n: int) -> Iterator[None]:
        """Time an ask at which ``n`` observations are known."""
        self.phases, started = {}, time.perf_counter()
        try:
            yield
        finally:
            self.asks.append((n, time.perf_counter() - started))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a part of the present ask; parts of one name add up."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - started


def relevance(mean: Callable[[Array], Array], names: Sequence[str]) -> dict[str, float]:
    """Shares of the parameters in the variation of ``mean`` over points (c, d) of the unit cube.

    They sum to 1, or are all 0 where nothing varies.

    They are the total Sobol' indices (Saltelli et al. 2010), by Monte Carlo: how much of the variance over the space is
    left when all other parameters are known. Lengthscales alone would not say how far values change, only how fast.
    """
    from scipy.stats import sobol_indices, uniform

    if len(names) == 1:
        return {names[0]: 1.0}
    found = sobol_indices(
        func=lambda x: mean(np.ascontiguousarray(x.T)),
        n=SAMPLES,
        dists=[uniform()] * len(names),
        rng=np.random.default_rng(0),
    )
    total = np.nan_to_num(np.maximum(np.atleast_1d(found.total_order), 0.0))
    shares = total / max(float(total.sum()), np.finfo(float).tiny)
    return {names[j]: float(shares[j]) for j in np.argsort(-shares, kind="stable")}


@dataclass(frozen=True)
class Region:
    """The trust region of a local search.

    Attributes:
        number: how many regions were given up before it.
        length: side of the box before it follows the lengthscales, in units of the unit cube.
        center: the observation in the middle, counted in the order in which they were told; -1 while there is none.
    """

    number: int
    length: float
    center: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """What an optimizer's model is made of, as of all that was told.

    Attributes:
        algorithm: name of the optimizer.
        n_told, n_pending: observations, and points that are out.
        members: (m,) observations that the model rests on, counted in the order in which they were told: the subset
            of GSSBO, the atoms of the dictionary of BKB, BBKB and S-BPE, all observations of GP-UCB.
        relevance: share of each parameter in the variation of the posterior mean over the space, the largest first.
        lengthscales: of each parameter in the unit cube: over this distance values are alike, but for the trend and
            the additive part.
        noise_std: standard deviation of the noise that the model sees, in the units of the objective.
        buffer_size: M, how many observations a chosen subset has; None where there is no limit (yet).
        beta: multiplier of the standard deviation in the confidence bounds; None where it plays no part.
        effective_dimension: of a sparse model, ``sum var~(x_s)`` over the observations; None of others.
        batch_sizes: of the batches that ended.
        region: the trust region, where there is one.
        phases: seconds of the last ask, by what was done: ``"selection"`` of the subset, ``"model"`` for fitting and
            conditioning it, ``"search"`` for maximising the acquisition function.
        asked_at, ask_seconds: (asks,) numbers of observations at which a point was asked for, and the time it took;
            of this process.
    """

    algorithm: str
    n_told: int
    n_pending: int
    members: Indices = field(repr=False)
    relevance: dict[str, float]
    lengthscales: dict[str, float]
    noise_std: float
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


@dataclass(frozen=True)
class SparseStatus:
    """What the model of a sparse optimizer looks like now.

    Attributes:
        effective_dimension: ``sum var~(x_s)`` over the observations, when the dictionary was last drawn.
        dictionary_size: number of atoms.
        batch_size: pulls since the last feedback.
        batch_sizes: of the batches that ended.
        beta: multiplier of the standard deviation ``sqrt(var~)`` in the upper confidence bound.
        resparsifications: how often a dictionary was drawn.
    """

    effective_dimension: float
    dictionary_size: int
    batch_size: int
    batch_sizes: tuple[int, ...]
    beta: float
    resparsifications: int


class Inspectable(ABC):
    """What every optimizer answers about itself; nothing here changes what is suggested next."""

    space: Any
    _history: History
    _rng: np.random.Generator
    _sign: float
    _times: AskTimes
    _settled = False

    @overload
    def predict(self, params: Mapping[str, Any] | int) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Any]) -> tuple[Array, Array]: ...
    @interrupts_get_out()
    def predict(self, params: Any) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective, without its noise, in the user's units.

        Of one point, or as arrays (c,) of a sequence of ``c`` points. They are those of a model of the values as they
        are, or with outliers clipped; a search may see the same observations through a logarithm.

        Raises:
            ValueError: before the first successful observation, or for points outside of the space.
        """
        if isinstance(params, Mapping) or np.ndim(params) == 0:
            mean, std = self.predict([params])
            return float(mean[0]), float(std[0])
        mean, std = self._current("predict")._predict(self._encoded(params))
        return self._sign * mean, std

    @interrupts_get_out()
    def best_predicted(self) -> tuple[Any, float] | None:
        """The observed point with the best expected value, and that value; ``None`` before the first success.

        For noisy objectives, a better answer than `best`, which is the luckiest observation. The expectation is that of
        the model, corrected by the values observed at the point itself (`numbo.optimizers._recommendation`). As long as
        the data do not establish any noise, this is `best`.
        """
        history = self._history
        if history.best < 0:
            return None
        double = self._current("best_predicted")
        seen, (mean, unexplained) = double._describe()["noise_std"], double._at_observations()
        noise = seen if self._noise_is_given else noise_near_best(self.space, history)
        values = expected_values(history, mean, unexplained, seen, noise)
        i = int(np.argmax(values))
        same = point_key(history.X[i]) == point_key(history.X[history.best])
        params = own(history.best_params) if same else self.space.decode(history.X[i])
        return params, self._sign * float(values[i])

    @interrupts_get_out()
    def acquisition_values(self, params: Sequence[Any]) -> Array:
        """What the next ask maximises (c,), at a sequence of ``c`` points, with nothing pending; of the global model.

        Larger is better. Of UCB the mean of the standardised values plus beta standard deviations; or the logarithm of
        the expected improvement.

        Raises:
            ValueError: before the first successful observation, or for points outside of the space.
        """
        return self._current("acquisition_values")._acquire(self._encoded(params))

    @interrupts_get_out()
    def explain(self) -> Explanation:
        """What the model is made of, and where the time goes (`Explanation`).

        Raises:
            ValueError: before the first successful observation.
        """
        double = self._current("explain")
        asks = list(self._times.asks)
        return Explanation(
            algorithm=type(self).__name__,
            n_told=self._history.told,
            n_pending=len(self._history.pending),
            relevance=relevance(lambda X: double._predict(self.space.snap(X))[0], self.parameter_names),
            phases=dict(self._times.phases),
            asked_at=np.array([n for n, _ in asks], dtype=np.int64),
            ask_seconds=np.array([seconds for _, seconds in asks], dtype=np.float64),
            **double._describe(),
        )

    @property
    def parameter_names(self) -> list[str]:
        """Names of the dimensions, in the order of the coordinates of the unit cube."""
        return [f"feature {j}" for j in range(self.space.d)] if isinstance(self.space, Arms) else list(self.space)

    @property
    def observations(self) -> tuple[Array, Array]:
        """All points told (n, d) in the unit cube, in their order, and their values (n,), NaN for a failure."""
        X, y = self._history.in_order()
        return X, self._sign * y

    def _encoded(self, params: Sequence[Any]) -> Array:
        return np.array([self.space.encode(p) for p in params]).reshape(-1, self.space.d)

    def _current(self, what: str) -> Self:
        """A double whose model knows all observations, with nothing pending; for ``what`` is to be looked at."""
        if self._history.best < 0:
            raise ValueError(f"{what} needs at least one successful observation; tell one first.")
        self._repair()
        if self._settled:
            return self
        double = copy.copy(self)  # looking at the model changes nothing about what is suggested next
        double._rng, double._times = copy.deepcopy(self._rng), AskTimes()
        double._history = copy.copy(self._history)
        double._history.pending = {}
        double._bring_up_to_date()
        double._settled = True
        return double

    @interrupts_get_out()
    def snapshot(self) -> Self:
        """A double to look at, at leisure and from another thread: its model knows all observations.

        It costs one update of the model, once for all that it is asked. It answers; it is not to be told or asked for
        points.
        """
        if self._history.best < 0:
            double = copy.copy(self)
            double._history = copy.deepcopy(self._history)
        else:
            double = self._current("snapshot")
            double._history.pending = dict(self._history.pending)
        double._times = copy.deepcopy(self._times)
        return double

    # -- what an algorithm supplies ------------------------------------------------------------------------------

    @abstractmethod
    def _repair(self) -> None:
        """Build again whatever an interrupted call may have left half done."""

    @abstractmethod
    def _bring_up_to_date(self) -> None:
        """Replace the model by one of all observations; what the old one is made of is left as it is."""

    @abstractmethod
    def _predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the objective, larger is better, at ``X (c, d)``; by the present model."""

    @abstractmethod
    def _at_observations(self) -> tuple[Array, Array]:
        """At the observations, the mean (n,) and the standard deviation (n,) that the present model leaves unexplained.

        The latter is 0 where the model is conditioned on the value (`numbo.optimizers._recommendation`).
        """

    @property
    def _noise_is_given(self) -> bool:
        """Whether the user has said how large the noise is."""
        return False

    @abstractmethod
    def _acquire(self, X: Array) -> Array:
        """The acquisition function (c,) at ``X (c, d)``; by the present model."""

    @abstractmethod
    def _describe(self) -> dict[str, Any]:
        """What an `Explanation` says of the present model."""

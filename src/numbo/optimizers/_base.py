"""The ask/tell contract that every optimizer keeps, and the bookkeeping below the algorithms."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from numbo.arms import Arms
from numbo.optimizers._history import History, Pending, own, point_key
from numbo.optimizers._inspection import AskTimes, Inspectable
from numbo.space import Space

if TYPE_CHECKING:
    from typing_extensions import Self

Array = NDArray[np.float64]

logger = logging.getLogger("numbo")

#: Largest finite space whose unseen points are kept as a list.
ENUMERABLE = 50_000
#: Length of the space-filling sequence that random places are taken from.
ANYWHERE = 4096
DIRECTIONS = ("minimize", "maximize")
#: Origin of a point that no local search proposed.
GLOBAL = -1


class Optimizer(Inspectable):
    """Ask/tell optimisation of a black box over a `Space`, or over explicit `Arms`.

    Args:
        space: what is searched. Points are dicts of values by name; of `Arms`, which the sparse optimizers take too,
            they are row indices.
        direction: ``"minimize"`` or ``"maximize"``.
        n_initial: points of the space-filling initial design before the model takes over.
        seed: anything `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        avoid_repeats: never suggest a point again that was observed or is pending, while others are left. Right
            for deterministic objectives; switch it off where repeating a measurement is worth something.
    """

    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any],
        *,
        direction: str = "minimize",
        n_initial: int = 10,
        seed: Any = None,
        avoid_repeats: bool = True,
    ) -> None:
        self.space: Any = space if isinstance(space, Space | Arms) else Space(space)
        if direction not in DIRECTIONS:
            raise ValueError(f"direction must be one of {DIRECTIONS}, got {direction!r}.")
        if n_initial < 1:
            raise ValueError(f"n_initial must be at least 1, got {n_initial!r}.")
        self.direction = direction
        self.n_initial = int(n_initial)
        self.avoid_repeats = avoid_repeats
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._rng = np.random.default_rng(seed)
        self._history = History(self.space.d)
        self._times = AskTimes()
        self._warned = False
        self._design_seed = int(self._rng.integers(2**31))
        self._design: Array | None = None
        self._asked = 0
        enumerated = isinstance(space, Arms) or self.space.cardinality <= ENUMERABLE
        self._grid: Array | None = self.space.grid() if enumerated else None
        self._unseen = np.ones(0 if self._grid is None else len(self._grid), dtype=bool)

    # -- ask ---------------------------------------------------------------------------------------------------

    @overload
    def ask(self) -> Any: ...
    @overload
    def ask(self, n: int) -> list[Any]: ...
    def ask(self, n: int | None = None) -> Any:
        """The next point to evaluate, or a list of ``n``; each is pending until it is told.

        Never raises on data: where a model cannot be fitted, a point of the initial design is returned and the
        reason is logged once.
        """
        if n is not None:
            return [self.ask() for _ in range(n)]
        return self._hand_out(*self.suggest())

    def _hand_out(self, x: Array, origin: int) -> Any:
        """The user's form of the point ``x (d,)``, which is pending from now on."""
        params = self.space.decode(x)
        self.hold(("asked", self._asked), params, origin)
        self._asked += 1
        return params

    def suggest(self, seed: Any = None, *, position: int | None = None) -> tuple[Array, int]:
        """The next point (d,) in the unit cube and its origin, without making it pending.

        For adapters that keep their own trials. The origin says which part of the search proposed the point, so
        that its result can be credited there: `GLOBAL`, or a box of a trust region. It goes to `hold`.

        Args:
            seed: of a random stream for this suggestion only; the optimizer's own one by default.
            position: place in the initial design, if it is still in use; by default the number of known points.
        """
        history = self._history
        with self._times.ask(history.n):
            if history.n + len(history.pending) < self.n_initial or history.best < 0:
                return self.suggest_initial(position=position)
            if seed is not None:
                self._rng = np.random.default_rng(seed)
            try:
                return self._propose()
            except Exception:
                if not self._warned:
                    reason = "No model could be fitted; a space-filling point is suggested instead."
                    logger.warning(reason, exc_info=True)
                    self._warned = True
                return self.suggest_initial(position=position)

    def suggest_initial(self, *, position: int | None = None) -> tuple[Array, int]:
        """As `suggest`, from the initial design: a Sobol sequence, scrambled once and for all."""
        history = self._history
        return self._space_filling(history.n + len(history.pending) if position is None else position), GLOBAL

    def suggest_anywhere(self, seed: Any) -> tuple[Array, int]:
        """As `suggest_initial`, from a random place of the design: others who do the same do not meet there."""
        return self._space_filling(int(np.random.default_rng(seed).integers(ANYWHERE))), GLOBAL

    def taken(self, x: Array) -> bool:
        """Whether ``x (d,)`` should not be suggested: it was observed or is pending, and repeats are avoided."""
        return self.avoid_repeats and self._history.taken(x)

    def hold(self, key: Hashable, params: Any, origin: int = GLOBAL) -> None:
        """Make ``params`` pending under ``key``: what other workers are evaluating shapes the next suggestions."""
        self._history.pending[key] = Pending.of(self.space.encode(params), params, origin)

    def release(self, key: Hashable) -> None:
        """Forget a pending point that will not be told."""
        self._history.pending.pop(key, None)

    def release_all(self) -> None:
        """Forget all pending points."""
        self._history.pending.clear()

    def reseed(self, seed: Any) -> None:
        """Draw what follows from a new random stream; data, model and initial design stay."""
        self._rng = np.random.default_rng(seed)

    @property
    def pending(self) -> list[Any]:
        """Points that are out, oldest first."""
        return [own(p.params) for p in self._history.pending.values()]

    # -- tell --------------------------------------------------------------------------------------------------

    def tell(self, params: Any, value: Any, *, key: Hashable | None = None) -> None:
        """Report the objective at ``params``, which need not have been asked for.

        ``None`` and NaN report a failure: the place is avoided from then on. Infinite values count as the best or
        worst finite one. A sequence of points takes a sequence of as many values.

        Raises:
            ValueError: if ``params`` do not lie in the space or lengths differ; nothing is stored then.
        """
        if isinstance(params, Mapping) or np.ndim(params) == 0:
            self._store(self.space.encode(params), self._signed(value), params, key)
            return
        values = list(value) if isinstance(value, Iterable) else [value]
        if len(params) != len(values):
            raise ValueError(f"tell got {len(params)} points and {len(values)} values; they must match.")
        encoded = [(self.space.encode(p), self._signed(v), p) for p, v in zip(params, values, strict=True)]
        for x, y, p in encoded:
            self._store(x, y, p, None)

    def _signed(self, value: Any) -> float:
        try:
            return math.nan if value is None else self._sign * float(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"value must be a number or None for a failure, got {value!r}.") from None

    def _store(self, x: Array, y: float, params: Any, key: Hashable | None) -> None:
        history = self._history
        if key is None:
            wanted = point_key(x)
            key = next((k for k, p in history.pending.items() if p.identity == wanted), None)
        pending = history.pending.pop(key, None)
        self._see(x)
        self._observed(history.add(x, y, params), y, GLOBAL if pending is None else pending.origin)

    def _see(self, x: Array) -> None:
        if self._grid is not None:
            self._unseen[self.space.grid_index(x[None])] = False

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite space was told or is out, and repeats are avoided."""
        return self._grid is not None and self.avoid_repeats and len(self._free_rows()) == 0

    def exclude(self, params: Any) -> None:
        """Never suggest ``params`` again, and learn nothing else from them."""
        x = self.space.encode(params)
        self._history.counts[point_key(x)] += 1
        self._see(x)

    @property
    def n_told(self) -> int:
        """Number of observations, failures included."""
        return self._history.n

    @property
    def best(self) -> tuple[Any, float] | None:
        """Best point and its value so far, ``None`` before the first success."""
        i = self._history.best
        if i < 0:
            return None
        return own(self._history.best_params), self._sign * float(self._history.y[i])

    # -- what an algorithm supplies ------------------------------------------------------------------------------

    @abstractmethod
    def _propose(self) -> tuple[Array, int]:
        """The next point (d,) by the algorithm, and its origin; there is at least one success."""

    def _observed(self, i: int, y: float, origin: int) -> None:
        """Called after observation ``i`` was stored."""

    def _settings(self) -> dict[str, Any]:
        """Constructor arguments that recreate this optimizer, without ``space`` and ``seed``."""
        return {"direction": self.direction, "n_initial": self.n_initial, "avoid_repeats": self.avoid_repeats}

    def _model_state(self) -> dict[str, Any]:
        """What cannot be recomputed from settings and observations."""
        return {}

    def _restore_model(self, state: dict[str, Any]) -> None:
        """Take in `_model_state`."""

    # -- shared pieces -----------------------------------------------------------------------------------------

    def _space_filling(self, start: int | None = None) -> Array:
        """The next point of a scrambled Sobol sequence, from ``start`` on, that is not taken."""
        history = self._history
        start = history.n + len(history.pending) if start is None else start
        if self._design is None or start + 64 > len(self._design):
            from scipy.stats import qmc

            size = 2 ** math.ceil(math.log2(start + 128))
            self._design = qmc.Sobol(self.space.d, scramble=True, rng=self._design_seed).random(size)
        points = self.space.snap(self._design[start : start + 64])
        free = next((x for x in points if not self.taken(x)), None)
        if free is None and self._grid is not None and len(rows := self._free_rows()):
            return self._grid[rows[start % len(rows)]]
        return points[0] if free is None else free

    def _free_rows(self) -> NDArray[np.int64]:
        """Rows of the grid of an enumerable space that may be suggested; all of them if repeats are welcome."""
        assert self._grid is not None
        if not self.avoid_repeats:
            return np.arange(len(self._grid))
        free = self._unseen.copy()
        if self._history.pending:
            free[self.space.grid_index(self._history.pending_points())] = False
        return np.flatnonzero(free)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on exactly here: settings, observations, pending points, RNG. Plain data."""
        history = self._history
        return {
            "optimizer": type(self).__name__,
            "settings": self._settings(),
            "space": self.space,
            "X": history.X.copy(),
            "y": history.y.copy(),
            "best_params": own(history.best_params),
            "counts": dict(history.counts),
            "pending": [(key, own(p.params), p.origin) for key, p in history.pending.items()],
            "rng": self._rng.bit_generator.state,
            "design_seed": self._design_seed,
            "asked": self._asked,
            "model": self._model_state(),
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Self:
        """An optimizer that goes on where the one that made ``state`` was."""
        if state["optimizer"] != cls.__name__:
            raise ValueError(f"This state is of a {state['optimizer']}, not of a {cls.__name__}.")
        self = cls(state["space"], **state["settings"])
        for x, y in zip(state["X"], state["y"], strict=True):
            self._history.add(x, y)
            self._see(x)
        self._history.best_params = own(state["best_params"])
        self._history.counts.clear()
        self._history.counts.update(state["counts"])
        for key, params, origin in state["pending"]:
            self.hold(key, params, origin)
        self._rng = np.random.Generator(getattr(np.random, state["rng"]["bit_generator"])())
        self._rng.bit_generator.state = state["rng"]
        self._design_seed, self._asked = state["design_seed"], state["asked"]
        self._restore_model(state["model"])
        return self

"""The ask/tell contract that every optimizer keeps, and the bookkeeping below the algorithms."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from numbo import _checks
from numbo.arms import Arms
from numbo.kernels.acquisition import Success
from numbo.optimizers._candidates import Candidates
from numbo.optimizers._feasibility import Feasibility
from numbo.optimizers._history import History, Pending, own, point_key
from numbo.optimizers._inspection import AskTimes, Inspectable
from numbo.optimizers._interrupts import interrupts_get_out, raise_interrupt
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
        seed: anything that `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        avoid_repeats: never suggest a point again that was observed or is pending, while others are left. Right
            for deterministic objectives; switch it off where repeating a measurement is worth something.
        learn_failures: what failures say (`numbo.optimizers._feasibility`). True: they depend on the parameters, and
            points are weighted by their probability of success. False: nothing, but a point that failed is not
            suggested again. ``"auto"`` lets the data decide between the two; where failures look random, a point that
            failed may be tried again.
    """

    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any],
        *,
        direction: str = "minimize",
        n_initial: int = 10,
        seed: _checks.Seed = None,
        avoid_repeats: bool = True,
        learn_failures: bool | str = "auto",
    ) -> None:
        self.space: Any = space if isinstance(space, Space | Arms) else Space(space)
        self.direction = _checks.one_of("direction", direction, DIRECTIONS)
        self.n_initial = _checks.integer("n_initial", n_initial, 1)
        self.avoid_repeats = _checks.flag("avoid_repeats", avoid_repeats)
        self.learn_failures = _checks.one_of("learn_failures", learn_failures, _checks.LEARN_FAILURES)
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._rng = _checks.random_stream(seed)
        self._history = History(self.space.d)
        self._feasibility = Feasibility(self.space.categorical, learn_failures)
        self._times = AskTimes()
        self._warned = self._unfinished = False
        self._telling: tuple[Hashable, int] = None, 0
        self._pinned: Array | None = None  # (d,) NaN where the present suggestion is free
        self._design_seed = int(self._rng.integers(2**31))
        self._design: Array | None = None
        self._starts = Candidates(self.space, self._design_seed)
        self._asked = self._handed = 0
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
        count = 1 if n is None else _checks.integer("n", n, 0)
        points = self._handing_out(lambda: [self._hand_out(*self._suggest(None, None, None)) for _ in range(count)])
        return points[0] if n is None else points

    def _handing_out(self, choose: Callable[[], list[Any]]) -> list[Any]:
        """The points that ``choose`` makes pending: all of them, or none if it is interrupted."""
        self._repair()
        self._unfinished = True
        points = choose()
        self._asked = self._handed
        self._unfinished = False
        return points

    def _hand_out(self, x: Array, origin: int) -> Any:
        """The user's form of the point ``x (d,)``; it is pending from now on."""
        params = self.space.decode(x)
        self.hold(("asked", self._handed), params, origin)
        self._handed += 1
        return params

    def suggest(
        self, seed: Any = None, *, position: int | None = None, fixed: Mapping[str, Any] | None = None
    ) -> tuple[Array, int]:
        """The next point (d,) in the unit cube and its origin, without making it pending.

        For adapters that keep their own trials. The origin says which part of the search proposed the point, so
        that its result can be credited there: `GLOBAL`, or a box of a trust region. It goes to `hold`.

        Args:
            seed: of the random stream from here on; by default the present one goes on.
            position: place in the initial design, if it is still in use; by default the number of known points.
            fixed: values of some of the parameters, for which the others are chosen.

        Raises:
            ValueError: if ``fixed`` names an unknown parameter, or a value outside of its range.
        """
        pinned = self.space.partial(fixed) if fixed else None
        self._repair()
        self._unfinished = True
        found = self._suggest(seed, position, pinned)
        self._pinned, self._unfinished = None, False
        return found

    @interrupts_get_out()
    def _suggest(self, seed: Any, position: int | None, pinned: Array | None) -> tuple[Array, int]:
        history = self._history
        self._pinned = pinned
        with self._times.ask(history.n):
            if history.told + len(history.pending) < self.n_initial or history.best < 0:
                return self.suggest_initial(position=position)
            if seed is not None:
                self._rng = np.random.default_rng(seed)
            try:
                return self._propose()
            except Exception as error:
                raise_interrupt(error)
                if not self._warned:
                    reason = "No model could be fitted; a space-filling point is suggested instead."
                    logger.warning(reason, exc_info=True)
                    self._warned = True
                return self.suggest_initial(position=position)

    def suggest_initial(self, *, position: int | None = None) -> tuple[Array, int]:
        """As `suggest`, from the initial design: a Sobol sequence, scrambled once and for all."""
        history = self._history
        return self._space_filling(history.told + len(history.pending) if position is None else position), GLOBAL

    def suggest_anywhere(self, seed: Any, *, fixed: Mapping[str, Any] | None = None) -> tuple[Array, int]:
        """As `suggest_initial`, from a random place of the design: others who do the same do not meet there."""
        self._pinned = self.space.partial(fixed) if fixed else None
        x = self._space_filling(int(np.random.default_rng(seed).integers(ANYWHERE)))
        self._pinned = None
        return x, GLOBAL

    def taken(self, x: Array) -> bool:
        """Whether ``x (d,)`` should not be suggested: it is barred, or repeats are avoided and it would be one."""
        return self._barred(x) or (self.avoid_repeats and self._history.taken(x))

    def _barred(self, x: Array) -> bool:
        """Whether ``x (d,)`` is excluded, or failed as often as it may and never succeeded."""
        key = point_key(x)
        return key in self._history.excluded or self._given_up(key)

    def _given_up(self, key: bytes) -> bool:
        history = self._history
        return history.failed_counts[key] >= self._feasibility.patience and key not in history.counts

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

        ``None`` and NaN report a failure, from which is learned what ``learn_failures`` says. Infinite values count as
        the best or worst finite one. A sequence of points takes a sequence of as many values.

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
        self._repair()
        history = self._history
        if key is None:
            wanted = point_key(x)
            key = next((k for k, p in history.pending.items() if p.identity == wanted), None)
        pending = history.pending.get(key)
        origin = GLOBAL if pending is None else pending.origin
        self._telling, self._unfinished = (key, history.told), True
        if math.isnan(y):
            history.fail(x)
        else:
            i = history.add(x, y, params, origin)
            self._see(x[None])
            self._observed(i, y, origin)
        history.pending.pop(key, None)
        self._telling, self._unfinished = (None, 0), False

    def _see(self, X: Array) -> None:
        if self._grid is not None and len(X):
            self._unseen[self.space.grid_index(X)] = False

    def _repair(self) -> None:
        """Build again whatever an interrupted call may have left half done, from what was told."""
        if not self._unfinished:
            return
        history, (key, known) = self._history, self._telling
        history.refresh(self.space.decode)
        if history.told > known:
            history.pending.pop(key, None)
        for k in range(self._asked, self._handed + 1):
            history.pending.pop(("asked", k), None)  # chosen, but never handed out
        twin = self._around(self.space, self._settings(), history, self._design_seed)
        twin._rng, twin._times, twin._warned = self._rng, self._times, self._warned
        twin._asked = twin._handed = self._asked
        self.__dict__.update(twin.__dict__)

    @classmethod
    def _around(cls, space: Any, settings: Mapping[str, Any], history: History, design_seed: int) -> Self:
        """An optimizer that knows a history, and has made no model of it yet."""
        self = cls(space, **settings)
        self._history, self._design_seed = history, design_seed
        self._starts = Candidates(space, design_seed)
        self._see(history.X)
        for i, (y, origin) in enumerate(zip(history.y.tolist(), history.origins.tolist(), strict=True)):
            self._observed(i, y, origin)
        return self

    @property
    def exhausted(self) -> bool:
        """Whether every point of a finite space was told or is out, and repeats are avoided."""
        return self._grid is not None and self.avoid_repeats and len(self._free_rows()) == 0

    def exclude(self, params: Any) -> None:
        """Never suggest ``params`` again, and learn nothing else from them."""
        self._history.exclude(self.space.encode(params))

    @property
    def n_told(self) -> int:
        """Number of observations, failures included."""
        return self._history.told

    @property
    def best(self) -> tuple[Any, float] | None:
        """Best point and its value so far, ``None`` before the first success."""
        self._repair()
        i = self._history.best
        if i < 0:
            return None
        return own(self._history.best_params), self._sign * float(self._history.y[i])

    # -- what an algorithm supplies ------------------------------------------------------------------------------

    @abstractmethod
    def _propose(self) -> tuple[Array, int]:
        """The next point (d,) by the algorithm, and its origin; there is at least one success."""

    def _observed(self, i: int, y: float, origin: int) -> None:
        """Called after observation ``i``, which is no failure, was stored."""

    def _settings(self) -> dict[str, Any]:
        """Constructor arguments that recreate this optimizer; each is kept in an attribute of its name."""
        names = _checks.setting_names(type(self))
        return {name: getattr(self, name) for name in names if name not in ("arms", "seed") and hasattr(self, name)}

    def _model_state(self) -> dict[str, Any]:
        """What cannot be recomputed from settings and observations."""
        return {}

    def _restore_model(self, state: dict[str, Any]) -> None:
        """Take in `_model_state`."""

    def _space_filling(self, start: int | None = None) -> Array:
        """The next point of a scrambled Sobol sequence, from ``start`` on, that is not taken."""
        history = self._history
        start = history.told + len(history.pending) if start is None else start
        if self._design is None or start + 64 > len(self._design):
            from scipy.stats import qmc

            size = 2 ** math.ceil(math.log2(start + 128))
            self._design = qmc.Sobol(self.space.d, scramble=True, rng=self._design_seed).random(size)
        points = self._pin(self.space.snap(self._design[start : start + 64]))
        free = next((x for x in points if not self.taken(x)), None)
        if free is None and self._grid is not None and len(rows := self._free_rows()):
            return self._grid[rows[start % len(rows)]]
        return points[0] if free is None else free

    def _pin(self, points: Array) -> Array:
        """``points (..., d)`` with the coordinates that the present suggestion may not choose."""
        return points if self._pinned is None else np.where(np.isnan(self._pinned), points, self._pinned)

    def _free_rows(self, repeats: bool | None = None) -> NDArray[np.int64]:
        """Rows of the grid of an enumerable space that may be suggested, ``repeats`` of known points too if wanted."""
        assert self._grid is not None
        history, repeats = self._history, not self.avoid_repeats if repeats is None else repeats
        free = np.ones(len(self._grid), dtype=bool) if repeats else self._unseen.copy()
        out = [] if repeats else [p.x for p in history.pending.values()]
        out += history.excluded.values()
        out += [x for key, x in history.failed.items() if self._given_up(key)]
        if out:
            free[self.space.grid_index(np.array(out))] = False
        if self._pinned is not None:
            free &= np.all(self._pin(self._grid) == self._grid, axis=1)
        return np.flatnonzero(free)

    def _success(self) -> Success:
        """The probability that a point can be evaluated, for acquisition functions."""
        return self._feasibility.update(self._history)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on exactly here: settings, observations, pending points, RNG. Plain data."""
        self._repair()
        history = self._history
        X, y = history.in_order()
        return {
            "optimizer": type(self).__name__,
            "settings": self._settings(),
            "space": self.space,
            "X": X,
            "y": y,
            "origins": history.origins.copy(),
            "excluded": list(history.excluded.values()),
            "best_params": own(history.best_params),
            "pending": [(key, own(p.params), p.origin) for key, p in history.pending.items()],
            "rng": self._rng.bit_generator.state,
            "design_seed": self._design_seed,
            "asked": self._asked,
            "feasibility": self._feasibility.state_dict(),
            "model": self._model_state(),
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Self:
        """An optimizer that goes on where the one that made ``state`` was."""
        if state["optimizer"] != cls.__name__:
            raise ValueError(f"This state is of a {state['optimizer']}, not of a {cls.__name__}.")
        history = History.of(state["X"], state["y"], state["origins"], state["excluded"], state["best_params"])
        self = cls._around(state["space"], state["settings"], history, state["design_seed"])
        for key, params, origin in state["pending"]:
            self.hold(key, params, origin)
        self._rng = np.random.Generator(getattr(np.random, state["rng"]["bit_generator"])())
        self._rng.bit_generator.state = state["rng"]
        self._asked = self._handed = state["asked"]
        self._feasibility.restore(state["feasibility"], history)
        self._restore_model(state["model"])
        return self

"""The interface of an optimizer to adapters: a framework keeps the trials, and asks and tells in its own way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from numbo._interrupts import interrupts_get_out
from numbo._types import Array
from numbo.inspection import Inspectable
from numbo.optimizers._calls import Intake, Transaction, Warned
from numbo.run.failures import Trouble, trouble_of
from numbo.run.situation import FALLBACK, GLOBAL, Situation, Suggestion, attempt
from numbo.spaces import Dimension
from numbo.spaces.completion import completions
from numbo.trials import Pending, point_key
from numbo.trials.pending import PendingPoints
from numbo.trials.points import point_keys


class Port(Inspectable):
    """The part of every optimizer that connects it to a framework, which keeps the trials and names them by keys.

        suggestion = opt.suggest()
        params = opt.space.decode(suggestion.x)
        opt.hold(key, params, suggestion.origin)  # the trial runs: its point is pending
        opt.report(params, step, value, key=key)  # as often as there is something to report
        opt.tell(params, value, key=key)  # it has ended; or release(key), if it never will

    The origin of a suggestion identifies the part of the search that proposed the point, so that its result is credited
    there. `hold` keeps the origin with the pending point. If the framework keeps it, so that another process can learn
    the result, pass it to `learn` instead.
    """

    #: What a warning or the log has told: kinds of trouble, and that a model could not be fitted.
    _warned_of: Warned
    _intake: Intake
    n_initial: int
    # methods of `Optimizer`
    _whole: Callable[[], AbstractContextManager[Transaction]]
    _suggest: Callable[..., Suggestion]
    _scores: Callable[[Situation, Array], Array]
    _store: Callable[..., None]

    # -- suggestions -----------------------------------------------------------------------------------------------

    def suggest(
        self, seed: Any = None, *, position: int | None = None, fixed: Mapping[str, Any] | None = None
    ) -> Suggestion:
        """The next point (d,) in the unit cube and its origin, without making it pending.

        Args:
            seed: replaces the random stream from now on, unless the initial design is still in use; None keeps it.
            position: place in the initial design, if it is still in use; by default the number of points so far.
            fixed: values of some of the parameters, for which the others are chosen.

        Raises:
            ValueError: if ``fixed`` names an unknown parameter, or a value outside its range.
        """
        coordinates = self._run.space.partial(fixed) if fixed else None
        with self._whole():
            return self._suggest(seed, position, coordinates)

    def suggest_anywhere(self, seed: Any, *, fixed: Mapping[str, Any] | None = None) -> Suggestion:
        """A random point (d,) of the initial design, where a collision with other processes is unlikely.

        Raises:
            ValueError: as `suggest`, of which it has the ``fixed`` values.
        """
        run = self._run.keeping(self._run.space.partial(fixed) if fixed else None)
        return Suggestion(run.design.anywhere(seed))

    @interrupts_get_out()
    def suggest_value(self, name: str, params: Mapping[str, Any], among: Dimension, seed: Any) -> Any:
        """A value of the dimension ``name`` for a point whose other values are given, regardless of conditions.

        Needed if a trial uses a dimension that its suggestion does not contain, or in another range.

        Args:
            name: a dimension of the space.
            params: values of other dimensions that the point has.
            among: the dimension that the value is taken from, of the same kind.
            seed: of the values that are compared, if there are too many to compare all.

        Returns:
            the value with the largest acquisition under the model with nothing pending; values that make a taken point
            are avoided if possible. None as long as there is no model.

        Raises:
            ValueError: if ``params`` names an unknown dimension, or a value outside its dimension.
        """
        self._repair()
        run = self._run
        space = run.named_space
        if space is None or run.history.n < self.n_initial:
            return None
        known = space.partial(params)
        values, X = completions(space, known, name, among, np.random.default_rng(seed))
        permitted = np.ones(len(X), dtype=bool)
        if space.allowed is not None:
            held = ~np.isnan(known)
            held[space.names.index(name)] = True
            X, permitted = space.allowed.mended(X, held)
            permitted &= space.allowed.rows(X)
            permitted |= not permitted.any()
        scores = attempt(lambda: self._scores(run.quiet(), X), lambda: None, self._warned_of)
        if scores is None:
            return None
        free = np.array([not self.taken(x) for x in X]) & permitted
        scores = np.where(permitted, scores, -np.inf)
        return values[int(np.argmax(np.where(free | ~free.any(), scores, -np.inf)))]

    def taken(self, x: Array, known: int | None = None) -> bool:
        """Whether ``x (d,)`` should not be suggested: it is barred, or it is a repeat and repeats are avoided.

        Args:
            x: a point of the unit cube.
            known: number of results when ``x`` was suggested; a later result at ``x`` makes it an unintended repeat.
        """
        self._repair()
        run = self._run
        x = run.space.representable(x)
        later = [] if known is None or not run.available.avoid_repeats else point_keys(run.history.trials.X[known:])
        return point_key(x) in later or run.available.taken(x)

    @property
    @interrupts_get_out()
    def exhausted(self) -> bool:
        """Whether every point of a finite space was told or is pending, and repeats are avoided."""
        self._repair()
        run = self._run
        failed = run.grid is not None and run.history.visits.failed
        if failed:  # how often a point may fail depends on how often others do
            attempt(run.success, lambda: None, self._warned_of)
        if not run.available.exhausted:
            return False
        auto = run.available.avoid_repeats == "auto"
        unknown = auto and run.noise.claimed is None and run.history.n >= self.n_initial
        if not unknown:
            return True
        claimed = attempt(lambda: self._view(run.quiet()).claimed_noise, lambda: 0.0, self._warned_of)
        return not run.noise.plausible(claimed)

    @property
    def trouble(self) -> Trouble | None:
        """The trouble that the last trial is part of, if it failed: the last five trials or more in a region all did.

        It names the region, a test of one parameter, if such a row is improbable at the rate of failures elsewhere.
        Otherwise all of the last trials failed, and that is improbable at the rate before, or there were none before.
        `tell` warns of it; a framework that uses `learn` asks after each failure. After a success it costs nothing.
        """
        return trouble_of(self._run)

    @property
    def fell_back(self) -> bool:
        """Whether a model could not be fitted, so that a space-filling point was suggested; the log says why."""
        return FALLBACK in self._warned_of

    # -- running trials ----------------------------------------------------------------------------------------------

    def hold(self, key: Hashable, params: Any, origin: int = GLOBAL) -> None:
        """Make ``params`` pending under ``key``: suggestions take points into account that other workers evaluate.

        Earlier reports at the same point under this key are kept.

        Raises:
            ValueError: if ``params`` do not lie in the space.
        """
        self._repair()
        self._run.hold(key, params, origin)

    def holds(self, key: Hashable) -> bool:
        """Whether a point is pending under ``key``."""
        return key in self._run.history.pending

    def release(self, key: Hashable) -> None:
        """Forget a pending point that will not be told."""
        self._run.history.pending.pop(key, None)

    def pending_point(
        self, params: Any, origin: int, reports: Mapping[Any, Any] | None = None, cost: float | None = None
    ) -> Pending:
        """A pending point as `hold` makes it, for `hold_only`, with the reports of its trial so far, by step.

        And with its ``cost``, if that is known before it ends.

        Raises:
            ValueError: if ``params`` do not lie in the space.
        """
        return self._run.pending_point(params, origin, self._intake.curve(reports), cost)

    def hold_only(self, points: Mapping[Hashable, Pending]) -> None:
        """Make these points pending, oldest first, and no others."""
        run = self._run
        run.history.pending = PendingPoints(run.space.d, points)

    def keep_time(self, time: tuple[float, float] | None) -> None:
        """Tell a time limit in the units of costs, and how much is left in which trials have to end; None for none.

        It holds for suggestions until the next call, and is no part of the state.
        """
        self._run.costs.time = time

    # -- ended trials ------------------------------------------------------------------------------------------------

    def learn(
        self,
        params: Any,
        value: Any,
        *,
        origin: int,
        key: Hashable,
        std: Any = None,
        partial: bool = False,
        reports: Mapping[Any, Any] | None = None,
        constraints: Mapping[str, Any] | None = None,
        cost: Any = None,
    ) -> None:
        """`Optimizer.tell` for a point whose ``origin`` the framework has kept, pending here or not.

        A point that is pending under ``key`` is released. If it is another one, its reports are not joined.

        Raises:
            ValueError: as `Optimizer.tell`.
        """
        told = self._intake.record(params, value, std, constraints, reports, cost)
        self._store(told, key, origin, partial=partial)

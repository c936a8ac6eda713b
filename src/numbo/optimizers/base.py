"""The ask/tell interface of every optimizer, and the bookkeeping that algorithms share."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks, _hooks
from numbo._descriptions import completed
from numbo._imports import load_needed
from numbo._interrupts import interrupts_get_out
from numbo._plain import restore, state_of
from numbo._settings import Settings
from numbo._types import Array, Direction
from numbo.models.bounds import off_bounds
from numbo.models.curves import Curves
from numbo.models.sources import sources_of
from numbo.optimizers._calls import Capabilities, Intake, Transaction, Warned, pending_key, same_point
from numbo.optimizers.port import Port
from numbo.rules import Opening, Rule, first_of
from numbo.run.situation import Situation, Suggestion, attempt
from numbo.spaces import Arms, Space, domain_of, known_of
from numbo.trials import UNASKED, Goal, point_key
from numbo.trials.earlier import earlier_studies
from numbo.trials.record import Record

if TYPE_CHECKING:
    from typing_extensions import Self


#: Version of the result of `Optimizer.state_dict`.
STATE_FORMAT = 20
#: What a state has in addition to its format.
PARTS_OF_STATE = frozenset({"optimizer", "arguments", "settings", "run", "asked", "model"})
#: Number of points of the initial design where there are earlier studies, of which they choose the first.
AFTER_OTHERS = 4
#: Arguments of constructors that are no settings, but cannot be changed either.
ARGUMENTS = ("direction", "directions", "constraints", "settings", "preset", "earlier", "budget")


class Optimizer(Port):
    """Ask/tell optimisation of a black box over a `Space`, or over explicit `Arms`.

    Args:
        space: what is searched: a `numbo.Space`, or a mapping of names to `Float`, `Int` and `Categorical`; or
        arms: an explicit set of arms, an array (A, d) of features or `numbo.Arms`. Points are then row indices.
        direction: ``"minimize"`` or ``"maximize"``; by default spaces are minimised and arms are maximised.
        directions: of two to five objectives, in place of ``direction``; `tell` then takes as many values.
        constraints: names of values that have to be 0 or less; `tell` takes these values.
        seed: anything that `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        settings: all settings; settings given by name take precedence.
        earlier: studies of other tasks to learn from, each an `EarlierStudy` or a pair of points and values; their
            parameters, ranges and scales may differ. The trials decide how much each counts. Only GSSBO and GP-UCB.
        budget: what all trials may cost together, in the units of `tell`'s ``cost``; None for no limit. As it runs out,
            costs count less, and suggestions are those that probably still fit. Only GSSBO and GP-UCB.

    Raises:
        ValueError: for an unsupported value.
        TypeError: for an unknown setting.

    Attributes:
        settings_class: the type of the settings.
        capabilities: what the algorithm takes.
        directions: (k,) ``"minimize"`` or ``"maximize"`` for each objective.
        direction: that of a single objective, None with several.
        settings: the settings as given.
        n_initial: number of points of the space-filling initial design before the model takes over.
        avoid_repeats: whether to avoid points that were observed or are pending while others are left.
    """

    #: The parts of the algorithm with a state that does not follow from settings and data (`numbo._plain.Kept`).
    _kept: ClassVar[tuple[str, ...]] = ()
    settings_class: ClassVar[type[Settings]] = Settings
    capabilities: ClassVar[Capabilities] = Capabilities()

    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: Direction | None = None,
        directions: Sequence[str] | None = None,
        constraints: Sequence[str] = (),
        seed: _checks.Seed = None,
        settings: Settings,
        earlier: Any = (),
        budget: float | None = None,
    ) -> None:
        domain = domain_of(type(self).__name__, space, arms)
        if (known := known_of(domain)) and not self.capabilities.known:
            raise ValueError(f"{type(self).__name__} does not take {known[0]}= of a space: GSSBO and GPUCB do.")
        usual = "maximize" if domain.explicit else "minimize"
        self.directions = _checks.directions(direction, directions, usual)
        self.direction = self.directions[0] if len(self.directions) == 1 else None
        self.settings = settings
        self.avoid_repeats = settings.avoiding(domain.explicit)
        stream = _checks.random_stream(seed)
        self.constraints = _checks.constraint_names(constraints)
        goal = Goal(self.directions, self.constraints)
        self.earlier = earlier_studies(earlier)
        self._sources = sources_of(domain, goal, self.earlier)
        self.n_initial = settings.initial(domain.d)
        if self._sources and settings.n_initial is None:
            self.n_initial = AFTER_OTHERS
        ends = Curves if getattr(settings, "use_curves", False) and len(self.directions) == 1 else None
        self.budget = None if budget is None else _checks.number("budget", budget, 0.0, above=True)
        self._run = Situation.begun(
            domain, goal, self.avoid_repeats, settings.learn_failures, stream, ends, self.budget
        )
        self._intake = Intake(type(self).__name__, self.capabilities, domain, goal, ends is not None)
        self._transaction = Transaction()
        self._warned_of = Warned()
        self._opening = Opening(self.n_initial)
        self._build()
        self._rules = self._new_rules()

    def _build(self) -> None:
        """Make the parts of the algorithm, at the end of the constructor."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = completed(cls, inspect.signature(cls).parameters, [cls.settings_class])

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and "_run" in vars(self) and name in {*ARGUMENTS, *self.settings_class.names()}:
            raise AttributeError(f"{name} is a setting of {type(self).__name__}, which cannot be changed later.")
        super().__setattr__(name, value)

    # -- ask ---------------------------------------------------------------------------------------------------

    @overload
    def ask(self) -> Any: ...
    @overload
    def ask(self, n: int) -> list[Any]: ...
    def ask(self, n: int | None = None) -> Any:
        """The next point to evaluate, or a list of ``n``; each is pending until it is told.

        Never raises on data: if a model cannot be fitted, a point of the initial design is returned and the reason is
        logged once.
        """
        count = 1 if n is None else _checks.integer("n", n, 0)
        with self._whole():
            points = [self._hand_out() for _ in range(count)]
        return points[0] if n is None else points

    def _hand_out(self, suggestion: Suggestion | None = None) -> Any:
        """Make a suggested point pending, by default the next one, and return it in the user's form."""
        suggestion = self._suggest() if suggestion is None else suggestion
        params = self.space.decode(suggestion.x)
        self._run.hold(self._transaction.next_key(), params, suggestion.origin)
        self._warned_of.handed_out = True
        return params

    @interrupts_get_out()
    def _suggest(
        self,
        seed: Any = None,
        position: int | None = None,
        fixed: Array | None = None,
        propose: Callable[[Situation], Suggestion] | None = None,
    ) -> Suggestion:
        """The next point: from the initial design, or by the rules of the algorithm.

        Args:
            seed, position, fixed: as for `Port.suggest`; ``fixed (d,)`` is NaN for free coordinates.
            propose: takes the place of `_propose`.
        """
        _hooks.before_ask(type(self))
        load_needed()
        run = self._run.keeping(fixed)
        with run.times.ask(run.history.n):
            opening = self._opening
            if opening.lasts(run):
                first = opening.point(run, position)
                return first._replace(x=run.available.settled(first.x))
            if seed is not None:
                self._run = replace(self._run, rng=np.random.default_rng(seed))
                run = self._run.keeping(fixed)
            self._warned_of.of_contradictions(self._run)
            search = propose or self._propose
            x, origin = attempt(lambda: search(run), lambda: Suggestion(run.space_filling(position)), self._warned_of)
            available = self._run.keeping(fixed).available  # the race may have changed
            x = available.fix(off_bounds(x, run.feasibility.closed, available.taken))
            return Suggestion(available.settled(x), origin)

    @abstractmethod
    def _new_rules(self) -> tuple[Rule, ...]:
        """The rules, in the order in which they speak; the last always has a point."""

    def _propose(self, run: Situation) -> Suggestion:
        """The suggestion of the first rule that has one; there is at least one success at that time."""
        return first_of(self._rules, run)

    # -- tell --------------------------------------------------------------------------------------------------

    def tell(
        self,
        params: Any,
        value: Any,
        *,
        std: Any = None,
        key: Hashable | None = None,
        partial: bool = False,
        reports: Mapping[Any, Any] | None = None,
        constraints: Any = None,
        cost: Any = None,
    ) -> None:
        """Report the objective at ``params``, which need not have been asked for.

        ``None`` and NaN report a failure; ``learn_failures`` determines what is learned from it. A warning says where
        five trials in a row have failed (`trouble`). Infinite values count
        as the best or worst finite one. A sequence of points takes a sequence of as many values.

        Args:
            params: the point.
            value: the objective there, or a sequence of all objectives; None if it failed.
            std: known standard deviation of the error of this value, such as the standard error of a mean over folds or
                seeds; in addition to the common noise. A sequence of points takes a sequence. Only with one objective
                of GSSBO or GP-UCB.
            key: under which the point is pending; by default the oldest pending one that is equal. If nothing is
                pending under it, the point counts as one that was not asked for.
            partial: whether the value is not final, like that of a stopped trial. Two such values at one point may
                differ without noise, so ``avoid_repeats="auto"`` avoids repeats then.
            reports: values of the objective by step that the trial has reported, in addition to those of `report`;
                steps are finite numbers. With ``use_curves``, a ``partial`` value is then replaced by the expected
                final value, given all curves.
            constraints: values of the constraints by name, which hold up to 0. A missing value counts as met; NaN is a
                violation of unknown size. A sequence of points takes a sequence.
            cost: what the trial has cost, such as seconds or money; None if unknown. Once costs differ, suggestions are
                those that bring most for their cost. A failure costs, too; a ``partial`` value tells a part of the cost
                of the whole trial. A sequence of points takes a sequence. Only of GSSBO or GP-UCB.

        Raises:
            ValueError: if ``params`` do not lie in the space, ``value`` is no number, ``std`` is negative, infinite or
                not supported, ``cost`` is not positive and finite, or not supported, another point is pending under
                ``key``, ``partial`` is neither True nor False, ``reports`` are no mapping or have other steps,
                ``constraints`` has unknown names, or lengths differ; nothing is stored then.
        """
        if reports is not None and self._run.history.several:
            raise ValueError(f"reports are those of one objective, and there are {self._run.history.k}.")
        if isinstance(params, Mapping) or np.ndim(params) == 0:
            self._store(self._intake.record(params, value, std, constraints, reports, cost), key, partial=partial)
            self._warned_of.of_trouble(self.trouble)
            return
        if reports is not None:
            raise ValueError("reports are those of one point; got a sequence of points.")
        if key is not None:
            raise ValueError(f"key is that of one point; got {key!r} and a sequence of points.")
        for record in self._intake.records(params, value, std, constraints, cost):
            self._store(record, None, partial=partial)
        self._warned_of.of_trouble(self.trouble)

    def _store(self, told: Record, key: Hashable | None, origin: int | None = None, *, partial: bool) -> None:
        """Add a trial to the history, pass it to the parts of the algorithm, and release its pending point.

        With an ``origin``, another point may be pending under the ``key``: it is released, and not credited.
        """
        final = not _checks.flag("partial", partial)
        unnamed = key is None
        if origin is None and key is not None:
            self._repair()
            same_point(self._run.history, key, told.x, told.params)
        with self._whole() as call:
            history = self._run.history
            identity = point_key(told.x)
            key = history.pending.key_of(identity) if key is None else key
            pending = history.pending.get(key)
            if origin is None:
                origin = UNASKED if pending is None else pending.origin
            if pending is not None and pending.identity != identity:
                pending = None
            call.telling = key
            i = history.add(
                told.x,
                told.outputs,
                told.params,
                origin,
                final=final,
                variance=told.variance,
                curve=told.curve if pending is None else pending.reporting(told.curve).curve,
                constraints=told.constraints,
                cost=told.cost,
                identity=identity,
            )
            if i >= 0:
                self._observed(i, history.assured(i), origin)
            history.pending.pop(key, None)
            call.outdated = self._outdated
        if unnamed:
            self._warned_of.of_strangers(len(self._run.history.pending), known=key is not None)

    def withdraw(self, params: Any, *, key: Hashable | None = None) -> None:
        """Give up a pending point that will not be evaluated; nothing is learned from it, and it may come again.

        Args:
            params: a pending point.
            key: under which the point is pending; by default the oldest pending one that is equal.

        Raises:
            ValueError: if ``params`` are not pending, or not under ``key``, or lie outside the space.
        """
        self._repair()
        self.release(pending_key(self._run.history, self.space, params, key))

    def report(self, params: Any, step: Any, value: Any, *, key: Hashable | None = None) -> None:
        """Report the objective at ``params`` after a ``step`` of a running evaluation.

        As long as the point is pending, suggestions use the value that is expected at its end, given the curves of all
        trials (``use_curves``). `tell` then uses these ``reports`` as well. Reports may come in any order; a second
        report at a step replaces the first. NaN is ignored.

        Args:
            params: a pending point.
            step: a finite number, such as the number of epochs.
            value: the objective there; an infinite one counts as the best or worst finite one.
            key: under which the point is pending; by default the oldest pending one that is equal.

        Raises:
            ValueError: if ``params`` are not pending, or not under ``key``, or lie outside the space, ``step`` or
                ``value`` are no numbers, or there are several objectives.
        """
        self._repair()
        history = self._run.history
        if history.several:
            raise ValueError(f"report takes values of one objective, and this {type(self).__name__} has {history.k}.")
        key = pending_key(history, self.space, params, key)
        step = _checks.finite("step", step)
        value = _checks.objective(value if value is not None else math.nan)
        history.pending[key] = history.pending[key].reporting(self._intake.curve({step: value}))

    def exclude(self, params: Any) -> None:
        """Never suggest ``params`` again, and learn nothing from them."""
        self._run.history.exclude(self.space.encode(params))

    # -- supplied by an algorithm, with `_view` ----------------------------------------------------------------------

    def _scores(self, run: Situation, X: Array) -> Array:
        """The acquisition function (c,) of the next suggestion at ``X (c, d)``; ``run`` as in `_view`."""
        return self._view(run).acquire(X)

    @property
    def _outdated(self) -> bool:
        """Whether models have averaged values that repeats have shown to be exact: they are built again then."""
        return False

    def _observed(self, i: int, y: float, origin: int) -> None:
        """Called after observation ``i``, which is no failure, was stored."""

    def _rebuild(self, state: Mapping[str, Any], data: Any) -> None:
        """Build what follows from the restored parts that are `_kept`."""

    # -- interrupts ----------------------------------------------------------------------------------------------

    def _whole(self) -> AbstractContextManager[Transaction]:
        """A block that is carried out completely, or as if it had not been begun."""
        self._repair()
        return self._transaction.whole(self._run.history.told)

    def _repair(self) -> None:
        """After an interrupted call, rebuild from the trials everything that it may have left half done."""
        self._transaction.repair(self._run.history, self._start_again)

    def _start_again(self) -> None:
        """Rebuild the model, and everything else but the trials, from the history."""
        twin = type(self)(self.space, **self._arguments(), settings=self.settings)
        twin._run = twin._run.following(self._run)
        history = twin._run.history
        for i, origin in enumerate(history.trials.origins[history.positions].tolist()):
            twin._observed(i, history.assured(i), origin)
        vars(self).update(vars(twin) | {"_transaction": self._transaction, "_warned_of": self._warned_of})
        self._rules = self._new_rules()  # they may hold methods of their optimizer

    # -- state ---------------------------------------------------------------------------------------------------

    def _arguments(self) -> dict[str, Any]:
        """The constructor's arguments without space, seed and settings; a subclass adds its own."""
        one = len(self.directions) == 1
        goal: dict[str, Any] = {"direction": self.direction} if one else {"directions": self.directions}
        goal |= {"constraints": self.constraints} if self.constraints else {}
        goal |= {"budget": self.budget} if self.budget is not None else {}
        return goal | ({"earlier": [study.state_dict() for study in self.earlier]} if self.earlier else {})

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue exactly from here: settings, observations, pending points, RNG. Plain data."""
        self._repair()
        return {
            "format": STATE_FORMAT,
            "optimizer": type(self).__name__,
            "arguments": self._arguments(),
            "settings": self.settings.state_dict(),
            "run": self._run.state_dict(),
            "asked": self._transaction.asked,
            "model": state_of(self, self._kept),
        }

    @classmethod
    @interrupts_get_out()
    def from_state_dict(cls, state: dict[str, Any]) -> Self:
        """An optimizer that continues exactly from a saved state.

        Raises:
            ValueError: for what is no state, or one of another algorithm, or of a version of numbo with another format.
        """
        if not isinstance(state, Mapping):
            raise ValueError(f"state must be a mapping that state_dict() has returned; got {state!r}.")
        _checks.state_format(cls.__name__, state, STATE_FORMAT)
        if lost := PARTS_OF_STATE - state.keys():
            raise ValueError(f"state must be as state_dict() has returned it; it has no {min(lost)!r}.")
        if state["optimizer"] != cls.__name__:
            raise ValueError(f"Cannot restore {cls.__name__} from a state saved by {state['optimizer']}.")
        run = state["run"]
        self = cls(run["space"], **state["arguments"], settings=cls.settings_class(**state["settings"]))
        self._run = self._run.restored(run)
        self._transaction = Transaction(state["asked"])
        restore(self, state["model"], self._run.history)
        return self

"""The common base of the searchers: Ray Tune's `Searcher` on top of numbo's optimizers. No mathematics here."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from types import MappingProxyType
from typing import Any

from ray.tune.result import TIME_TOTAL_S
from ray.tune.result import TRAINING_ITERATION as ITERATION
from ray.tune.search import Searcher

from numbo import _checks
from numbo._descriptions import complete
from numbo._settings import as_call
from numbo.optimizers import GLOBAL, Optimizer, Settings
from numbo.ray import _earlier
from numbo.ray._arguments import (
    Mode,
    Relation,
    agreed,
    are_values,
    check_agreement,
    check_constraints,
    check_metrics,
    check_objectives,
    check_points,
    check_reported,
    check_rewarded,
    check_rewards,
    check_run,
    iteration_of,
    lacks,
    lacks_values,
    never_reported,
    no_goal,
    no_space,
    number_of,
    numbers_of,
    violation,
)
from numbo.ray._domains import TuneSpace, check_runnable, holds_domains, named, put
from numbo.ray._looking import InspectedSearch
from numbo.ray._snapshot import Setup
from numbo.ray._stored import logger
from numbo.spaces import Float, Space, Table
from numbo.spaces.known import Known


class NumboSearch(InspectedSearch):
    """Base class of the searchers: one optimizer, driven by trial ids and configs.

    `suggest` runs on Tune's control loop: it takes milliseconds, and running trials are pending points that reduce the
    model's uncertainty around them. The last value that a trial has reported of a metric counts, whichever result it
    is in, also if a scheduler stopped the trial early. A trial that failed, reported NaN last, or never reported the
    metric teaches where trials fail. Once every point of a finite space has been suggested, the search is finished,
    unless points are measured again (``avoid_repeats``).

    Args:
        space: domains as in ``param_space``, or a `Table`, whose rows are suggested; by default, the ``param_space``
            of the `Tuner`.
        metric: name of the reported value; by default that of the `TuneConfig`.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`.
        points_to_evaluate: configs to try first, exactly as given, nested or flat, with or without constants. Values
            that they leave out are suggested. A config outside of the space, or with other constants, is evaluated all
            the same, but not learned; a warning says so then.
        evaluated_rewards: known values of all ``points_to_evaluate``, which are then learned instead of tried: numbers,
            or mappings of metrics.
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_initial: number of trials before the model takes over from the initial design; by default 10.
        constraints: bounds of reported metrics: ``"<="`` or ``">="`` and a number for each.
        earlier: runs of other tasks to learn from: folders of runs, results of ``Tuner.fit``, or `numbo.EarlierStudy`
            with the values by the names of the parameters. They are read at once. Their parameters, ranges and scales
            may differ. The trials decide how much each counts.
        cost: what a trial costs: ``"duration"`` for the seconds that it has run (Tune's ``time_total_s``), or the name
            of a reported metric, whose last value counts. Suggestions are then those that bring most for their cost.
            Trials that failed or were stopped early cost, too; without a value above 0, the cost is unknown.
        budget: what all trials of the run may cost together, in the units of ``cost``. As it runs out, costs count
            less, and suggestions are those that probably still fit. It does not end the run. With
            ``cost="duration"``, a run's ``time_budget_s`` is one of which each trial may take all that is left.
        allowed: what is known of the parameters together, as `numbo.Space` takes it: `numbo.Linear`, `numbo.Mixture`,
            `numbo.Order` and `numbo.Nonzero` of the names of parameters, ``"a/b"`` if nested, and functions of configs
            without constants. It holds for all suggestions.
        prior: what is believed of good values, by the names of parameters, as `numbo.Space` takes it: `numbo.Guess`,
            weights of all categories, or a function of the value. The first trials are there, and it is believed less
            with each.
        default: usual values of parameters by name. The first trial has them, and others differ only where it pays.
        settings: all settings of the algorithm, as its optimizer in `numbo` takes them; settings given by name take
            precedence.

    Raises:
        ValueError: for an invalid value of a setting, an invalid space or an invalid point.
        TypeError: for an unknown setting.
    """

    #: Arguments of the constructor, as far as nothing else tells them later.
    _given: Mapping[str, Any] = {}
    _earlier: tuple[Any, ...] = ()
    _cost: str | None = None
    _budget: float | None = None

    def __init__(
        self,
        space: Mapping[str, Any] | Table | None = None,
        metric: str | Sequence[str] | None = None,
        mode: Mode | Sequence[Mode] | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[float | Sequence[float] | Mapping[str, float]] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        constraints: Mapping[str, tuple[Relation, float]] | None = None,
        earlier: Sequence[Any] = (),
        cost: str | None = None,
        budget: float | None = None,
        allowed: Any = (),
        prior: Any = MappingProxyType({}),
        default: Any = MappingProxyType({}),
        settings: Settings,
    ) -> None:
        super().__init__(
            *check_objectives(type(self).__name__, metric, mode, several=self._optimizer.capabilities.objectives > 1)
        )
        self._limits = check_constraints(constraints)
        self._points = check_points(points_to_evaluate)
        self._given = {"space": space, "points_to_evaluate": list(self._points)}
        self._evaluated: list[tuple[dict[str, Any], Any]] = []
        wanted = [*self._metrics, *self._limits]
        rewards = check_rewards(evaluated_rewards, len(self._points), max(1, len(self._metrics)), wanted)
        if rewards is not None:
            self._evaluated = list(zip(self._points, rewards, strict=True))
            self._given["evaluated_rewards"] = rewards
            self._points = []
        self._earlier = _earlier.read(earlier)
        if self._earlier:
            self._given = {**self._given, "earlier": self._earlier}
        name = _checks.cost_name(cost, budget)
        self._cost = TIME_TOTAL_S if name == "duration" else name
        self._budget = budget
        said = Known.of(allowed, prior, default)._asdict()
        self._given = {**self._given, **{name: given for name, given in said.items() if given}}
        self._seed = _checks.seed(seed)
        if settings.n_initial is None and n_initial is None:
            n_initial = self._optimizer.capabilities.usual_initial
        self._settings = settings.of(settings, n_initial=n_initial)
        self._num_samples: int | None = None
        self._limited = False
        self._tune_space: TuneSpace | None = None
        stand_in = {f"x{j}": Float(0.0, 1.0) for j in range(settings.dimensions)}
        if space is None:
            self._make(Space(stand_in))  # report invalid settings here, not during the run
        else:
            if not isinstance(space, Mapping | Table):
                raise ValueError(
                    f'space must be a mapping such as {{"x": tune.uniform(0, 1)}}, or a Table, got {space!r}.'
                )
            self._tune_space = TuneSpace(space, self._known)
            check_runnable(self._points, self._tune_space)
            self._make(self._tune_space.space)
            self._start()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "_optimizer"):
            complete(cls, cls._optimizer, cls._optimizer.settings_class)

    def __repr__(self) -> str:
        given = {name: value or None for name, value in self._given.items() if name != "space"}
        given["space"] = self._given.get("space")
        goal = {"metric": self._metric, "mode": self._mode, "seed": self._seed, "constraints": self._limits or None}
        goal |= {"cost": "duration" if self._cost == TIME_TOTAL_S else self._cost, "budget": self._budget}
        return as_call(self, given | goal, self._settings, {"n_initial": self._optimizer.capabilities.usual_initial})

    @property
    def _known(self) -> Known:
        """What the user says of the parameters."""
        return Known(**{name: self._given[name] for name in Known._fields if name in self._given})

    # -- setting up --------------------------------------------------------------------------------------------

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        """Called by Tune before a run, with the contents of its `TuneConfig` and the ``param_space``.

        Raises:
            ValueError: if metric, mode or space are missing; if metric or mode differ from the searcher's own or from
                those of an earlier run, or are not among its several ones; if an evaluated reward lacks the metric; or
                if Tune cannot run a point to evaluate. The searcher is then unchanged.
        """
        metric, mode = self._agreed(metric, mode)
        for _, reward in self._evaluated:
            if isinstance(reward, dict):
                check_rewarded(reward, [metric] if isinstance(metric, str) else metric)
        found = TuneSpace(config, self._known) if holds_domains(config) else None
        if self._tune_space is None and found is None:
            raise ValueError(no_space(type(self).__name__))
        if self._tune_space is not None and found is not None and found.parameters != self._tune_space.parameters:
            return False  # another space is already searched, and may have been learned from
        space = self._tune_space or found
        assert space is not None
        space = space.in_run(config) if config else space
        check_runnable(self._points, space)
        self._metric = metric
        self._mode = mode
        self._tune_space = space
        num_samples = spec.get("num_samples")
        if isinstance(num_samples, int) and 0 < num_samples < sys.maxsize:  # Tune's number for an unlimited run
            self._num_samples = num_samples
        if "time_budget_s" in spec:
            self._limit_time(spec["time_budget_s"] if self._cost == TIME_TOTAL_S else None)
        if not self._limited:
            self._max_concurrent = None  # this run has no limit, unlike the one before
        self._limited = False
        self._start()
        return True

    def _agreed(self, metric: Any, mode: Any) -> tuple[Any, Any]:
        """Metrics and modes, given those of a run."""
        check_run(metric, mode)
        if self._several:
            check_agreement(type(self).__name__, self._modes, metric, mode)
            return self._metric, self._mode
        metric, mode = agreed(type(self).__name__, {"metric": (self._metric, metric), "mode": (self._mode, mode)})
        return metric, mode

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Called by Tune before a run with ``max_concurrent_trials``: the searcher itself then keeps to it.

        Tune's `ConcurrencyLimiter` does not know which trials a restored run continues: it hides the results of trials
        that it does not know, and waits for trials that no longer exist. With this method, its ``batch=True`` has no
        effect.
        """
        self._max_concurrent = max_concurrent
        self._limited = True
        return True

    def _start(self) -> None:
        """Create the optimizer as soon as space, metric and mode are known, and tell it the ``evaluated_rewards``."""
        if self._opt is not None or self._tune_space is None or self._metric is None or self._mode is None:
            return
        directions = ["minimize" if mode == "min" else "maximize" for mode in self._modes.values()]
        goal: dict[str, Any] = {"directions": directions} if self._several else {"direction": directions[0]}
        if self._earlier:
            goal["earlier"] = _earlier.studies(self._earlier, self._tune_space, self._metrics, directions)
        self._opt = self._make(self._tune_space.space, **goal)
        for point, reward in self._evaluated:
            if isinstance(reward, dict):
                values = [reward[metric] for metric in self._metrics]
                self.add_evaluated_point(point, values if self._several else values[0], metrics=reward)
            else:
                self.add_evaluated_point(point, reward)

    def _make(self, space: Space | Table, **goal: Any) -> Optimizer:
        """The optimizer of a space."""
        if self._limits:
            goal["constraints"] = tuple(self._limits)
        if self._budget is not None:
            goal["budget"] = self._budget
        implied = {} if self._num_samples is None else self._from_num_samples(self._num_samples)
        missing = {name: value for name, value in implied.items() if getattr(self._settings, name) is None}
        settings = self._settings.of(self._settings, **missing)
        return self._optimizer(space, **goal, seed=self._seed, settings=settings)

    def _from_num_samples(self, num_samples: int) -> dict[str, Any]:
        """Settings that follow from the number of trials, unless they are given."""
        return {}

    def _ready(self) -> tuple[TuneSpace, Optimizer]:
        self._check()
        if self._tune_space is None:
            files = "experiment_state-*.json or search_gen_state-*.json"
            hint = f"In a restored run, Tune could not read {files}: its log says why."
            raise RuntimeError(f"{no_space(type(self).__name__)} {hint}")
        missing = [name for name in ("metric", "mode") if getattr(self, f"_{name}") is None]
        if missing:
            raise RuntimeError(no_goal(type(self).__name__, missing, table=isinstance(self._tune_space.space, Table)))
        self._start()
        assert self._opt is not None
        return self._tune_space, self._opt

    # -- Tune's interface --------------------------------------------------------------------------------------

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        space, opt = self._ready()
        if self._full():
            return None
        if self._points:
            config = self._suggest_given(trial_id, self._points[0])
            del self._points[0]
            return config
        if opt.exhausted:
            return Searcher.FINISHED  # Tune's signature omits this string
        self._keep_time(opt)
        x, origin = opt.suggest()
        params = opt.space.decode(x)
        opt.hold(trial_id, params, origin)
        config = space.to_config(params)
        self._live[trial_id] = params
        return config

    def _suggest_given(self, trial_id: str, point: Mapping[str, Any]) -> dict[str, Any]:
        """A point to evaluate exactly as given by the user; values that it leaves out are suggested.

        Tune merges the config into the constants of its ``param_space``, so that other constants are run. Then the
        result is that of another function: it is not learned.
        """
        space, opt = self._ready()
        given = space.to_params(point)
        if foreign := space.foreign(point):
            self._warn("foreign", f"A point to evaluate has names that are not in the search space: {foreign}.")
        others = space.constants(point)
        params = given
        if unknown := space.unknown(given):
            given = {name: value for name, value in given.items() if name not in unknown}
        if space.missing(given):
            inside = {name: value for name, value in given.items() if opt.space[name].contains(value)}
            params = opt.space.decode(opt.suggest(fixed=inside)[0]) | given
        config = space.to_config(params)
        for path, value in {**{space.parameters[name].path: unknown[name] for name in unknown}, **others}.items():
            put(config, path, value)
        params = params | unknown | named(others)
        self._live[trial_id] = params
        if others:
            self._warn(
                "constants",
                f"A point to evaluate has other constants than the param_space, {named(others)}: it is evaluated with "
                "them, and not learned.",
            )
            return config
        try:
            opt.hold(trial_id, params, GLOBAL)
        except ValueError as error:
            self._warn("given", f"A point to evaluate is outside the search space and will not be learned: {error}")
        return config

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        if trial_id in self._done or self._opt is None:
            return
        params = self._live.get(trial_id)
        key = None if params is None else trial_id
        if params is None:
            params = self._of_another_name(result)
            if params is None:
                if result or error:
                    self._warn_unknown(trial_id)
                return
        last = self._reported(trial_id, result)
        if not error and not last:  # stopped before it reported anything
            self._opt.release(trial_id)
        else:
            value = None if error else self._value(last, result)
            partial = value is not None and self._cut_short(trial_id, last)
            if value is not None:
                self._expect_metrics("A trial ended", last)
            self._refuse(
                trial_id,
                lambda opt: opt.tell(
                    params,
                    value,
                    key=key,
                    partial=partial,
                    reports=self._reports_of(result),
                    constraints=self._violations(last),
                    cost=self._cost_of(last),
                ),
            )
            if value is None:
                self._failed.add(trial_id)
        self._done.add(trial_id)
        self._live.pop(trial_id, None)
        self._paused.discard(trial_id)
        self._last.pop(trial_id, None)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        known = trial_id in self._live
        if known or (trial_id not in self._done and self._of_another_name(result) is not None):
            self._last[trial_id] = self._reported(trial_id, result)
        if known:
            self._report_running(trial_id, result)
            self._measure(trial_id, iteration_of(result))

    def _reported(self, trial_id: str, result: Mapping[str, Any] | None) -> dict[str, Any]:
        """The last reported value of each metric that counts, after a further ``result``, and its iteration.

        Metrics may be reported every few results only. Tune passes no result for a paused trial that is stopped.
        """
        before = self._last.get(trial_id, {})
        if not result:
            return before
        counting = self._counting
        found = {name: value for name, value in before.items() if name in counting}
        found |= {name: result[name] for name in counting if result.get(name) is not None}
        if self._unsaid(found):  # kept for a warning if the trial ends so
            found = {name: result[name] for name in numbers_of(result)} | found
        return found | {ITERATION: result.get(ITERATION)}

    @property
    def _counting(self) -> list[str]:
        """The metrics whose last values count."""
        return [*self._metrics, *self._limits, *([] if self._cost is None else [self._cost])]

    def _cost_of(self, result: Mapping[str, Any] | None) -> float | None:
        """The cost of a trial by its last reported metrics; None if it is not known."""
        if self._cost is None:
            return None
        reported = (result or {}).get(self._cost)
        cost = number_of(reported)
        if cost is not None and 0.0 < cost < math.inf:
            return cost
        if reported is not None:
            self._warn("cost", f"A trial ended with {self._cost}={reported!r}: its cost counts as unknown.")
        return None

    def _report_running(self, trial_id: str, result: dict[str, Any]) -> None:
        """Tell the optimizer the report of a running trial, if it is a number."""
        assert self._opt is not None
        for step, value in (self._reports_of(result) or {}).items():
            if isinstance(value, Real) and number_of(value) is not None and self._opt.holds(trial_id):
                self._opt.report(self._live[trial_id], step, value, key=trial_id)

    def _reports_of(self, result: Mapping[str, Any] | None) -> dict[Any, Any] | None:
        """The value of a report by its step; None if it has none, and for several objectives without curves."""
        value = None if self._several else (result or {}).get(str(self._metric))
        return None if value is None else {iteration_of(result): value}

    def _violations(self, result: Mapping[str, Any] | None) -> dict[str, float] | None:
        """The values of the constraints by their metrics, for metrics with a value in the result."""
        if not self._limits:
            return None
        found = {metric: violation(limit, (result or {}).get(metric)) for metric, limit in self._limits.items()}
        return {metric: value for metric, value in found.items() if value is not None}

    def _unsaid(self, result: Mapping[str, Any]) -> list[str]:
        """The metrics with limits that have no value in a result, and that no warning has named yet."""
        return [m for m in self._limits if result.get(m) is None and f"no {m}" not in self._warned]

    def _expect_metrics(self, what: str, result: Mapping[str, Any]) -> None:
        """Warn of metrics with limits that have no value in the result of a success, once for each.

        For a missing objective, Tune raises an error. For a missing constraint an error would end the run for good:
        Tune restores the searcher with its constraints, so the error would come again.
        """
        for metric in self._unsaid(result):
            self._warn(f"no {metric}", lacks(what, metric, result))

    def _cut_short(self, trial_id: str, result: Mapping[str, Any] | None) -> bool:
        """Whether a trial was stopped before it had ended, so that its value is partial.

        If Tune stops a trial, it does not pass on the last result before the trial completes. Tune also stops trials
        that reach the length that a criterion of the run allows; these are the longest ones, and are complete.
        """
        iteration = iteration_of(result)
        last = self._last.get(trial_id)
        self._measure(trial_id, iteration)
        ended_by_itself = last is not None and iteration == iteration_of(last) and trial_id not in self._paused
        return iteration < self._longest and not ended_by_itself

    def _measure(self, trial_id: str, iteration: int) -> None:
        """Take note of the length of a trial, unless it is not learned, as it may have other constants."""
        assert self._opt is not None
        if trial_id not in self._live or self._opt.holds(trial_id):
            self._longest = max(self._longest, iteration)

    def _refuse(self, trial_id: str, action: Any) -> None:
        """Run an action on the point of a trial that may not be in the space; warn if it is not."""
        try:
            action(self._opt)
        except ValueError as error:
            self._warn("outside", f"Trial {trial_id} is outside the search space and is not learned: {error}")

    def _value(self, last: Mapping[str, Any], result: Mapping[str, Any] | None) -> float | tuple[float, ...] | None:
        """The ``last`` reported objective, or all of several, or None for a failure; ``result`` ended the trial."""
        values = []
        for metric in self._metrics:
            reported = last.get(metric)
            value = number_of(reported)
            if reported is None:
                self._warn("no objective", never_reported(metric, result or last))
            elif value is None:
                self._warn("metric", f"A trial ended with {metric}={reported!r}: it counts as failed.")
            if value is None or math.isnan(value):
                return None
            values.append(value)
        return tuple(values) if self._several else values[0]

    def _of_another_name(self, result: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The parameters of a trial that Tune has renamed, as it does when it restarts a trial."""
        if result is None or self._tune_space is None:
            return None
        config = result.get("config")
        if config is None:
            config = {k.removeprefix("config/"): v for k, v in result.items() if str(k).startswith("config/")}
        params = self._tune_space.to_params(config)  # constants may be others: a trainable may have changed its config
        return None if self._tune_space.missing(params) else params

    def _params_of(self, config: Mapping[str, Any]) -> dict[str, Any] | None:
        assert self._tune_space is not None
        params = self._tune_space.to_params(config)
        return None if self._tune_space.missing(params) else params | named(self._tune_space.constants(config))

    def restore(self, checkpoint_path: str) -> None:
        """Continue exactly where the searcher that wrote the file was. The file is a pickle: read only your own.

        All settings become those of that searcher; if its constraints differ, there is a warning.

        Raises:
            ValueError: if the file was written by a version of numbo with another format, or by another algorithm.
        """
        given = self._limits
        super().restore(checkpoint_path)
        if given and given != self._limits:
            logger.warning(
                f"This {type(self).__name__} was made with constraints={given}, but restored with "
                f"constraints={self._limits}, which it keeps: learned values are relative to these bounds. Pass the "
                f"same constraints, or use a new {type(self).__name__} with the results as evaluated points."
            )

    def _set_up(self, setup: Setup) -> None:
        if self._num_samples is not None and self._opt is not None and self._opt.n_told == len(self._evaluated):
            self._opt = None  # made for this restored run, whose number of trials Tune gives as 1
        param_space = {} if self._tune_space is not None else setup.param_space
        self.set_search_properties(setup.metric, setup.mode, param_space, num_samples=setup.num_samples)

    def _hold(self, trial_id: str, params: dict[str, Any]) -> None:
        self._live[trial_id] = params
        self._refuse(trial_id, lambda opt: opt.hold(trial_id, params))

    def _know_last(self, trial_id: str, last: Mapping[str, Any]) -> None:
        found = {metric: last[metric] for metric in self._counting if last.get(metric) is not None}
        if found:
            self._last[trial_id] = self._last.get(trial_id, {}) | found

    def _strike(self, params: Mapping[str, Any]) -> None:
        assert self._tune_space is not None
        constants = {name: value for name, value in params.items() if name not in self._tune_space.parameters}
        for i, point in enumerate(self._points):
            tuned = self._tune_space.to_params(point).items() <= params.items()
            if tuned and named(self._tune_space.constants(point)) == constants:
                del self._points[i]
                return

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float | Sequence[float] | None,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[Any] | None = None,
        *,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Learn from a config that was evaluated elsewhere; if it was pruned, from its intermediate values.

        Its constants are not compared with those of the ``param_space``: it is learned as if it had the same.

        Args:
            parameters: the config, nested or flat, with or without constants.
            value: the metric there, a sequence for several metrics, None for a failure.
            error: whether it failed.
            pruned: whether it was stopped early.
            intermediate_values: the metric after each iteration.
            metrics: reported metrics, nested or flat; those with constraints are learned, and the cost, as for a trial.

        Raises:
            ValueError: if the config lacks a tuned value, or is outside the space, or values or metrics are no numbers,
                or not as many as there are objectives.
        """
        space, opt = self._ready()
        result = None if metrics is None else check_metrics(metrics, self._limits)
        params = space.to_params(parameters)
        if missing := space.missing(params):
            raise ValueError(lacks_values(missing, space.foreign(parameters)))
        k = len(self._metrics)
        values = [] if intermediate_values is None else check_reported(intermediate_values, k)
        value = values[-1] if pruned and values else value
        value = None if error else value
        if k > 1 and value is not None and not are_values(value, k):
            raise ValueError(f"value must be {k} numbers, one for each of {self._metrics}, or None; got {value!r}.")
        opt.tell(
            params,
            value,
            key=("evaluated", opt.n_told),  # not a trial's key: a running trial at the same point stays pending
            partial=pruned and value is not None,
            reports=None if self._several else dict(enumerate(values, start=1)),
            constraints=None if result is None else self._violations(result),
            cost=self._cost_of(result),
        )
        if result is not None and value is not None:
            self._expect_metrics("A point was evaluated", result)

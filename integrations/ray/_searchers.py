"""The common base of the searchers: Ray Tune's `Searcher` on top of numbo's optimizers. No mathematics here."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from ray.tune.result import TIME_TOTAL_S
from ray.tune.search import Searcher
from ray.tune.search.repeater import TRIAL_INDEX

from numbo import _checks
from numbo._descriptions import complete
from numbo._settings import as_call
from numbo.optimizers import GLOBAL, Optimizer, Settings
from numbo.ray import _earlier
from numbo.ray._arguments import (
    Mode,
    Relation,
    agreed,
    check_agreement,
    check_constraints,
    check_objectives,
    check_points,
    check_rewarded,
    check_rewards,
    check_run,
    no_goal,
    no_space,
)
from numbo.ray._domains import TuneSpace, check_runnable, holds_domains, named, put
from numbo.ray._learning import LearningSearch
from numbo.ray._snapshot import Setup, TrialSnapshot
from numbo.ray._stored import logger
from numbo.run.timer import Timer
from numbo.spaces import Float, Space, Table
from numbo.spaces.known import Known

#: States of trials that have come to their end.
ENDED = ("TERMINATED", "ERROR")


class NumboSearch(LearningSearch):
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
        settings: all settings of the algorithm, as its optimizer in `numbo` takes them; settings given by name take
            precedence.

    Raises:
        ValueError: for an invalid value of a setting, an invalid space or an invalid point.
        TypeError: for an unknown setting.
    """

    #: Arguments of the constructor, as far as nothing else tells them later.
    _given: Mapping[str, Any] = {}
    _earlier: tuple[Any, ...] = ()
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
            complete(cls, cls._optimizer, cls._optimizer.settings_class, Known)

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
            limit = spec["time_budget_s"] if self._cost == TIME_TOTAL_S else None
            seconds = limit.total_seconds() if isinstance(limit, timedelta) else limit
            self._timer = Timer(float(seconds)) if seconds else None
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
        if self._timer is None:
            opt.keep_time(None)
        else:  # a restored run goes on with what is left of the one before
            self._timer.begin()
            opt.keep_time((self._timer.limit, self._timer.left()))
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

    def _catch_up(self, trials: list[TrialSnapshot]) -> None:
        for trial in trials:
            if trial.trial_id in self._failed and trial.status not in ENDED:  # Tune has resumed it
                self._failed.discard(trial.trial_id)
                self._done.discard(trial.trial_id)
            if trial.trial_id not in self._done:
                self._take_over(trial)
        if trials:
            self._forget(self._live.keys() - {trial.trial_id for trial in trials})

    def _take_over(self, trial: TrialSnapshot) -> None:
        space = self._tune_space
        assert space is not None
        name = trial.trial_id
        known = name in self._live
        if TRIAL_INDEX in trial.config and (known or trial.config[TRIAL_INDEX]):
            return  # a trial of a Repeater, which reports the mean of a group under the name of its first trial
        params = space.to_params(trial.config)
        if space.missing(params):
            self._warn_unknown(name)
            return
        last = {metric: trial.last[metric] for metric in self._counting if trial.last.get(metric) is not None}
        if last:
            self._last[name] = self._last.get(name, {}) | last
        if not known:
            params |= named(space.constants(trial.config))
            self._strike(params)
            self._live[name] = params
            self._refuse(name, lambda opt: opt.hold(name, params))
        if trial.status in ENDED:
            self.on_trial_complete(name, trial.result, error=trial.status == "ERROR")

    def _strike(self, params: Mapping[str, Any]) -> None:
        """Remove a trial's parameters from the points to evaluate."""
        assert self._tune_space is not None
        constants = {name: value for name, value in params.items() if name not in self._tune_space.parameters}
        for i, point in enumerate(self._points):
            tuned = self._tune_space.to_params(point).items() <= params.items()
            if tuned and named(self._tune_space.constants(point)) == constants:
                del self._points[i]
                return

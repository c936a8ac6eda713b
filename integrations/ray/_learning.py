"""The part of a searcher that learns: what trials have reported, how they ended, and what was evaluated elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from ray.tune.result import TRAINING_ITERATION as ITERATION

from numbo.ray._arguments import (
    are_values,
    check_metrics,
    check_reported,
    iteration_of,
    lacks,
    lacks_values,
    never_reported,
    number_of,
    numbers_of,
    violation,
)
from numbo.ray._domains import TuneSpace
from numbo.ray._looking import InspectedSearch


class LearningSearch(InspectedSearch):
    """A searcher that learns from the results of trials.

    Metrics may be reported in different results: of each, the last value counts.
    """

    _tune_space: TuneSpace | None
    _limits: dict[str, tuple[str, float]]
    _cost: str | None = None

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
        if not known:
            return
        assert self._opt is not None
        for step, value in (self._reports_of(result) or {}).items():
            if isinstance(value, Real) and number_of(value) is not None and self._opt.holds(trial_id):
                self._opt.report(self._live[trial_id], step, value, key=trial_id)
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

"""Ray Tune's scheduler on top of numbo's rule for early stopping. No mathematics here."""

from __future__ import annotations

import math
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from numbo import _checks
from numbo._settings import as_call
from numbo.models.stopping import Stopping
from numbo.ray._arguments import Mode, agreed, check_objectives
from numbo.trials import Goal


class CurveScheduler(FIFOScheduler):
    """Stops a trial if a new trial has a higher probability of ending better than the best one, per step it takes.

        tune.TuneConfig(search_alg=GSSBOSearch(), scheduler=CurveScheduler())

    The probability that a trial ends better than the best one is learned from the curves of all trials
    (`numbo.models.curves`). So no settings are needed for the length of trials, the steps at which to stop, or the
    significance of a lead. A trial that is better than all others at its step is never stopped, nor is any trial at a
    step where the rule would have stopped the best one. The logger ``"numbo"`` logs at debug level why a trial is
    stopped or not.

    Any searcher may suggest the trials. In a restored run the rule starts again, from the trials that end later. The
    metric need not be in every result: a trial is judged when it reports one, and has ended with the value at its last
    step that has one.

    Args:
        metric: name of the reported value; by default that of the `TuneConfig`.
        mode: ``"min"`` or ``"max"``; by default that of the `TuneConfig`.
        time_attr: name of the step in the reports.
        probability: trials that end better than the best one with at least this probability are never stopped.
        complete: number of trials that have to end by themselves before any is stopped.

    Raises:
        ValueError: for names that are no strings, another mode, a probability that is not at least 0 and below 1, or a
            number of trials below 1.
    """

    def __init__(
        self,
        metric: str | None = None,
        mode: Mode | None = None,
        *,
        time_attr: str = "training_iteration",
        probability: float = 0.5,
        complete: int = 4,
    ) -> None:
        super().__init__()
        self._metric, self._mode = check_objectives(type(self).__name__, metric, mode, several=False)
        if not isinstance(time_attr, str):
            raise ValueError(f"time_attr must be a name such as 'training_iteration', got {time_attr!r}.")
        self._time_attr = time_attr
        self._rule = Stopping(probability, _checks.integer("complete", complete, 1))
        self._curves: dict[str, dict[float, Any]] = {}
        #: Trials that the rule has stopped, until Tune says that they are complete.
        self._stopped: set[str] = set()

    def __repr__(self) -> str:
        rule = {"probability": self._rule.probability, "complete": self._rule.complete}
        return as_call(self, {"metric": self._metric, "mode": self._mode, "time_attr": self._time_attr, **rule})

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        """Called by Tune before a run with the metric and mode of its `TuneConfig`.

        Raises:
            ValueError: if one is missing, or differs from the scheduler's argument.
        """
        given = {"metric": (self._metric, metric), "mode": (self._mode, mode)}
        self._metric, self._mode = agreed(type(self).__name__, given)
        return True

    @property
    def _goal(self) -> Goal:
        return Goal(("maximize" if self._mode == "max" else "minimize",))

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Called by Tune with a report: whether the trial goes on."""
        step = self._take(trial, result)
        if step is None or not self._rule.due(trial.trial_id, step):
            return str(TrialScheduler.CONTINUE)
        curve = self._goal.curve(self._curves[trial.trial_id])
        if curve is None or not self._rule.verdict(trial.trial_id, curve).stop:
            return str(TrialScheduler.CONTINUE)
        self._learn(trial, ended=False)
        self._stopped.add(trial.trial_id)
        return str(TrialScheduler.STOP)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any] | None) -> None:
        """Called by Tune when a trial has ended: by itself, by a criterion of the run, or stopped by the rule."""
        if trial.trial_id in self._stopped:
            self._stopped.discard(trial.trial_id)
            return
        self._take(trial, result or {})
        self._learn(trial, ended=True)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Called by Tune when a trial has failed."""
        self._learn(trial, ended=False)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Called by Tune when a trial is stopped for good."""
        self._learn(trial, ended=False)

    def _take(self, trial: Trial, result: dict[str, Any]) -> float | None:
        """Record a report; returns its step, None if it has no value of the metric, or no step."""
        step: Any = result.get(self._time_attr)
        value = result.get(str(self._metric))
        if value is None or not _checks.is_finite(step):
            return None
        self._curves.setdefault(trial.trial_id, {})[float(step)] = value
        return float(step)

    def _learn(self, trial: Trial, *, ended: bool) -> None:
        """Learn a trial that has ``ended``, or was stopped or failed; one whose last value is no number has failed."""
        self._stopped.discard(trial.trial_id)
        reports = self._curves.pop(trial.trial_id, {})
        curve = self._goal.curve(reports)
        valid = ended and curve is not None and curve.steps[-1] == max(reports)
        self._rule.learn(trial.trial_id, curve, curve.last if curve is not None and valid else math.nan)

    def debug_string(self) -> str:
        return f"Using {type(self).__name__}: {self._rule.known} trials known."

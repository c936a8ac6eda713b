"""Optuna's `BasePruner` on top of numbo's rule for early stopping. No mathematics here."""

from __future__ import annotations

import logging
import math
import threading
from typing import Any

from numbo import _checks
from numbo.models.stopping import Stopping
from numbo.trials import Goal
from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

logger = logging.getLogger("numbo")


class CurvePruner(BasePruner):
    """Prunes a trial if a fresh one is more likely to end better than the best, per step that it takes.

        study = optuna.create_study(sampler=GSSBOSampler(), pruner=CurvePruner())

    How likely a trial ends better than the best one is learned from the curves of all trials (`numbo.models.curves`):
    no setting says how many steps there are, at which of them to look, or how much a lead is worth. A trial that is
    better than all others at its step is never pruned, nor any as long as the rule would have pruned the best one. Why
    a trial is pruned, or not, is logged at debug level by the logger ``"numbo"``.

    Any sampler may suggest the trials. The last report of a trial that completes should be near to what it returns.

    Args:
        probability: trials that end better than the best with at least this probability are never pruned.
        n_startup_trials: number of trials that have to complete before any is pruned.

    Raises:
        ValueError: for a probability that is not between 0 and 1, or a number below 1.
    """

    def __init__(self, *, probability: float = 0.5, n_startup_trials: int = 4) -> None:
        self._probability = _checks.number("probability", probability, 0.0, 1.0)
        self._complete = _checks.integer("n_startup_trials", n_startup_trials, 1)
        self._lock = threading.Lock()
        self._start()

    def _start(self, study: Any = None) -> None:
        """Know nothing yet of the trials of a study."""
        self._of, self._rule, self._known = study, Stopping(self._probability, self._complete), set[int]()

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        goal = Goal(("minimize" if study.direction == StudyDirection.MINIMIZE else "maximize",))
        curve = goal.curve(trial.intermediate_values)
        if curve is None or math.isnan(trial.intermediate_values[max(trial.intermediate_values)]):
            return False
        with self._lock:
            self._learn(study, goal)
            verdict = self._rule.verdict(curve)
        if not math.isnan(verdict.probability):
            logger.debug(
                "Trial %d at step %g ends better than the best with probability %.3g and goes on from %.3g: %s.",
                trial.number,
                curve.steps[-1],
                verdict.probability,
                verdict.needed,
                verdict.reason,
            )
        return verdict.stop

    def _learn(self, study: Study, goal: Goal) -> None:
        """Take in the trials that have ended since the last call; all of them if it was for another study."""
        study_is = id(study._storage), study._study_id
        if self._of != study_is:
            self._start(study_is)
        for trial in study._get_trials(deepcopy=False, use_cache=True):
            if trial.number not in self._known and trial.state.is_finished():
                self._known.add(trial.number)
                end = goal.outputs(trial.value if trial.state == TrialState.COMPLETE else None)
                self._rule.learn(goal.curve(trial.intermediate_values), float(end[0]))

    def __getstate__(self) -> dict[str, Any]:
        return {"_probability": self._probability, "_complete": self._complete}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._start()

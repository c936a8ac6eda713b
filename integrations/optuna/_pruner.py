"""Optuna's `BasePruner` on top of numbo's rule for early stopping. No mathematics here."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from numbo import _checks
from numbo._forks import StartsAnew
from numbo.models.stopping import Stopping
from numbo.optuna import _records
from numbo.trials import Goal

#: Maximum number of studies that a pruner keeps in memory; other studies are learned again.
MAX_STUDIES = 8
ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


@dataclass
class _Known:
    """The rule of a study, the trials that it has learned, and the storage, which has to be the same."""

    storage: Callable[[], Any]
    rule: Stopping
    trials: set[int] = field(default_factory=set)


class CurvePruner(StartsAnew, BasePruner):
    """Prunes a trial if a new trial has a higher probability of ending better than the best one, per step it takes.

        study = optuna.create_study(sampler=GSSBOSampler(), pruner=CurvePruner())

    The probability that a trial ends better than the best one is learned from the curves of all trials
    (`numbo.models.curves`). So no settings are needed for the number of steps, the steps at which to prune, or the
    significance of a lead. A trial that is better than all others at its step is never pruned, nor is any trial at a
    step where the rule would have pruned the best one. The logger ``"numbo"`` logs at debug level why a trial is pruned
    or not.

    Any sampler may suggest the trials. The last report of a complete trial should be near to its returned value.

    Args:
        probability: trials that end better than the best one with at least this probability are never pruned.
        n_startup_trials: number of trials that have to complete before any is pruned.

    Raises:
        ValueError: for a probability that is not at least 0 and below 1, or a number of trials below 1.
    """

    _started = ("_lock", "_studies")

    def __init__(self, *, probability: float = 0.5, n_startup_trials: int = 4) -> None:
        self._probability = _checks.number("probability", probability, 0.0, 1.0)
        self._complete = _checks.integer("n_startup_trials", n_startup_trials, 1)
        self._start()

    def _start(self) -> None:
        super()._start()
        self._lock = threading.Lock()
        self._studies: dict[tuple[int, int], _Known] = {}

    def __repr__(self) -> str:
        return f"CurvePruner(probability={self._probability!r}, n_startup_trials={self._complete!r})"

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        step = trial.last_step
        if step is None or math.isnan(trial.intermediate_values[step]):
            return False
        goal = Goal(_records.directions_of(study))
        with self._lock:
            rule = self._learned(study, goal)
            if not rule.due(trial.number, float(step)):
                return False
            curve = goal.curve(trial.intermediate_values)
            assert curve is not None
            return rule.verdict(trial.number, curve).stop

    def _learned(self, study: Study, goal: Goal) -> Stopping:
        """The rule for a study, which has learned all trials that have ended."""
        storage = study._storage
        key = (id(study._storage), study._study_id)
        known = self._studies.pop(key, None)
        if known is None or known.storage() is not storage:
            known = _Known(weakref.ref(storage), Stopping(self._probability, self._complete))
        for trial in study.get_trials(deepcopy=False, states=ENDED):
            if trial.number not in known.trials:
                known.trials.add(trial.number)
                end = goal.outputs(trial.value if trial.state == TrialState.COMPLETE else None)
                known.rule.learn(trial.number, goal.curve(trial.intermediate_values), float(end[0]))
        self._studies[key] = known
        while len(self._studies) > MAX_STUDIES:
            del self._studies[next(iter(self._studies))]
        return known.rule

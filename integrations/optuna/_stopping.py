"""A callback that ends a study when more trials do not pay. No mathematics here."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from optuna import logging
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from numbo._descriptions import complete
from numbo.inspection import Ending, usual_interval
from numbo.inspection.fronts import reference_of
from numbo.optuna import _records
from numbo.optuna._inspection import NothingVaries
from numbo.optuna._looking import sampler_of, worthwhile
from numbo.optuna._view import checked
from numbo.trials import Goal

#: The user attribute of a study that says after how many finished trials it was ended, for other workers.
ENDED = "numbo:ended"
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


class StopWhenDone:
    """Ends a study when more trials would not bring what they cost.

        study.optimize(objective, n_trials=1000, callbacks=[StopWhenDone(worth=1e-4)])

    A study goes on as long as some number of further trials, up to 100, is expected to gain more than ``worth`` for
    each of them (`worthwhile`). Workers that share a storage end together if each has the callback. The logger
    ``"optuna.numbo"`` says at info level why a study ended. A study that is continued afterwards starts to wait anew.

    Raises:
        ValueError: for an unsupported value; when it is called, also if the study's sampler is not one of numbo's.
    """

    def __init__(
        self,
        worth: float,
        *,
        per: str = "trial",
        patience: int = 5,
        n_startup_trials: int = 20,
        reference: Sequence[float] | None = None,
    ) -> None:
        self._ending = Ending(worth, per, patience, n_startup_trials, reference)
        #: By study: the mark of an end that was there at first, and the rule.
        self._known: dict[str, tuple[Any, Ending]] = {}

    def __repr__(self) -> str:
        return f"StopWhenDone({self._ending!r})"

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        sampler_of(study)
        if self._ending.reference is not None:
            reference_of(self._ending.reference, Goal(_records.directions_of(study)))
        mark = study.user_attrs.get(ENDED)
        first, ending = self._known.setdefault(study.study_name, (mark, copy.copy(self._ending)))
        if mark != first:
            self._end(study)
            return
        finished = study.get_trials(deepcopy=False, states=FINISHED)
        ask = partial(worthwhile, study, reference=self._ending.reference)
        with suppress(NothingVaries):
            if ending.due(len(finished), lambda: _hours(finished), ask, partial(_exhausted, study)):
                study.set_user_attr(ENDED, len(finished))
                logging.get_logger("optuna.numbo").info(ending.reason("study", len(finished)))
                self._end(study)

    def _end(self, study: Study) -> None:
        """End it here; if it goes on later, it starts to wait anew."""
        self._known.pop(study.study_name, None)
        study.stop()


complete(StopWhenDone, Ending)


def _exhausted(study: Study) -> bool:
    """Whether every point of a finite space was tried, or runs, and a repeat would say nothing."""
    sampler = sampler_of(study)
    study = checked(study)
    with sampler._lock, sampler._views.of(study) as used:
        searched = used.searched()
        return bool(searched.distributions) and used.brought_up(searched).optimizer.exhausted


def _hours(finished: Sequence[FrozenTrial]) -> float:
    """Hours from the end of one of the newest trials to that of the next; 0 if none is known."""
    ends = sorted(trial.datetime_complete for trial in finished if trial.datetime_complete is not None)
    return usual_interval([(end - ends[0]) / timedelta(hours=1) for end in ends])

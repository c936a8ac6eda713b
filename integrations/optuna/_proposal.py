"""A suggestion for a trial, written to the storage so that no other process makes the same one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial

from numbo.optimizers import Suggestion
from numbo.optuna import _records
from numbo.optuna._desk import Desk
from numbo.optuna._views import InUse

#: Number of attempts to choose a point that no other process has chosen, before a point may be repeated.
ATTEMPTS = 32


@dataclass(frozen=True)
class Proposal:
    """The internal parameters of a running trial.

    Attributes:
        used: the study.
        desk: of the optimizer that suggests them.
        trial: the trial.
        fixed: values that they have to have.
        seed: that of the sampler.
    """

    used: InUse
    desk: Desk
    trial: FrozenTrial
    fixed: dict[str, Any]
    seed: int

    def made(self) -> dict[str, Any]:
        """The next suggestion, published, that no other process has chosen at the same time.

        Each process publishes its point and then checks, so the second process sees the point of the first, whose
        result may be known by then. After a collision the first retry asks the model again. Later retries take random
        points of the design, where another collision is unlikely. Each new point is published and checked, too.
        """
        optimizer = self.desk.optimizer
        number = self.trial.number
        point = self._published(optimizer.suggest((self.seed, number), position=number, fixed=self.fixed))
        if isinstance(self.used.study._storage, InMemoryStorage):  # there the lock of the sampler suffices
            return point
        known = optimizer.n_told
        for attempt in range(1, ATTEMPTS + 1):
            trials = self.used.study._get_trials(deepcopy=False, use_cache=False)
            self.used.view.sync(trials)
            self.used.view.hold_running(trials, number)
            free = not optimizer.taken(optimizer.space.encode(point), known)
            if free or optimizer.exhausted or point.keys() <= self.fixed.keys():
                break
            seed = (self.seed, number, attempt)
            if attempt == 1:
                again = optimizer.suggest(seed, position=number, fixed=self.fixed)
            else:
                again = optimizer.suggest_anywhere(seed, fixed=self.fixed)
            point = self._published(again)
        return point

    def _published(self, suggestion: Suggestion) -> dict[str, Any]:
        """The parameters of a suggestion, after writing them to the storage for other processes."""
        point: dict[str, Any] = self.desk.optimizer.space.decode(suggestion.x)
        point |= {name: self.fixed[name] for name in point.keys() & self.fixed.keys()}  # to the last digit
        _records.publish(self.used.study, self.trial, self.desk.identity, point, suggestion.origin)
        self.used.view.note(self.used.study)
        return point

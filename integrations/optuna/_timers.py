"""The time that is left of ``timeout``, in each study."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from optuna.study import Study

from numbo.optimizers import Optimizer
from numbo.run.timer import Timer


class Timers:
    """A timer for each study, by its object: other workers have their own. None runs without a ``timeout``."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._timers = WeakKeyDictionary[Study, Timer]()

    def begin(self, study: Study) -> None:
        """A trial of the ``study`` begins."""
        if self._timeout is not None:
            self._of(study, self._timeout).begin()

    def tell(self, study: Study, optimizer: Optimizer) -> None:
        """Tell the ``optimizer`` of the study what is left."""
        if self._timeout is not None:
            optimizer.keep_time((self._timeout, self._of(study, self._timeout).left()))

    def _of(self, study: Study, timeout: float) -> Timer:
        """The timer of a study; for a Hyperband bracket, that of its study."""
        return self._timers.setdefault(getattr(study, "_study", study), Timer(timeout))

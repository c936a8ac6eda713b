"""When to end a run because more trials do not pay: the rule behind ``StopWhenDone`` of the adapters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from numbo import _checks
from numbo.inspection.remaining import Remaining, TooEarly

#: The time of a trial is the median of so many of the newest intervals between the ends of two: pauses do not count.
NEWEST = 32


class Ending:
    """Whether a run is to end, asked after each finished trial.

    Args:
        worth: the gain that has to come of a trial, or of an hour, for it to pay, in the units of the objective; of
            several objectives, of the hypervolume.
        per: ``"trial"`` or ``"hour"``. Of an hour, the time that workers together take for a trial counts.
        patience: number of finished trials in a row after which the forecast has to say so.
        n_startup_trials: number of trials that have to finish before, unless every point of a finite space was tried.
        reference: of several objectives, the point up to which the hypervolume is taken, a number for each; by default
            the worst values on the front, and a tenth of its range beyond.

    Raises:
        ValueError: for an unsupported value.
    """

    def __init__(
        self, worth: float, per: str, patience: int, n_startup_trials: int, reference: Sequence[float] | None
    ) -> None:
        self.worth = _checks.number("worth", worth, 0.0, above=True)
        self.per = _checks.one_of("per", per, ("trial", "hour"))
        self.patience = _checks.integer("patience", patience, 1)
        self.n_startup_trials = _checks.integer("n_startup_trials", n_startup_trials, 1)
        self.reference = None if reference is None else _checks.finite_numbers(reference)
        if reference is not None and self.reference is None:
            raise ValueError(f"reference must be finite numbers, one an objective; got {reference!r}.")
        #: Number of trials in a row that did not pay.
        self._in_vain = 0
        self._nothing_new = False

    def __repr__(self) -> str:
        return f"worth={self.worth!r}, per={self.per!r}, patience={self.patience!r}"

    def due(
        self,
        finished: int,
        hours: Callable[[], float],
        ask: Callable[[float], Remaining | None],
        exhausted: Callable[[], bool],
    ) -> bool:
        """Whether the run is to end after so many ``finished`` trials.

        Args:
            finished: their number.
            hours: the time of a trial; 0 if it is not known.
            ask: for how many more trials it pays, given the gain that has to come of one
                (`numbo.inspection.Snapshot.worthwhile`).
            exhausted: whether no point of a finite space is left, and repeats would say nothing: then there is nothing
                to wait for (`numbo.optimizers.Optimizer.exhausted`).
        """
        self._nothing_new = exhausted()
        return self._nothing_new or self._has_waited(finished, hours, ask)

    def _has_waited(self, finished: int, hours: Callable[[], float], ask: Callable[[float], Remaining | None]) -> bool:
        if finished < self.n_startup_trials:
            return False
        worth = self.worth * (1.0 if self.per == "trial" else hours())
        if not worth > 0.0:  # trials took no time
            return False
        try:
            pays = ask(worth) is not None
        except TooEarly:
            return False
        self._in_vain = 0 if pays else self._in_vain + 1
        return self._in_vain >= self.patience

    def reason(self, run: str, finished: int) -> str:
        """Why a ``run``, such as ``"study"``, has ended."""
        if self._nothing_new:
            return f"The {run} ends after {finished} trials: every point of its space was tried."
        return (
            f"The {run} ends after {finished} trials: no number of further ones is expected to gain {self.worth:g} for "
            f"each {self.per}."
        )


def usual_interval(ends: Sequence[float]) -> float:
    """The time from the end of one trial to that of the next, given ``ends`` in ascending order; 0 if none is known."""
    gaps = [later - earlier for earlier, later in pairwise(ends[-NEWEST:])]
    return median(gaps) if gaps else 0.0

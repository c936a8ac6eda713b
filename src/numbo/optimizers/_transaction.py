"""Calls that change an optimizer are carried out as a whole, wherever an interrupt strikes.

After an interrupt, or an error, anything that the call has changed may be half done, except the trials: each was told,
or was not (`numbo.trials.Trials`). So everything else is built again from them before the next call, and the optimizer
continues as if the call had been complete, where its trial was told, or else as if it had never been made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from numbo._interrupts import interrupts_get_out
from numbo.trials import History

if TYPE_CHECKING:
    from typing_extensions import Self


class Transaction:
    """Knows what the present call may leave to be repaired; the optimizer has one of them for all of its calls.

    Attributes:
        asked: number of points that were handed out, by calls that were complete.
        telling: the key under which the point is pending whose trial the present call tells; None if it is not.
        outdated: whether everything is to be built again, although the present call is complete.
    """

    def __init__(self, asked: int = 0) -> None:
        self.asked = asked
        self.telling: Hashable | None = None
        self.outdated = False
        self._numbered = asked
        self._told = 0
        self._unfinished = False

    def whole(self, told: int) -> Self:
        """A call that begins with so many trials ``told``; unless its block comes to the end, it has to be repaired."""
        self.telling = None
        self.outdated = False
        self._told = told
        self._unfinished = True
        return self

    def __enter__(self) -> Self:
        self._guard = interrupts_get_out()
        self._guard.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._guard.__exit__(kind, error, trace)
        if error is None:
            self.telling = None
            self.asked = self._numbered
            self._unfinished = self.outdated

    def next_key(self) -> Hashable:
        """The key of the next point that the present call hands out."""
        self._numbered += 1
        return _key(self._numbered - 1)

    def repair(self, history: History, build: Callable[[], None]) -> None:
        """Make the trials and pending points of a ``history`` what they are after a whole call or before it.

        What follows from them has to be ``build``, where a call was not whole.

        This may be interrupted as well, and is then done again.
        """
        if not self._unfinished:
            return
        with interrupts_get_out():
            if history.told > self._told:
                history.pending.pop(self.telling, None)
            for number in range(self.asked, self._numbered):
                history.pending.pop(_key(number), None)  # chosen, but never handed out
            build()
        self._numbered = self.asked
        self._unfinished = False


def _key(number: int) -> Hashable:
    return "asked", number

"""A stopper that ends a run of Tune when more trials do not pay. No mathematics here."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from ray.tune import Stopper

from numbo._descriptions import complete
from numbo.inspection import Ending, usual_interval
from numbo.inspection.ending import NEWEST
from numbo.ray._searchers import NumboSearch

logger = logging.getLogger("ray.tune.search.numbo")


class StopWhenDone(Stopper):
    """Ends a run when more trials would not bring what they cost. Running trials are stopped.

        search = GSSBOSearch()
        tune.Tuner(
            trainable,
            tune_config=tune.TuneConfig(search_alg=search, num_samples=1000),
            run_config=tune.RunConfig(stop=StopWhenDone(search, worth=1e-4)),
        )

    A run goes on as long as some number of further trials, up to 100, is expected to gain more than ``worth`` for each
    of them (`GSSBOSearch.worthwhile`). The logger ``"ray.tune.search.numbo"`` says at info level why a run ended.

    Args:
        search: one of numbo's searchers, the one of the run, perhaps in a `ConcurrencyLimiter`.

    Raises:
        ValueError: for an unsupported value.
    """

    def __init__(
        self,
        search: Any,
        worth: float,
        *,
        per: str = "trial",
        patience: int = 5,
        n_startup_trials: int = 20,
        reference: Sequence[float] | None = None,
    ) -> None:
        self._search = _searcher(search)
        self._ending = Ending(worth, per, patience, n_startup_trials, reference)
        self._ended = False
        self._told = 0
        #: When trials ended, in seconds, by the clock of this process.
        self._ends: deque[float] = deque(maxlen=NEWEST)

    def __repr__(self) -> str:
        return f"StopWhenDone({self._search!r}, {self._ending!r})"

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        opt = self._search.optimizer
        told = 0 if opt is None else opt.n_told
        if self._ended or told == self._told:
            return self._ended
        self._told = told
        self._ends.append(time.monotonic())
        ask = partial(self._search.worthwhile, reference=self._ending.reference)
        hours = usual_interval(list(self._ends)) / 3600.0
        self._ended = self._ending.due(told, lambda: hours, ask, lambda: opt is not None and opt.exhausted)
        if self._ended:
            logger.info(self._ending.reason("run", told))
        return self._ended


complete(StopWhenDone, Ending)


def _searcher(given: Any) -> NumboSearch:
    """The searcher itself, which may be wrapped in others."""
    search = given
    while not isinstance(search, NumboSearch) and hasattr(search, "searcher"):
        search = search.searcher
    if not isinstance(search, NumboSearch):
        raise ValueError(f"search must be one of numbo's searchers, the one of the run; got {given!r}.")
    return search

"""The part of a searcher that Tune saves and restores, even if its files are damaged."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ray import cloudpickle
from ray.tune.search import Searcher

from numbo import _checks
from numbo.optimizers import Optimizer
from numbo.ray._domains import TuneSpace
from numbo.ray._snapshot import PREVIOUS, Setup, TrialSnapshot, read_setup, read_trials, state_files
from numbo.run.timer import Timer

logger = logging.getLogger("numbo")
#: Version of the files that `StoredSearch.save` writes.
FILE_FORMAT = 2


class StoredSearch(Searcher):
    """A searcher that is saved with Tune's snapshots, and continues from Tune's own records if its state is lost."""

    _optimizer: type[Optimizer]
    #: Of a run that has a limit.
    _timer: Timer | None = None

    def __init__(self, metric: Any, mode: Any) -> None:
        super().__init__(metric=metric, mode=mode)
        self._metric = metric
        self._mode = mode
        self._opt: Optimizer | None = None
        self._live: dict[str, dict[str, Any]] = {}
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._paused: set[str] = set()
        self._last: dict[str, dict[str, Any]] = {}
        self._warned: set[str] = set()
        self._max_concurrent: int | None = None
        self._longest = 0
        self._resumed = False
        self._waited = False
        self._failure: str | None = None

    @property
    def _metrics(self) -> list[str]:
        """The metrics of all objectives; empty while unknown."""
        return [] if self._metric is None else [self._metric] if isinstance(self._metric, str) else self._metric

    @property
    def _modes(self) -> dict[str, str]:
        """The modes of all objectives by their metrics."""
        modes = self._mode if self._several else [self._mode]
        return dict(zip(self._metrics, modes, strict=True))

    @property
    def _several(self) -> bool:
        """Whether there are several objectives."""
        return len(self._metrics) > 1

    # -- supplied by searchers -------------------------------------------------------------------------------------

    @abstractmethod
    def _ready(self) -> tuple[TuneSpace, Optimizer]:
        """The space and its optimizer; `RuntimeError` if metric, mode or space are missing."""

    @abstractmethod
    def _set_up(self, setup: Setup) -> None:
        """Start as at the beginning of a run; `ValueError` if metric, mode or space are missing."""

    @abstractmethod
    def _catch_up(self, trials: list[TrialSnapshot]) -> None:
        """Learn trials that are in Tune's records but not in the searcher's state; forget trials unknown to Tune."""

    # -- running trials -------------------------------------------------------------------------------------------

    def on_pause(self, trial_id: str) -> None:
        """Called by Tune's `HyperBandForBOHB`: a paused trial stays pending, and makes room for another one."""
        self._paused.add(trial_id)

    def on_unpause(self, trial_id: str) -> None:
        """Called by Tune's `HyperBandForBOHB`: the trial runs again."""
        self._paused.discard(trial_id)

    # -- state -----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_opt"] = None if self._opt is None else self._opt.state_dict()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        opt = state["_opt"]
        opt = None if opt is None else self._optimizer.from_state_dict(opt)
        self.__dict__.update(state | {"_opt": opt})

    def save(self, checkpoint_path: str) -> None:
        """Write everything needed to continue; the file is either complete or absent."""
        self._check()
        temporary = f"{checkpoint_path}.{os.getpid()}.tmp"
        with open(temporary, "wb") as file:
            pickle.dump({"format": FILE_FORMAT}, file)
            cloudpickle.dump(self.__getstate__(), file)  # functions of a script, too
        os.replace(temporary, checkpoint_path)

    def restore(self, checkpoint_path: str) -> None:
        """Continue exactly where the searcher that wrote the file was. The file is a pickle: read only your own.

        Raises:
            ValueError: if the file was written by a version of numbo with another format.
        """
        with open(checkpoint_path, "rb") as file:
            try:
                header = pickle.load(file)
            except (ImportError, AttributeError):  # written before formats were numbered, by classes that have moved
                header = None
            _checks.state_format(type(self).__name__, header, FILE_FORMAT)
            self.__setstate__(pickle.load(file))

    # -- Tune's snapshots ------------------------------------------------------------------------------------------

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "default") -> None:
        """Write Tune's snapshot, and keep the previous one: Tune may die while it copies them to the storage.

        Raises:
            RuntimeError: if the searcher could not be set up or restored for the run.
        """
        self._ready()  # raises at once an error that the next suggestion would raise, or nothing would
        folder = Path(checkpoint_dir)
        if self._resumed:  # Tune has resumed the trials: some have new names, others were dropped
            self._resumed = False
            self._catch_up(read_trials(folder))
        path = folder / self.CKPT_FILE_TMPL.format(session_str)
        aside = folder.with_name(f"{folder.name}-{path.name}")  # Tune cannot copy a folder whose files vanish meanwhile
        if path.exists():
            shutil.copyfile(path, aside)
            self._put(aside, path.with_name(PREVIOUS + path.name))
        self.save(str(aside))
        self._put(aside, path)

    def _put(self, aside: Path, path: Path) -> None:
        """Replace a file of the snapshot, unless another program reads it: Windows refuses that.

        Then the older file stays. A run that is resumed with it learns newer trials from Tune's records.
        """
        try:
            os.replace(aside, path)
        except PermissionError:
            if not (path.is_file() and os.access(path.parent, os.W_OK)):
                raise
            self._warn("in use", f"{path} is in use by another program: an older state of the searcher stays there.")

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """Continue from Tune's snapshot: the newest readable state, and trials that only Tune's records have.

        If no state can be read, all trials are learned from Tune's records. Tune would ignore an error raised here, and
        start another run in place of this one. So the error is kept, and raised by the next `suggest` or `save_to_dir`.
        """
        try:
            self._continue(Path(checkpoint_dir))
        except Exception as error:  # only later calls can report it
            self._failure = f"{type(self).__name__} cannot continue the run in {checkpoint_dir}: {error}"

    def _check(self) -> None:
        """Raise the error that occurred while Tune restored the searcher."""
        if self._failure is not None:
            raise RuntimeError(self._failure)

    def _continue(self, folder: Path) -> None:
        limit = self._max_concurrent  # the limit of the run that Tune starts now
        trials = read_trials(folder)
        for path in state_files(folder, self.CKPT_FILE_TMPL):
            try:
                self.restore(str(path))
            except Exception as error:  # incomplete, as the driver died: unpickling may raise anything
                self._warn(f"torn {path.name}", f"{path} cannot be read ({error!r}).")
            else:
                break
        else:
            self._set_up(read_setup(folder))
            self._warn("no state", f"{folder} holds no readable state of the searcher: the trials are learned instead.")
        self._max_concurrent = limit
        self._resumed = True
        self._waited = False
        self._failure = None
        self._paused = set()  # Tune calls `on_pause` again
        self._catch_up(trials)

    def _forget(self, trial_ids: Iterable[str]) -> None:
        """Release the points of trials that will not end."""
        for trial_id in list(trial_ids):
            del self._live[trial_id]
            self._paused.discard(trial_id)
            self._last.pop(trial_id, None)
            if self._opt is not None:
                self._opt.release(trial_id)

    def _full(self) -> bool:
        """Whether the maximum number of trials run; paused ones do not count."""
        if self._max_concurrent is None or len(self._live.keys() - self._paused) < self._max_concurrent:
            return False
        if self._resumed and self._waited:  # asked again before a snapshot: Tune resumed none of them, and waits
            self._forget(self._live)
            return False
        self._waited = self._resumed
        return True

    def _warn_unknown(self, trial_id: str) -> None:
        self._warn(
            "unknown", f"Trial {trial_id} is not learned: it was not suggested here, and its config lacks tuned values."
        )

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(message)

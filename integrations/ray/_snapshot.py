"""The trials in Tune's own snapshot of an experiment, read as data.

Tune copies its files to the storage one by one and in place: if the driver dies meanwhile, some of them are torn, and
the searcher's state may be older or newer than that of the trials.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

logger = logging.getLogger("numbo")


@dataclass(frozen=True)
class TrialSnapshot:
    """A trial as recorded by Tune; ``result`` is its last report, if there was one."""

    trial_id: str
    status: str
    config: dict[str, Any]
    result: dict[str, Any] | None


def read_trials(folder: Path) -> Iterator[TrialSnapshot]:
    """The trials of the newest readable experiment snapshot in ``folder``; none if no snapshot can be read."""
    for path in sorted(folder.glob("experiment_state-*.json"), reverse=True):
        try:
            rows = json.loads(path.read_text())["trial_data"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for row in rows:
            try:
                trial, metadata = (json.loads(part) for part in row)
                result = metadata.get("last_result") or None
                yield TrialSnapshot(trial["trial_id"], trial["status"], dict(trial["config"]), result)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        return


def state_files(folder: Path, template: str) -> list[Path]:
    """Files with a searcher's state, the newest first, followed by their predecessors."""
    newest = sorted(folder.glob(template.format("*")), reverse=True)
    return newest + sorted(folder.glob(template.format("*") + ".previous"), reverse=True)

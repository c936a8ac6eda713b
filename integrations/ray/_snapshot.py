"""What Tune's own snapshot of an experiment says about its trials, read as data.

Tune copies its files to the storage one by one and in place: a driver that dies meanwhile leaves some of them torn, and
the searcher's state older or younger than the trials'.
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
    """A trial as Tune had written it down; ``result`` is its last report, if there was one."""

    trial_id: str
    status: str
    config: dict[str, Any]
    result: dict[str, Any] | None


def read_trials(folder: Path) -> Iterator[TrialSnapshot]:
    """The trials of the newest experiment snapshot in ``folder`` that can be read; nothing if none can."""
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
    """Files with a searcher's state, the newest first; of each, its predecessor comes last."""
    newest = sorted(folder.glob(template.format("*")), reverse=True)
    return newest + sorted(folder.glob(template.format("*") + ".previous"), reverse=True)

"""The files of an experiment, read as data: searcher states, the setup of the run, and the trials.

Tune copies its files to the storage one by one and in place. If the driver dies meanwhile, some files are incomplete,
and the searcher's state may be older or newer than that of the trials.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray import cloudpickle
from ray.tune.utils import flatten_dict

logger = logging.getLogger("numbo")
#: Prefix of a searcher's state file that is one snapshot older. Tune restores files named \*.pkl only.
PREVIOUS = "previous-"
#: In Tune's records, a trial's config as it was suggested: what Tune fills in later is still marked there, so that
#: options that are objects are known by their marks.
UNRESOLVED = "_Trial__unresolved_config"


@dataclass(frozen=True)
class TrialSnapshot:
    """A trial as recorded by Tune.

    Attributes:
        result: its last report, if there was one, with metrics by path.
        last: the last number that it has reported of each metric.
    """

    trial_id: str
    status: str
    config: dict[str, Any]
    result: dict[str, Any] | None
    last: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """The setup of a run, as far as Tune's files contain it."""

    metric: str | None = None
    mode: str | None = None
    num_samples: int | None = None
    param_space: dict[str, Any] = field(default_factory=dict)


def read_trials(folder: Path) -> list[TrialSnapshot]:
    """The trials of the newest readable experiment snapshot in ``folder``; none if no snapshot can be read."""
    trials = []
    for path in sorted(folder.glob("experiment_state-*.json"), reverse=True):
        try:
            rows = list(json.loads(path.read_text(encoding="utf-8"))["trial_data"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for row in rows:
            try:
                trial, metadata = (json.loads(part) for part in row)
                config = dict(_objects(trial.get(UNRESOLVED) or trial["config"]))
                result = _objects(metadata.get("last_result"))
                flat = flatten_dict(result) if result else None  # as Tune passes results on
                last = {name: one["last"] for name, one in _objects(metadata.get("metric_analysis") or {}).items()}
                trials.append(TrialSnapshot(trial["trial_id"], trial["status"], config, flat, last))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        break
    return trials


def _objects(node: Any) -> Any:
    """``node`` from Tune's JSON, with the objects that Tune has pickled into it, such as NumPy's numbers."""
    if isinstance(node, list):
        return [_objects(child) for child in node]
    if not isinstance(node, dict):
        return node
    if node.get("_type") != "CLOUDPICKLE_FALLBACK":
        return {key: _objects(child) for key, child in node.items()}
    try:
        return cloudpickle.loads(bytes.fromhex(node["value"]))
    except Exception:  # unpickling may raise anything; the raw node matches no parameter
        return node


def read_setup(folder: Path) -> Setup:
    """Metric and mode from the tuner's file; space and number of trials from the newest file of the generator."""
    tune_config = _first([folder / "tuner.pkl"]).get("_tune_config")
    states = sorted(folder.glob("search_gen_state-*.json"), reverse=True)
    spec = getattr(_first(states).get("experiment"), "spec", {})
    metric, mode = (getattr(tune_config, name, None) for name in ("metric", "mode"))
    return Setup(metric, mode, spec.get("num_samples"), spec.get("config") or {})


def _first(paths: Iterable[Path]) -> dict[str, Any]:
    """The contents of the first of Tune's pickles that can be read; an empty dict if none can."""
    for path in paths:
        try:
            found = cloudpickle.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        except Exception as error:  # unpickling may raise anything
            logger.warning(f"{path} cannot be read: {error!r}.")
        else:
            return found if isinstance(found, dict) else {}
    return {}


def state_files(folder: Path, template: str) -> list[Path]:
    """Files with a searcher's state, the newest first, each session's followed by its predecessor."""
    pattern = template.format("*")
    sessions = {p.name.removeprefix(PREVIOUS) for p in (*folder.glob(pattern), *folder.glob(PREVIOUS + pattern))}
    paths = [folder / (prefix + name) for name in sorted(sessions, reverse=True) for prefix in ("", PREVIOUS)]
    return [path for path in paths if path.exists()]

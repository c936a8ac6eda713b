"""What a running trial tells other processes: its relative parameters, in short system attributes.

Optuna stores a parameter when the objective asks for it, which may be much later than when it was chosen.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

KEY = "numbo:params"
#: Relational storages keep at most this many characters of a value.
PIECE = 2045


def digest(distributions: Mapping[str, BaseDistribution]) -> int:
    """Identifies a search space: a category's index and the number of a region's box mean nothing in another one."""
    return zlib.crc32(repr(sorted(distributions.items())).encode())


def publish(study: Study, trial: FrozenTrial, space: int, params: Mapping[str, Any], origin: int) -> None:
    """Write the internal parameters of ``trial`` and the part of the search that proposed them to the storage."""
    text = json.dumps({"space": space, "origin": origin, "params": dict(params)}, separators=(",", ":"))
    for i in range(0, len(text), PIECE):
        study._storage.set_trial_system_attr(trial._trial_id, f"{KEY}:{i // PIECE}", text[i : i + PIECE])


def read(trial: FrozenTrial, space: int) -> tuple[dict[str, Any], int] | None:
    """Parameters and origin as published; ``None`` where they are absent, torn, not ours or of another space."""
    attrs = trial.system_attrs
    pieces: list[str] = []
    while isinstance(piece := attrs.get(f"{KEY}:{len(pieces)}"), str):
        pieces.append(piece)
    try:
        record, _ = json.JSONDecoder().raw_decode("".join(pieces))  # a longer record may have stood there before
        if record["space"] != space:
            return None
        params, origin = record["params"], record["origin"]
    except (ValueError, KeyError, TypeError):
        return None
    return (params, origin) if isinstance(params, dict) and type(origin) is int else None

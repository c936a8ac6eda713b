"""The relative parameters of running trials, published to other processes in short system attributes.

Optuna stores a parameter only when the objective asks for it, possibly long after it was chosen.
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
#: Maximum number of characters that relational storages keep of a value.
PIECE = 2045


def digest(distributions: Mapping[str, BaseDistribution]) -> int:
    """Identifies a search space: the index of a category and the number of a region's box are meaningless in others."""
    return zlib.crc32(repr(sorted(distributions.items())).encode())


def publish(study: Study, trial: FrozenTrial, space: int, params: Mapping[str, Any], origin: int) -> None:
    """Write to the storage the internal parameters of ``trial`` and the part of the search that proposed them."""
    text = json.dumps({"space": space, "origin": origin, "params": dict(params)}, separators=(",", ":"))
    for i in range(0, len(text), PIECE):
        study._storage.set_trial_system_attr(trial._trial_id, f"{KEY}:{i // PIECE}", text[i : i + PIECE])


def read(trial: FrozenTrial, space: int) -> tuple[dict[str, Any], int] | None:
    """Parameters and origin as published; ``None`` if absent, torn, not numbo's, or from another space."""
    attrs = trial.system_attrs
    pieces: list[str] = []
    while isinstance(piece := attrs.get(f"{KEY}:{len(pieces)}"), str):
        pieces.append(piece)
    try:
        record, _ = json.JSONDecoder().raw_decode("".join(pieces))  # pieces of a longer, earlier record may follow
        if record["space"] != space:
            return None
        params, origin = record["params"], record["origin"]
    except (ValueError, KeyError, TypeError):
        return None
    return (params, origin) if isinstance(params, dict) and type(origin) is int else None

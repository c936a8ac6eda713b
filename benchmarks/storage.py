"""Results files: one line of JSON per finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def load(path: Path) -> list[dict[str, Any]]:
    """The finished runs in a results file; lines torn by an interruption are left out."""
    rows = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return rows

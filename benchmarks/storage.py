"""Results files: one line of JSON per finished run.

Long lists are written compactly: equal values that follow one another once, with their number, rows of equal length by
columns, and numbers with seven digits. `load` gives back the lists.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
#: Shorter lists are left as they are.
LONG = 20


def load(path: Path) -> list[dict[str, Any]]:
    """The finished runs in a results file; lines torn by an interruption are left out."""
    rows = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            rows.append({name: unpacked(value) for name, value in row.items()})
    return rows


def line(row: dict[str, Any]) -> str:
    """The line of a finished run."""
    return json.dumps({name: packed(value) for name, value in row.items()}) + "\n"


def rewrite(path: Path) -> None:
    """Write a results file anew, compactly."""
    text = "".join(map(line, load(path)))
    path.write_text(text)


def packed(value: Any) -> Any:
    """A value; of a long list what is shorter than itself."""
    if not isinstance(value, list) or len(value) < LONG:
        return value
    short: Any = None
    if all(isinstance(one, list) for one in value):
        if len({len(one) for one in value}) == 1 and value[0]:
            short = {"columns": [packed(list(column)) for column in zip(*value, strict=True)]}
    elif not any(isinstance(one, dict | list) for one in value):
        value = [float(f"{one:.7g}") if isinstance(one, float) else one for one in value]
        short = {"repeated": [[json.loads(text), len(list(same))] for text, same in groupby(map(json.dumps, value))]}
    return value if short is None or len(json.dumps(short)) >= len(json.dumps(value)) else short


def unpacked(value: Any) -> Any:
    """What `packed` was given, but for digits."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    if "repeated" in value:
        return [one for one, count in value["repeated"] for _ in range(count)]
    if "columns" in value:
        return [list(row) for row in zip(*map(unpacked, value["columns"]), strict=True)]
    return value

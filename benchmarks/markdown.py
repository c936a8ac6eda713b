"""Tables of pages and reports."""

from __future__ import annotations

from collections.abc import Sequence


def lines(table: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, of which the first row is the head."""
    texts = ["| " + " | ".join(row) + " |" for row in table]
    return [texts[0], "|---" * len(table[0]) + "|", *texts[1:]]


def read(text: str) -> list[list[list[str]]]:
    """The tables of a page, as rows of cells; the first row of each is the head."""
    tables: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("| "):
            if not inside:
                tables.append([])
            tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        inside = line.startswith("|")
    return tables

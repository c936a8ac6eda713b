"""Tables of pages and reports."""

from __future__ import annotations

from collections.abc import Sequence


def lines(table: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, of which the first row is the head."""
    texts = ["| " + " | ".join(row) + " |" for row in table]
    return [texts[0], "|---" * len(table[0]) + "|", *texts[1:]]

"""Numbers and shares in words."""

from __future__ import annotations

from collections.abc import Mapping

#: Maximum number of shares that are named.
NAMED = 10


def rounded(value: float, digits: int = 2) -> str:
    """A number with so many significant digits, written as a power of ten only below 1e-4 and from 1e6 on."""
    return f"{float(f'{value:.{digits}g}'):g}"


def listed(of: Mapping[str, float]) -> str:
    """Shares in their order; of the many that are left, the sum."""
    named = list(of.items())
    left = [share for _, share in named[NAMED:]]
    words = [f"{name} {share:.0%}" for name, share in named[: NAMED if len(left) > 1 else None]]
    return ", ".join([*words, f"{len(left)} others {sum(left):.0%} together"] if len(left) > 1 else words)

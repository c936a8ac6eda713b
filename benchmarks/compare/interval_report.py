"""The shares of arms within confidence intervals, as a table for pages (`benchmarks.checks.intervals`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.markdown import lines
from benchmarks.storage import RESULTS, load


def intervals() -> str:
    """How many arms lie within confidence intervals under a learned kernel: means over the kernels of the draws."""
    known: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in load(RESULTS / "intervals.jsonl"):
        if row["learning"] == "learned":
            known.setdefault((row["algorithm"], row["beta"], row["d"]), []).append(row["figures"])
    marks = list(next(iter(known.values()))[0])
    table = [["algorithm", "beta", "d", *(f"after {n}" for n in marks), "all arms", "half width"]]
    for (algorithm, beta, d), found in sorted(known.items(), key=lambda one: one[0][0] != "BKB"):
        shares = np.array([[figures[n]["within"] for n in marks] for figures in found])
        half = np.mean([figures[marks[-1]]["half"] for figures in found])
        everywhere = float(np.mean(shares[:, -1] == 1.0))
        cells = [*(f"{share:.2f}" for share in shares.mean(axis=0)), f"{everywhere:.0%}", f"{half:.2g}"]
        table.append([algorithm, beta, str(d), *cells])
    return "\n\n" + "\n".join(lines(table)) + "\n\n"

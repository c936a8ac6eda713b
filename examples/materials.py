"""Screen a table of candidate materials in batches, with BBKB.

    python examples/materials.py [--batches 6] [--size 16]
    python examples/materials.py --table candidates.csv --target conductivity

Every row is a candidate, every column but the target a feature. In a real campaign the
target is what a laboratory measures for a batch of candidates; here it is looked up in
the table. If no table is given, one of 4,000 oxides with made-up properties is written
to a temporary folder and used.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from numbo import BBKB


def write_table(path: Path) -> None:
    """Mixed oxides A(1-x) B(x) O3: composition, structure, process and conductivity."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "doping": rng.uniform(0.0, 0.5, 4000).round(3),
            "tolerance_factor": rng.normal(0.95, 0.04, 4000).round(3),
            "annealing_celsius": rng.choice(np.arange(600, 1401, 25), 4000),
            "grain_micrometers": rng.lognormal(0.5, 0.6, 4000).round(2),
        }
    )
    peak = np.exp(
        -(((table["doping"] - 0.18) / 0.07) ** 2)
        - ((table["tolerance_factor"] - 0.985) / 0.03) ** 2
    )
    process = 1.0 - ((table["annealing_celsius"] - 1150) / 700) ** 2
    table["conductivity"] = (
        120.0 * peak * process + 8.0 * np.log1p(table["grain_micrometers"])
    ).round(2)
    table.to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Screen a table of candidates in batches with BBKB."
    )
    parser.add_argument(
        "--table", type=Path, help="a CSV file; a made-up one by default"
    )
    parser.add_argument(
        "--target", default="conductivity", help="the column to maximise"
    )
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument(
        "--size", type=int, default=16, help="candidates that are measured at once"
    )
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = arguments.table
        if path is None:
            path = Path(folder) / "candidates.csv"
            write_table(path)
        table = pd.read_csv(path)
    target = table.pop(arguments.target)

    search = BBKB(arms=table.to_numpy(), seed=0, avoid_repeats=True)
    for number in range(1, arguments.batches + 1):
        left = len(table) - search.n_told
        if left == 0:
            break
        # search.next_batch() would end a batch by the paper's rule instead
        rows = search.ask(min(arguments.size, left))
        search.tell(rows, target.iloc[rows].to_numpy())
        assert search.best is not None  # for the type checker: something was measured
        best = f"best {arguments.target} so far {search.best[1]:.2f}"
        print(f"batch {number:2d}: {len(rows):2d} measured, {best}")

    row, value = search.best or (0, 0.0)
    better = int((target > value).sum())
    told = f"{search.n_told} of {len(table)} measurements"
    print(f"\nBest candidate, row {row}, after {told}:")
    print(table.iloc[row].to_string())
    print(f"{arguments.target} {value:.2f}; the table holds {better} better ones")
    relevance = {
        table.columns[int(name.split()[1])]: share
        for name, share in search.explain().relevance.items()
    }
    print(
        "\nWhat it depends on: "
        + ", ".join(f"{name} {share:.0%}" for name, share in relevance.items())
    )


if __name__ == "__main__":
    main()

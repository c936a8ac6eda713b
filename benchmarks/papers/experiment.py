"""What an experiment is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Experiment:
    """A claim of a paper, and what is measured.

    Args:
        claim: what the paper says, and what the figures are.
        measure: called with ``seed`` and the arguments of a case. It returns figures by name: numbers, or whether
            something holds. A name that begins with an underscore is a curve for a plot.
        cases: arguments by the name of the case, which has no spaces.
        seeds: how many, unless the command says otherwise.
        reads: whether `measure` also takes ``data``, the folder with the regression tables.
    """

    claim: str
    measure: Callable[..., dict[str, Any]]
    cases: Mapping[str, dict[str, Any]]
    seeds: int
    reads: bool = False

    def run(self, case: str, seed: int, data: Path | None) -> dict[str, Any]:
        """The figures of a case with a seed."""
        more = {"data": data} if self.reads else {}
        return self.measure(seed=seed, **self.cases[case], **more)

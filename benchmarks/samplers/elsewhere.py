"""Peers that need packages which numbo's environment cannot have: each runs in a process of another Python.

The objective stays in this process, with the same versions of its libraries for all samplers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution

from benchmarks.samplers.declared import Declared, Params

Array = NDArray[np.float64]
Space = dict[str, BaseDistribution]

ROOT = Path(__file__).parents[2]


class Search(Protocol):
    """What asks for a configuration, and is then told its value."""

    def ask(self) -> dict[str, Any]: ...

    def tell(self, value: float) -> None: ...


class Elsewhere(Declared):
    """The search that the module ``benchmarks.samplers.NAME`` answers with when it is run; one trial at a time.

    Its Python is that of the environment variable ``NAME_PYTHON``, by default this one. A value is told when the next
    configuration is asked for, so that the time of both is the time of a suggestion.
    """

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(seed)
        self._name = name
        self._asked = 0

    def begin(self) -> None:
        python = os.environ.get(f"{self._name.upper()}_PYTHON", sys.executable)
        self._command = [python, "-m", f"benchmarks.samplers.{self._name}"]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it is open as long as the process
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        self._send({"seed": self.seed, "space": {n: distribution_to_json(d) for n, d in self.space.items()}})

    def suggest(self, params: list[Params], values: Array) -> dict[str, Any]:
        if len(values) != self._asked:
            raise ValueError(f"{self._name} must be told each value before the next trial; {len(values)} are known.")
        self._asked += 1
        assert self._process.stdout is not None
        try:
            self._send(float(values[-1]) if len(values) else None)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._errors.seek(0)
            last = self._errors.read().rstrip().rpartition("\n")[2]
            raise RuntimeError(f"{self._name} ({' '.join(self._command)}) has ended: {last}")
        found: dict[str, Any] = json.loads(line)
        return found

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def answer(make: Callable[[Space, int], Search]) -> None:
    """Serve `Elsewhere` with the search that ``make`` makes of a space and a seed, until its input ends."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what libraries print is no answer
        first = json.loads(sys.stdin.readline())
        search = make({n: json_to_distribution(text) for n, text in first["space"].items()}, first["seed"])
        for line in sys.stdin:
            value = json.loads(line)
            if value is not None:
                search.tell(value)
            print(json.dumps(search.ask()), file=out, flush=True)

"""Surrogate models of YAHPO Gym (Pfisterer et al. 2022), in folders that environment variables name.

A folder has a ``model.onnx`` and an ``encoding.json``; onnxruntime has to be installed.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.problem import Array


class Surrogate:
    """The model in a ``folder``, on one thread, and the numbers of its categories (``encoding``)."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.encoding = json.loads((folder / "encoding.json").read_text())
        self._model = onnxruntime.InferenceSession(folder / "model.onnx", options)

    def outputs(self, categories: list[int], rows: Any) -> Array:
        """All outputs (n, outputs) for the numbers in ``rows (n, numbers)``, with the same ``categories``."""
        numbers = np.asarray(rows, dtype=np.float32)
        given = {"cat": np.tile(np.array(categories, dtype=np.int32), (len(numbers), 1)), "cont": numbers}
        feed = {i.name: given["cat" if "cat" in i.name else "cont"] for i in self._model.get_inputs()}
        return np.asarray(self._model.run(None, feed)[0], dtype=float)


@cache
def surrogate(variable: str) -> Surrogate:
    """The model whose folder an environment variable names."""
    return Surrogate(Path(os.environ[variable]))

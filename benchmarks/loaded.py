"""Imported by the process that workers are forked from: after this, kernels and libraries are loaded."""

from __future__ import annotations

from benchmarks.faults import sequential

sequential(trials=14)

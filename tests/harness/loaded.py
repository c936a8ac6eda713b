"""Imported by the process that workers are forked from: after this, kernels and libraries are loaded."""

from __future__ import annotations

from tests.harness.faults import sequential

sequential(trials=14)

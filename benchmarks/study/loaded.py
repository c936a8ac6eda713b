"""Imported by the process that workers are forked from: after this, kernels, libraries and images are loaded."""

from __future__ import annotations

import optuna

import numbo
from benchmarks.study.on_optuna import SAMPLERS, curves, quiet

quiet()
numbo.warmup()
for make in SAMPLERS.values():
    optuna.create_study(storage="sqlite://", sampler=make()).optimize(curves, n_trials=12)

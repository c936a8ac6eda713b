"""numbo's samplers for Optuna: ``optuna.create_study(sampler=GSSBOSampler())``."""

try:
    from optuna import logging
except ImportError as error:
    raise ImportError("numbo.optuna needs Optuna, which is not installed: pip install 'numbo[optuna]'.") from error

from numbo.optuna._algorithms import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler
from numbo.optuna._looking import (
    best_predicted,
    best_predicted_trial,
    explain,
    front,
    hypervolumes,
    predict,
    predict_end,
    predict_feasible,
    remaining,
    worthwhile,
)
from numbo.optuna._progress import Progress
from numbo.optuna._pruner import CurvePruner
from numbo.optuna._reports import report, should_prune
from numbo.optuna._stopping import StopWhenDone
from numbo.spaces import Table
from numbo.warming.first_use import announce_compilation

announce_compilation(logging.get_logger("optuna.numbo").info)

__all__ = [
    "BBKBSampler",
    "BKBSampler",
    "CurvePruner",
    "GPUCBSampler",
    "GSSBOSampler",
    "Progress",
    "SBPESampler",
    "StopWhenDone",
    "Table",
    "best_predicted",
    "best_predicted_trial",
    "explain",
    "front",
    "hypervolumes",
    "predict",
    "predict_end",
    "predict_feasible",
    "remaining",
    "report",
    "should_prune",
    "worthwhile",
]

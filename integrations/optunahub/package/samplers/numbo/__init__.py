from numbo.optuna import BBKBSampler
from numbo.optuna import BKBSampler
from numbo.optuna import GPUCBSampler
from numbo.optuna import GSSBOSampler
from numbo.optuna import SBPESampler


__all__ = ["BBKBSampler", "BKBSampler", "GPUCBSampler", "GSSBOSampler", "SBPESampler"]

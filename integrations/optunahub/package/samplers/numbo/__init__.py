from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler

__all__ = ["BBKBSampler", "BKBSampler", "GPUCBSampler", "GSSBOSampler", "SBPESampler"]

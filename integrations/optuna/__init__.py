"""numbo's samplers for Optuna: ``optuna.create_study(sampler=GSSBOSampler())``."""

try:
    import optuna  # noqa: F401
except ImportError as error:
    raise ImportError("numbo.optuna needs Optuna, which is not installed: pip install 'numbo[optuna]'.") from error

from numbo.optuna._samplers import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler

__all__ = ["BBKBSampler", "BKBSampler", "GPUCBSampler", "GSSBOSampler", "SBPESampler"]

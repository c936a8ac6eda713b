"""Surrogate models: fit, condition, predict. They know arrays in the unit cube and nothing of users' spaces."""

from numbo.models.arm_posterior import ArmPosterior
from numbo.models.gp import ExactGP, Hyperparameters
from numbo.models.sparse_gp import SparseGP
from numbo.models.transforms import OutputTransform, finite_range

__all__ = ["ArmPosterior", "ExactGP", "Hyperparameters", "OutputTransform", "SparseGP", "finite_range"]

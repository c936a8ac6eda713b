"""Surrogate models: fit, condition, predict. They work on arrays in the unit cube, not on users' spaces."""

from numbo.models.arm_posterior import ArmPosterior
from numbo.models.feasibility import Feasibility
from numbo.models.gp import ExactGP
from numbo.models.sparse_gp import SparseGP
from numbo.models.transforms import OutputTransform

__all__ = ["ArmPosterior", "ExactGP", "Feasibility", "OutputTransform", "SparseGP"]

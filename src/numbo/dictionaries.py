"""Dictionaries for sparse GPs on their own: posterior variance sampling, recursive RLS and BLESS."""

from numbo.models.dictionaries import bless, leverage_estimates, posterior_variance_sampling, recursive_rls

__all__ = ["bless", "leverage_estimates", "posterior_variance_sampling", "recursive_rls"]

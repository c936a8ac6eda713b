"""Standalone subset selection: `select_subset`, its criteria, and the data available to a criterion."""

from numbo.models.subsets import CRITERIA, Criterion, Pool, select_subset

__all__ = ["CRITERIA", "Criterion", "Pool", "select_subset"]

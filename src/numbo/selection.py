"""Subset selection on its own: `select_subset`, the criteria it knows, and what a criterion may look at."""

from numbo.models.subsets import CRITERIA, Criterion, Pool, select_subset

__all__ = ["CRITERIA", "Criterion", "Pool", "select_subset"]

"""Standalone subset selection: `select_subset`, its criteria, and the data available to a criterion."""

from numbo.models.subsets import (
    CRITERIA,
    Criterion,
    Pool,
    select_first,
    select_kmeans_plus_plus,
    select_nystrom,
    select_random,
    select_sign,
    select_subset,
)

__all__ = [
    "CRITERIA",
    "Criterion",
    "Pool",
    "select_first",
    "select_kmeans_plus_plus",
    "select_nystrom",
    "select_random",
    "select_sign",
    "select_subset",
]

"""The contents of the plot of earlier studies as arrays, drawn by `numbo.plot` and `numbo.plot.matplotlib`."""

from __future__ import annotations

from numbo._types import Array
from numbo.plot._data import Subject

#: Maximum number of studies that are shown.
MOST = 12
PREDICTED = "predicted by the study, in normal scores"
STUDIES = "What earlier studies predict"


def studies_of(subject: Subject) -> list[tuple[str, Array, Array]]:
    """The studies with the largest weights, the largest first.

    Of each a title with its weight, its predictions (n,) at the successes, and their values (n,).

    Raises:
        ValueError: if no earlier study has an influence on the model.
    """
    found = subject.optimizer.study_predictions
    if not found:
        raise ValueError("No earlier study has an influence: give some with earlier=, and tell two trials or more.")
    weights = subject.explanation.studies
    told = subject.history()
    names = sorted(found, key=lambda name: -abs(weights[name]))[:MOST]
    return [(f"{name}: weight {weights[name]:.2g}", found[name][told.rows], told.y) for name in names]

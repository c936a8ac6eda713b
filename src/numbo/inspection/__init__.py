"""Inspection of an optimizer: its model, its recommendations, and the time of its asks."""

from numbo.inspection.ending import Ending, usual_interval
from numbo.inspection.explanation import Explanation, relevance
from numbo.inspection.learning_curve import LearningCurve
from numbo.inspection.remaining import Remaining, TooEarly
from numbo.inspection.snapshot import Inspectable, Snapshot

__all__ = [
    "Ending",
    "Explanation",
    "Inspectable",
    "LearningCurve",
    "Remaining",
    "Snapshot",
    "TooEarly",
    "relevance",
    "usual_interval",
]

"""What an optimizer tells about itself: what it believes, and where the time of an ask goes."""

from numbo.inspection.explanation import Explanation, relevance
from numbo.inspection.inspectable import Inspectable
from numbo.inspection.learning_curve import LearningCurve
from numbo.inspection.snapshot import Snapshot

__all__ = ["Explanation", "Inspectable", "LearningCurve", "Snapshot", "relevance"]

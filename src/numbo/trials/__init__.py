"""Records of trials: observations, failures and pending points, and the directions of objectives."""

from numbo.trials.curve import Curve
from numbo.trials.data import Data, finite_range
from numbo.trials.effort import SCOUT
from numbo.trials.ends import Ends
from numbo.trials.front import is_below_median
from numbo.trials.goal import Goal, best_first
from numbo.trials.history import UNASKED, History, scores_of
from numbo.trials.points import Pending, point_key
from numbo.trials.pulls import Pulls
from numbo.trials.trials import Trials, own

__all__ = [
    "SCOUT",
    "UNASKED",
    "Curve",
    "Data",
    "Ends",
    "Goal",
    "History",
    "Pending",
    "Pulls",
    "Trials",
    "best_first",
    "finite_range",
    "is_below_median",
    "own",
    "point_key",
    "scores_of",
]

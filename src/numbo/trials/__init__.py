"""Records of the trials: observations, failures and pending points, in the order in which they were told."""

from numbo.trials.goal import Goal, best_first
from numbo.trials.history import UNASKED, History, Pending, finite_range, own, point_key
from numbo.trials.pulls import Pulls

__all__ = ["UNASKED", "Goal", "History", "Pending", "Pulls", "best_first", "finite_range", "own", "point_key"]

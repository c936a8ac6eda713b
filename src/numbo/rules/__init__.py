"""Who makes the next suggestion: an algorithm has a list of rules, and the first that has a point makes it."""

from numbo.rules.again import Again
from numbo.rules.confirm import Confirm
from numbo.rules.everywhere import Ends, Everywhere, GlobalModel, Lines, Members, Rebuilt, Recalling
from numbo.rules.filling import Filling, Scouts
from numbo.rules.in_turn import InTurn
from numbo.rules.opening import Opening, Probe, Recalled
from numbo.rules.rule import Loop, Rule, first_of
from numbo.rules.untried import Elsewhere, Untried

__all__ = [
    "Again",
    "Confirm",
    "Elsewhere",
    "Ends",
    "Everywhere",
    "Filling",
    "GlobalModel",
    "InTurn",
    "Lines",
    "Loop",
    "Members",
    "Opening",
    "Probe",
    "Rebuilt",
    "Recalled",
    "Recalling",
    "Rule",
    "Scouts",
    "Untried",
    "first_of",
]

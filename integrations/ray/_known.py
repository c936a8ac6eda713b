"""What a user says of Tune's values, as said of the searched ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numbo.spaces.allowed import Constraint, Linear, Mixture, Order, names_in
from numbo.spaces.beliefs import translated
from numbo.spaces.known import Known

if TYPE_CHECKING:
    from numbo.ray._domains import TuneSpace


def inside(said: Known, space: TuneSpace) -> Known:
    """What is ``said`` of the values of a config, as said of those searched; names that it does not have stay."""
    allowed = tuple(_constraint(one, space) for one in said.allowed)
    prior, default = dict(said.prior), dict(said.default)
    for name in said.names & space.parameters.keys():
        parameter = space.parameters[name]
        if name in prior:
            prior[name] = translated(prior[name], parameter.to_searched, parameter.to_value)
        if name in default:
            default[name] = parameter.to_searched(default[name])
    return Known(allowed, prior, default)


@dataclass(frozen=True)
class OfConfig:
    """A user's function of configs, as a function of the searched parameters."""

    function: Any
    space: TuneSpace

    def __call__(self, params: dict[str, Any]) -> Any:
        try:
            return self.function(self.space.to_config(params))
        except KeyError as error:
            keys = {key for parameter in self.space.parameters.values() for key in parameter.path}
            if error.args and error.args[0] in keys:
                return True  # it is inactive
            raise

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", repr(self.function)))


def _constraint(constraint: Constraint, space: TuneSpace) -> Constraint:
    """A constraint of values as one of the searched values, which are multiples of a step if there is one."""
    if not names_in(constraint):
        return OfConfig(constraint, space)
    steps = {name: space.parameters[name].step or 1.0 for name in names_in(constraint) if name in space.parameters}
    if isinstance(constraint, Linear):
        return replace(constraint, weights={n: w * steps.get(n, 1.0) for n, w in constraint.weights.items()})
    if isinstance(constraint, Mixture) and set(steps.values()) != {1.0}:
        if constraint.most is None:
            return Linear({n: steps.get(n, 1.0) for n in constraint.names}, equal=constraint.total)
        raise ValueError(f"most of Mixture must be None where domains are quantised, got {constraint!r}.")
    if isinstance(constraint, Order) and len(set(steps.values())) > 1:
        raise ValueError(f"Order takes domains that are quantised alike, or not, got {constraint!r}.")
    return constraint

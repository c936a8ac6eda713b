"""Known constraints in a study of Optuna: for the parameters that trials have had so far, as they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial

from numbo import _checks
from numbo.optuna._distributions import Searched, holds, to_external, to_internal, to_space
from numbo.optuna._warnings import warn
from numbo.spaces import Space
from numbo.spaces.allowed import Constraint, Linear, Mixture, Nonzero, Order, names_in, restricted
from numbo.spaces.completion import within_allowed
from numbo.spaces.known import Known

#: How many parameters of a function are guessed, as long as no trial has asked for them.
GUESSES = 16


@dataclass(frozen=True)
class Outside:
    """A user's function of parameters, as a function of the internal ones.

    A parameter that no trial has asked for yet may be missing: then the function does not say anything.

    Attributes:
        function: the user's.
        distributions: of the parameters that are known.
        missing: names that it has asked for in vain.
    """

    function: Any
    distributions: Mapping[str, BaseDistribution]
    missing: set[str] = field(default_factory=set, compare=False)

    def __call__(self, params: dict[str, Any]) -> Any:
        try:
            return self.function(to_external(params, self.distributions))
        except KeyError as error:
            if not error.args or error.args[0] in self.distributions or not isinstance(error.args[0], str):
                raise
            self.missing.add(error.args[0])
            return True

    def shown(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Internal ``params`` as the user knows them."""
        return to_external(params, self.distributions)

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", repr(self.function)))


def allowing(
    searched: Searched,
    said: Known,
    distributions: Mapping[str, BaseDistribution],
    *,
    partly: bool = False,
) -> Searched:
    """The ``searched`` space with what the user has ``said``, and the constraints of the parameters that are known.

    Those that no trial has asked for yet are in another branch of the program. Before a trial has ended, ``partly``,
    they may be asked for yet, and only constraints count of which all parameters are known.

    Parameters with one value are part of it if a constraint may look at them; their ``distributions`` are known, too.
    """
    constraints = said.allowed
    if not constraints:
        return searched._replace(known=said)
    functions = any(not isinstance(one, Linear | Mixture | Order | Nonzero) for one in constraints)
    named = {name for one in constraints for name in names_in(one)}
    single = {n: d for n, d in distributions.items() if d.single() and n not in searched.distributions}
    found = searched.distributions | {n: d for n, d in single.items() if functions or n in named}
    if searched.table is not None:
        return searched._replace(table=searched.table.restricted(constraints))
    whole = [one for one in constraints if set(names_in(one)) <= found.keys()]
    allowed = _known(whole if partly else constraints, found)
    return searched._replace(distributions=found, known=said._replace(allowed=allowed))


def _known(constraints: Sequence[Constraint], distributions: Mapping[str, BaseDistribution]) -> tuple[Constraint, ...]:
    known = (restricted(one, distributions) for one in constraints)
    return tuple(one if names_in(one) else Outside(one, distributions) for one in known if one is not None)


def unknown_names(searched: Searched, before: Searched, constraints: Sequence[Constraint]) -> list[str]:
    """The names in ``constraints`` that are no parameters of the ``searched`` space, nor of that ``before`` it."""
    named = {name for one in constraints for name in names_in(one)}
    asked = {name for one in before.known.allowed if isinstance(one, Outside) for name in one.missing}
    return sorted((named | asked) - searched.distributions.keys())


def check_names(said: Known, declared: Searched) -> None:
    """Raise a `ValueError` if something is ``said`` of a parameter that a ``declared`` space does not have."""
    known = [] if declared.table is not None else list(declared.distributions)
    for argument in ("prior", "default"):
        for name in getattr(said, argument).keys() - set(known):
            raise ValueError(f"{argument} must name parameters of search_space, {known}, got {name!r}.")


def first_value(
    known: Known,
    trial: FrozenTrial,
    name: str,
    distribution: BaseDistribution,
    seed: int | None,
    fixed: Mapping[str, Any],
) -> dict[str, Any]:
    """A value by the name of a parameter that is asked for in a trial of a program of which nothing else is known yet.

    It is the usual value, or a random one with a ``seed``, as the prior and the default say, moved so that others can
    complete it to what is allowed: those that the trial has asked for, or will get as they are ``fixed``, have their
    values, and others that constraints name the same distribution. If there is none, the result is empty, with
    a warning if the given values are the cause.

    Raises:
        ValueError: if the prior or the default is of no value of the parameter.
    """
    said = Searched({name: distribution}, known=known.only([name]))
    to_space(said)
    given = {n: value for n, value in fixed.items() if n != name}
    distributions = {n: d for n, d in trial.distributions.items() if n in given}
    for other in sorted(given.keys() - distributions.keys()):
        distributions[other] = _distribution_of(given[other], distribution)
    distributions[name] = distribution
    near = [one for one in known.allowed if name in names_in(one) or not names_in(one)]
    for other in (n for one in near for n in names_in(one)):
        distributions.setdefault(other, distribution)
    inner = to_internal(given, distributions)
    for _ in range(GUESSES):
        allowed = _known(near, distributions)
        try:
            space = to_space(Searched(distributions, known=said.known._replace(allowed=allowed)))
            assert isinstance(space, Space)
            found = within_allowed(space, inner, seed)
        except ValueError:
            return {}
        missing = {n for one in allowed if isinstance(one, Outside) for n in one.missing}
        if not missing and found is not None:
            return to_external({name: found[name]}, distributions)
        if not missing:
            if given and distributions.keys() <= given.keys() | {name}:
                warn(
                    f"The values that are given for {list(given)} allow no value of {name!r} that meets allowed=, or "
                    "none was found: the suggestion does not meet it."
                )
            return {}
        distributions |= dict.fromkeys(missing, distribution)
    return {}


def _distribution_of(value: Any, usual: BaseDistribution) -> BaseDistribution:
    """The ``usual`` distribution if it has the ``value``, or else one that has nothing but it."""
    if holds(usual, value):
        return usual
    if _checks.is_integer(value):
        return IntDistribution(int(value), int(value))
    if _checks.is_finite(value):
        return FloatDistribution(float(value), float(value))
    return CategoricalDistribution((value,))

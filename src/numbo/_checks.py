"""Checks of arguments.

Each check returns the value in the type that the caller keeps, or raises a `ValueError` of one sentence that names the
argument, the value and what is accepted.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

#: Accepted seeds of an optimizer's random stream.
Seed: TypeAlias = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None

DIRECTIONS = ("minimize", "maximize")
#: With more objectives, the region that a front does not dominate has too many cells.
MOST_OBJECTIVES = 5
#: Values of settings that the data may decide.
AUTO = ("auto", True, False)
#: Names of settings in other libraries and other parts of this one, and the names used here.
ELSEWHERE = {
    "n_initial": "n_startup_trials",
    "n_startup_trials": "n_initial",
    "deterministic_objective": "avoid_repeats",
    "constraints": "constraints_func",
    "constraints_func": "constraints",
}
#: Arguments of the algorithms with an exact GP alone, and what others do not do.
OF_EXACT = {
    "earlier": "learn from earlier studies",
    "cost": "take costs into account",
    "budget": "take costs into account",
    "allowed": "take known constraints",
    "prior": "take beliefs into account",
    "default": "keep to a default",
}


def integer(name: str, value: Any, low: int) -> int:
    """An integer of at least ``low``."""
    if not is_integer(value) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}.")
    return int(value)


def number(
    name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False, infinite: bool = False
) -> float:
    """A number of at least ``low`` (above ``low`` if ``above``) and below ``high`` (or equal to it if ``infinite``)."""
    if not (
        is_number(value) and (low < value if above else low <= value) and (value < high or (infinite and value == high))
    ):
        accepted = f"{'above' if above else 'of at least'} {low:g}" + (
            "" if math.isinf(high) else f" and below {high:g}"
        )
        finite = "finite " if is_number(value) and value == high == math.inf else ""
        raise ValueError(f"{name} must be a {finite}number {accepted}, got {value!r}.")
    return float(value)


def positive(name: str, value: Any, d: int | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A positive finite number, as an array (), or one for each coordinate, (d,); any number of them without ``d``."""
    try:
        given = np.array(value, dtype=object)  # in an array of numbers, True and "1" would be numbers
    except ValueError:
        given = np.empty(0)
    fits = given.ndim == 0 or (given.ndim == 1 and given.size > 0 and d in (None, given.size))
    if not fits or not all(is_finite(one) and one > 0.0 for one in given.ravel().tolist()):
        each = "one for each coordinate" if d is None else f"{d} of them"
        raise ValueError(f"{name} must be a positive number or {each}, got {value!r}.")
    return given.astype(np.float64)


def number_or(name: str, value: Any, names: Iterable[str]) -> float | str:
    """A finite number of at least 0, or one of ``names``."""
    names = tuple(names)
    if isinstance(value, str) and value in names:
        return value
    try:
        return number(name, value, 0.0)
    except ValueError:
        listed = ", ".join(map(repr, names))
        raise ValueError(f"{name} must be {listed} or a number of at least 0, got {value!r}.") from None


def integer_or(name: str, value: Any, low: int, *others: str | None) -> int | str | None:
    """An integer of at least ``low``, or one of ``others``: words, or None."""
    if (value is None or isinstance(value, str)) and value in others:
        return value
    if not is_integer(value) or value < low:
        listed = ", ".join(map(repr, others))
        raise ValueError(f"{name} must be {listed} or an integer of at least {low}, got {value!r}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False, also as the result of a comparison in NumPy."""
    return bool(one_of(name, bool(value) if isinstance(value, np.bool_) else value, (True, False)))


def one_of(name: str, value: Any, accepted: Iterable[Any]) -> Any:
    """One of the values ``accepted``; 1 is not True."""
    accepted = tuple(accepted)
    if not any(isinstance(value, type(option)) and value == option for option in accepted):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}, got {value!r}.")
    return value


def seed(value: Any) -> int | None:
    """A seed that can be stored and combined with others: an integer of at least 0, or None."""
    if value is not None and not (is_integer(value) and value >= 0):
        raise ValueError(f"seed must be an integer of at least 0 or None, got {value!r}.")
    return None if value is None else int(value)


def random_stream(value: Seed) -> np.random.Generator:
    """The generator of a seed, which is anything that `numpy.random.default_rng` takes."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(
            "seed must be an integer of at least 0, None, or anything else that numpy.random.default_rng takes, got "
            f"{value!r}."
        ) from None


def finite(name: str, value: Any) -> float:
    """A finite number."""
    if not is_finite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


def objective(value: Any) -> float:
    """The value of an objective: what can be converted to a number, except text."""
    return _told("value must be a number or None for a failure", value)


def constraint(name: str, value: Any) -> float:
    """The value of the constraint ``name``: as that of an objective, or NaN if it is unknown."""
    return _told("constraints[{!r}] must be a number", value, name)


def _told(demand: str, value: Any, *names: str) -> float:
    """What ``float`` makes of a value that is no text, which it takes if a number is written there.

    The ``names`` are put into the ``demand`` if it is not met.
    """
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{demand.format(*names)}, got {value!r}.") from None


def constraint_names(names: Any) -> tuple[str, ...]:
    """Names of constraints, each once."""
    valid = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
    found = tuple(names) if valid else ()
    if not valid or not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise ValueError(f'constraints must be different names such as ("latency", "size"), got {names!r}.')
    return found


def cost_name(cost: Any, budget: Any, timeout: Any = None) -> str | None:
    """The name under which trials have their costs, None if they have none.

    A ``budget`` needs one, a ``timeout`` that of durations.
    """
    if cost is not None and not (isinstance(cost, str) and cost):
        raise ValueError(f"cost must be 'duration' or a name under which trials have their costs, got {cost!r}.")
    if cost is None and budget is not None:
        raise ValueError(f"budget needs cost, such as cost='duration', to say what is spent; got {budget!r} alone.")
    if timeout is not None and cost != "duration":
        raise ValueError(f"timeout needs cost='duration', as it is in seconds; got {timeout!r} with cost={cost!r}.")
    return cost


def directions(direction: Any, given: Any, usual: str) -> tuple[str, ...]:
    """The direction of each objective: one ``direction``, or those ``given``; ``usual`` if neither is."""
    if given is None:
        return (one_of("direction", usual if direction is None else direction, DIRECTIONS),)
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else ()
    if not 1 <= len(found) <= MOST_OBJECTIVES or any(one not in DIRECTIONS for one in found):
        raise ValueError(
            f"directions must be one to {MOST_OBJECTIVES} of {list(DIRECTIONS)}, one for each objective; got {given!r}."
        )
    if direction is not None:
        raise ValueError(f"direction and directions exclude each other, got {direction!r} and {given!r}.")
    return found


def state_format(name: str, state: Any, known: int) -> None:
    """A saved state of format ``known``, from which to restore ``name``."""
    found = state.get("format") if isinstance(state, Mapping) else None
    if found != known:
        raise ValueError(
            f"Cannot restore {name} from a state of format {found!r}: this version of numbo reads format {known} only."
        )


def is_number(value: Any) -> bool:
    """Whether a value is a real number in the range of doubles, infinity and NaN included; True is none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)


def finite_numbers(given: Any) -> tuple[Any, ...] | None:
    """What is ``given``, if it is a sequence of finite numbers."""
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        return None
    numbers = tuple(given)
    return numbers if all(map(is_finite, numbers)) else None


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, of Python or NumPy; True is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


# -- settings by name --------------------------------------------------------------------------------------------------


def known_settings(cls: str, given: Iterable[str], known: Collection[str], within: Collection[str] = ()) -> None:
    """Raise a `TypeError` if one of those ``given`` to ``cls`` is neither ``known`` nor in its settings, ``within``."""
    for name in given:
        if name not in known and name not in within:
            raise TypeError(_unknown(cls, name, known, within))


def _unknown(cls: str, name: str, known: Collection[str], within: Collection[str]) -> str:
    if name in ("constraints", "constraints_func") and not {"constraints", "constraints_func"} & set(known):
        return f"{cls} does not support constraints, and has no setting {name!r}: {_gssbo(cls)} does."
    if name == "directions" and not cls.startswith(("GSSBO", "GPUCB")):
        return f"{cls} has one objective, and no setting 'directions': {_gssbo(cls)} takes several."
    if name in OF_EXACT and not cls.startswith(("GSSBO", "GPUCB")):
        return f"{cls} does not {OF_EXACT[name]}, and has no setting {name!r}: {_gssbo(cls)} does."
    if name == "allowed" and "allowed" not in known:
        return f"{cls} takes allowed= in its space: Space({{...}}, allowed=...), or Table(data, allowed=...)."
    everything = [*known, *within]
    found = [ELSEWHERE[name]] if ELSEWHERE.get(name) in everything else difflib.get_close_matches(name, everything, n=1)
    where = " in settings" if found and found[0] in within else ""
    meant = f" (did you mean {found[0]!r}{where}?)" if found else ""
    return f"{cls} has no setting {name!r}{meant}; it takes {', '.join(known)}."


def _gssbo(cls: str) -> str:
    """The name of GSSBO among the samplers, searchers or optimizers, of which ``cls`` is one."""
    return "GSSBO" + next((kind for kind in ("Sampler", "Search") if cls.endswith(kind)), "")

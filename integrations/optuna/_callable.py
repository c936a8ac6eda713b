"""What users hand over in place of what is meant: a class for a sampler, a function whose result is no list."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any, TypeAlias

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

#: A function from a trial to its constraints.
ConstraintsFunc: TypeAlias = Callable[[FrozenTrial], Sequence[float]]


def of_an_instance(method: Callable[..., None]) -> Callable[..., None]:
    """The ``method`` that Optuna calls first, with a clear error if a study has the class itself for a sampler."""

    @functools.wraps(method)
    def called(*arguments: Any, **named: Any) -> None:
        if arguments and isinstance(arguments[0], Study):
            study, trial = arguments
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)  # it would stay running
            cls: Any = study.sampler
            while not isinstance(cls, type):
                cls = cls._base_sampler
            raise ValueError(f"sampler must be an instance such as {cls.__name__}(), got the class {cls.__name__}.")
        method(*arguments, **named)

    return called


def checked_constraints(function: ConstraintsFunc, trial: FrozenTrial) -> Sequence[float]:
    """The constraints of a trial by a ``constraints_func``, as it returns them.

    Raises:
        ValueError: if these are not a sequence of numbers; Optuna would only raise the error of a failed conversion.
    """
    found = function(trial)
    try:
        valid = isinstance(found, Collection) and not isinstance(found, Mapping | Set | str | bytes)
        valid = valid and not any(isinstance(c, str) or math.isnan(float(c)) for c in found)
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise ValueError(
            "constraints_func must return a list or tuple of numbers other than NaN, such as (0.5, -1.0), "
            f"got {found!r} for trial {trial.number}."
        )
    return found

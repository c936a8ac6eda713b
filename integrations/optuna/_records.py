"""Records that numbo adds to a study and its trials in the storage, in short attributes.

The relative parameters of running trials are published to other processes: Optuna stores a parameter only when the
objective asks for it, possibly long after it was chosen.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from optuna.distributions import CategoricalDistribution
from optuna.pruners import WilcoxonPruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from numbo.optimizers import GLOBAL
from numbo.optuna._distributions import Searched
from numbo.spaces import Table

KEY = "numbo:params"
#: The attribute with the number of a trial that came from the queue, which may have no record of its own.
BEGUN = "numbo:begun"
#: Prefix of the attributes for the rows of a table.
TABLE = "numbo:table"
#: The attribute of a study whose reports are values at instances.
INSTANCES = "numbo:instances"
#: Maximum number of characters that relational storages keep of a value.
PIECE = 2045
#: Prefix of the user attributes for the reports of a trial with several objectives, by step.
REPORT = "numbo:report:"
#: The user attribute for the standard deviation of a trial's value.
STD = "numbo:std"
#: The cost of a trial that is the time that it takes.
DURATION = "duration"
#: Optuna's key of a list of constraints, and the prefix of its keys of named constraints.
CONSTRAINTS = "constraints"


def directions_of(study: Study) -> tuple[str, ...]:
    """``"minimize"`` or ``"maximize"`` for each objective of a study."""
    return tuple("minimize" if d == StudyDirection.MINIMIZE else "maximize" for d in study.directions)


class Identity(NamedTuple):
    """Checksums of what published records refer to: the space, whose regions have numbers, and the choices."""

    space: int
    names: frozenset[str]
    choices: dict[str, int]

    @classmethod
    def of(cls, searched: Searched) -> Identity:
        found = sorted(searched.distributions.items())
        choices = {name: _crc(d.choices) for name, d in found if isinstance(d, CategoricalDistribution)}
        return cls(_crc(found), frozenset(searched.distributions), choices)


def _crc(value: Any) -> int:
    return zlib.crc32(repr(value).encode())


class Published(NamedTuple):
    """A record as it is read: internal parameters, the part of the search that proposed them, and for which trial.

    ``trial`` is the number of the trial that the record was published for: another one than that of the trial which
    has it, if that is a copy. None if no record can be read, or it does not say.
    """

    params: dict[str, Any]
    origin: int
    trial: int | None


DECODER = json.JSONDecoder()
#: What is read where there is no record.
NOTHING = Published({}, GLOBAL, None)


def publish(study: Study, trial: FrozenTrial, identity: Identity, params: Mapping[str, Any], origin: int) -> None:
    """Write to the storage the internal parameters of ``trial`` and the part of the search that proposed them."""
    choices = {name: crc for name, crc in identity.choices.items() if name in params}
    record = {
        "space": identity.space,
        "origin": origin,
        "trial": trial.number,
        "params": dict(params),
        "choices": choices,
    }
    text = json.dumps(record, separators=(",", ":"))
    for i in range(0, len(text), PIECE):
        study._storage.set_trial_system_attr(trial._trial_id, _name(i // PIECE), text[i : i + PIECE])


def mark_begun(study: Study, trial: FrozenTrial) -> None:
    """Write to the storage that a ``trial`` from the queue has begun, so that it is no imported result."""
    study._storage.set_trial_system_attr(trial._trial_id, BEGUN, trial.number)


@cache
def _name(number: int) -> str:
    """The attribute with a piece of a record; kept, as it is looked up for all running trials at each suggestion."""
    return f"{KEY}:{number}"


def pieces(trial: FrozenTrial) -> list[str]:
    """The record published for ``trial``, in the pieces in which it is stored."""
    attrs = trial.system_attrs
    found = list[str]()
    while isinstance(piece := attrs.get(_name(len(found))), str):
        found.append(piece)
    return found


def read(trial: FrozenTrial, identity: Identity) -> Published:
    """The record of a trial; without parameters if it is absent, damaged, or not numbo's.

    A record that was published for another space holds for the parameters that both spaces have, but its origin does
    not.
    """
    if not (found := pieces(trial)):
        return NOTHING
    try:
        record, _ = DECODER.raw_decode("".join(found))  # pieces of an earlier, longer record may follow
        space, origin, params, choices = (record[key] for key in ("space", "origin", "params", "choices"))
        number = record.get("trial")
        valid = isinstance(params, dict) and isinstance(choices, dict) and type(origin) is int
    except (ValueError, KeyError, TypeError, AttributeError):
        valid = False
    if not valid:
        return NOTHING
    same = {n: v for n, v in params.items() if n in identity.names and choices.get(n) == identity.choices.get(n)}
    return Published(same, origin if space == identity.space else GLOBAL, number if type(number) is int else None)


def asked_for(trial: FrozenTrial, published: Published) -> bool | None:
    """Whether a finished trial was run in this study; False for a copy of another trial, None if no record says."""
    numbers = [n for n in (trial.system_attrs.get(BEGUN), published.trial) if type(n) is int]
    return trial.number in numbers if numbers else None


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints of a trial by name: those set by the trial, and the numbered ones of a function."""
    listed = trial.system_attrs.get(CONSTRAINTS)
    found = {str(i): value for i, value in enumerate(listed)} if isinstance(listed, list | tuple) else {}
    prefix = f"{CONSTRAINTS}:"
    named = {key.removeprefix(prefix): value for key, value in trial.system_attrs.items() if key.startswith(prefix)}
    return found | named


def seconds_of(trial: FrozenTrial) -> float | None:
    """The seconds from the start of a finished trial to its end; None if it took no time, or a time is unknown."""
    if trial.datetime_start is None or trial.datetime_complete is None:
        return None
    seconds = trial.datetime_complete.timestamp() - trial.datetime_start.timestamp()
    return seconds if seconds > 0.0 else None


def last_report(trial: FrozenTrial, k: int, until: int | None = None) -> tuple[int, list[float]] | None:
    """The last step up to ``until`` at which a trial reported ``k`` values, and the values (k,); None if there is
    none."""
    attrs = trial.user_attrs
    if until is not None and (values := reported(attrs.get(f"{REPORT}{until}"), k)) is not None:
        return until, values
    names = (name.removeprefix(REPORT) for name in attrs if name.startswith(REPORT))
    steps = (int(name) for name in names if name.isascii() and name.isdecimal())
    for step in sorted(steps, reverse=True):
        if until is None or step < until:
            values = reported(attrs.get(f"{REPORT}{step}"), k)
            if values is not None:
                return step, values
    return None


def value_of(trial: FrozenTrial, k: int) -> float | list[float] | None:
    """The value of a finished trial, or the last one that it has reported if it was pruned, of ``k`` objectives.

    None for a failure. A trial pruned before it reported anything is one: objectives reject points in this way.
    """
    if trial.state == TrialState.COMPLETE:
        return trial.value if k == 1 else trial.values
    if trial.state != TrialState.PRUNED:
        return None
    if k == 1:
        values = [value for _, value in sorted(trial.intermediate_values.items()) if not math.isnan(value)]
        return values[-1] if values else None
    found = last_report(trial, k)
    return None if found is None else found[1]


def reported(values: Any, k: int) -> list[float] | None:
    """The ``values (k,)`` of a report, None if they are unusable, or not numbo's."""
    valid = isinstance(values, list | tuple) and len(values) == k
    if not valid or any(type(value) is not float or math.isnan(value) for value in values):
        return None
    return list(values)


def is_the_table(study: Study, table: Table) -> bool:
    """Whether the table begins with the rows that the study has searched so far.

    A checksum of its rows is published for later calls. A table that has lost rows is not compared.
    """
    storage = study._storage
    number = study._study_id
    known = storage.get_study_system_attrs(number).get(TABLE, {"rows": 0, "fingerprint": 0})
    rows = int(known["rows"])
    if 0 < rows <= len(table) and table.fingerprint(rows) != known["fingerprint"]:
        return False
    if rows < len(table):
        record = {"rows": len(table), "fingerprint": table.fingerprint(len(table))}
        storage.set_study_system_attr(number, TABLE, record)
    return True


def prunes_by_instance(study: Study) -> bool:
    """Whether the pruner of the study takes reports for values at instances."""
    return isinstance(study.pruner, WilcoxonPruner) and len(study.directions) == 1


def is_by_instance(study: Study) -> bool:
    """Whether reports of the study are values at instances: by its pruner, or that of an earlier run, as noted.

    Storages do not keep pruners, and a study that is loaded without one has the median rule.
    """
    noted = study._storage.get_study_system_attrs(study._study_id).get(INSTANCES, False)
    return prunes_by_instance(study) or bool(noted)


def note_instances(study: Study) -> None:
    """Note in the study that its reports are values at instances."""
    study._storage.set_study_system_attr(study._study_id, INSTANCES, True)


def is_first(study: Study, trial: FrozenTrial, name: str) -> bool:
    """Whether no other trial has asked for the parameter, and none that began earlier still may."""
    others = (t for t in study._get_trials(deepcopy=False, use_cache=True) if t.number != trial.number)
    return not any(name in t.params or (t.state == TrialState.RUNNING and t.number < trial.number) for t in others)

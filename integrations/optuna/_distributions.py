"""Translates Optuna's distributions and parameters to numbo's spaces and back. The only file that knows both."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    check_distribution_compatibility,
)
from optuna.trial import FrozenTrial, TrialState

from numbo.spaces import Categorical, Condition, Dimension, Float, Int, Record, Space, Table, Usage, misfit
from numbo.spaces.beliefs import Belief, check_weights, translated
from numbo.spaces.dimensions import equal
from numbo.spaces.known import NOTHING, Known
from numbo.spaces.ranges import RangeRule, RangeUsage, interpolated
from numbo.spaces.table import ROW


def to_dimension(distribution: BaseDistribution, when: Condition | None = None) -> Dimension:
    """The dimension of a distribution; categories are represented by their indices, equal ones by the first."""
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step, when=when)
    if isinstance(distribution, IntDistribution):
        return Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step, when=when)
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(_different(distribution), when=when)
    raise ValueError(f"Unknown distribution {distribution!r}; numbo supports Float, Int and CategoricalDistribution.")


def holds(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a ``value`` as it is outside is among those of the distribution."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (ValueError, TypeError):
        return False


def _different(distribution: CategoricalDistribution) -> list[int]:
    """The places of the choices that differ: of equal ones the first, which Optuna stores for all of them."""
    choices = distribution.choices
    try:
        differ = len(set(choices)) == len(choices) and all(choice == choice for choice in choices)  # NaN is not
    except (TypeError, ValueError):  # without a hash, or arrays
        differ = False
    places = range(len(choices))
    return [i for i in places if differ or not any(equal(choices[i], earlier) for earlier in choices[:i])]


#: Distributions by name, or pairs of a distribution and the values of other parameters for which it is used; or a
#: table of candidates.
SearchSpace: TypeAlias = Mapping[str, BaseDistribution | tuple[BaseDistribution, Any]] | Table


class Searched(NamedTuple):
    """The searched space: distributions, conditions and rules for ranges by name, and optional parameters.

    With a ``table``, the only parameter is the number of a row. ``since`` has the first trial with a parameter that was
    added to the program. ``known`` is what the user says, with beliefs and defaults in values of the program, and of
    other parameters, too.
    """

    distributions: dict[str, BaseDistribution]
    conditions: Mapping[str, Condition] = {}
    optional: frozenset[str] = frozenset()
    ranges: Mapping[str, RangeRule] = {}
    table: Table | None = None
    since: Mapping[str, int] = {}
    known: Known = NOTHING

    def only(self, names: Collection[str]) -> Searched:
        """The space with these parameters only."""
        left = {name: d for name, d in self.distributions.items() if name in names}
        return self._replace(distributions=left).without_single()

    def shown(self, name: str, value: Any) -> Any:
        """The internal ``value`` of a parameter as it is outside."""
        return to_external({name: value}, self.distributions)[name]

    def words(self) -> dict[str, str]:
        """The conditions in words."""
        known = {name: str(condition.translated(self.shown)) for name, condition in self.conditions.items()}
        added = {name: f"in trials since {number}" for name, number in self.since.items()}
        return dict.fromkeys(sorted(self.optional), "a trial asks for it, by no known rule") | added | known

    def without_single(self) -> Searched:
        """The space without parameters that have only one value, unless others depend on them."""
        parents = set().union(*(c.parents for c in self.conditions.values()))
        left = {name: d for name, d in self.distributions.items() if name in parents or not d.single()}
        conditions = {n: c for n, c in self.conditions.items() if n in left and c.parents <= left.keys()}
        ranges = {name: rule for name, rule in self.ranges.items() if {name, rule.parent} <= left.keys()}
        since = {name: number for name, number in self.since.items() if name in left}
        return self._replace(
            distributions=left,
            conditions=conditions,
            optional=self.optional & left.keys(),
            ranges=ranges,
            since=since,
        )


def declared(search_space: Any) -> Searched:
    """The searched space that a user's ``search_space`` declares.

    Raises:
        ValueError: if it is no table, and does not map at least one name to a distribution, or to a pair of a
            distribution and the values of other parameters for which it is used.
    """
    if isinstance(search_space, Table):
        return Searched({ROW: IntDistribution(0, len(search_space) - 1)}, table=search_space)
    if not isinstance(search_space, Mapping) or not search_space:
        raise ValueError(
            'search_space must be None, a mapping such as {"x": FloatDistribution(0, 1)}, or a Table, got '
            f"{search_space!r}."
        )
    pairs = {name: value if isinstance(value, tuple) else (value, None) for name, value in search_space.items()}
    for name, pair in pairs.items():
        if not isinstance(name, str) or len(pair) != 2 or not isinstance(pair[0], BaseDistribution):
            raise ValueError(
                "search_space must map names to distributions such as FloatDistribution(0, 1), or to pairs such as "
                f'(FloatDistribution(0, 1), {{"optimizer": "sgd"}}), got {name!r}: {search_space[name]!r}.'
            )
    distributions = {name: distribution for name, (distribution, _) in pairs.items()}
    as_written = {name: _as_written(distribution) for name, distribution in distributions.items()}
    when = {name: Condition.of(name, asked, as_written) for name, (_, asked) in pairs.items() if asked is not None}

    def index(parent: str, value: Any) -> Any:
        return to_internal({parent: value}, distributions)[parent]

    return Searched(distributions, {n: condition.translated(index) for n, condition in when.items()})


def _as_written(distribution: BaseDistribution) -> Dimension:
    """The dimension of a distribution, with the categories themselves instead of their indices."""
    if isinstance(distribution, CategoricalDistribution):
        return Categorical([distribution.choices[place] for place in _different(distribution)])
    return to_dimension(distribution)


def left_out(declared: Searched | None, name: str, asked: BaseDistribution) -> str:
    """Why a parameter that is ``asked`` for is not in a suggestion, and what to do, in words."""
    if declared is None:
        reason = "no trial that the model knows has used it, or none of the latest ones and by no known rule"
        advice = "Give the sampler a search_space="
    elif declared.table is not None:
        reason = 'a Table is the whole space, of which "row" is the one parameter, suggested by table.suggest'
        advice = "Make what else is searched columns of the table"
    elif declared.distributions.get(name, asked) != asked:
        reason = f"the objective asks for it with {asked}, but search_space= has {declared.distributions[name]}"
        advice = "Give both the same range"
    elif name in declared.distributions and name not in declared.conditions:
        reason = "no trial has asked for it before, or only under other conditions than those of this one"
        advice = "Declare its conditions in search_space="
    elif name in declared.distributions:
        reason = "its conditions in search_space= do not hold"
        advice = "Correct them"
    else:
        reason = "search_space= does not have it"
        advice = "Add it there"
    return f"{reason}. {advice}"


def to_space(searched: Searched) -> Space | Table:
    """The `Space` or `Table` that is searched; categories are represented by their indices.

    Raises:
        ValueError: if what is believed or a default is of no value of its parameter.
    """
    if searched.table is not None:
        return searched.table
    when = searched.conditions
    dimensions = {name: to_dimension(d, when.get(name)) for name, d in searched.distributions.items()}
    return Space(
        dimensions,
        optional=searched.optional,
        ranges=searched.ranges,
        allowed=searched.known.allowed,
        prior={n: _inside(n, one, searched) for n, one in searched.known.prior.items() if n in dimensions},
        default=_default(searched),
    )


def _inside(name: str, belief: Belief, searched: Searched) -> Belief:
    """A belief of the values of a program as one of internal ones."""
    inner = partial(_of_one, to_internal, name, searched.distributions)
    distribution = searched.distributions[name]
    if isinstance(belief, Mapping) and isinstance(distribution, CategoricalDistribution):
        choices = [distribution.choices[i] for i in _different(distribution)]
        check_weights(name, Categorical(choices), belief)  # in the user's words
    try:
        return translated(belief, inner, partial(_of_one, to_external, name, searched.distributions))
    except ValueError as error:
        raise ValueError(f"prior[{name!r}] must be of values of {distribution}: {error}") from None


def _default(searched: Searched) -> dict[str, Any]:
    """The default values, as the space represents them."""
    known = searched.known.default
    for name, distribution in searched.distributions.items():
        if name in known and not holds(distribution, known[name]):
            raise ValueError(f"default[{name!r}] must be a value of {distribution}, got {known[name]!r}.")
    return to_internal(known, searched.distributions)


def _of_one(function: Any, name: str, distributions: Mapping[str, BaseDistribution], value: Any) -> Any:
    return function({name: value}, {name: distributions[name]})[name]


#: Kinds of distributions whose values are what is searched. They are looked up by their type: `isinstance` takes four
#: times as long with Optuna's abstract classes.
NUMBERS = (FloatDistribution, IntDistribution)


def to_internal(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """The ``params`` that have a distribution, as `to_space` represents them.

    Raises:
        ValueError: if a value is not a choice of its categorical distribution. Ranges are not checked here.
    """
    out = {}
    for name, distribution in distributions.items():
        if name not in params:
            continue
        value = params[name]
        if type(distribution) not in NUMBERS:
            value = int(distribution.to_internal_repr(value))
        out[name] = value
    return out


def to_external(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Inverse of `to_internal`, with Python numbers."""
    out = {}
    for name, value in params.items():
        distribution = distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            out[name] = distribution.choices[value]
        else:
            out[name] = int(value) if isinstance(distribution, IntDistribution) else float(value)
    return out


def internal_point(point: Any, searched: Searched, space: Space | Table) -> dict[str, Any]:
    """A point in the space, from the parameters of a trial; other names are passed over.

    Raises:
        ValueError: if it is not in the space. If it lacks a value, the message has its other names.
    """
    distributions = searched.distributions
    message = f"params must hold {sorted(distributions)} with values in their ranges, got {point}."
    try:
        found = to_internal(point, distributions)
    except (TypeError, ValueError):
        raise ValueError(_no_choice(point, distributions) or message) from None
    foreign = [name for name in point if name not in distributions]
    instead = f"; {foreign} are not in the search space." if foreign else "."
    if not space.conditional.any() and found.keys() != distributions.keys():
        lacking = sorted(distributions.keys() - found.keys())
        raise ValueError(message.removesuffix(".") + f" without {lacking}{instead}")
    for name in space.misfits(space.partial(found, snapped=False)):
        given = name in found
        reason = misfit(name, given, searched.words().get(name))
        raise ValueError(reason if given else reason.removesuffix(".") + instead)
    return found


def _no_choice(point: Any, distributions: Mapping[str, BaseDistribution]) -> str | None:
    """The message about the first value of a point that is no choice of its categorical distribution."""
    for name, distribution in distributions.items():
        if isinstance(distribution, CategoricalDistribution) and isinstance(point, Mapping) and name in point:
            try:
                distribution.to_internal_repr(point[name])
            except (TypeError, ValueError):
                return f"params[{name!r}] = {point[name]!r} is not in {distribution}."
    return None


def _internal(trial: FrozenTrial) -> dict[str, float]:
    return {name: d.to_internal_repr(trial.params[name]) for name, d in trial.distributions.items()}


@dataclass
class _Program:
    """What trials with the same distributions have in common.

    Attributes:
        distributions: by name.
        ranges: those that may depend on values.
        latest: the highest number of a trial.
    """

    distributions: Mapping[str, BaseDistribution]
    ranges: Mapping[str, BaseDistribution]
    latest: int

    @classmethod
    def of(cls, trial: FrozenTrial) -> _Program:
        found = trial.distributions
        return cls(found, {n: d for n, d in found.items() if not isinstance(d, CategoricalDistribution)}, trial.number)


class KnownSpace:
    """The search space of a study, updated as trials come in.

    It holds every parameter that a trial has had, with its latest distribution: if a range changed during the study,
    the current one is searched. Ranges that depend on the value of another parameter are part of the space. If a range
    keeps changing without a known rule, the union of its ranges is searched. Parameters that have had distributions of
    two kinds (which Optuna refuses) cannot be searched. Parameters that were removed from the program are dropped, and
    those that are used under unknown conditions when recent trials no longer use them.
    """

    #: A parameter that is used under unknown conditions is dropped if none of this many latest complete trials has it.
    RECENT = 20

    def __init__(self) -> None:
        self.usage = Usage()
        self._latest: dict[str, tuple[int, BaseDistribution]] = {}
        self._widest: dict[str, BaseDistribution] = {}
        self._ranges = RangeUsage()
        self._refused: set[str] = set()
        self._recent: list[int] = []
        self._searched: Searched | None = None  # until a trial is added that may change it
        #: The space that running trials add something to, by their numbers and how many parameters they had.
        self._wider: dict[tuple[tuple[int, int], ...], Searched] = {}
        #: The distributions of the first trial.
        self._first: dict[str, BaseDistribution] = {}
        #: Trials with the same ones, which change nothing and are recorded once another trial comes; None from then on.
        #: To record each of them and to find the space anew took 0.4 ms of a suggestion in 20 dimensions. Suggestions
        #: are the same, in 0.89 of the time (`benchmarks/results/compare-same-parameters.md`). Ten thousand at once
        #: take 0.7 s, as after a restart.
        self._alike: list[FrozenTrial] | None = []

    def add(self, trials: Iterable[FrozenTrial]) -> None:
        """Record trials."""
        trials = [trial for trial in trials if trial.distributions]
        if not trials:
            return
        if self._alike is not None:
            self._first = self._first or trials[0].distributions
            if any(trial.distributions != self._first for trial in trials):
                trials = self._alike + trials
                self._alike = None
            else:
                self._alike += trials[not self.known :]
                trials = [] if self.known else trials[:1]
        if trials:
            self._record(trials)

    def _record(self, trials: Sequence[FrozenTrial]) -> None:
        """Record trials that may change the space."""
        self._searched = None
        self._wider = {}
        programs: list[_Program] = []
        last: dict[tuple[str, ...], _Program] = {}
        records = []
        for trial in trials:
            program = last.get(tuple(trial.distributions))
            if program is None or program.distributions != trial.distributions:
                program = last[tuple(trial.distributions)] = _Program.of(trial)
                programs.append(program)
            program.latest = max(program.latest, trial.number)
            records.append(Record(trial.number, _internal(trial), trial.state == TrialState.COMPLETE))
            self._ranges.add(trial.number, records[-1].values, program.ranges)
        for program in programs:
            for name, found in program.distributions.items():
                self._add(program.latest, name, found)
        self.usage.add(records)
        self._recent = sorted(self._recent + [r.number for r in records if r.complete])[-self.RECENT :]

    def _add(self, number: int, name: str, found: BaseDistribution) -> None:
        latest, known = self._latest.get(name, (-1, None))
        if found != known:
            try:
                check_distribution_compatibility(known or found, found)
            except ValueError:
                self._refused.add(name)
                return
            self._widest[name] = _hull(self._widest.get(name, found), found)
        if number > latest:
            self._latest[name] = number, found

    @property
    def names(self) -> Collection[str]:
        """The parameters that trials have had."""
        return self._latest.keys()

    @property
    def latest(self) -> dict[str, BaseDistribution]:
        """The latest distribution of each parameter that trials have had."""
        return {name: distribution for name, (_, distribution) in self._latest.items()}

    @property
    def known(self) -> bool:
        """Whether any trial with parameters was added."""
        return bool(self._latest)

    def searched(self, running: Collection[FrozenTrial] = ()) -> Searched:
        """The space, sorted by name, without parameters that have only one value.

        Of ``running`` trials, only ranges count that belong to a value of the parent without another trial, unless one
        of them contradicts the space. The result may be that of an earlier call, and must not be changed.
        """
        if self._searched is None or self._searched.ranges:
            self._searched = self._new_searched(running)
            self._wider = {}
        found = self._searched
        if not any(self._contradicts(trial, found) for trial in running):
            return found
        key = tuple((trial.number, len(trial.distributions)) for trial in running)
        if key not in self._wider:
            self._wider = {key: self._seeing(running)._new_searched(running)}
        return self._wider[key]

    def _contradicts(self, trial: FrozenTrial, searched: Searched) -> bool:
        """Whether a trial has used a parameter that no finished one has, or against the conditions of the space."""
        if not trial.distributions.keys() <= self._latest.keys():
            return True
        asked = trial.distributions.keys() & searched.conditions.keys()
        if not asked:
            return False
        values = _internal(trial)
        return not all(searched.conditions[name].met(values) for name in asked)

    def _seeing(self, running: Collection[FrozenTrial]) -> KnownSpace:
        """A copy that knows what ``running`` trials have used as well."""
        if self._alike:
            self._record(self._alike)
            self._alike = None
        twin = copy.copy(self)
        twin.usage = copy.copy(self.usage)
        twin._latest = dict(self._latest)
        twin._widest = dict(self._widest)
        twin._refused = set(self._refused)
        for trial in running:
            for name, found in trial.distributions.items():
                twin._add(trial.number, name, found)
        twin.usage.add([Record(t.number, _internal(t), False) for t in running if t.distributions])
        return twin

    def _new_searched(self, running: Collection[FrozenTrial]) -> Searched:
        space = {name: d for name, (_, d) in sorted(self._latest.items()) if name not in self._refused}
        ranges = self._rules(space, running)
        for name in space:
            if name in ranges or self._ranges.varies(name):
                space[name] = self._widest[name]
        usage = self.usage
        conditions = usage.conditions({name: to_dimension(distribution) for name, distribution in space.items()})
        since = usage.since
        if usage.removed:  # it is another program since
            first = max(usage.removed.values()) + 1
            later = usage.from_trial(first)
            space = {name: distribution for name, distribution in space.items() if name in later.names}
            conditions = later.conditions({name: to_dimension(distribution) for name, distribution in space.items()})
            added = (space.keys() & usage.optional) - later.optional - conditions.keys()
            since = later.since | dict.fromkeys(sorted(added), first)
        oldest = self._recent[0] if len(self._recent) == self.RECENT else -1
        out = {
            name: distribution
            for name, distribution in space.items()
            if name in conditions or self._latest[name][0] >= oldest
        }
        several = {name for name, distribution in out.items() if not distribution.single()}
        conditions = {name: condition for name, condition in conditions.items() if condition.parents <= several}
        since = {name: number for name, number in since.items() if name in out}
        return Searched(out, conditions, frozenset(usage.optional), ranges, since=since).without_single()

    def undecided(self, name: str, distribution: BaseDistribution) -> bool:
        """Whether it is still unclear why a parameter has had other ranges than its latest ``distribution``."""
        return self._latest.get(name, (-1, None))[1] == distribution and self._ranges.undecided(name)

    def _rules(self, space: Mapping[str, BaseDistribution], running: Collection[FrozenTrial]) -> dict[str, RangeRule]:
        """The rules of parameters whose range depends on another one, if that one has no rule itself."""
        finite = {
            name: isinstance(d, CategoricalDistribution)
            for name, d in space.items()
            if isinstance(d, CategoricalDistribution | IntDistribution) and not self._ranges.several(name)
        }
        out = {}
        for name in space:
            found: Any = self._ranges.rule(name, finite)
            if found is None:
                continue
            parent, table = found
            if len({(d.step, d.low % d.step if d.step else 0) for d in table.values()}) == 1:  # on one grid
                bounds = {int(v): (d.low, d.high) for v, d in table.items()}
                for trial in running:
                    if {name, parent} <= trial.distributions.keys():
                        asked: Any = trial.distributions[name]
                        bounds.setdefault(int(_internal(trial)[parent]), (asked.low, asked.high))
                out[name] = RangeRule(parent, bounds if finite[parent] else interpolated(bounds))
        return out


class RunningSpace:
    """The search space of the running trials of a study in which none has finished."""

    def __init__(self) -> None:
        self._space = KnownSpace()
        #: The trials that were added, by number, with how many parameters they had.
        self._added: dict[int, int] = {}

    def searched(self, running: Collection[FrozenTrial]) -> Searched:
        """The space; only trials that are new are added, unless another one has changed, or is left out."""
        sizes = {trial.number: len(trial.distributions) for trial in running}
        if any(sizes.get(number) != size for number, size in self._added.items()):
            self._space = KnownSpace()
            self._added = {}
        self._space.add(trial for trial in running if trial.distributions and trial.number not in self._added)
        self._added = {number: size for number, size in sizes.items() if size}
        return self._space.searched()


def _hull(a: Any, b: Any) -> Any:
    """A distribution of the same kind that covers both."""
    if isinstance(b, CategoricalDistribution) or a == b:
        return b
    low = min(a.low, b.low)
    high = max(a.high, b.high)
    if isinstance(a, IntDistribution):
        return IntDistribution(low, high, log=b.log, step=math.gcd(a.step, b.step, a.low - b.low, high - low) or 1)
    return FloatDistribution(low, high, log=b.log, step=b.step if a.step == b.step and a.low == b.low else None)

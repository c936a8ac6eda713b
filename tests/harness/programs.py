"""Random define-by-run programs: what they ask a trial for, where they branch, how trials end, and who asks.

A program is made from a seed. It is plain data with a readable ``repr``, so that a seed can be looked at, and the
program made smaller. It knows its paths: which decisions it can take, with which probability a random search takes
them, and which of them always fail.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import BaseTrial, Trial

#: At most so many paths: 50 trials of a random search visit each of them almost surely.
MOST_PATHS = 6


class Failed(Exception):
    """The failure of a program, not of a sampler."""


class Path(NamedTuple):
    """What a program decides on one way through it.

    Attributes:
        labels: the decisions, as text.
        share: the probability that random search takes it, and gets to its end.
        points: number of different points on it.
        fails: whether it always fails.
        ended: whether it fails before the program asks for the rest.
    """

    labels: tuple[str, ...] = ()
    share: float = 1.0
    points: float = 1.0
    fails: bool = False
    ended: bool = False

    def then(self, other: Path) -> Path:
        return Path(
            self.labels + other.labels,
            self.share * other.share,
            self.points * other.points,
            self.fails or other.fails,
            other.ended,
        )


#: Whether constraints have names, as from Optuna 5 on, or numbers.
NAMED = hasattr(Trial, "set_constraint")


def constrain(trial: Trial, name: str, value: float) -> None:
    """Set a constraint of a trial; where they have no names, as a ``constraints_func`` does."""
    if NAMED:
        trial.set_constraint(name, value)
    else:
        before: Any = trial
        before.set_system_attr("constraints", [value])


@dataclass
class Played:
    """What a program has done in one trial so far: decisions, values by name, and whether it failed as it always does.

    ``through`` says whether it has asked for everything on its way.
    """

    labels: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    cost: float = 0.0
    failing: bool = False
    always: bool = False
    through: bool = False


def distinct(choices: Sequence[Any]) -> list[Any]:
    """The choices without those that equal an earlier one: Optuna cannot tell them apart either."""
    return [choice for i, choice in enumerate(choices) if choice not in choices[:i]]


@dataclass(frozen=True)
class Ask:
    """A parameter, and where in its range, from 0 to 1, the objective is smallest."""

    name: str
    distribution: BaseDistribution
    best: float = 0.5

    def play(self, trial: BaseTrial, played: Played) -> Any:
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            value = trial.suggest_categorical(self.name, d.choices)
        elif isinstance(d, FloatDistribution):
            value = trial.suggest_float(self.name, d.low, d.high, step=d.step, log=d.log)
        elif isinstance(d, IntDistribution):
            value = trial.suggest_int(self.name, d.low, d.high, step=d.step, log=d.log)
        played.values[self.name] = value
        played.cost += (self.unit(value) - self.best) ** 2
        return value

    def unit(self, value: Any) -> float:
        """Where a value is in the range, from 0 to 1."""
        d: Any = self.distribution
        if isinstance(d, CategoricalDistribution):
            different = distinct(d.choices)
            return different.index(value) / max(1, len(different) - 1)
        if d.low == d.high:
            return 0.5
        if d.log:
            return math.log(value / d.low) / math.log(d.high / d.low)
        return float((value - d.low) / (d.high - d.low))

    def at(self, unit: float) -> Any:
        """The value at a place in the range."""
        d: Any = self.distribution
        if isinstance(d, CategoricalDistribution):
            different = distinct(d.choices)
            return different[min(int(unit * len(different)), len(different) - 1)]
        raw = d.low * (d.high / d.low) ** unit if d.log else d.low + unit * (d.high - d.low)
        if isinstance(d, IntDistribution):
            return min(d.high, d.low + d.step * round((raw - d.low) / d.step))
        return float(d.low + d.step * round((raw - d.low) / d.step)) if d.step else float(min(max(raw, d.low), d.high))

    def options(self) -> list[tuple[Any, float]]:
        """The values of a discrete parameter with their probabilities under random search; none if there are many."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return [(value, d.choices.count(value) / len(d.choices)) for value in distinct(d.choices)]
        if isinstance(d, IntDistribution):
            values = range(d.low, d.high + 1, d.step)
            return [(value, 1.0 / len(values)) for value in values]
        return []

    def points(self) -> float:
        d: Any = self.distribution
        if d.single():
            return 1.0
        if isinstance(d, FloatDistribution):
            return math.inf if d.step is None else 1.0 + round((d.high - d.low) / d.step)
        return float(len(self.options()))

    def paths(self, given: Mapping[str, Any]) -> list[Path]:
        return [Path(points=1.0 if self.name in given else self.points())]

    def code(self) -> Iterator[str]:
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            yield f"{self.name} = categorical({list(d.choices)})"
            return
        assert isinstance(d, FloatDistribution | IntDistribution)
        more = ", log" if d.log else f", step={d.step}" if d.step not in (None, 1) else ""
        yield f"{self.name} = {'float' if isinstance(d, FloatDistribution) else 'int'}({d.low:g}, {d.high:g}{more})"

    def __repr__(self) -> str:
        return next(self.code())


@dataclass(frozen=True)
class Case:
    """What a branch does for some values: those in ``among``, or those above or up to a threshold."""

    block: Block
    among: tuple[Any, ...] = ()
    above: float | None = None
    up_to: float | None = None

    def holds(self, value: Any) -> bool:
        if self.above is not None:
            return bool(value > self.above)
        return bool(value <= self.up_to) if self.up_to is not None else value in self.among

    def label(self, name: str) -> str:
        if self.above is not None:
            return f"{name} > {self.above:g}"
        return f"{name} <= {self.up_to:g}" if self.up_to is not None else f"{name} in {list(self.among)}"

    def condition(self) -> Any:
        """As ``search_space=`` takes it."""
        if self.above is not None:
            return (">", self.above)
        return ("<=", self.up_to) if self.up_to is not None else list(self.among)


@dataclass(frozen=True)
class Branch:
    """A parameter, and what its value leads to."""

    on: Ask
    cases: tuple[Case, ...]

    def play(self, trial: BaseTrial, played: Played) -> None:
        value = self.on.play(trial, played)
        case = next(case for case in self.cases if case.holds(value))
        label = case.label(self.on.name)
        played.labels += (label,)
        played.cost += zlib.crc32(label.encode()) / 2**32  # some branches are better than others
        play(case.block, trial, played)

    def paths(self, given: Mapping[str, Any]) -> list[Path]:
        name = self.on.name
        out = []
        for case in self.cases:
            if name in given:
                share, points = float(case.holds(given[name])), 1.0
            elif options := self.on.options():
                share = sum(p for value, p in options if case.holds(value))
                points = float(sum(case.holds(value) for value, _ in options))
            else:
                threshold = self.on.unit(case.above if case.above is not None else case.up_to)
                share, points = 1.0 - threshold if case.above is not None else threshold, math.inf
            if share > 0.0:
                start = Path((case.label(name),), share, points)
                out += [start.then(path) for path in paths(case.block, given)]
        return out

    def code(self) -> Iterator[str]:
        yield from self.on.code()
        for case in self.cases:
            yield f"if {case.label(self.on.name)}:"
            yield from (f"    {line}" for line in code(case.block) or ["pass"])


@dataclass(frozen=True)
class Loop:
    """As many parameters as the value of another one says."""

    times: Ask
    each: Ask

    def play(self, trial: BaseTrial, played: Played) -> None:
        k = self.times.play(trial, played)
        played.labels += (f"{self.times.name} in [{k}]",)
        for i in range(k):
            self.numbered(i).play(trial, played)

    def numbered(self, i: int) -> Ask:
        return replace(self.each, name=f"{self.each.name}{i}")

    def paths(self, given: Mapping[str, Any]) -> list[Path]:
        name = self.times.name
        out = []
        for k, share in self.times.options():
            if name not in given or given[name] == k:
                points = math.prod(self.numbered(i).paths(given)[0].points for i in range(k))
                out.append(Path((f"{name} in [{k}]",), 1.0 if name in given else share, points))
        return out

    def code(self) -> Iterator[str]:
        yield from self.times.code()
        yield f"for i in range({self.times.name}):"
        yield f"    {next(replace(self.each, name=self.each.name + '{i}').code())}"


@dataclass(frozen=True)
class Fail:
    """A failure: always, or where a parameter is beyond a place in its range; now, or when all has been asked."""

    late: bool
    on: Ask | None = None
    beyond: float = 0.0

    def play(self, trial: BaseTrial, played: Played) -> None:
        if self.on is not None and self.on.unit(played.values[self.on.name]) <= self.beyond:
            return
        played.always = played.always or self.on is None
        played.failing = True
        if not self.late:
            raise Failed

    def paths(self, given: Mapping[str, Any]) -> list[Path]:
        if self.on is None:
            return [Path(fails=True, ended=not self.late)]
        return [Path(share=1.0 if self.late else self.beyond)]

    def code(self) -> Iterator[str]:
        when = "" if self.on is None else f"if {self.on.name} > {self.on.at(self.beyond)}: "
        yield f"{when}fail{' at the end' if self.late else ''}"


Statement: TypeAlias = Ask | Branch | Loop | Fail
Block: TypeAlias = tuple[Statement, ...]


def play(block: Block, trial: BaseTrial, played: Played) -> None:
    for statement in block:
        statement.play(trial, played)


def paths(block: Block, given: Mapping[str, Any]) -> list[Path]:
    """The ways through a block, if the values of some parameters are given."""
    found = [Path()]
    for statement in block:
        after = statement.paths(given)
        found = [way for path in found for way in ([path] if path.ended else map(path.then, after))]
    return found


def code(block: Block) -> list[str]:
    return [line for statement in block for line in statement.code()]


def asks(block: Block) -> Iterator[Ask]:
    """Every parameter that a block may ask for."""
    for statement in block:
        if isinstance(statement, Ask):
            yield statement
        elif isinstance(statement, Branch):
            yield statement.on
            for case in statement.cases:
                yield from asks(case.block)
        elif isinstance(statement, Loop):
            yield statement.times
            yield from (statement.numbered(i) for i in range(max(k for k, _ in statement.times.options())))


@dataclass(frozen=True)
class Program:
    """What is run, and how.

    Attributes:
        seed: of random failures, noise, and the order in which workers end.
        block: what a trial is asked for.
        second: what it is asked for on the second day, in the second half of the trials; None if that is the same.
        ending: how a failure ends: ``"raise"``, ``"nan"`` or ``"prune"``, which is before the first report.
        random: share of the trials that fail, whatever they ask for; ``random_at`` says when: ``"late"``, ``"early"``
            (before they ask for anything) or ``"between"`` (after the first parameter).
        steps: the steps at which trials report, in this order; at number ``nan_at`` of these they report NaN.
        pruning: ``"hand"``, ``"median"``, ``"curve"`` or nothing.
        noise: standard deviation of what is added to the value.
        retry: once for each failed trial: ``"copy"`` adds a waiting copy, ``"callback"`` lets Optuna add one,
            ``"enqueue"`` enqueues some of its values.
        enqueued: values that are enqueued after a third of the trials, one after the other.
        workers: number of trials that run at the same time.
        rolling: whether another trial begins whenever one ends, in place of all at once.
        fixed: what a `PartialFixedSampler` fixes.
        limit: when a constraint is set: ``"early"``, ``"late"`` or never.
        whole_seconds: whether the storage keeps whole seconds, in which many trials begin and end.
        declared: the ``search_space=`` of the sampler, by what is wrong with it: ``"right"``, ``"lacking"``,
            ``"extra"``, ``"narrower"``, ``"wider"``, ``"unconditional"``; nothing for none.
        sampler: the name of the sampler.
    """

    seed: int
    block: Block
    second: Block | None = None
    ending: str = "raise"
    random: float = 0.0
    random_at: str = "late"
    steps: tuple[int, ...] = ()
    nan_at: int | None = None
    pruning: str = ""
    noise: float = 0.0
    retry: str = ""
    enqueued: tuple[tuple[tuple[str, Any], ...], ...] = ()
    workers: int = 1
    rolling: bool = False
    fixed: tuple[tuple[str, Any], ...] = ()
    limit: str = ""
    whole_seconds: bool = False
    declared: str = ""
    sampler: str = "GSSBO"

    def blocks(self) -> list[Block]:
        """What is asked for, by day."""
        return [self.block] if self.second is None else [self.block, self.second]

    def paths(self, day: int) -> list[Path]:
        return paths(self.blocks()[day], dict(self.fixed))

    @property
    def deterministic(self) -> bool:
        """Whether equal parameters have equal values and ends, as far as they are equal programs."""
        return not (self.noise or self.random or self.second)

    def at_random(self, number: int) -> bool:
        """Whether the trial of this number fails, whatever it asks for."""
        return float(np.random.default_rng((self.seed, number, 1)).random()) < self.random

    def play(self, trial: Trial, day: int, played: Played) -> float:
        """The objective of a trial; ``played`` is filled in, also if it fails or is pruned."""
        block = self.blocks()[day]
        unlucky = self.at_random(trial.number)
        if unlucky and self.random_at != "late":
            play(block[:1] if self.random_at == "between" else (), trial, played)
            return self._end()
        try:
            first = block[0]
            if self.limit == "early" and isinstance(first, Ask):
                self._limit(first, first.play(trial, played), trial)
            play(block if not (self.limit == "early" and isinstance(first, Ask)) else block[1:], trial, played)
        except Failed:
            return self._end()
        played.through = True
        if unlucky or played.failing:
            return self._end()
        rng = np.random.default_rng((self.seed, trial.number, 2))
        value = played.cost + self.noise * float(rng.normal())
        for i, step in enumerate(self.steps):
            trial.report(math.nan if i == self.nan_at else value + 1.0 / (1.0 + step), step)
            if self.pruning in ("median", "curve") and trial.should_prune():
                raise optuna.TrialPruned
            if self.pruning == "hand" and i == len(self.steps) // 2 and value > 0.7:
                raise optuna.TrialPruned
        if self.limit == "late" and isinstance(first, Ask):
            self._limit(first, trial.params[first.name], trial)
        return value

    def _limit(self, ask: Ask, value: Any, trial: Trial) -> None:
        constrain(trial, "limit", ask.unit(value) - 0.7)

    def _end(self) -> float:
        if self.ending == "nan":
            return math.nan
        if self.ending == "prune":
            raise optuna.TrialPruned
        raise Failed

    def space(self) -> dict[str, Any] | None:
        """The ``search_space=`` that is declared."""
        if not self.declared:
            return None
        found = dict(_declared(self.block, {}))
        free = [a for a in self.block if isinstance(a, Ask) and isinstance(a.distribution, FloatDistribution)]
        d: Any = free[0].distribution if free else None
        if self.declared == "lacking":
            del found[list(found)[-1]]
        elif self.declared == "extra":
            found["never_asked"] = FloatDistribution(0.0, 1.0)
        elif self.declared == "unconditional":
            found = {name: pair[0] if isinstance(pair, tuple) else pair for name, pair in found.items()}
        elif self.declared == "narrower" and free:
            found[free[0].name] = FloatDistribution(free[0].at(0.2), free[0].at(0.8), log=d.log)
        elif self.declared == "wider" and free:
            found[free[0].name] = FloatDistribution(d.low / 2 if d.log else d.low - 1.0, d.high * 2, log=d.log)
        return found

    @property
    def kinds(self) -> list[str]:
        """What is special about the program, one word or two for each."""
        every = [a for block in self.blocks() for a in asks(block)]
        choices = [a.distribution.choices for a in every if isinstance(a.distribution, CategoricalDistribution)]
        fails = [s for block in self.blocks() for s in statements(block) if isinstance(s, Fail)]
        branches = [s for s in statements(self.block) if isinstance(s, Branch)]
        names = [a.name for a in asks(self.block)]
        shared = {name for name in names if names.count(name) > 1}
        ranges = {name: {repr(a) for a in asks(self.block) if a.name == name} for name in shared}
        found = {
            "plain": False,
            "always fails": any(f.on is None for f in fails),
            "fails in region": any(f.on is not None for f in fails),
            "fails early": any(not f.late for f in fails) or self.random_at != "late",
            "fails late": any(f.late for f in fails),
            f"ends by {self.ending}": bool(fails or self.random) and self.ending != "raise",
            "fails at random": self.random > 0.0,
            f"prunes by {self.pruning}": bool(self.pruning),
            "odd reports": bool(self.steps) and (self.nan_at is not None or list(self.steps) != sorted(self.steps)),
            "noise": self.noise > 0.0,
            f"retry by {self.retry}": bool(self.retry),
            "enqueued": bool(self.enqueued),
            "workers rolling" if self.rolling else "workers together": self.workers > 1,
            "fixed": bool(self.fixed),
            f"limit {self.limit}": bool(self.limit),
            "whole seconds": self.whole_seconds,
            f"declared {self.declared}": bool(self.declared),
            "second day": self.second is not None,
            "shared": any(len(r) == 1 for r in ranges.values()),
            "shared, other ranges": any(len(r) > 1 for r in ranges.values()),
            "equal choices": any(len(distinct(c)) < len(c) for c in choices),
            "constants": any(a.distribution.single() for a in every),
            "loop": any(isinstance(s, Loop) for s in statements(self.block)),
            "threshold": any(c.above is not None for s in branches for c in s.cases),
        }
        return [name for name, holds in found.items() if holds] or ["plain"]

    def __repr__(self) -> str:
        default = Program(self.seed, ())
        skipped = ("seed", "block", "second")
        options = [
            f"{name}={value!r}"
            for name, value in vars(self).items()
            if name not in skipped and value != getattr(default, name)
        ]
        lines = [f"program {self.seed}: {', '.join(options) or 'nothing special'}"]
        lines += [f"    {line}" for line in code(self.block)]
        if self.second is not None:
            lines += ["  on the second day:", *(f"    {line}" for line in code(self.second))]
        return "\n".join(lines)


def statements(block: Block) -> Iterator[Statement]:
    """All statements of a block, also those within others."""
    for statement in block:
        yield statement
        if isinstance(statement, Branch):
            for case in statement.cases:
                yield from statements(case.block)


def _declared(block: Block, when: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    def of(ask: Ask) -> tuple[str, Any]:
        return ask.name, (ask.distribution, dict(when)) if when else ask.distribution

    for statement in block:
        if isinstance(statement, Ask):
            yield of(statement)
        elif isinstance(statement, Branch):
            yield of(statement.on)
            for case in statement.cases:
                yield from _declared(case.block, when | {statement.on.name: case.condition()})
        elif isinstance(statement, Loop):
            yield of(statement.times)
            least = min(k for k, _ in statement.times.options())
            for i in range(max(k for k, _ in statement.times.options())):
                more = {statement.times.name: (">=", i + 1)} if i + 1 > least else {}
                yield (
                    statement.numbered(i).name,
                    ((statement.each.distribution, when | more) if when | more else statement.each.distribution),
                )


# -- made smaller ------------------------------------------------------------------------------------------------------


def smaller(program: Program) -> Iterator[Program]:
    """Programs with a little less in them, the largest steps first."""
    default = Program(program.seed, ())
    together: dict[str, dict[str, Any]] = {
        "steps": {"nan_at": None, "pruning": ""},
        "random": {"random_at": "late"},
        "workers": {"rolling": False},
    }
    for name in ("second", "declared", "enqueued", "fixed", "retry", "limit", "steps", "random", "noise", "workers"):
        if getattr(program, name) != getattr(default, name):
            yield replace(program, **{name: getattr(default, name)}, **together.get(name, {}))
    for name in ("ending", "pruning", "nan_at", "random_at", "rolling", "whole_seconds", "sampler"):
        if getattr(program, name) != getattr(default, name):
            yield replace(program, **{name: getattr(default, name)})
    if program.workers > 2:
        yield replace(program, workers=2)
    for i in range(len(program.enqueued) if len(program.enqueued) > 1 else 0):
        yield replace(program, enqueued=program.enqueued[:i] + program.enqueued[i + 1 :])
    for block in _less(program.block):
        if _sound(block):
            yield replace(program, block=block)
    for block in _less(program.second or ()):
        if _sound(block):
            yield replace(program, second=block)


def _sound(block: Block) -> bool:
    """Whether a block still asks for something, and for what its failures depend on, and does not only fail."""
    names = {a.name for a in asks(block)}
    tied = {s.on.name for s in statements(block) if isinstance(s, Fail) and s.on is not None}
    return bool(names) and tied <= names and not all(path.fails for path in paths(block, {}))


def _less(block: Block) -> Iterator[Block]:
    for i, statement in enumerate(block):
        before, after = block[:i], block[i + 1 :]
        yield before + after
        if isinstance(statement, Branch):
            for j, case in enumerate(statement.cases):
                d = statement.on.distribution
                if isinstance(d, CategoricalDistribution) and len(statement.cases) > 2:
                    choices = tuple(choice for choice in d.choices if choice not in case.among)
                    on = replace(statement.on, distribution=CategoricalDistribution(choices))
                    yield (*before, Branch(on, statement.cases[:j] + statement.cases[j + 1 :]), *after)
                for less in _less(case.block):
                    cases = (*statement.cases[:j], replace(case, block=less), *statement.cases[j + 1 :])
                    yield (*before, replace(statement, cases=cases), *after)
        if isinstance(statement, Loop):
            yield (*before, statement.times, *after)

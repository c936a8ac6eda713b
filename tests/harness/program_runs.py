"""Runs random programs with a sampler, and says what no sound sampler may do."""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler, PartialFixedSampler, RandomSampler, TPESampler
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from numbo.optuna import BBKBSampler, BKBSampler, CurvePruner, GPUCBSampler, GSSBOSampler, _records
from numbo.optuna._samplers import NumboSampler
from numbo.optuna._view import StudyView
from numbo.spaces.inference import CHANGED
from tests.harness.programs import Failed, Path, Played, Program, asks, smaller

#: Optuna's callback that adds failed trials again; it has had another name before Optuna 4.9.
retry_callback: Any = getattr(optuna.storages, "RetryHeartbeatStaleTrialCallback", None)
retry_callback = retry_callback or optuna.storages.RetryFailedTrialCallback
#: Modules of Optuna that look at the clock.
CLOCKS = ("_in_memory", "journal._storage", "_rdb.storage")
STORAGES = ("memory", "journal", "sqlite")
#: A branch is due if random search misses it less often than this.
RARE = 0.005
#: The part of the trials of random search in branches that always fail that others may make there, and how many more.
#: Samplers that learn from failures make a quarter of them on average, and those that do not twice as many.
WASTED = (0.75, 5)
#: How often a point of an exact objective may be measured again in a hundred trials: to see whether values are noisy.
AGAIN = 2


class Broken(NamedTuple):
    """What was broken, in which trial (-1 for none), and how, in words."""

    kind: str
    trial: int
    words: str


@dataclass
class Noted:
    """What is known of a trial: what the program did, and what the sampler could know when it was asked.

    Attributes:
        given: whether values were given to this trial alone: it was enqueued, or is a retry.
        unlucky: whether it fails at random.
        known: the distributions of trials that had succeeded by then, by the names of the parameters.
        after_success: whether there were any.
        today: how many of them ran the program of that day.
        point: what it was evaluated at.
    """

    day: int
    given: bool
    unlucky: bool
    known: dict[str, list[BaseDistribution]]
    after_success: bool
    today: int
    played: Played = field(default_factory=Played)
    point: Point | None = None


Point = tuple[tuple[str, Any], ...]


@dataclass
class Run:
    """What happened in a run of a program."""

    program: Program
    trials: list[FrozenTrial] = field(default_factory=list)
    notes: dict[int, Noted] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """The kinds of what is broken."""
        return sorted({b.kind for b in self.broken})


class Fork(NamedTuple):
    """A decision after earlier ones, with its probability among trials that come so far."""

    labels: tuple[str, ...]
    share: float


def forks(found: list[Path]) -> list[Fork]:
    """All decisions that do not always fail."""
    out = []
    for labels in sorted({path.labels[: k + 1] for path in found for k in range(len(path.labels))}):
        k = len(labels)
        here = [path for path in found if path.labels[:k] == labels]
        level = sum(path.share for path in found if path.labels[: k - 1] == labels[:-1] and len(path.labels) >= k)
        if level > 0.0 and not all(path.fails for path in here):
            out.append(Fork(labels, sum(path.share for path in here) / level))
    return out


# -- what surrounds a run ----------------------------------------------------------------------------------------------


@contextmanager
def clock(whole_seconds: bool) -> Iterator[None]:
    """Let storages read a clock that goes on by ten milliseconds with each look, in whole seconds if need be."""
    modules: list[Any] = [import_module(f"optuna.storages.{name}") for name in CLOCKS]
    real = [vars(module)["datetime"] for module in modules]
    looks = 0

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            nonlocal looks
            looks += 1
            moment = datetime(2024, 1, 1) + timedelta(milliseconds=10 * looks)
            moment = moment.replace(microsecond=0) if whole_seconds else moment
            return moment.astimezone(tz) if tz is not None else moment

    for module in modules:
        module.datetime = Clock
    try:
        yield
    finally:
        for module, one in zip(modules, real, strict=True):
            module.datetime = one


@contextmanager
def storage(kind: str) -> Iterator[BaseStorage]:
    """An empty storage: ``"memory"``, ``"journal"`` or ``"sqlite"``."""
    if kind == "memory":
        yield InMemoryStorage()
        return
    with tempfile.TemporaryDirectory() as folder:
        if kind == "journal":
            yield JournalStorage(JournalFileBackend(f"{folder}/journal"))
            return
        found = RDBStorage(f"sqlite:///{folder}/study.db")
        try:
            yield found
        finally:
            found.engine.dispose()


@contextmanager
def heard() -> Iterator[tuple[list[str], list[str]]]:
    """The warnings that numbo gives, and what it logs as one."""
    own: list[str] = []
    logged: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == "numbo.compiling":  # it says that the compiler takes long, on a busy machine
                return
            error = record.exc_info[1] if record.exc_info else None
            logged.append(record.getMessage() + (f" ({error!r})" if error else ""))

    def note(message: Any, *_: Any, **__: Any) -> None:
        frame: Any = sys._getframe(1)
        while frame is not None and "warn" in frame.f_code.co_name:  # up to who warns
            if str(frame.f_globals.get("__name__")).startswith("numbo."):
                own.append(str(message))
                return
            frame = frame.f_back

    handler = Handler(logging.WARNING)
    logger = logging.getLogger("numbo")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        logger.addHandler(handler)
        try:
            yield own, logged
        finally:
            logger.removeHandler(handler)


def sampler_for(program: Program, name: str) -> BaseSampler:
    """The sampler of that name for a program: numbo's, or ``"Random"`` and ``"TPE"`` to compare with."""
    if name == "Random":
        return RandomSampler(seed=program.seed)
    if name == "TPE":
        return TPESampler(seed=program.seed, multivariate=True, group=True, constant_liar=True)
    classes: dict[str, Any] = {"GSSBO": GSSBOSampler, "GPUCB": GPUCBSampler, "BKB": BKBSampler, "BBKB": BBKBSampler}
    found: BaseSampler = classes[name](seed=program.seed, search_space=program.space())
    return found


# -- a run -------------------------------------------------------------------------------------------------------------


class Runner:
    """One run of a program, with checks after each ask."""

    def __init__(self, program: Program, sampler: BaseSampler, store: BaseStorage, trials: int) -> None:
        self.program = program
        self.inner = sampler
        self.count = trials
        outer = PartialFixedSampler(dict(program.fixed), sampler) if program.fixed else sampler
        pruners = {"median": optuna.pruners.MedianPruner(n_startup_trials=3), "curve": CurvePruner()}
        pruner = pruners.get(program.pruning, optuna.pruners.NopPruner())
        self.study = optuna.create_study(storage=store, sampler=outer, pruner=pruner)
        self.notes: dict[int, Noted] = {}
        self.broken: list[Broken] = []
        self.running: dict[int, Trial] = {}
        self.played: set[int] = set()
        self.failures: dict[Point, set[int]] = defaultdict(set)
        self.measured: dict[Point, set[int]] = defaultdict(set)
        self.points: set[Point] = set()
        self.all_points = max(sum(path.points for path in program.paths(day)) for day in range(len(program.blocks())))
        self.known: dict[str, list[BaseDistribution]] = {}
        self.rng = np.random.default_rng((program.seed, 3))

    def run(self) -> None:
        program = self.program
        ended: dict[int, tuple[float | None, TrialState | None]] = {}
        asked = 0
        enqueued = False
        while asked < self.count or self.running:
            if program.enqueued and not enqueued and asked >= self.count // 3:
                enqueued = True
                for values in program.enqueued:
                    self.study.enqueue_trial(dict(values))
            fresh = []
            while asked < self.count and len(self.running) < program.workers:
                fresh.append(self.ask())
                asked += 1
                if program.rolling:
                    ended[fresh[-1].number] = self.play(fresh[-1])
            if not program.rolling:
                ended |= {trial.number: self.play(trial) for trial in fresh}
            numbers = list(self.running)
            leave = 1 if program.rolling else len(numbers)
            for i in self.rng.permutation(len(numbers))[:leave]:
                self.tell(numbers[i], *ended.pop(numbers[i]))

    def ask(self) -> Trial:
        trial = self.study.ask()
        number = trial.number
        frozen = self.frozen(trial)
        retry = "retry_history" in frozen.system_attrs or bool(frozen.params)
        day = int(self.program.second is not None and number >= self.count // 2)
        succeeded = [t.number for t in self.all() if t.state == TrialState.COMPLETE]
        self.notes[number] = Noted(
            day=day,
            given=retry or "fixed_params" in frozen.system_attrs,
            unlucky=self.program.at_random(number),
            known={name: list(found) for name, found in self.known.items()},
            after_success=bool(succeeded),
            today=sum(self.notes[n].day == day for n in succeeded),
        )
        self.running[number] = trial
        if self.program.workers > 1 and not self.program.rolling:
            _ = trial.relative_params  # suggested now, asked for when others have been suggested
        return trial

    def play(self, trial: Trial) -> tuple[float | None, TrialState | None]:
        note = self.notes[trial.number]
        try:
            return self.program.play(trial, note.day, note.played), None
        except Failed:
            return None, TrialState.FAIL
        except optuna.TrialPruned:
            return None, TrialState.PRUNED
        finally:
            self.check_point(trial)
            self.check_given(trial)
            self.check_pending(trial)
            self.played.add(trial.number)

    def tell(self, number: int, value: float | None, state: TrialState | None) -> None:
        trial = self.running.pop(number)
        note = self.notes[number]
        told = self.study.tell(trial, value, state=state)
        reported = any(not math.isnan(v) for v in told.intermediate_values.values())
        failed = told.state == TrialState.FAIL or (told.state == TrialState.PRUNED and not reported)
        if not failed or told.state == TrialState.PRUNED:
            for name, found in told.distributions.items():
                self.known.setdefault(name, []).append(found)
        if note.point is not None:
            (self.failures if failed else self.measured)[note.point].add(number)
        if told.state == TrialState.FAIL and self.program.retry and not note.given and told.params:
            self.retry(told)

    def retry(self, trial: FrozenTrial) -> None:
        if self.program.retry == "enqueue":
            names = sorted(trial.params)
            self.study.enqueue_trial({name: trial.params[name] for name in names[: (len(names) + 1) // 2]})
        elif self.program.retry == "copy":
            copy = create_trial(state=TrialState.WAITING, params=trial.params, distributions=trial.distributions)
            self.study.add_trial(copy)
        else:
            retry_callback(max_retry=1)(self.study, trial)

    def frozen(self, trial: Trial) -> FrozenTrial:
        return self.study._storage.get_trial(trial._trial_id)

    def all(self) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False)

    def view(self) -> StudyView | None:
        """What the sampler knows of the study, if it is numbo's and has looked."""
        if not isinstance(self.inner, NumboSampler) or not self.inner._views:
            return None
        return next(reversed(self.inner._views.values()))

    # -- checks --------------------------------------------------------------------------------------------------------

    def breaks(self, kind: str, trial: int, words: str) -> None:
        self.broken.append(Broken(kind, trial, words))

    def check_pending(self, trial: Trial) -> None:
        """Every other running trial whose values were known when one was suggested is pending."""
        view = self.view()
        number = trial.number
        if view is None or view.desk is None or not self.program.rolling or self.notes[number].given:
            return
        if not _published(self.frozen(trial)):
            return
        for other in self.running.keys() & self.played:
            trial = self.running[other]
            frozen = self.frozen(trial)
            known = view.desk._running.get(other)
            if known is None or known[1] is not None:  # it was not looked for, or is pending
                continue
            searched = view.searched.distributions
            asked = {name: value for name, value in frozen.params.items() if name in searched}
            allowed = all(_within(d, asked[n]) for n, d in frozen.distributions.items() if n in asked)
            fits = allowed and all(_within(searched[n], v) for n, v in asked.items())
            if (asked or _records.pieces(frozen)) and fits:
                words = f"trial {other} runs with {frozen.params}, and is not pending when trial {number} is asked"
                self.breaks("not pending", other, words)

    def check_point(self, trial: Trial) -> None:
        """No point more than twice among failures and running trials, while others are left."""
        number = trial.number
        note = self.notes[number]
        frozen = self.frozen(trial)
        asked = dict(frozen.params)
        if note.played.through and not note.played.always:
            asked = {name: value for name, value in asked.items() if name in note.played.values}
        else:  # the sampler may have meant to go on in different ways, of which it can learn nothing here
            asked = _published(frozen) | asked
        note.point = tuple(sorted(asked.items()))
        if note.played.through:
            self.points.add(tuple(sorted(frozen.params.items())))
        if note.given or note.unlucky or not asked or self.by_chance(note) or self.outdated(note, frozen):
            return
        here = {n for n in self.running if self.notes[n].point == note.point} | self.failures[note.point]
        here = {n for n in here if not (self.notes[n].given or self.notes[n].unlucky)}
        left = len(self.points) < self.all_points
        if len(here) == 3 and left and number in here:
            self.breaks("repeat", number, f"trials {sorted(here)} fail or run at {dict(note.point)}")

    def by_chance(self, note: Noted) -> bool:
        """Whether a sampler that learns parameters from trials that succeeded had to draw some value at random."""
        if self.program.declared:
            return False
        return any(name not in note.known for name in note.played.values if not self.single(name))

    def outdated(self, note: Noted, frozen: FrozenTrial) -> bool:
        """Whether a sampler could not know yet that the program of the second day has fewer parameters."""
        today = {ask.name for ask in asks(self.program.blocks()[note.day])}
        return note.day > 0 and note.today < CHANGED and not _published(frozen).keys() <= today

    def single(self, name: str) -> bool:
        return name in dict(self.program.fixed) or all(
            a.distribution.single() for block in self.program.blocks() for a in asks(block) if a.name == name
        )

    def check_given(self, trial: Trial) -> None:
        """What was suggested is what was used."""
        frozen = self.frozen(trial)
        note = self.notes[trial.number]
        for name, value in _published(frozen).items():
            if name not in frozen.params or name not in note.played.values:
                continue
            used = frozen.params[name]
            d = frozen.distributions[name]
            ranges = note.known.get(name, [])
            excluded = not (_within(d, value) and _within(d, used))
            unknown = not self.program.declared and not any(_within(r, used) for r in ranges)
            declared: Any = (self.program.space() or {}).get(name)
            declared = declared[0] if isinstance(declared, tuple) else declared
            beyond = self.program.declared and (declared is None or not _within(declared, used))
            if not _equal(value, used) and not excluded and not unknown and not beyond:
                words = f"{name}={value!r} was suggested where {used!r} was {'given' if note.given else 'used'}"
                self.breaks("given", trial.number, words)

    def judge(self, warned: list[str], logged: list[str]) -> dict[str, Any]:
        """The checks at the end, and the figures of the run."""
        figures = self.check_branches()
        figures |= self.check_again()
        self.check_learned(warned)
        counts = r"\btrial \d+|\b\d+ of \d+|(?<== )\S+(?= is not in )"  # the rest says of what it warns
        kinds = Counter(re.sub(counts, "#", text.split(", and was asked for")[0]) for text in warned)
        for words, count in kinds.items():
            if count > 1:
                self.breaks("warning", -1, f"{count} times: {words}")
        for text in logged:
            self.breaks("fallback", -1, text)
        trials = self.all()
        figures["failures"] = sum(t.state == TrialState.FAIL for t in trials)
        figures["trials"] = len(trials)
        figures["best"] = min((t.value for t in trials if t.value is not None), default=None)
        return figures

    def check_branches(self) -> dict[str, Any]:
        """Branches are visited if random search, as often where they begin, visits them; failing ones are given up."""
        expected = 0.0
        due = reached = 0
        for day, block in enumerate(self.program.blocks()):
            notes = [n for n in self.notes.values() if n.day == day and not n.given]
            choices = {a.name for a in asks(block) if isinstance(a.distribution, CategoricalDistribution)}
            before = {path.labels[:k] for d in range(day) for path in self.program.paths(d) for k in range(9)}
            for fork in forks(self.program.paths(day)):
                k = len(fork.labels)
                if fork.labels in before or fork.labels[-1].split()[0] not in choices:
                    continue  # between numbers a model may know the values without a visit
                often = sum(n.played.labels[: k - 1] == fork.labels[:-1] and len(n.played.labels) >= k for n in notes)
                if (1.0 - fork.share) ** often < RARE:
                    due += 1
                    visited = any(n.played.labels[:k] == fork.labels for n in self.notes.values() if n.day == day)
                    reached += visited
                    if not visited:
                        words = f"never {' and '.join(fork.labels)} in {often} trials, of a share of {fork.share:.2f}"
                        self.breaks("branch", -1, words + (f" on day {day + 1}" if self.program.second else ""))
            free = sum(not (n.unlucky and self.program.random_at != "late") and n.after_success for n in notes)
            failing = sum(path.share for path in self.program.paths(day) if path.fails)
            expected += failing * free
        taken = sum(n.played.always and n.after_success and not n.given for n in self.notes.values())
        if taken > WASTED[0] * expected + WASTED[1] + 0.5 * (self.program.workers - 1):
            self.breaks("failing branch", -1, f"{taken} trials where it always fails; {expected:.1f} by random search")
        return {"due": due, "reached": reached, "doomed": taken, "doomed by chance": round(expected, 1)}

    def check_again(self) -> dict[str, Any]:
        """An exact objective is hardly ever measured again at a point, while others are left."""
        again = 0
        for numbers in self.measured.values():
            own = sorted(n for n in numbers if not self.notes[n].given)
            own = [n for n in own if not self.by_chance(self.notes[n])]
            again += max(0, len(own) - 1)
        allowed = 1 + math.ceil(AGAIN * self.count / 100)
        counts = self.program.deterministic and self.program.sampler in ("GSSBO", "GPUCB")
        if counts and again > allowed and len(self.points) < self.all_points:
            self.breaks("again", -1, f"{again} of {self.count} trials measure an exact objective again")
        return {"again": again}

    def check_learned(self, warned: list[str]) -> None:
        """Every trial that ended is learned, or complete ones are named by a warning."""
        if not isinstance(self.inner, NumboSampler):
            return
        try:
            self.inner.inspected(self.study)  # it learns the last ones
        except ValueError as error:
            if "nothing to look at" not in str(error):
                raise
        view = self.view()
        if view is None or view.desk is None:
            return
        named = any("finished trials are not learned" in text for text in warned)
        searched = view.searched.distributions
        for trial in self.all():
            if trial.number in view.desk.told or not trial.state.is_finished():
                continue
            params = {name: value for name, value in trial.params.items() if name in searched}
            if trial.state == TrialState.COMPLETE and not named:
                self.breaks("not learned", trial.number, f"complete, not learned and not named: {trial.params}")
            inside = params and all(_within(searched[name], value) for name, value in params.items())
            if trial.state != TrialState.COMPLETE and inside and not self.program.declared:
                words = f"{trial.state.name.lower()} and not learned: {trial.params}"
                self.breaks("failure not learned", trial.number, words)


def _within(distribution: BaseDistribution, value: Any) -> bool:
    try:
        return distribution._contains(distribution.to_internal_repr(value))
    except (ValueError, TypeError):
        return False


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are the same, but for the last digits of a number that was translated there and back."""
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) if numbers else bool(a == b)


def _published(trial: FrozenTrial) -> dict[str, Any]:
    """The suggestion for a trial, with choices in place of their numbers where it has asked for them."""
    text = "".join(_records.pieces(trial))
    if not text:
        return {}
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text)[0]["params"]
    for name, value in found.items():
        d = trial.distributions.get(name)
        if isinstance(d, CategoricalDistribution) and 0 <= value < len(d.choices):
            found[name] = d.choices[value]
    return found


def run(program: Program, trials: int, *, sampler: str | None = None, store: str = "memory") -> Run:
    """Run a program, by its own sampler or another one, and check what no sound sampler may do."""
    found = Run(program)
    with clock(program.whole_seconds), storage(store) as opened, heard() as (warned, logged):
        try:
            runner = Runner(program, sampler_for(program, sampler or program.sampler), opened, trials)
            found.notes = runner.notes
            found.broken = runner.broken
            runner.run()
            found.figures = runner.judge(warned, logged)
            found.trials = runner.all()
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {error} ({at.name}, line {at.lineno})"
            found.broken.append(Broken("error", len(found.notes) - 1, words))
    return found


def differs(program: Program, trials: int, store: str) -> list[Broken]:
    """Whether another storage gives other trials than one in memory."""
    one, other = (run(program, trials, store=kind) for kind in ("memory", store))
    for a, b in zip(one.trials, other.trials, strict=False):
        if repr((a.params, a.values, a.state)) != repr((b.params, b.values, b.state)):
            return [Broken("storage", a.number, f"{a.params} in memory, {b.params} in {store}")]
    return []


def shrunk(program: Program, kind: str, trials: int, *, most: int = 200) -> Program:
    """A smaller program that breaks the same kind; after at most so many runs."""
    runs = 0
    found = True
    while found and runs < most:
        found = False
        for one in smaller(program):
            runs += 1
            if kind in run(one, trials).kinds:
                program = one
                found = True
                break
            if runs >= most:
                break
    return program

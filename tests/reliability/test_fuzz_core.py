"""Any order of calls, any space, any values: nothing but the documented errors, and suggestions inside of the space."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.helpers import LONGER, Early, configured

from numbo import (
    BBKB,
    BKB,
    GPUCB,
    GSSBO,
    SBPE,
    BBKBSettings,
    BKBSettings,
    Categorical,
    Float,
    Guess,
    Int,
    Linear,
    SBPESettings,
    Space,
)
from numbo.spaces.allowed import met
from numbo.trials import point_key

VALUES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, 1e300, -1e300, 5e-324, 1e-300, math.inf, -math.inf, math.nan]),
    st.none(),
)
STEPS = st.one_of(st.integers(-1, 5), st.sampled_from([1, 2, 3, 0.5, 1e300, math.inf, math.nan, "2", None]))
MAKERS = {
    "GSSBO": lambda space, **kw: configured(GSSBO, space, buffer_size=12, **kw),
    "GSSBO-population": lambda space, **kw: configured(Early, space, buffer_size=12, **kw),
    "GSSBO-paper": lambda space, **kw: configured(GSSBO, space, preset="paper", buffer_size=12, **kw),
    "GPUCB": GPUCB,
    "BKB": lambda space, **kw: configured(BKB, space, settings=BKBSettings(max_dictionary=20), **kw),
    "BBKB": lambda space, **kw: configured(BBKB, space, settings=BBKBSettings(max_dictionary=20), **kw),
    "SBPE": lambda space, **kw: configured(SBPE, space, horizon=40, settings=SBPESettings(max_dictionary=20), **kw),
}


@st.composite
def floats(draw):
    if draw(st.booleans()):
        low = draw(st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 1e9]))
        return Float(low, low * draw(st.sampled_from([1.0 + 1e-9, 2.0, 1e6, 1e12])), log=True)
    low = draw(st.sampled_from([-1e300, -1e12, -1.0, -1e-12, 0.0, 3.0, 1e15]))
    return Float(low, low + draw(st.sampled_from([abs(low) * 1e-9 + 1e-15, 1.0, 1e6, 1e300])))


@st.composite
def ints(draw):
    low = draw(st.sampled_from([-(2**40), -1, 0, 1, 7]))
    log = low >= 1 and draw(st.booleans())
    return Int(low, low + draw(st.sampled_from([0, 1, 9, 2**31])), log=log)


CATEGORIES = st.sampled_from([["a"], [True, False, None], [1, "1", 1.5], [f"c{i}" for i in range(40)]])
DIMENSIONS = st.one_of(floats(), ints(), st.builds(Categorical, CATEGORIES))
SPACES = st.one_of(
    st.lists(DIMENSIONS, min_size=1, max_size=6),
    st.lists(st.just(Float(0.0, 1.0)), min_size=200, max_size=200),
).map(lambda parts: Space({f"p{i}": part for i, part in enumerate(parts)}))


def known(space):
    """Constraints that the middle of a space meets: a sum of numbers up to a bit more than there, and a function."""
    ends = {n: max(abs(part.low), abs(part.high)) for n, part in space.items() if not isinstance(part, Categorical)}
    weights = {name: 1.0 / end for name, end in ends.items() if 1e-200 < end < 1e200}
    middle = space.decode(space.usual)
    most = sum(weight * middle[name] for name, weight in weights.items()) + 0.2
    first, part = next(iter(space.items()))
    if isinstance(part, Categorical):
        allowed = Among(first, part.choices[:2])
    else:
        allowed = Among(first, (middle[first],), part.from_unit(0.8))
    return [allowed, *([Linear(weights, most=most)] if weights else [])]


def made(word, space, u):
    """A prior or a default of every second parameter of a space, about the coordinate ``u``."""
    some = dict(list(space.items())[::2])
    if word == "default":
        return {name: part.from_unit(u) for name, part in some.items()}
    weights = {name: dict.fromkeys(part.choices, 1.0) for name, part in some.items() if isinstance(part, Categorical)}
    return {name: Guess(part.from_unit(u), 0.1 + u) for name, part in some.items()} | weights


@dataclass(frozen=True)
class Among:
    """A function of the parameters that can be pickled: whether one is among some values, or at most a number."""

    name: str
    some: tuple
    most: float = -math.inf

    def __call__(self, params):
        value = params[self.name]
        return any(value is one for one in self.some) or (self.most > -math.inf and value <= self.most)


def _is_step(step):
    return isinstance(step, int | float) and math.isfinite(step)


class AskTell(RuleBasedStateMachine):
    """Calls of a user, a dying process and other workers, in any order."""

    @initialize(
        space=SPACES,
        name=st.sampled_from(sorted(MAKERS)),
        n=st.integers(1, 6),
        maximize=st.booleans(),
        r=st.sampled_from([True, False, "auto"]),
        q=st.integers(0, 2),
        limited=st.booleans(),
        said=st.sampled_from([(), ("prior",), ("default",), ("prior", "default")]),
        u=st.floats(0.0, 1.0),
    )
    def start(self, space, name, n, maximize, r, q, limited, said, u):
        able = name.startswith(("GSSBO", "GPUCB"))
        self.allowed = known(space) if limited and able else []
        words = {word: made(word, space, u) for word in said if able}
        space = Space(dict(space), allowed=self.allowed, **words)
        direction = "maximize" if maximize else "minimize"
        self.names = ("a", "b")[:q] if name.startswith(("GSSBO", "GPUCB")) else ()
        limits = {"constraints": self.names} if self.names else {}
        self.opt = MAKERS[name](space, seed=0, n_initial=n, direction=direction, avoid_repeats=r, **limits)
        self.space, self.sign, self.told, self.values = space, -1.0 if maximize else 1.0, 0, []
        self.stopped, self.known = False, []

    def check(self, params):
        assert params.keys() == dict(self.space.items()).keys()
        for key, part in self.space.items():
            assert part.contains(params[key])
            if isinstance(part, Float):
                assert type(params[key]) is float
            elif isinstance(part, Int):
                assert type(params[key]) is int

    @rule(n=st.sampled_from([None, 1, 3]))
    def ask(self, n):
        exhausted = self.opt.exhausted
        before = self.opt.pending
        points = [self.opt.ask()] if n is None else self.opt.ask(n)
        for params in points:
            self.check(params)
            assert all(met(one, params) for one in self.allowed), params
        if not exhausted and n is None and self.opt.avoid_repeats:
            assert points[0] not in before or not self.left()

    def left(self):
        """Whether there is a point, in the race if there is one, that is neither pending nor a repeat to be avoided."""
        run = self.opt._run
        if run.grid is None:
            return True
        known, again = run.history, run.available.repeating
        for x in run.grid if run.available.race is None else run.grid[run.available.race]:
            key = point_key(x)
            pending = known.pending.key_of(key) is not None
            if not (pending or run.available.barred(x) or (key in known.visits.first and not again)):
                return True
        return False

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=VALUES)
    def tell(self, data, value):
        params = data.draw(st.sampled_from(self.opt.pending))
        self.opt.tell(params, value)
        self.note(value)

    @precondition(lambda self: self.opt.pending and self.names)
    @rule(data=st.data(), value=VALUES, limits=st.lists(VALUES, min_size=2, max_size=2))
    def tell_constraints(self, data, value, limits):
        params = data.draw(st.sampled_from(self.opt.pending))
        found = {name: v for name, v in zip(self.names, limits, strict=False) if v is not None}
        self.opt.tell(params, value, constraints=found)
        if all(v <= 0.0 for v in found.values()):
            self.note(value, known=len(found) == len(self.names))
        else:
            self.told += 1

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), step=STEPS, value=VALUES)
    def report(self, data, step, value):
        params = data.draw(st.sampled_from(self.opt.pending))
        if _is_step(step):
            self.opt.report(params, step, value)
        else:
            with pytest.raises(ValueError, match="step must be a finite number"):
                self.opt.report(params, step, value)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), reports=st.dictionaries(STEPS, VALUES, max_size=4), value=VALUES)
    def tell_what_was_stopped(self, data, reports, value):
        params = data.draw(st.sampled_from(self.opt.pending))
        if not all(map(_is_step, reports)):
            with pytest.raises(ValueError, match=r"^A step of reports must be a finite number"):
                self.opt.tell(params, value, partial=True, reports=reports)
            return
        self.opt.tell(params, value, partial=True, reports=reports)
        self.told += 1
        self.stopped = True

    @rule(data=st.data(), values=st.lists(VALUES, min_size=1, max_size=8))
    def tell_what_was_not_asked_for(self, data, values):
        rng = np.random.default_rng(data.draw(st.integers(0, 9)))
        points = [self.space.decode(self.space.snap(rng.random((1, self.space.d)))[0]) for _ in values]
        self.opt.tell(points, values)
        for value in values:
            self.note(value)

    def note(self, value, known=False):
        self.told += 1
        if value is not None and not math.isnan(value):
            (self.known if known else self.values).append(value)

    @rule(value=st.sampled_from(["many", object(), [1.0, 2.0], 10**400]))
    def tell_nonsense(self, value):
        params = self.space.decode(self.space.snap(np.full((1, self.space.d), 0.3))[0])
        with pytest.raises(ValueError, match="value must be a number"):
            self.opt.tell(params, value)

    @rule()
    def round_trip_of_the_state(self):
        twin = type(self.opt).from_state_dict(self.opt.state_dict())
        first, second = pickle.loads(pickle.dumps(self.opt)), twin
        assert first.ask() == second.ask()
        self.opt = twin.from_state_dict(twin.state_dict())

    @precondition(lambda self: self.opt.best is not None)
    @rule()
    def predict(self):
        if self.names:
            assert 0.0 <= self.opt.predict_feasible(self.opt.best[0]) <= 1.0
        mean, std = self.opt.predict(
            [self.opt.best[0], self.space.decode(self.space.snap(np.zeros((1, self.space.d)))[0])]
        )
        assert np.isfinite(mean).all()
        assert (std >= 0.0).all()
        for anywhere in (False, True):
            params, _ = self.opt.best_predicted(anywhere=anywhere)
            self.check(params)
        shown = self.opt.explain()
        assert 0.0 <= shown.noise_share <= 1.0
        assert sum(shown.relevance.values()) == pytest.approx(1.0) or not any(shown.relevance.values())

    @invariant()
    def nothing_is_lost(self):
        assert self.opt.n_told == self.told
        assume(self.told < 60)
        if self.stopped:  # what became of those is only expected
            assert self.opt.best is None or not math.isnan(self.opt.best[1])
        elif self.known or self.values:  # what says everything is better
            assert self.sign * self.opt.best[1] == min(self.sign * v for v in self.known or self.values)
        else:
            assert self.opt.best is None


TestAskTell = AskTell.TestCase
TestAskTell.settings = settings(
    max_examples=15 * LONGER, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)

"""Several objectives with constraints, branches, failures, noise and pending points, in any order of calls."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.helpers import LONGER
from tests.reliability.test_fuzz_core import SPACES

from numbo import GPUCB, GSSBO, Categorical, Float, Int, Space

BRANCHING = Space(
    {
        "kind": Categorical(["a", "b"]),
        "x": Float(0.0, 1.0, when={"kind": "a"}),
        "n": Int(1, 3),
        "u": Float(0.0, 1.0, when={"n": (">", 1)}),
    }
)
NUMBERS = st.one_of(
    st.floats(-3.0, 3.0),
    st.sampled_from([0.0, -0.0, 1.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan]),
)


class Fronts(RuleBasedStateMachine):
    """Calls of a user and of other workers."""

    @initialize(
        space=st.one_of(SPACES, st.just(BRANCHING)),
        cls=st.sampled_from([GSSBO, GPUCB]),
        directions=st.lists(st.sampled_from(["minimize", "maximize"]), min_size=2, max_size=4),
        n=st.integers(1, 5),
        q=st.integers(0, 2),
        r=st.sampled_from([True, False, "auto"]),
    )
    def start(self, space, cls, directions, n, q, r):
        small = {"buffer_size": 12} if cls is GSSBO else {}
        self.names = ("a", "b")[:q]
        self.opt = cls(
            space, seed=0, directions=directions, n_initial=n, avoid_repeats=r, constraints=self.names, **small
        )
        self.space, self.k = space, len(directions)
        self.signs = np.array([1.0 if one == "maximize" else -1.0 for one in directions])
        self.told, self.known = 0, []

    @rule(n=st.sampled_from([None, 1, 3]))
    def ask(self, n):
        for params in [self.opt.ask()] if n is None else self.opt.ask(n):
            self.space.encode(params)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), values=st.lists(NUMBERS, min_size=4, max_size=4), fails=st.booleans())
    def tell(self, data, values, fails):
        params = data.draw(st.sampled_from(self.opt.pending))
        limits = {name: data.draw(NUMBERS) for name in self.names}
        self.report(params, None if fails else tuple(values[: self.k]), limits)

    @rule(data=st.data(), noise=st.floats(0.0, 1.0))
    def tell_what_was_not_asked_for(self, data, noise):
        rng = np.random.default_rng(data.draw(st.integers(0, 9)))
        for x in self.space.snap(rng.random((3, self.space.d))):
            values = [float(np.abs(x - j / self.k).sum() + noise * rng.normal()) for j in range(self.k)]
            self.report(self.space.decode(x), values, dict.fromkeys(self.names, -1.0))

    def report(self, params, values, limits):
        self.opt.tell(params, values, **({"constraints": limits} if limits else {}))
        self.told += 1
        failed = values is None or any(math.isnan(v) for v in values)
        if not failed and all(v <= 0.0 for v in limits.values()):
            self.known.append(self.signs * values)

    @rule(values=st.sampled_from([0.3, (1.0,), (0.0,) * 6, ("a", 0.1), object()]))
    def tell_nonsense(self, values):
        params = self.space.decode(self.space.snap(np.full((1, self.space.d), 0.3))[0])
        with pytest.raises(ValueError, match="value must be a"):
            self.opt.tell(params, values)

    @rule()
    def restore(self):
        twin = GSSBO if isinstance(self.opt, GSSBO) else GPUCB
        twin = twin.from_state_dict(self.opt.state_dict())
        assert twin.front() == self.opt.front()
        assert twin.ask() == self.opt.ask()
        self.opt = twin

    @precondition(lambda self: self.known)
    @rule()
    def look_inside(self):
        points = [self.space.decode(x) for x in self.space.snap(np.random.default_rng(1).random((3, self.space.d)))]
        mean, std = self.opt.predict(points)
        assert mean.shape == std.shape == (3, self.k)
        assert np.isfinite(mean).all()
        assert (std >= 0.0).all()
        assert self.opt.snapshot().objective(self.k - 1).explain().algorithm == type(self.opt).__name__
        volumes = self.opt.hypervolumes(np.zeros(self.k))
        assert len(volumes) == self.told
        assert (np.diff(volumes[np.isfinite(volumes)]) >= -1e-9 * np.nanmax(np.abs(volumes), initial=0.0)).all()

    @invariant()
    def nothing_is_lost(self):
        assert self.opt.n_told == self.told
        assume(self.told < 50)
        if any(noise.found for noise in self.opt._run.noises):
            return
        found = [tuple(self.signs * values) for _, values in self.opt.front()]
        assert len(set(found)) == len(found)
        for y in self.known:
            beaten = any((other >= y).all() and (other > y).any() for other in self.known)
            assert (tuple(y + 0.0) in [tuple(np.add(one, 0.0)) for one in found]) is not beaten


TestFronts = Fronts.TestCase
TestFronts.settings = settings(
    max_examples=10 * LONGER, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)

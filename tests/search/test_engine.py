from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import new_run, tell
from tests.search.searches import CUBE, bowl, global_search, local_search, sampled

from numbo import GSSBO, Float
from numbo.models.outputs import Outputs
from numbo.optimizers.gssbo import TURN
from numbo.run.situation import GLOBAL, Suggestion
from numbo.search.engine import BOXES, Origin
from numbo.trials import UNASKED


@given(st.integers(0, 2**14), st.integers(0, BOXES - 1))
def test_an_origin_is_one_integer_and_back(engine, box):
    assert Origin.of(Origin(engine, box).packed) == (engine, box)


@pytest.mark.parametrize("origin", [GLOBAL, UNASKED])
def test_no_engine_has_what_it_did_not_propose(origin):
    assert Origin.of(origin).engine < 0


def test_an_engine_counts_its_own_points_only():
    """Two local searches see the same observations; a success counts for the one that proposed the point."""
    run = sampled(CUBE, 8)
    search = global_search(run)
    engines = [local_search(run, search, number=number) for number in range(2)]
    rng, counted = np.random.default_rng(0), Counter()
    for i in range(8):
        for engine in engines:
            engine.tell(run, i, float(run.history.y[i]), GLOBAL)
    for k in range(30):
        found = engines[k % 3].propose(run) if k % 3 < 2 else None
        found = Suggestion(rng.random(3)) if found is None else found
        before = [(e.trust_region.successes, e.trust_region.failures, e.trust_region.number) for e in engines]
        p = CUBE.decode(found.x)
        i = tell(run, p, bowl(p), origin=found.origin)
        for engine in engines:
            engine.tell(run, i, bowl(p), found.origin)
        after = [(e.trust_region.successes, e.trust_region.failures, e.trust_region.number) for e in engines]
        owner = Origin.of(found.origin).engine
        counted[owner] += before != after or owner < 0
        assert all(one == other for k, (one, other) in enumerate(zip(before, after, strict=True)) if k != owner)
    assert min(counted[owner] for owner in (-1, 0, 1)) >= 9


class Stub:
    """An engine that proposes a random point whenever it is asked."""

    def __init__(self, number, eager_at=()):
        self.number, self.eager_at, self.asked = number, eager_at, []
        self.models = (Outputs.of_one(global_search(new_run(CUBE)).surrogate),)  # which is never fitted

    def eager(self, run):
        return run.step in self.eager_at

    def propose(self, run):
        self.asked.append(run.step)
        return Suggestion(run.rng.random(run.space.d), Origin(self.number, 0).packed)

    def tell(self, run, i, y, origin):
        pass


def asked(*engines, trials=49):
    opt = GSSBO({"x": Float(0, 1), "y": Float(0, 1)}, seed=0, n_initial=1)
    opt._engines = engines
    opt._rules = opt._new_rules()
    for _ in range(trials):
        suggestion = opt.suggest()
        opt.tell(opt.space.decode(suggestion.x), 0.5 * suggestion.x[0] + suggestion.x[1] ** 2)
    return [engine.asked for engine in engines]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_engines_share_the_turns_evenly(count):
    turns = asked(*(Stub(number) for number in range(count)))
    assert sorted(step for steps in turns for step in steps) == [step for step in range(1, 49) if step % TURN]
    assert max(map(len, turns)) - min(map(len, turns)) <= 1


def test_an_eager_engine_comes_first_whosever_turn_it_is():
    first, second = Stub(0), Stub(1, eager_at=range(20, 30))
    asked(first, second)
    assert not set(first.asked) & set(range(20, 30))
    assert set(range(20, 30)) <= set(second.asked)

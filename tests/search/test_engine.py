from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numbo import GSSBO, Float, Space
from numbo.search.engine import BOXES, Origin
from numbo.search.local_search import LocalSearch
from numbo.search.run import GLOBAL
from numbo.trials import UNASKED


@given(st.integers(0, 2**14), st.integers(0, BOXES - 1))
def test_an_origin_is_one_integer_and_back(engine, box):
    assert Origin.of(Origin(engine, box).packed) == (engine, box)


@pytest.mark.parametrize("origin", [GLOBAL, UNASKED])
def test_no_engine_has_what_it_did_not_propose(origin):
    assert Origin.of(origin).engine < 0


def test_an_engine_counts_its_own_points_only():
    """Two local searches see the same observations; a success counts for the one that proposed the point."""
    space = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    opt = GSSBO(space, seed=0, n_initial=8)
    (first,) = opt._engines
    second = LocalSearch(space, opt._search.new_surrogate(), first.size, opt._search.maximiser, number=1)
    opt._engines = (first, second)
    counted = []
    for _ in range(60):
        before = [(e.trust_region.successes, e.trust_region.failures, e.trust_region.number) for e in opt._engines]
        found = opt.suggest()
        params = opt.space.decode(found.x)
        opt.hold("now", params, found.origin)
        opt.tell(params, (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2, key="now")
        after = [(e.trust_region.successes, e.trust_region.failures, e.trust_region.number) for e in opt._engines]
        owner = Origin.of(found.origin).engine
        counted.append(owner)
        assert all(one == other for k, (one, other) in enumerate(zip(before, after, strict=True)) if k != owner)
    assert counted.count(0) > 5
    assert counted.count(1) > 5
    assert counted.count(-1) > 5

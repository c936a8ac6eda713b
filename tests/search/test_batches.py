"""Points asked for together: apart by what they tell, and the same after a restore."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.searches import everything, global_search, local_search, sampled

from numbo import GSSBO, Float, Space
from numbo.kernels.acquisition import mean_variance
from numbo.run.situation import GLOBAL
from numbo.search.utility import CROWDED

SPACE = Space({name: Float(-2, 2) for name in "wxyz"})


def smooth(p):
    return -sum((value - 0.4) ** 2 for value in p.values())


def rippled(p):
    return smooth(p) - 0.3 * sum(1.0 - np.cos(6.0 * (value - 0.4)) for value in p.values())


@pytest.mark.parametrize("f", [smooth, rippled])
@pytest.mark.parametrize("local", [False, True])
def test_fifty_at_once_are_apart(local, f):
    """Every point that a model proposes keeps its share of the variance, given those that were asked before it."""
    run = sampled(SPACE, 100, f)
    search = global_search(run)
    nearby = local_search(run, search)
    for i in everything(run):
        nearby.tell(run, i, float(run.history.y[i]), GLOBAL)
    checked = 0
    for k in range(50):
        found = nearby.propose(run) if local else None
        x = search.next_point(run, everything(run)) if found is None else found.x
        surrogate = search.surrogate if found is None else nearby.surrogate
        if found is not None or not np.array_equal(x, run.space_filling()):  # where no candidate was left
            given = mean_variance(surrogate.posterior, x[None])[1][0]
            surrogate.release()
            assert given >= 0.999 * CROWDED * mean_variance(surrogate.posterior, x[None])[1][0]
            checked += not local or found is not None
        run.hold(k, SPACE.decode(x), GLOBAL)
    assert checked > 25


def told(opt, rounds, width):
    for _ in range(rounds):
        points = opt.ask(width)
        opt.tell(points, [rippled(p) for p in points])
    return opt


def test_a_batch_goes_on_after_a_restore():
    opt = told(GSSBO(SPACE, direction="maximize", seed=0), rounds=2, width=30)
    first = opt.ask(15)
    twin = GSSBO.from_state_dict(opt.state_dict())
    second, same = opt.ask(15), twin.ask(15)
    assert second == same
    for one in (opt, twin):
        points = [*first, *second]
        one.tell(points, [rippled(p) for p in points])
    assert opt.explain().region == twin.explain().region
    assert opt.ask(5) == twin.ask(5)

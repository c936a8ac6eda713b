"""Searches with the settings of GSSBO's default preset, on runs of their own."""

from __future__ import annotations

from functools import partial

import numpy as np
from tests.runs import listen, new_run, tell

from numbo import Float, GSSBOSettings, Space
from numbo.models import ExactGP
from numbo.models.outputs import Outputs
from numbo.search.gp_search import GPSearch
from numbo.search.local_search import LocalSearch
from numbo.trials import Goal

CUBE = Space({name: Float(0.0, 1.0) for name in "xyz"})


def bowl(p):
    return -sum((value - 0.4) ** 2 for value in p.values())


def sampled(space, n, value=bowl, seed=0, noise=0.0, run=None, **settings):
    """A run that was told ``n`` random points of a space, and what a function of them is worth."""
    run = new_run(space, **settings) if run is None else run
    rng = np.random.default_rng(seed)
    for _ in range(n):
        p = space.decode(space.snap(rng.random((1, space.d)))[0])
        tell(run, p, value(p) + noise * rng.normal() if noise else value(p))
    return run


def global_search(run, **settings):
    """A global search that the noise of the run listens to."""
    goal = run.goal if len(run.goal.directions) > 1 or run.goal.constraints else Goal(("maximize",))
    search = GPSearch(run.space, GSSBOSettings(**settings), goal)
    listen(run, search.outputs.objectives)
    return search


def local_search(run, search, cls=LocalSearch, size=64, number=0):
    """A local search beside a global one, with models of its own."""
    new = partial(search.new_surrogate, growth=0.05, longest=8)
    limit = partial(search.new_surrogate, winsorize=False, growth=0.05, longest=8)
    models = Outputs(new, limit, run.goal)
    listen(run, search.outputs.objectives, models.objectives)
    return cls(run.space, models, size, search.maximiser, number)


def everything(run):
    return np.arange(run.history.n)


def fitted(X, y, **options):
    """An exact GP on some values, with its default hyperparameters."""
    gp = ExactGP(np.zeros(X.shape[1], dtype=bool), trend=False, **options)
    gp.condition(X, y)
    return gp

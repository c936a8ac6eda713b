"""Trials that cost differently: suggestions by what they bring per cost, and within a budget."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from tests import naive
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, GSSBOSettings, Int, Space
from numbo.inspection.words import rounded
from numbo.kernels.acquisition import LOG_EI, mean_variance
from numbo.models.costs import WEIGHT
from numbo.search.population_search import PopulationSearch

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
BRANCHING = Space({"kind": Categorical(["cheap", "dear"]), "x": Float(0.0, 1.0), "n": Int(1, 64, log=True)})


def objective(p):
    return (p["x"] - 0.4) ** 2 + (p["y"] - 0.6) ** 2


def seconds(p):
    return math.exp(4.0 * p["x"])


def told(opt, n, *, cost=seconds, value=objective):
    asked = []
    for _ in range(n):
        p = opt.ask()
        asked.append(p)
        opt.tell(p, value(p), cost=None if cost is None else cost(p))
    return asked


def spent(points, cost=seconds):
    return np.cumsum([cost(p) for p in points])


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
@pytest.mark.parametrize("kind", ["unknown", "constant", "few", "budget"])
def test_costs_that_do_not_differ_change_no_bit(cls, kind):
    plain = told(cls(SPACE, seed=seeded(0)), 30, cost=None)
    budget = 1e5 if kind == "budget" else None
    opt = cls(SPACE, seed=seeded(0), budget=budget)
    if kind == "few":
        number = iter(range(30))
        costs = told(opt, 30, cost=lambda p: seconds(p) if next(number) < 3 else None)
    else:
        costs = told(opt, 30, cost=None if kind == "unknown" else lambda p: 12.5)
    assert costs == plain


@pytest.mark.parametrize("directions", [("minimize", "maximize"), ("minimize", "minimize", "minimize")])
def test_with_several_objectives_costs_that_do_not_differ_change_no_bit(directions):
    def values(p):
        return (p["x"], p["x"] * p["y"], p["y"])[: len(directions)]

    plain = told(GSSBO(SPACE, seed=seeded(0), directions=directions), 16, cost=None, value=values)
    opt = GSSBO(SPACE, seed=seeded(0), directions=directions, budget=1e4)
    assert told(opt, 16, cost=lambda p: 3.0, value=values) == plain


def wide(p):
    """The same on two branches, one of which costs fifty times as much and is a little better."""
    return (p["x"] - 0.3) ** 2 + 0.02 * (math.log2(p["n"]) - 3.0) ** 2 - 0.01 * (p["kind"] == "dear")


def of_branch(p):
    return 50.0 if p["kind"] == "dear" else 1.0


@over_seeds()
@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_most_trials_are_of_the_cheap_branch_which_brings_as_much(cls):
    blind = told(cls(BRANCHING, seed=seeded(0)), 30, cost=None, value=wide)
    aware = told(cls(BRANCHING, seed=seeded(0)), 30, cost=of_branch, value=wide)
    assert sum(map(of_branch, aware)) < sum(map(of_branch, blind)), MOSTLY
    assert min(map(wide, aware)) < 0.05, MOSTLY


@over_seeds()
def test_a_cheap_corner_that_is_bad_does_not_hold_the_search():
    """The optimum is where trials cost the most, a hundred times as much as those at the other end."""

    def value(p):
        return (p["x"] - 0.9) ** 2 + (p["y"] - 0.6) ** 2

    def cost(p):
        return 100.0 ** p["x"]

    found = told(GSSBO(SPACE, seed=seeded(0)), 40, cost=cost, value=value)
    assert min(map(value, found)) < 1e-3, MOSTLY


@over_seeds()
@pytest.mark.parametrize("several", [False, True])
def test_the_last_suggestions_are_those_that_still_fit(several):
    """What is left is never enough for the usual trial, and there are trials that fit."""
    directions = {"directions": ("minimize", "minimize")} if several else {}

    def value(p):
        return (1.0 - p["x"], abs(p["y"] - p["x"])) if several else (p["x"] - 0.9) ** 2 + (p["y"] - 0.6) ** 2

    opt = GSSBO(SPACE, seed=seeded(0), budget=400.0, **directions)
    total = 0.0
    for _ in range(200):
        p = opt.ask()
        if total + seconds(p) > 400.0:
            break
        total += seconds(p)
        opt.tell(p, value(p), cost=seconds(p))
    assert total > 390.0, MOSTLY


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_no_budget_is_exceeded_for_what_is_better_but_does_not_fit(cls, several):
    """Each size costs ten times as much as the last and is better; in the end only sizes fit that bring nothing."""
    directions = {"directions": ("minimize", "minimize")} if several else {}
    opt = cls({"x": Float(0, 1), "size": Int(1, 8)}, seed=0, budget=400.0, **directions)
    left = 400.0
    for k in range(40):
        p = opt.ask()
        cost = 10.0 ** (p["size"] - 6)
        assert k < 12 or cost <= left, (k, left, cost)
        left -= cost
        value = (p["x"] - 0.3) ** 2 + 1.0 / p["size"]
        opt.tell(p, (value, value + p["x"]) if several else value, cost=cost)
    assert left > 0.0


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_once_the_budget_is_spent_suggestions_go_on(cls):
    opt = cls(SPACE, seed=0, budget=50.0)
    asked = told(opt, 25)
    assert spent(asked)[-1] > 50.0
    assert len({tuple(p.values()) for p in asked}) == 25


@pytest.mark.parametrize("options", [{}, {"budget": 300.0}])
@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_a_restored_optimizer_goes_on_as_it_was(cls, options):
    opt = cls(SPACE, seed=0, **options)
    for k in range(20):
        p = opt.ask()
        opt.tell(p, None if k in (4, 9) else objective(p), cost=None if k == 6 else seconds(p))
    opt.ask(2)
    twins = [cls.from_state_dict(opt.state_dict()), pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)]
    for _ in range(4):
        p = opt.ask()
        opt.tell(p, objective(p), cost=seconds(p))
        for twin in twins:
            assert twin.ask() == p
            twin.tell(p, objective(p), cost=seconds(p))
    assert all(repr(twin.state_dict()) == repr(opt.state_dict()) for twin in twins)
    assert all(twin.budget == opt.budget for twin in twins)


def test_a_rebuilt_optimizer_knows_costs_and_budget():
    opt = GSSBO(SPACE, seed=0, budget=300.0)
    told(opt, 10)
    opt._transaction._unfinished = True  # as an interrupt leaves it
    opt.ask()
    assert opt.budget == 300.0
    assert opt._run.costs.left(opt._run.history) < 300.0
    assert not np.isnan(opt._run.history.trials.cost).any()


def test_stopped_trials_cost_a_part():
    opt = GSSBO(SPACE, seed=0, budget=1e4)
    for k in range(20):
        p = opt.ask()
        steps = 3 if k % 2 else 9
        reports = {s: objective(p) + 1.0 / s for s in range(1, steps + 1)}
        opt.tell(p, reports[steps], partial=steps == 3, reports=reports, cost=steps * seconds(p))
    run = opt._run
    X = run.history.X
    whole = [9.0 * seconds(params) for params in run.history.trials.params]
    assert np.abs(np.log(run.costs.expected(run.history, X) / whole)).max() < 0.3


def test_constraints_and_costs_together():
    opt = GSSBO(SPACE, seed=0, constraints=tuple("abcdefghijkl"), budget=1e4)
    for _ in range(12):
        p = opt.ask()
        opt.tell(p, objective(p), constraints=dict.fromkeys(opt.constraints, p["y"] - 0.7), cost=seconds(p))
    assert not opt.fell_back


def steep(p):
    return sum(10.0**j * v * v for j, v in enumerate(p.values()))


def test_the_population_search_takes_only_what_fits():
    space = Space({f"x{j}": Float(-1.0, 1.0) for j in range(4)})
    opt = GSSBO(space, seed=0, budget=1e5)
    told(opt, 60, cost=lambda p: 10.0 ** p["x0"], value=steep)
    run = opt._run
    population = next(engine for engine in opt._engines if isinstance(engine, PopulationSearch))
    assert population._tried > 0
    run.costs.budget = float(run.history.trials.cost.sum()) + 0.9
    asked = [opt.ask() for _ in range(1)]
    X = np.array([space.encode(p) for p in asked])
    cheap = run.costs.fit(run.history, X)
    assert cheap.dtype == bool
    assert not run.may_succeed(space.encode(dict.fromkeys(space.names, 1.0)))


def test_a_sequence_of_points_takes_a_sequence_of_costs():
    opt = GSSBO(SPACE, seed=0)
    asked = opt.ask(3)
    opt.tell(asked, [1.0, None, 3.0], cost=[10.0, 2.0, None])
    assert opt._run.history.trials.cost[:2].tolist() == [10.0, 2.0]
    assert math.isnan(opt._run.history.trials.cost[2])
    with pytest.raises(ValueError, match="2 cost"):
        opt.tell(opt.ask(3), [1.0, 2.0, 3.0], cost=[1.0, 2.0])
    assert opt.n_told == 3


@pytest.mark.parametrize("cost", [0.0, -1.0, math.inf, math.nan, "3", True])
def test_bad_costs_are_refused_and_nothing_is_stored(cost):
    opt = GSSBO(SPACE, seed=0)
    p = opt.ask()
    with pytest.raises(ValueError, match=r"cost must be a (finite )?number above 0, got"):
        opt.tell(p, 1.0, cost=cost)
    assert opt.n_told == 0
    assert opt.pending == [p]


@pytest.mark.parametrize("budget", [0.0, -3.0, math.inf, math.nan, "1h", True])
@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_bad_budgets_are_refused(cls, budget):
    with pytest.raises(ValueError, match=r"budget must be a (finite )?number above 0, got"):
        cls(SPACE, budget=budget)


@pytest.mark.parametrize("cls", [BKB, BBKB, SBPE])
def test_others_refuse_costs_by_name(cls):
    options = {"horizon": 50} if cls is SBPE else {}
    with pytest.raises(TypeError, match=f"{cls.__name__} does not take costs into account.*GSSBO does"):
        cls(SPACE, budget=5.0, **options)
    opt = cls(SPACE, seed=0, **options)
    with pytest.raises(ValueError, match=f"cost is not supported by {cls.__name__}: GSSBO and GPUCB take it; got 2.0"):
        opt.tell(opt.ask(), 1.0, cost=2.0)
    assert opt.n_told == 0


def test_the_budget_cannot_be_changed():
    opt = GSSBO(SPACE, budget=5.0)
    with pytest.raises(AttributeError, match="budget is a setting of GSSBO"):
        opt.budget = 6.0


def test_a_state_without_costs_is_refused():
    state = GSSBO(SPACE, seed=0).state_dict() | {"format": 16}
    with pytest.raises(ValueError, match="from a state of format 16"):
        GSSBO.from_state_dict(state)


@pytest.mark.parametrize("acquisition", ["ucb", "log_ei", "alternate"])
def test_all_acquisition_functions_see_costs(acquisition):
    opt = GSSBO(SPACE, seed=0, settings=GSSBOSettings(acquisition=acquisition, trust_region=False))
    asked = told(opt, 20)
    blind = GSSBO(SPACE, seed=0, settings=GSSBOSettings(acquisition=acquisition, trust_region=False))
    assert asked != told(blind, 20, cost=None)


def test_turns_that_explore_count_costs_and_deviations_beta_times():
    opt = GSSBO(SPACE, seed=0, settings=GSSBOSettings(beta=3.0, trust_region=False))
    told(opt, 20)
    run, search = opt._run, opt._search
    search.outputs.release()
    found = search.maximiser.acquisition(run, search.outputs, exploring=True)
    usual = search.maximiser.acquisition(run, search.outputs, exploring=False)
    assert (usual.kind, usual.width) == (LOG_EI, 1.0)
    assert found == usual._replace(width=3.0)
    X = np.random.default_rng(1).random((20, 2))
    posterior = search.surrogate.posterior
    mean, variance = mean_variance(posterior, X)
    sd = np.sqrt(variance)
    gain = np.array([naive.acquisition(found, *pair) for pair in zip(mean, sd, strict=True)])
    worth = search.maximiser.of_one(run, search.outputs, found).values(X)
    rest = worth - gain + WEIGHT * np.log(run.costs.expected(run.history, X))
    np.testing.assert_allclose(rest, rest[0], rtol=1e-6, atol=1e-6)


def lines_of(opt):
    return dict(line.split(maxsplit=1) for line in str(opt.explain()).splitlines()[1:])


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_explain_says_what_the_next_trial_costs_and_what_is_left(cls):
    opt = cls(SPACE, seed=0, budget=3600.0)
    told(opt, 12)
    pending = opt.ask(2)
    found = opt.explain().spending
    run = opt._run
    X = np.array([SPACE.encode(p) for p in pending])
    assert found.left == pytest.approx(
        3600.0 - np.sum(run.history.trials.cost) - run.costs.expected(run.history, X).sum()
    )
    assert 1.0 < found.cost < math.exp(4.0) * 1.5
    lines = lines_of(opt)
    assert lines["cost"] == f"{rounded(found.cost, 3)} expected for the next trial"
    assert lines["budget"] == f"{rounded(found.left, 3)} of 3600 left"
    before = opt.state_dict()
    opt.explain()
    assert repr(opt.state_dict()) == repr(before)


def test_explain_names_no_costs_where_there_are_none():
    opt = GSSBO(SPACE, seed=0)
    told(opt, 12, cost=lambda p: 3.0)
    assert opt.explain().spending.cost is None
    assert opt.explain().spending.left is None
    assert not {"cost", "budget"} & lines_of(opt).keys()


def test_explain_says_that_nothing_is_left():
    opt = GSSBO(SPACE, seed=0, budget=20.0)
    told(opt, 12)
    assert lines_of(opt)["budget"] == "nothing left of 20"


def test_the_acquisition_function_is_per_cost():
    opt = GSSBO(SPACE, seed=0)
    told(opt, 14)
    assert opt.snapshot().acquisition_name == "log improvement per cost"
    several = GSSBO(SPACE, seed=0, directions=("minimize", "minimize"))
    told(several, 14, value=lambda p: (p["x"], p["y"]))
    assert several.explain().spending.cost is not None


@over_seeds()
def test_a_batch_at_the_end_of_a_budget_stays_within_it():
    """What pending points leave is what fits; once they leave nothing, the cheapest are suggested."""
    space = {"k": Float(1.0, 5.0), "x": Float(0.0, 1.0)}
    opt = GSSBO(space, seed=seeded(0), budget=1e5)

    def price(p):
        return 10.0 ** p["k"] / 1000.0

    told(opt, 30, cost=price, value=lambda p: (p["x"] - 0.3) ** 2 - 0.1 * p["k"])
    opt._run.costs.budget = float(opt._run.history.trials.cost.sum()) + 60.0
    assert sum(map(price, opt.ask(6))) < 66.0, MOSTLY

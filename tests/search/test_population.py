"""The population search: when it starts, what it proposes, and that it is a fold over the observations."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded
from tests.runs import new_run, tell
from tests.search.searches import global_search, local_search

from numbo import GSSBO, Categorical, Float, GSSBOSettings, Int, Space
from numbo.models.quadratic import coefficients_of
from numbo.run.situation import GLOBAL
from numbo.search import population, population_search
from numbo.search.credit import IDLE, LEAST, MOST
from numbo.search.engine import Origin
from numbo.search.population import Population
from numbo.search.population_search import FEW, TRIAL, PopulationSearch

D = 6
BOX = Space({f"x{j}": Float(0.0, 1.0) for j in range(D)})
ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]


def valley(p):
    """A rotated ellipsoid with axes from 1 to 100, largest at 0.6."""
    z = ROTATION @ (np.array([p[f"x{j}"] for j in range(D)]) - 0.6)
    return -float(10.0 ** np.linspace(0.0, 4.0, D) @ z**2)


def rough(p):
    z = 8.0 * (np.array([p[f"x{j}"] for j in range(D)]) - 0.6)
    return -float(np.sum(z**2 + 10.0 * (1.0 - np.cos(2.0 * np.pi * z))))


@pytest.fixture
def always(monkeypatch):
    """Every suggestion is the population's."""
    monkeypatch.setattr(population_search, "is_turn", lambda step, share: True)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Runs of tests are long after 100 observations."""
    monkeypatch.setattr(population_search, "LONG", 100)


def observe(run, search, p, value, origin=GLOBAL):
    i = tell(run, p, value, origin=origin)
    if i >= 0:
        search.tell(run, i, run.history.assured(i), origin)
    return i


#: A search with this state never looks around.
NEVER = {"looked_around": (10**9, 0, 0)}


def begun(space=BOX, value=valley, n=60, seed=0):
    """A population search that has started after ``n`` random points, and never looks around on its own."""
    run = new_run(space)
    local = local_search(run, global_search(run), size=8)
    search = PopulationSearch(space, local, number=1)
    search.restore(search.state_dict() | NEVER, run.history)
    rng = np.random.default_rng(seeded(seed))
    for k, x in enumerate(space.snap(rng.random((n, space.d)))):
        local.trust_region.number = int(k == n - 1)
        p = space.decode(x)
        observe(run, search, p, value(p))
    return run, search


def drive(run, search, value, n):
    """Ask and tell ``n`` points of the population; returns the values."""
    values = []
    for _ in range(n):
        found = search.propose(run)
        p = run.space.decode(found.x)
        values.append(value(p))
        observe(run, search, p, values[-1], found.origin)
    return values


# -- when it starts, and whose turn it is -----------------------------------------------------------------------------


def test_it_starts_when_a_region_was_given_up():
    run = new_run(BOX)
    local = local_search(run, global_search(run), size=500)
    search = PopulationSearch(BOX, local, number=1)
    rng = np.random.default_rng(0)
    for k in range(120):
        local.trust_region.number = int(k >= 100)
        p = BOX.decode(rng.random(D))
        observe(run, search, p, rough(p))
        assert (search.state_dict()["begun_at"] >= 0) == (k >= 100)


@pytest.mark.parametrize("value", [valley, rough])
@over_seeds()
def test_it_starts_early_where_ranks_are_foreseen(value):
    run = new_run(BOX)
    search = PopulationSearch(BOX, local_search(run, global_search(run), size=8), number=1)
    rng = np.random.default_rng(seeded(0))
    for _ in range(100):
        p = BOX.decode(rng.random(D))
        observe(run, search, p, value(p))
    assert (search.state_dict()["begun_at"] >= 0) == search.state_dict()["foreseen"] == (value is valley), MOSTLY
    assert search.eager(run) == (value is valley), MOSTLY


def turns_of(value, others, n):
    """Which of ``n`` suggestions are the population's, beside a search with ``others(k)`` as its points."""
    run, search = begun(value=value)
    turns = []
    for k in range(n):
        found = search.propose(run)
        turns.append(found is not None)
        p = run.space.decode(others(k) if found is None else found.x)
        observe(run, search, p, value(p), GLOBAL if found is None else found.origin)
    return np.array(turns)


@over_seeds()
def test_a_search_whose_model_ranks_has_most_turns_while_it_gains_more_than_the_other():
    rng = np.random.default_rng(seeded(1))
    turns = turns_of(valley, lambda k: rng.random(D), 400)
    assert turns[20:100].mean() > 0.75, MOSTLY
    assert turns[-60:].mean() == pytest.approx(IDLE, abs=0.05), MOSTLY  # it has converged, and nobody gains anything


def test_a_search_that_gains_nothing_while_the_other_does_has_few_turns():
    rising = count(1)
    rng = np.random.default_rng(1)
    turns = turns_of(
        lambda p: float(next(rising)) if p["x0"] == 0.125 else rough(p),
        lambda k: np.array([0.125, *rng.random(D - 1)]),
        300,
    )
    assert turns[-100:].mean() == pytest.approx(LEAST, abs=0.03)


@pytest.mark.parametrize(
    ("foreseen", "saved", "share"),
    [(True, 0.8, MOST), (True, 0.6, IDLE), (True, 0.4, LEAST), (False, 0.8, MOST), (False, 0.6, LEAST)],
)
def test_a_search_whose_model_saves_some_evaluations_has_a_third_if_it_was_foreseen(
    monkeypatch, foreseen, saved, share
):
    run, search = begun()
    search.propose(run)  # makes the first population
    state = search.state_dict()
    of_the_other = state["credit"] | {"gains": [(False, 1.0)] * 10}
    changed = {"foreseen": foreseen, "tried": TRIAL, "credit": of_the_other, "now": state["now"] | {"saved": saved}}
    search.restore(state | changed, run.history)
    shares = []
    monkeypatch.setattr(population_search, "is_turn", lambda step, share: bool(shares.append(share)))
    search.eager(run)
    assert shares == [share]


@pytest.mark.parametrize(
    ("led_until", "sigma", "gains", "on_its_way"),
    [
        (0, 0.1, [], False),
        (10**9, 0.1, [], True),
        (10**9, 1e-3, [], False),
        (0, 1e-3, [(True, 1.0)], True),
        (0, 1e-3, [(True, 1.0), (False, 1000.0)], False),
    ],
)
def test_it_does_not_look_around_while_the_first_search_is_on_its_way(always, led_until, sigma, gains, on_its_way):
    run, search = begun(value=funnel)
    search.propose(run)
    state = search.state_dict()
    distribution = state["now"]["distribution"] | {"sigma": sigma}
    changed = {"looked_around": (0, 0, 0), "tried": TRIAL, "led_until": led_until}
    changed["credit"] = state["credit"] | {"gains": gains}
    now = state["now"] | {"distribution": distribution, "saved": 0.0}
    search.restore(state | changed | {"now": now}, run.history)
    rng = np.random.default_rng(1)
    for _ in range(100):
        observe(run, search, BOX.decode(rng.random(D)), -300.0)
        search.eager(run)
    assert (search.state_dict()["looked_around"] == (0, 0, 0)) == on_its_way


def test_a_search_is_on_trial_from_when_its_model_has_all_terms(always):
    run, search = begun(value=rough, n=10)
    assert coefficients_of(D) == 28
    drive(run, search, rough, 32)  # 42 points are enough
    assert search.state_dict()["tried"] == 0
    drive(run, search, rough, 10)
    assert search.state_dict()["tried"] == pytest.approx(10, abs=2)


def test_it_has_no_turn_with_stopped_trials_noise_or_fixed_values(always):
    run, search = begun()
    assert search.eager(run)
    kept = replace(run, fixed=np.array([0.5, *[np.nan] * (D - 1)]))
    assert not search.eager(kept)
    assert search.propose(kept) is None
    stopped, other = begun()
    tell(stopped, BOX.decode(np.full(D, 0.5)), 1.0, final=False)
    assert not other.eager(stopped)
    x = BOX.decode(run.history.X[0])
    for y in np.random.default_rng(0).standard_normal(12):  # the same point has different values
        observe(run, search, x, 1e6 * float(y))
    assert run.noise.found
    assert not search.eager(run)


# -- what it proposes -----------------------------------------------------------------------------------------------


@over_seeds()
def test_a_valley_is_followed_with_few_evaluations(always):
    run, search = begun()
    values = drive(run, search, valley, 250)
    assert max(values) > -1e-6, MOSTLY
    generations = search.state_dict()["generation"]
    size = search.state_dict()["now"]["size"]
    assert generations * size > 3 * len(values), MOSTLY  # the model stood for most of the points


@over_seeds()
def test_a_rough_function_is_evaluated_at_nearly_all_points(always):
    run, search = begun(value=rough)
    drive(run, search, rough, 40)  # by now the model is full
    before = search.state_dict()["generation"]
    drive(run, search, rough, 160)
    state = search.state_dict()
    assert (state["generation"] - before) * state["now"]["size"] < 1.5 * 160, MOSTLY


@over_seeds()
def test_points_that_are_pending_told_or_failed_are_not_proposed_again(always):
    run, search = begun(value=rough)
    seen = set()
    k = 0
    while (found := search.propose(run)) is not None:
        assert found.x.tobytes() not in seen
        seen.add(found.x.tobytes())
        run.hold(k, BOX.decode(found.x), found.origin)
        k += 1
    assert k == max(FEW, search.state_dict()["now"]["size"] // 2)  # others would come late
    origins = [one.origin for one in run.history.pending.values()]
    assert len(set(origins)) == k
    assert {Origin.of(origin).engine for origin in origins} == {1}
    for key in range(k):
        point = run.history.pending.pop(key)
        observe(run, search, point.params, float("nan"), point.origin)
    found = search.propose(run)
    assert found is not None, MOSTLY
    assert found.x.tobytes() not in seen


@over_seeds()
def test_points_whose_results_never_arrive_do_not_silence_it(always):
    run, search = begun(value=rough)
    k = 0
    while (found := search.propose(run)) is not None:
        run.hold(k, BOX.decode(found.x), found.origin)
        k += 1
    rng = np.random.default_rng(seeded(0))
    asked = 0
    for _ in range(100):
        found = search.propose(run)
        asked += found is not None
        p = BOX.decode(rng.random(D) if found is None else found.x)
        observe(run, search, p, rough(p), GLOBAL if found is None else found.origin)
    assert asked > 10, MOSTLY


def test_infinite_values_count_as_the_worst_finite_ones(always):
    def value(p):
        return (-np.inf, np.inf, rough(p))[0 if p["x0"] < 0.2 else 1 if p["x0"] > 0.99 else 2]

    run, search = begun(value=value)
    drive(run, search, value, 150)
    now = search.state_dict()["now"]
    assert np.isfinite(now["best"] + now["typical"]).all()
    assert search.state_dict()["starts"] == 1


@over_seeds()
def test_points_that_are_likely_to_fail_are_not_proposed(always):
    def value(p):
        return valley(p) if p["x0"] < 0.5 else float("nan")

    run, search = begun(value=value, n=150)
    proposed = []
    for _ in range(40):
        found = search.propose(run)
        proposed += [] if found is None else [found.x[0]]
        p = BOX.decode(np.full(D, 0.4) + 0.01 * len(run.history.X) / 200 if found is None else found.x)
        observe(run, search, p, value(p), GLOBAL if found is None else found.origin)
    assert len(proposed) > 10, MOSTLY
    assert len(set(proposed)) == len(proposed)  # those that failed are not repeated
    assert np.mean(np.array(proposed) >= 0.5) < 0.2, MOSTLY  # the optimum of the valley is at 0.6


def test_results_of_an_earlier_population_teach_the_model_only(always):
    run, search = begun(value=rough)
    first = search.propose(run)
    run.hold("late", BOX.decode(first.x), first.origin)
    generation = search.state_dict()["generation"]
    while search.state_dict()["generation"] < generation + 2:
        drive(run, search, rough, 1)
    assert search.eager(run)
    told = search.state_dict()["now"]["told"]
    points = len(search.state_dict()["now"]["model"]["y"])
    late = run.history.pending.pop("late")
    observe(run, search, late.params, rough(late.params), late.origin)
    assert search.eager(run)
    assert search.state_dict()["now"]["told"] == told
    assert len(search.state_dict()["now"]["model"]["y"]) == points + 1


@over_seeds()
def test_only_numerical_active_coordinates_are_moved(always):
    space = Space(
        {
            "k": Categorical(list("ab")),
            "x": Float(0.0, 1.0),
            "n": Int(1, 40),
            "u": Float(0.0, 1.0, when={"k": "a"}),
            "v": Float(0.0, 1.0, when={"k": "b"}),
        }
    )

    def value(p):
        return -((p["x"] - 0.3) ** 2) - (p["n"] - 20) ** 2 / 400 + (p["k"] == "b")

    run, search = begun(space, value)
    values = drive(run, search, value, 120)
    asked = [run.history.params(i) for i in range(60, 180)]
    assert {p["k"] for p in asked} == {"b"}
    assert all("u" not in p and 1 <= p["n"] <= 40 for p in asked)
    assert max(values) > 1.0 - 1e-4, MOSTLY


def test_a_space_with_one_number_is_left_to_the_others(always):
    run, search = begun(Space({"k": Categorical(list("ab")), "x": Float(0.0, 1.0)}), lambda p: p["x"])
    assert search.propose(run) is None


@over_seeds()
def test_equal_values_make_the_population_wider(always):
    run, search = begun(value=lambda p: 1.0)
    search.propose(run)
    before = search.state_dict()["now"]["distribution"]["sigma"]
    drive(run, search, lambda p: 1.0, 60)
    assert search.state_dict()["now"]["distribution"]["sigma"] > 2 * before, MOSTLY


def test_a_search_that_has_converged_starts_elsewhere_with_a_larger_population(always):
    run, search = begun()
    size = 0
    for _ in range(600):
        drive(run, search, valley, 1)
        now = search.state_dict()["now"]
        if size and now["size"] > size:
            break
        size = now["size"]
    assert now["size"] == 2 * size
    assert now["distribution"]["sigma"] == population.WIDE
    assert len(now["model"]["y"]) == 0
    drive(run, search, valley, 3 * size)


@pytest.mark.parametrize("progress", [0.0, 0.01])
def test_a_search_without_progress_ends_after_many_populations(progress):
    now = Population(BOX, np.full(D, 0.5), 9)
    enough = 100 + int(100 * D**1.5 / 9)  # as in the package cma, by Hansen
    values = [float(k % 7) + progress * k for k in range(2 * enough)]
    state = now.state_dict()
    now.restore(state | {"best": values[:-1], "typical": values[:-1]})
    assert not now.converged
    now.restore(state | {"best": values, "typical": values})
    assert now.converged == (progress == 0.0)


# -- on its own --------------------------------------------------------------------------------------------------------


def funnel(p):
    """Many small optima on the wall of one large funnel, largest at 0.6."""
    z = 8.0 * (np.array([p[f"x{j}"] for j in range(D)]) - 0.6)
    return -float(np.sum(z**2 + 1.0 * (1.0 - np.cos(4.0 * np.pi * z))))


def uncorrelated(p):
    """Values below -1 that tell nothing of each other."""
    return -1.0 - np.random.default_rng([int(1e6 * v) for v in p.values()]).random()


def stuck(value, seed=0):
    """A population search that has begun to look around: its record is old, and one coordinate away from the best."""
    run, search = begun(value=value, seed=seed)
    search.restore(search.state_dict() | {"looked_around": (0, 0, 0)}, run.history)
    record = {**dict.fromkeys(BOX.names, 0.6), "x0": 0.85}
    observe(run, search, record, funnel(record))
    others = np.random.default_rng(seeded(seed + 1))
    while not search.eager(run) or search.state_dict()["now"]["rival"] == -np.inf:
        p = BOX.decode(others.random(D))
        observe(run, search, p, min(value(p), -100.0))
    return run, search


def test_it_looks_around_when_the_second_half_of_all_observations_has_brought_little(always):
    run, search = begun(value=funnel)
    search.restore(search.state_dict() | {"looked_around": (0, 0, 0)}, run.history)
    record = run.history.y.max()
    rng = np.random.default_rng(1)
    for k in range(100):  # each of them a record
        observe(run, search, BOX.decode(rng.random(D)), record + k)
        search.eager(run)
        assert search.state_dict()["looked_around"] == (0, 0, 0)
    while search.state_dict()["looked_around"] == (0, 0, 0):
        observe(run, search, BOX.decode(rng.random(D)), -300.0)
        search.eager(run)
    n, size, generation = search.state_dict()["looked_around"]
    assert generation == search.state_dict()["generation"]
    assert n == run.history.n
    record = run.history.y[: n // 2].max()
    first = run.history.y[: population_search.FIRST]
    assert run.history.y.max() - record <= population_search.LITTLE * (record - np.quantile(first, 0.5, method="lower"))
    while search.state_dict()["looked_around"][0] == n:
        drive(run, search, lambda p: -300.0, 1)
    assert search.state_dict()["looked_around"][:2] == (2 * n, 2 * size)


def test_it_does_not_look_around_in_short_runs(always, monkeypatch):
    monkeypatch.setattr(population_search, "LONG", 430)
    run, search = begun(value=funnel)
    search.restore(search.state_dict() | {"looked_around": (0, 0, 0)}, run.history)
    while search.state_dict()["looked_around"] == (0, 0, 0):
        drive(run, search, lambda p: -300.0, 1)
    assert run.history.n == 450 + 1  # the first that is looked at, taken in by the next suggestion


def test_where_ranks_were_foreseen_it_never_looks_around(always):
    run, search = begun()
    search.restore(search.state_dict() | {"looked_around": (0, 0, 0), "foreseen": True}, run.history)
    drive(run, search, lambda p: -300.0, 200)
    assert search.state_dict()["looked_around"] == (0, 0, 0)


@over_seeds()
def test_a_search_on_its_own_knows_its_own_points_only(always):
    run, search = stuck(funnel)
    now = search.state_dict()["now"]
    best = run.history.X[np.argmax(run.history.y)]
    assert now["distribution"]["sigma"] == population.WIDE
    assert np.linalg.norm(now["distribution"]["mean"] - best) > 0.1
    values = drive(run, search, funnel, 30)
    observe(run, search, BOX.decode(np.full(D, 0.61)), -0.01)
    values += drive(run, search, funnel, 30)
    now = search.state_dict()["now"]
    assert now["rival"] > -np.inf, MOSTLY  # it goes on
    assert len(now["model"]["y"]) > 20, MOSTLY
    assert set(now["model"]["y"]) <= set(values)
    assert now["record"] == -1  # nor is the record a member


@over_seeds()
def test_a_search_on_its_own_goes_on_while_it_comes_nearer_to_the_record(always):
    run, search = stuck(funnel)
    record = run.history.y.max()
    generation = search.state_dict()["generation"]
    values = drive(run, search, funnel, 700)
    assert search.state_dict()["generation"] > generation + 4 * population.NEWEST, MOSTLY
    assert max(values) > record, MOSTLY


@over_seeds()
def test_a_search_on_its_own_ends_where_it_comes_no_nearer(always):
    run, search = stuck(uncorrelated)
    observe(run, search, dict.fromkeys(BOX.names, 0.5), 100.0)
    turns = 0
    while search.propose(run) is not None and search.state_dict()["now"]["rival"] > -np.inf:
        drive(run, search, uncorrelated, 1)
        turns += 1
    size = search.state_dict()["now"]["size"]
    assert 2 * population.NEWEST * size < turns < 4 * population.NEWEST * size, MOSTLY
    now = search.state_dict()["now"]
    np.testing.assert_array_equal(now["distribution"]["mean"], np.full(D, 0.5))
    assert len(now["model"]["y"]) > 0  # now those of others, too


@over_seeds()
def test_a_search_on_its_own_has_a_third_of_the_suggestions_while_others_gain():
    rng = np.random.default_rng(seeded(7))
    run, search = stuck(funnel)
    gains = count(1)
    turns = []
    for _ in range(60):
        found = search.propose(run)
        turns.append(found is not None)
        p = BOX.decode(rng.random(D) if found is None else found.x)
        value = float(next(gains)) if found is None else funnel(p)
        observe(run, search, p, value, GLOBAL if found is None else found.origin)
    assert search.state_dict()["credit"]["gains"][-1][1] > 0.0, MOSTLY
    assert search.state_dict()["now"]["rival"] > 10.0, MOSTLY
    assert np.mean(turns) == pytest.approx(IDLE, abs=0.05), MOSTLY


def test_late_results_of_earlier_populations_are_those_of_a_rival(always):
    run, search = begun(value=funnel)
    search.restore(search.state_dict() | {"looked_around": (0, 0, 0)}, run.history)
    late = search.propose(run)
    others = np.random.default_rng(1)
    while search.eager(run) and search.state_dict()["now"]["rival"] == -np.inf:
        observe(run, search, BOX.decode(others.random(D)), -1000.0)
    observe(run, search, BOX.decode(late.x), 7.0, late.origin)
    search.eager(run)
    assert search.state_dict()["now"]["rival"] == 7.0
    assert len(search.state_dict()["now"]["model"]["y"]) == 0


def test_a_record_in_another_category_does_not_end_a_search_on_its_own(always):
    space = Space({"kind": Categorical(list("ab")), **{f"x{j}": Float(0.0, 1.0) for j in range(D)}})

    def value(p):
        return funnel(p) - 10.0 * (p["kind"] == "b")

    run, search = begun(space, value)
    search.restore(search.state_dict() | {"looked_around": (0, 0, 0)}, run.history)
    others = np.random.default_rng(1)
    while search.eager(run) and search.state_dict()["now"]["rival"] == -np.inf:
        p = {"kind": "a", **dict(zip(BOX.names, others.random(D), strict=True))}
        observe(run, search, p, -1000.0)
    observe(run, search, {"kind": "b", **dict.fromkeys(BOX.names, 0.5)}, 0.0)
    generation = search.state_dict()["generation"]
    while search.state_dict()["generation"] == generation:
        drive(run, search, value, 1)
        search.eager(run)
    assert search.state_dict()["now"]["rival"] == 0.0


# -- a fold ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [begun, stuck])
@pytest.mark.parametrize("value", [valley, rough])
def test_it_depends_on_the_observations_and_not_on_when_it_is_asked(always, value, start):
    run, search = start(value=value)
    other = copy.deepcopy(search)
    n = run.history.n
    drive(run, search, value, 150)
    history = run.history
    for i in range(n, history.n):
        other.tell(run, i, history.assured(i), int(history.trials.origins[i]))
    one, same = search.propose(run), other.propose(run)
    np.testing.assert_array_equal(one.x, same.x)
    assert one.origin == same.origin


@pytest.mark.parametrize("start", [begun, lambda: stuck(valley)])
@pytest.mark.parametrize("n", [0, 1, 70])
def test_a_restored_search_goes_on_in_the_same_way(always, n, start):
    run, search = start()
    drive(run, search, valley, n)
    twin = PopulationSearch(BOX, search._beside, number=1)
    twin.restore(copy.deepcopy(search.state_dict()), run.history)
    for _ in range(40):
        one, other = search.propose(run), twin.propose(run)
        np.testing.assert_array_equal(one.x, other.x)
        p = BOX.decode(one.x)
        i = tell(run, p, valley(p), origin=one.origin)
        for each in (search, twin):
            each.tell(run, i, run.history.assured(i), one.origin)


def test_gssbo_resumes_from_its_trials_with_the_population_at_work():
    opt = GSSBO(BOX, seed=0, buffer_size=20, direction="maximize", settings=GSSBOSettings(population=True))
    for _ in range(140):
        p = opt.ask()
        opt.tell(p, valley(p))
    state = opt.state_dict()
    assert any(Origin.of(int(origin)).engine == 1 for origin in state["run"]["history"]["origins"])
    same = GSSBO.from_state_dict(state)
    assert [same.ask() for _ in range(5)] == [opt.ask() for _ in range(5)]


# -- where there is little to move ----------------------------------------------------------------------------------


def test_it_waits_while_the_best_point_has_too_few_numbers(always):
    space = Space({"kind": Categorical(["few", "many"]), **{f"c{j}": Categorical(list("abcdefgh")) for j in range(5)}})
    run, search = begun(space, lambda p: float(p["kind"] == "few"), n=30)
    assert not search.eager(run)
    assert search.propose(run) is None
    assert search.state_dict()["now"] is None


FEW_OR_MANY = Space(
    {"kind": Categorical(["few", "many"]), **{f"x{j}": Float(0.0, 1.0, when={"kind": "many"}) for j in range(4)}}
)


@pytest.mark.parametrize("looked_around", [10**9, 0])
@over_seeds()
def test_a_record_with_too_few_numbers_ends_it_whoever_asks(always, looked_around):
    def value(p):
        z = 20.0 * np.array([v - 0.4 for v in p.values() if isinstance(v, float)])
        return float("nan") if p["kind"] == "few" else -float(np.sum(z**2 + 40.0 * (1.0 - np.cos(8.0 * z))))

    run, search = begun(FEW_OR_MANY, value)
    search.restore(search.state_dict() | {"looked_around": (looked_around, 0, 0)}, run.history)
    twin = copy.deepcopy(search)
    n = run.history.n
    origins = []
    while len(origins) < 3:
        found = search.propose(run)
        assert found is not None, MOSTLY
        p = run.space.decode(found.x)
        observe(run, search, p, value(p), found.origin)
        origins.append(found.origin)
    observe(run, search, {"kind": "few"}, 1.0)
    origins.append(GLOBAL)
    while (found := search.propose(run)) is not None:
        p = run.space.decode(found.x)
        observe(run, search, p, value(p), found.origin)
        origins.append(found.origin)
    assert search.state_dict()["now"] is None
    rng = np.random.default_rng(7)
    for _ in range(120):
        assert search.propose(run) is None
        observe(run, search, {"kind": "many", **{f"x{j}": rng.random() for j in range(4)}}, -5.0)
        origins.append(GLOBAL)
    for i, origin in enumerate(origins, start=n):
        twin.tell(run, i, run.history.assured(i), origin)
    assert search.propose(run) is None
    assert twin.propose(run) is None
    assert repr(twin.state_dict()) == repr(search.state_dict())


def test_a_population_without_results_is_given_up_more_and_more_patiently(always):
    run, search = begun(value=rough)
    search.eager(run)
    size = search.state_dict()["now"]["size"]
    rng = np.random.default_rng(7)
    starts = []
    for _ in range(900):
        starts.append(search.state_dict()["starts"])
        observe(run, search, BOX.decode(rng.random(D)), -500.0)
        search.eager(run)
    given_up = np.flatnonzero(np.diff(starts))
    assert len(given_up) == 3
    assert np.diff(given_up).tolist() == [2 * population_search.QUIET, 4 * population_search.QUIET]
    assert search.state_dict()["now"]["size"] == size


@over_seeds(0.5, of=14)
def test_coordinates_that_become_active_have_values_anywhere(always):
    space = Space(
        {
            "n": Int(1, 3),
            "x": Float(0.0, 1.0),
            "u": Float(0.0, 1.0, when={"n": [2, 3]}),
            "v": Float(0.0, 1.0),
        }
    )

    def value(p):
        return -((p["x"] - 0.3) ** 2) - (p["v"] - 0.3) ** 2 - 3.0 * (p["n"] > 1)

    run, search = begun(space, value)
    drive(run, search, value, 100)
    woken = [p["u"] for p in map(run.history.params, range(60, 160)) if p["n"] > 1]
    assert len(woken) > 3, MOSTLY
    assert np.min(woken) > 0.0
    assert np.ptp(woken) > 0.2, MOSTLY


def test_it_begins_anew_where_the_best_point_has_another_category(always):
    space = Space({"kind": Categorical(["a", "b"]), **{f"x{j}": Float(0.0, 1.0) for j in range(3)}})
    run, search = begun(space, lambda p: -sum((p[f"x{j}"] - 0.4) ** 2 for j in range(3)) - 10.0 * (p["kind"] == "b"))
    assert search.propose(run).x[0] == space.encode({"kind": "a", "x0": 0.0, "x1": 0.0, "x2": 0.0})[0]
    best = {"kind": "b", "x0": 0.4, "x1": 0.4, "x2": 0.4}
    observe(run, search, best, 100.0)
    drive(run, search, lambda p: -1.0, 30)
    assert search.propose(run).x[0] == space.encode(best)[0]


@over_seeds()
def test_a_search_of_few_integers_goes_on_where_all_points_of_a_population_are_known(always):
    space = Space({f"k{j}": Int(0, 9) for j in range(4)})
    run, search = begun(space, lambda p: -float(sum((p[f"k{j}"] - 4) ** 2 for j in range(4))), n=40)
    values = drive(run, search, lambda p: -float(sum((p[f"k{j}"] - 4) ** 2 for j in range(4))), 200)
    assert max(values) == 0.0, MOSTLY
    assert search.state_dict()["starts"] > 1, MOSTLY


def test_inactive_values_do_not_widen_it():
    space = Space({**{f"x{j}": Float(0.0, 1.0) for j in range(3)}, "y": Float(0.0, 1.0)}, optional=["y"])
    run = new_run(space)
    local = local_search(run, global_search(run), size=8)
    search = PopulationSearch(space, local, number=1)
    search.restore(search.state_dict() | NEVER, run.history)
    rng = np.random.default_rng(0)
    for k in range(40):
        near = {f"x{j}": 0.5 + 0.02 * rng.random() for j in range(3)}
        p = near | ({"y": 0.5 + 0.02 * rng.random()} if k % 2 else {})
        local.trust_region.number = int(k == 39)
        observe(run, search, p, -float(sum(near.values())) + 1e-3 * (k % 2))
    search.eager(run)
    assert search.state_dict()["now"]["distribution"]["sigma"] < 0.05


def test_the_first_credit_is_no_gain_on_nothing():
    run, search = begun(value=rough)
    observe(run, search, dict.fromkeys(BOX.names, 0.9), -1e3)
    assert search.state_dict()["credit"]["gains"] == [(False, 0.0)]
    assert search.state_dict()["credit"]["record"] == run.history.y.max()


def test_few_observations_wait_while_it_has_no_turns():
    run, search = begun()
    x = BOX.decode(run.history.X[0])
    for y in np.random.default_rng(0).standard_normal(300):  # the same point has different values
        observe(run, search, x, 1e6 * float(y))
    assert run.noise.found
    assert len(search.state_dict()["waiting"]) < 256

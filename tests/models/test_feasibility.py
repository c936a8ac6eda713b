"""What is learned from failures: whether they depend on the parameters, and where."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, configured, over_seeds, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, GSSBOSettings, Int, Space
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models.feasibility import JOINING, SIZE, Feasibility
from numbo.trials.history import History

OPTIMIZERS = [GSSBO, GPUCB, BKB, BBKB, lambda *args, **kw: configured(SBPE, *args, horizon=60, **kw)]
BOX = {f"x{j}": Float(-1, 1) for j in range(3)}


def rosenbrock(p):
    x = np.array(list(p.values()))
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def history_of(X, failed):
    history = History(X.shape[1])
    for x, fails in zip(X, failed, strict=True):
        if fails:
            history.add(x, np.nan, {}, -1)
        else:
            history.add(x, 0.0, {}, -1)
    return history


def learned(X, failed, learn="auto"):
    feasibility = Feasibility(np.zeros(X.shape[1], dtype=bool), learn)
    return feasibility, feasibility.update(history_of(X, failed))


@pytest.mark.parametrize("seed", range(3))
def test_failures_that_depend_on_the_parameters_are_told_from_random_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 3))
    depends, success = learned(X, X[:, 0] + X[:, 1] > 1.1)
    assert depends.trust > 0.99
    Z = rng.random((500, 3))
    p = success_probabilities(success, Z)
    right = (p > 0.5) == (Z[:, 0] + Z[:, 1] <= 1.1)
    assert right.mean() > 0.85
    by_chance, _ = learned(X, rng.random(60) < 0.1)
    assert by_chance.trust < 0.5


@pytest.mark.parametrize("learn", ["auto", True])
@pytest.mark.parametrize("fails", [True, False])
def test_one_outcome_among_all_members_says_nothing(learn, fails):
    """One trial of a long run has another outcome than all those that the model is made of."""
    rng = np.random.default_rng(0)
    X = np.vstack([[0.99, 0.99], rng.random((4 * SIZE, 2))])
    outcomes = np.full(len(X), fails)
    outcomes[0] = not fails
    history, feasibility = history_of(X, outcomes), Feasibility(np.zeros(2, dtype=bool), learn)
    feasibility._members = lambda X, live, history: live[-SIZE:]  # whatever is chosen
    assert feasibility.update(history) is CERTAIN


def test_both_kinds_at_once():
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    feasibility, success = learned(X, (X[:, 0] > 0.5) | (rng.random(120) < 0.1))
    assert feasibility.trust > 0.99
    good, bad = success_probabilities(success, np.array([[0.2, 0.5], [0.8, 0.5]]))
    assert good > 0.6
    assert bad < 0.25


def test_nothing_is_learned_without_failures_or_if_it_is_not_wanted():
    X = np.random.default_rng(0).random((20, 2))
    assert learned(X, np.zeros(20, dtype=bool))[1] is CERTAIN
    assert learned(X, X[:, 0] > 0.5, learn=False)[1] is CERTAIN
    assert learned(X, np.ones(20, dtype=bool))[1] is CERTAIN  # no success says anything about where to go
    assert learned(X, np.arange(20) == 3, learn=True)[0].trust == 1.0


def test_a_success_at_the_same_place_supersedes_a_failure():
    X = np.random.default_rng(0).random((20, 2))
    history = history_of(X, np.arange(20) < 5)
    for x in X[:5]:
        history.add(x, 0.0, {}, -1)
    feasibility = Feasibility(np.zeros(2, dtype=bool), True)
    assert feasibility.update(history) is CERTAIN
    assert not history.visits.failed
    assert history.told == 25


def test_labels_are_chosen_by_place_and_their_number_is_limited():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 2))
    feasibility = Feasibility(np.zeros(2, dtype=bool), "auto")
    history, surrogate = History(2), feasibility._surrogate
    for i, x in enumerate(X):
        if x[0] > 0.7:
            history.add(x, np.nan, {}, -1)
        else:
            history.add(x, -float(np.sum((x - 0.2) ** 2)), {}, -1)
        if i % 7 == 0:
            refits = surrogate.fits.due(history.told)
            success = feasibility.update(history)
            assert len(success.alpha) <= SIZE + (0 if refits else JOINING)  # a refit is of labels chosen anew
    good, bad = success_probabilities(success, np.array([[0.2, 0.2], [0.95, 0.5]]))
    assert good > 0.8 > 0.3 > bad


def test_patience_with_a_point_follows_from_the_rate_of_random_failures():
    X = np.random.default_rng(0).random((100, 2))
    few, _ = learned(X, np.arange(100) % 50 == 0)
    many, _ = learned(X, np.random.default_rng(1).random(100) < 0.3)
    assert few.patience == math.floor(math.log(0.05) / math.log(0.02)) + 1 == 1
    assert many.trust < 0.5
    assert many.patience > 2
    assert learned(X, np.arange(100) % 10 == 0, learn=False)[0].patience == 1
    assert learned(X, X[:, 0] > 0.5)[0].patience == 1


@pytest.mark.parametrize("make", OPTIMIZERS)
@over_seeds()
def test_a_region_that_fails_is_left(make):
    late, best = [], []
    for seed in range(3):
        opt = make(BOX, seed=seeded(seed))
        for _ in range(60):
            p = opt.ask()
            opt.tell(p, None if p["x0"] > 0.2 else sum((v + 0.3) ** 2 for v in p.values()))
        failed = np.isnan(opt.observations[1])
        late.append(failed[20:].sum())
        best.append(opt.best[1])
        assert opt.n_told == 60
        assert len(opt.explain().members) <= 60 - failed.sum()
    assert np.median(late) <= 6, MOSTLY  # of 40; 16 at random
    assert np.median(best) < 0.1, MOSTLY


@over_seeds()
def test_random_failures_cost_nothing_but_their_trials():
    found = {}
    for rate in (0.0, 0.15):
        best = []
        for seed in range(3):
            rng = np.random.default_rng(seeded(seed))
            opt = GSSBO({f"x{j}": Float(-2, 2) for j in range(3)}, seed=seeded(seed))
            for _ in range(100):
                p = opt.ask()
                opt.tell(p, None if rng.random() < rate else rosenbrock(p))
            best.append(opt.best[1])
        found[rate] = np.median(best)
    assert found[0.15] < max(20 * found[0.0], 0.05), MOSTLY  # counted as the worst value, they made it 5


@pytest.mark.parametrize("make", OPTIMIZERS[:2])
@over_seeds()
def test_what_failed_only_at_first_is_forgotten(make):
    """A wrong path, a full disk: it failed everywhere, was mended, and now nothing fails any more."""
    best = []
    for seed in range(3):
        opt = make({"x0": Float(-1, 1), "x1": Float(-1, 1)}, seed=seeded(seed))
        for i in range(55):
            p = opt.ask()
            opt.tell(p, None if i < 15 else sum((v - 0.31) ** 2 for v in p.values()))
        best.append(opt.best[1])
    assert max(best) < 1e-3, MOSTLY


@over_seeds()
def test_failures_are_seen_in_every_kind_of_space():
    space = Space(
        {"act": Categorical(["a", "b", "c"]), "units": Int(1, 64, log=True), "rate": Float(1e-4, 1, log=True)}
    )
    opt = GSSBO(space, seed=seeded(0))
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, None if p["act"] == "b" else abs(math.log(p["rate"]) + 3) + p["units"] / 64)
    failed = np.isnan(opt.observations[1])
    assert failed[30:].sum() <= 3, MOSTLY


@over_seeds()
def test_a_point_that_failed_at_random_may_be_tried_again():
    """In a small space the optimum would be lost otherwise."""
    opt = GSSBO({"k": Int(0, 11), "l": Int(0, 3)}, seed=seeded(0), n_initial=5)
    rng, tried = np.random.default_rng(seeded(0)), []
    for _ in range(60):
        p = opt.ask()
        tried.append(tuple(p.values()))
        unlucky = tried[-1] == (7, 2) and tried.count((7, 2)) == 1
        opt.tell(p, None if unlucky or rng.random() < 0.1 else abs(p["k"] - 7) + abs(p["l"] - 2))
    assert opt.best == ({"k": 7, "l": 2}, 0.0), MOSTLY


@over_seeds()
def test_a_point_that_always_fails_is_given_up():
    X = np.random.default_rng(seeded(0)).random((30, 2))
    opt = BBKB(arms=X, seed=seeded(0), lengthscale=0.3, noise_std=0.1)
    best = int(np.argmin(((X - 0.5) ** 2).sum(axis=1)))
    asked = []
    for _ in range(60):
        arm = opt.ask()
        asked.append(arm)
        opt.tell(arm, None if arm == best else -float(((X[arm] - 0.5) ** 2).sum()))
    assert 1 <= asked.count(best) <= 4, MOSTLY


def test_observations_come_in_the_order_in_which_they_were_told():
    opt = GSSBO({"x": Float(0, 1)}, seed=0)
    values = [0.5, None, 0.25, None, None, 0.75]
    for i, v in enumerate(values):
        opt.tell({"x": i / 10}, v)
    X, y = opt.observations
    assert X[:, 0].tolist() == pytest.approx([i / 10 for i in range(6)])
    np.testing.assert_array_equal(np.isnan(y), [v is None for v in values])
    assert opt.explain().members.tolist() == [0, 2, 5]
    opt.tell({"x": 0.9}, 0.1)
    assert opt.explain().members.tolist() == [0, 2, 5, 6]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_a_restored_optimizer_knows_what_failed(make):
    def run(opt, n):
        asked = []
        for _ in range(n):
            p = opt.ask()
            asked.append(p)
            opt.tell(p, None if p["x0"] > 0.3 else sum(v**2 for v in p.values()))
        return asked

    whole, half = make(BOX, seed=0), make(BOX, seed=0)
    expected = run(whole, 45)[25:]
    run(half, 25)
    restored = type(half).from_state_dict(half.state_dict())
    assert run(restored, 20) == expected


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"learn_failures must be one of 'auto', True, False, got 'no'"):
        GSSBO(BOX, settings=GSSBOSettings(learn_failures="no"))

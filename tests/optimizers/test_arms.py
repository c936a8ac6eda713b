"""GSSBO and GP-UCB over explicit arms. BKB, BBKB and S-BPE have tests of their own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import GPUCB, GSSBO, Arms
from numbo.search.gp_search import ARMS

BOTH = pytest.mark.parametrize("optimizer", [GSSBO, GPUCB])


def table(A, d=3, seed=0):
    """Features (A, d) in odd units, and a smooth value (A,) of each row, at most 1."""
    U = np.random.default_rng(seed).random((A, d))
    return 50.0 * U - 7.0, np.exp(-8.0 * ((U - 0.4) ** 2).sum(axis=1))


def run(opt, f, trials):
    rows = []
    for _ in range(trials):
        rows.append(opt.ask())
        opt.tell(rows[-1], f[rows[-1]])
    return rows


@BOTH
@pytest.mark.parametrize("A", [500, 20_000])
@over_seeds()
def test_the_best_of_few_and_of_many_arms_is_found(optimizer, A):
    X, f = table(A)
    opt = optimizer(arms=X, seed=seeded(0))
    run(opt, f, 60)
    assert opt.direction == "maximize"
    assert np.sum(f > opt.best[1]) <= A // 5000, MOSTLY


@BOTH
@over_seeds()
def test_a_table_can_be_minimised(optimizer):
    X, f = table(500)
    opt = optimizer(Arms(X), direction="minimize", seed=seeded(0))
    run(opt, -f, 40)
    assert opt.best[0] == int(np.argmax(f)), MOSTLY


@BOTH
def test_of_few_arms_the_one_with_the_largest_acquisition_is_suggested(optimizer):
    X, f = table(300)
    opt = optimizer(arms=X, seed=1)
    told = run(opt, f, 25)
    for _ in range(5):
        scores = opt.acquisition_values(range(300))
        scores[told] = -np.inf
        told += run(opt, f, 1)
        assert scores[told[-1]] == pytest.approx(scores.max(), rel=1e-9)


@BOTH
def test_rows_asked_together_differ(optimizer):
    X, f = table(5000)
    opt = optimizer(arms=X, seed=0)
    for _ in range(5):
        rows = opt.ask(16)
        assert len(set(rows)) == 16
        opt.tell(rows, f[rows])
    assert opt.n_told == 80


@BOTH
def test_each_of_all_arms_is_suggested_once(optimizer):
    X, f = table(30)
    opt = optimizer(arms=X, seed=0, avoid_repeats=True, n_initial=5)
    assert sorted(run(opt, f, 30)) == list(range(30))
    assert opt.exhausted


@BOTH
def test_equal_rows_are_one_arm(optimizer):
    X, f = table(15)
    opt = optimizer(arms=np.concatenate([X, X]), seed=0, avoid_repeats=True, n_initial=5)
    assert sorted(run(opt, np.concatenate([f, f]), 15)) == list(range(15))


@BOTH
@over_seeds()
def test_where_arms_fail_is_learned(optimizer):
    X, f = table(3000)
    fails = X[:, 0] > 14.0  # 29 % of all; the best value is at 13
    opt = optimizer(arms=X, seed=seeded(0))
    failed = 0
    for _ in range(60):
        row = opt.ask()
        failed += fails[row]
        opt.tell(row, None if fails[row] else f[row])
    assert failed < 10, MOSTLY
    assert np.sum(f[~fails] > opt.best[1]) <= 3, MOSTLY


@over_seeds()
def test_noisy_arms_are_measured_again():
    X, f = table(200)
    noise, opt = np.random.default_rng(seeded(1)), GSSBO(arms=X, seed=seeded(0))
    rows = []
    for _ in range(150):
        rows.append(opt.ask())
        opt.tell(rows[-1], f[rows[-1]] + 0.2 * noise.normal())
    assert len(set(rows)) < 140, MOSTLY
    assert np.sum(f > f[opt.best_predicted()[0]]) <= 3, MOSTLY


@BOTH
def test_a_restored_optimizer_goes_on_exactly(optimizer):
    X, f = table(3 * ARMS)
    opt = optimizer(arms=X, seed=3)
    run(opt, f, 30)
    opt.ask(3)
    clone = optimizer.from_state_dict(opt.state_dict())
    assert run(opt, f, 8) == run(clone, f, 8)
    assert opt.predict([5]) == clone.predict([5])


@BOTH
@pytest.mark.parametrize(
    ("X", "f"),
    [
        pytest.param(np.ones((20, 3)), np.ones(20), id="all arms equal"),
        pytest.param(np.repeat(np.random.default_rng(0).random((5, 2)), 4, axis=0), np.arange(20) / 20, id="repeated"),
        pytest.param(np.random.default_rng(0).random((20, 2)), np.full(20, 7.0), id="constant objective"),
        pytest.param(np.random.default_rng(0).random((1, 1)), np.ones(1), id="one arm"),
        pytest.param(np.random.default_rng(0).random((20, 2)) * 1e200, np.arange(20) / 20, id="huge features"),
        pytest.param(np.random.default_rng(0).random((20, 2)), np.arange(20) * 1e300, id="huge values"),
        pytest.param(np.random.default_rng(0).random((20, 200)), np.arange(20) / 20, id="more features than arms"),
        pytest.param(np.random.default_rng(0).random((3 * ARMS, 1)), np.arange(3 * ARMS) / 20, id="one feature"),
    ],
)
def test_ill_posed_problems_work(optimizer, X, f):
    opt = optimizer(arms=X, seed=0, n_initial=3)
    for row in run(opt, f, 25):
        assert 0 <= row < len(X)
    assert np.isfinite(opt.predict([0])).all()


@over_seeds()
def test_the_paper_preset_takes_arms():
    X, f = table(1000)
    opt = GSSBO(arms=X, seed=seeded(0), preset="paper")
    run(opt, f, 60)
    assert np.sum(f > opt.best[1]) <= 1, MOSTLY


@BOTH
def test_bad_domains_get_one_clear_sentence(optimizer):
    with pytest.raises(ValueError, match="exactly one of space and arms, got neither"):
        optimizer()
    with pytest.raises(ValueError, match="arms must be finite, got NaN or infinity in row 1"):
        optimizer(arms=[[1.0], [np.nan]])
    opt = optimizer(arms=np.ones((3, 1)))
    with pytest.raises(ValueError, match="An arm must be an integer from 0 to 2, got 3"):
        opt.tell(3, 1.0)

"""S-BPE against its paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.helpers import MOSTLY, configured, inside, over_seeds, pending_of, seeded

from numbo import SBPE, Float, Int, SBPESettings, Space
from numbo.kernels.covariance import RBF, stationary
from numbo.models import SparseGP
from numbo.models.confidence import sparse_confidence, uniform_confidence, union_bound
from numbo.models.learned_kernel import LearnedKernel
from numbo.optimizers import sbpe
from numbo.optimizers.parts.race import ArmRace, BoxRace, lambda_max

pytestmark = pytest.mark.arithmetic

NOISE = 0.1
TAU2 = NOISE**2
LENGTHSCALE = 0.3


def covariance(d=2):
    return stationary(RBF, np.full(d, LENGTHSCALE**-2.0), 1.0, TAU2, np.zeros(d, dtype=bool))


def rkhs_function(X, seed, norm=1.0):
    """Values at X of a function of the given RKHS norm."""
    rng = np.random.default_rng(seed)
    centers = rng.random((12, X.shape[1]))
    weights = rng.normal(size=12)
    scale = norm / math.sqrt(weights @ naive.gram(covariance(X.shape[1]), centers) @ weights)
    return scale * naive.gram(covariance(X.shape[1]), X, centers) @ weights


def unit_arms(A, seed=0):
    """Arms whose bounding box is the unit square, so that features are what the model sees."""
    X = np.random.default_rng(seed).random((A, 2))
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def make(X, **kw):
    return configured(
        SBPE, arms=X, **({"kernel": "rbf", "lengthscale": LENGTHSCALE, "noise_std": NOISE, "seed": seeded(0)} | kw)
    )


def run(opt, f, n, seed=0):
    rng = np.random.default_rng(seed)
    while opt.n_told < n:
        batch = opt.next_batch(n - opt.n_told)
        opt.tell(batch, f[batch] + NOISE * rng.normal(size=len(batch)))
    return opt


def with_race(opt, arms):
    """The same optimizer, as if only these arms were left in the race."""
    state = opt.state_dict()
    state["model"]["race"]["left"] = np.isin(np.arange(len(opt.racing)), arms)
    return SBPE.from_state_dict(state)


def test_sizes_of_batches():
    X = unit_arms(50)
    opt = run(make(X, horizon=400), rkhs_function(X, 0), 600)
    sizes, size = [], 1
    while sum(sizes) < 601:
        size = math.ceil(math.sqrt(400 * size))
        sizes.append(size)
    assert opt.status.batch_sizes == tuple(sizes[: len(opt.status.batch_sizes)])
    assert sum(opt.status.batch_sizes) <= 600 < sum(sizes)
    assert opt.n_batches == 4  # 20, 90, 190, 276


def test_a_batch_is_pure_exploration_and_elimination_is_the_rule():
    """Literally, with the exact GP of the batch alone.

    That is exact while the dictionary has all arms of the batch. It may lack the newest ones until variances may have
    shrunk by `sbpe.RATIO_THRESHOLD`, and be off by as much.
    """
    X = unit_arms(80)
    f = rkhs_function(X, 1)
    opt = make(X, horizon=300, qbar=math.inf, beta=1.0)
    rng = np.random.default_rng(0)
    racing, sizes = np.ones(80, dtype=bool), [18, 74, 150]
    arms, y = [], []
    exact = 0
    for _ in range(110):
        seen = [*arms]
        arm = opt.ask()
        np.testing.assert_array_equal(opt.racing, racing)
        assert racing[arm]
        if seen:
            _, variance = naive.posterior(covariance(), X[seen], np.zeros(len(seen)), X)
            variance = np.where(racing, variance, -1.0)
            perfect = inside(opt, "model").base.gp.m == len(set(seen))
            assert variance[arm] >= (variance.max() - 1e-7 if perfect else variance.max() / sbpe.RATIO_THRESHOLD)
            exact += perfect
        arms.append(arm)
        y.append(f[arm] + NOISE * rng.normal())
        opt.tell(arm, y[-1])
        if len(arms) == sizes[0]:
            mean, variance = naive.posterior(covariance(), X[arms], np.array(y), X)
            lower, upper = mean - np.sqrt(variance), mean + np.sqrt(variance)
            racing &= upper >= lower[racing].max()
            arms, y = [], []
            sizes.pop(0)
    assert exact > 90
    assert 0 < racing.sum() < 80
    assert opt.status.batch_sizes == (18, 74)


def test_the_optimum_is_never_dropped_while_bounds_hold():
    for seed in range(6):
        X = unit_arms(150, seed)
        f = rkhs_function(X, seed)
        opt = run(make(X, horizon=600, beta="paper", delta=0.1, seed=seed), f, 700, seed)
        assert opt.racing[np.argmax(f)]
        assert opt.predict([int(np.argmax(f))])[0][0] == pytest.approx(f.max(), abs=0.2)


@over_seeds()
def test_a_narrow_bound_finds_the_optimum_by_elimination():
    X = unit_arms(300)
    f = rkhs_function(X, 3)
    opt = run(make(X, horizon=1000, beta=2.0), f, 1600)
    assert opt.racing.sum() < 60, MOSTLY
    assert f[opt.racing].max() > f.max() - 0.02, MOSTLY


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_confidence_bounds_cover_at_the_promised_rate(delta):
    """Theorem 3.5, either side, with inducing points and design independent of the noise: 400 draws of the noise."""
    X, cov = unit_arms(60), covariance()
    f = rkhs_function(X, 5)
    gp = SparseGP(cov, X[:25:2])
    gp.condition(X[:40])
    beta = sparse_confidence(delta, lambda_max(gp), NOISE, 1.0, NOISE)
    rng = np.random.default_rng(0)
    above, below = np.zeros(60), np.zeros(60)
    for _ in range(400):
        gp.set_values(f[:40] + NOISE * rng.normal(size=40))
        mean, variance = gp.mean_variance(X)
        sigma = np.sqrt(TAU2 * variance)
        above += f > mean + beta * sigma
        below += f < mean - beta * sigma
    assert max(above.max(), below.max()) / 400 <= delta
    # the noise term alone covers at its rate: the bound is not vacuous because of the bias term
    noise_only, errors = math.sqrt(2 * math.log(1 / delta)), np.zeros(60)
    for _ in range(400):
        gp.set_values(NOISE * rng.normal(size=40))
        mean, variance = gp.mean_variance(X)
        errors += mean > noise_only * np.sqrt(TAU2 * variance)
    assert errors.max() / 400 <= delta
    assert errors.max() > 0 or delta < 0.2


def test_the_uniform_width_exceeds_the_pointwise_one_and_grows_with_dimension():
    point = sparse_confidence(0.1, 0.01, 0.1, 1.0, 0.1)
    widths = [uniform_confidence(0.1, 0.01, 0.1, 1.0, 0.1, 100, d, 1.0) for d in (1, 3, 10)]
    assert point < widths[0] < widths[1] < widths[2]


def test_lambda_max_is_computed_for_the_schedule_of_the_paper_alone(monkeypatch):
    calls = []

    def spy(gp):
        calls.append(gp)
        return lambda_max(gp)

    monkeypatch.setattr(sbpe, "lambda_max", spy)
    X = unit_arms(40)
    f = rkhs_function(X, 0)
    for beta in ("union", 2.0):
        assert run(make(X, horizon=40, beta=beta), f, 30).status.batch_sizes == (7, 17)
    assert not calls
    assert run(make(X, horizon=40, beta="paper"), f, 30).status.batch_sizes == (7, 17)
    assert len(calls) == 2


@pytest.mark.parametrize("delta", [0.1, 0.999])
def test_dictionaries_are_drawn_within_lemma_3_8(delta, monkeypatch):
    seen = []

    def spy(*args, **kw):
        seen.append(kw["delta"])
        return rls(*args, **kw)

    rls = sbpe.recursive_rls
    monkeypatch.setattr(sbpe, "recursive_rls", spy)
    X = unit_arms(40)
    opt = run(make(X, horizon=40, delta=delta), rkhs_function(X, 0), 30)
    assert len(seen) == 2
    assert max(seen) < 1 / 32
    assert opt.n_batches * max(seen) <= delta / 2 * (1 + 1e-12)


def test_the_union_bound_covers_at_its_rate():
    """300 arms after 4 batches, independent of each other: the most that can go wrong."""
    rng = np.random.default_rng(0)
    for delta in (0.9, 0.1):
        width = union_bound(delta, 4, 300)
        assert width == pytest.approx(math.sqrt(2 * math.log(4 * 4 * 300 / delta)))
        failures = sum(np.abs(rng.normal(size=1200)).max() > width for _ in range(400))
        assert failures / 400 <= delta


def learned(seed, n_arms=120, horizon=100, noise=0.5, **kw):
    """S-BPE with a learned kernel that is told whole batches, and what it looks for: a smooth function with noise."""
    seed = seeded(seed)
    X = unit_arms(n_arms, seed)
    f = rkhs_function(X, seed)
    f = f / f.std()
    opt = SBPE(arms=X, horizon=horizon, seed=seed, **kw)
    rng = np.random.default_rng(seed)
    while len(opt.status.batch_sizes) < opt.n_batches:
        batch = opt.next_batch(limit=1)  # ends the batch before
        if len(opt.status.batch_sizes) == opt.n_batches:
            break
        batch += opt.next_batch()
        opt.tell(batch, f[batch] + noise * rng.normal(size=len(batch)))
    return opt, f


@over_seeds()
def test_a_learned_kernel_keeps_the_optimum_in_the_race():
    share = []
    for seed in range(6):
        opt, f = learned(seed)
        assert opt.racing[np.argmax(f)], MOSTLY
        share.append(opt.racing.mean())
    assert np.median(share) < 0.8, MOSTLY


@over_seeds()
def test_with_little_noise_a_learned_kernel_rules_most_of_the_arms_out():
    for seed in range(4):
        opt, f = learned(seed, noise=0.05)
        assert opt.racing[np.argmax(f)], MOSTLY
        assert opt.racing.mean() < 0.5, MOSTLY


def test_a_kernel_is_learned_before_it_judges(monkeypatch):
    judged, judge = [], ArmRace.eliminate

    def spy(self, run, verdict, model, X):
        judged.append((model.kernel.fits.at, {x.tobytes() for x in X}))
        judge(self, run, verdict, model, X)

    monkeypatch.setattr(ArmRace, "eliminate", spy)
    opt, _ = learned(0, n_arms=30)
    assert opt.status.batch_sizes == (10, 32, 57, 76)
    told = [x.tobytes() for x in opt.observations[0]]
    assert judged == [(n, set(told[:n])) for n in (10, 42, 99, 175)]


def test_under_a_learned_kernel_all_observations_are_judged_afresh():
    """Whatever dropped out before: the race is what the exact posterior of all observations leaves."""
    X = unit_arms(60)
    f = rkhs_function(X, 2)
    opt = SBPE(arms=X, horizon=100, seed=0, beta=1.0, settings=SBPESettings(winsorize=False))
    rng = np.random.default_rng(0)
    rows = opt.next_batch() + [int(i) for i in rng.integers(60, size=40)]
    y = f[rows] + 0.02 * rng.normal(size=len(rows))
    opt.tell(rows[:10], y[:10])
    opt.ask()
    opt = with_race(opt, [0])
    assert opt.racing.sum() == 1
    opt.tell(rows[10:], y[10:])
    opt.ask()
    z = (y[:42] - y[:42].mean()) / y[:42].std()
    kernel = LearnedKernel(np.zeros(2, dtype=bool), "matern52", None, None, trend=True, winsorize=False)
    kernel.restore(opt.state_dict()["model"]["model"]["kernel"])
    mean, variance = naive.posterior(kernel.covariance, X[rows[:42]], z, X)
    lower, upper = mean - np.sqrt(variance), mean + np.sqrt(variance)
    np.testing.assert_array_equal(opt.racing, upper >= lower.max())
    assert 1 < opt.racing.sum() < 60


def test_values_told_at_once_are_judged_once():
    X = unit_arms(60)
    f = rkhs_function(X, 2)
    opt = SBPE(arms=X, horizon=20, seed=0)
    rows = np.random.default_rng(0).integers(60, size=200)
    opt.tell(rows, f[rows])
    opt.ask()
    assert opt.status.batch_sizes[:3] == (5, 10, 15)
    assert opt.state_dict()["model"]["batch_start"] == sum(opt.status.batch_sizes)  # where the present one begins
    assert opt.racing[np.argmax(f)]


@pytest.mark.parametrize("fixed", [True, False])
def test_a_race_whose_points_are_all_taken_is_repeated(fixed):
    kw = {"kernel": "rbf", "lengthscale": 0.5, "noise_std": 0.1} if fixed else {}
    opt = configured(SBPE, {"a": Int(0, 9), "b": Int(0, 9)}, horizon=1000, seed=0, **kw)
    for _ in range(20):
        p = opt.ask()
        opt.tell(p, (p["a"] - 4) ** 2 + (p["b"] - 7) ** 2)
    opt = with_race(opt, [3, 47, 48, 95])
    asked = [int(opt.space.grid_index(opt.space.encode(opt.ask())[None])[0]) for _ in range(8)]
    opt.tell(opt.pending[:2], [1.0, 1.0])
    asked += [int(opt.space.grid_index(opt.space.encode(opt.ask())[None])[0]) for _ in range(4)]
    assert set(asked) == {3, 47, 48, 95}
    assert len(set(asked[:4])) == 4
    assert not opt.taken(opt.space.grid()[47])  # so nobody goes elsewhere


def test_a_large_space_whose_race_is_taken_is_repeated(monkeypatch):
    opt = SBPE({"a": Int(0, 300), "b": Int(0, 300)}, horizon=50, seed=0)
    for _ in range(30):
        p = opt.ask()
        opt.tell(p, abs(p["a"] - 40) + abs(p["b"] - 70))
    assert opt.racing is None
    left = opt.observations[0][[3, 8]]
    monkeypatch.setattr(BoxRace, "contains", lambda self, X: (X[:, None] == left).all(axis=2).any(axis=1))
    state = opt.state_dict()
    state["model"]["race"]["pool"] = None  # candidates from before
    opt = SBPE.from_state_dict(state)
    for _ in range(5):
        assert (opt.space.encode(opt.ask()) == left).all(axis=1).any()


def test_a_late_value_counts_for_the_next_batch():
    X = unit_arms(60)
    f = rkhs_function(X, 0)
    opt = make(X, horizon=100)
    out = opt.ask(5)
    straggler = out.pop(0)
    for _ in range(40):
        arm = out.pop(0)
        opt.tell(arm, f[arm])
        out.append(opt.ask())
    assert opt.status.batch_sizes == (10,)
    assert straggler in opt.pending
    opt.tell(straggler, f[straggler])
    assert opt.ask() is not None
    window = opt.state_dict()["model"]["model"]["window"]  # the first observation that counts
    late = np.flatnonzero((opt.observations[0] == opt.space.encode(straggler)).all(axis=1))
    assert late.max() >= window >= 10


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), arms=st.booleans(), data=st.data())
def test_a_restored_optimizer_goes_on_exactly(seed, arms, data):
    X = unit_arms(40)
    f = rkhs_function(X, 0)
    space = Space({"x": Float(0, 1), "k": Int(0, 40)})
    kw = {"n_initial": 3, "seed": seed, "horizon": 30}
    opt = make(X, **kw) if arms else configured(SBPE, space, max_dictionary=12, **kw)

    def value(p):
        return float(f[p]) if arms else (p["x"] - 0.3) ** 2 + 0.01 * p["k"]

    for _ in range(40):
        action = data.draw(st.sampled_from(["ask", "ask", "tell", "tell", "tell", "fail", "release", "predict"]))
        pending = pending_of(opt)
        if action == "ask":
            opt.ask()
        elif action == "predict" and opt.best is not None:
            opt.predict([opt.best[0]])
        elif pending:
            key = data.draw(st.sampled_from(sorted(pending)))
            if action == "release":
                opt.release(key)
            else:
                opt.tell(pending[key].params, None if action == "fail" else value(pending[key].params), key=key)
    clone = SBPE.from_state_dict(opt.state_dict())
    for _ in range(12):
        a, b = opt.ask(), clone.ask()
        assert a == b
        opt.tell(a, value(a))
        clone.tell(b, value(b))
    assert opt.status == clone.status


@pytest.mark.parametrize("beta", [2.0, "paper"])
@over_seeds()
def test_large_spaces_are_filtered_point_by_point(beta):
    space = Space({"x": Float(-1.0, 1.0), "y": Float(-1.0, 1.0)})
    rng = np.random.default_rng(seeded(0))
    opt = SBPE(space, seed=seeded(0), horizon=200, beta=beta)
    for _ in range(260):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.3) ** 2 + (p["y"] + 0.5) ** 2 + 0.02 * rng.normal())
    assert opt.racing is None
    assert len(opt.status.batch_sizes) == 3
    race = inside(opt, "race")
    assert len(race.filters) == 1  # under a learned kernel the last verdict speaks for all observations
    X = rng.random((2000, 2))
    left = race.contains(X)
    regret = np.sum((2 * X - 1 - [0.3, -0.5]) ** 2, axis=1)
    if beta == 2.0:  # what is left is close to the optimum
        assert 0 < left.mean() < 0.3, MOSTLY
        assert regret[left].max() < 0.1, MOSTLY
        assert race.contains(opt.observations[0][sum(opt.status.batch_sizes) + 1 :]).all(), MOSTLY
    else:
        assert left.mean() > 0.9, MOSTLY  # corollary 3.7 is wide


BAD = [({"horizon": 0}, "horizon"), ({"beta": "reference"}, "'reference'"), ({"beta": -1.0}, "beta")]


@pytest.mark.parametrize(("setting", "words"), BAD)
def test_bad_settings(setting, words):
    with pytest.raises(ValueError, match=words):
        make(unit_arms(5), **setting)


@pytest.mark.parametrize("f", [np.zeros(20), np.full(20, 1e300), np.arange(20) / 20])
@pytest.mark.parametrize("X", [np.ones((20, 2)), np.random.default_rng(0).random((20, 2))])
@pytest.mark.parametrize("fixed", [True, False])
def test_ill_posed_problems_work(X, f, fixed):
    opt = make(X, horizon=20) if fixed else SBPE(arms=X, seed=0, horizon=20, n_initial=3)
    for _ in range(45):
        arm = opt.ask()
        opt.tell(arm, f[arm])
    assert opt.racing.any()

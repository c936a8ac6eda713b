"""BBKB and BKB against their papers, step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from tests import naive
from tests.helpers import MOSTLY, configured, inside, over_seeds, pending_of, seeded

from numbo import BBKB, BKB, SBPE, Arms, BBKBSettings, Float, Int, Space
from numbo.kernels.covariance import RBF, prior_variances, stationary
from numbo.models.confidence import Confidence
from numbo.models.learned_kernel import LearnedKernel
from numbo.optimizers.bbkb import LONGEST
from numbo.run.availability import Availability
from numbo.search.arm_search import ArmSearch

pytestmark = pytest.mark.arithmetic

NOISE = 0.05
LAM = NOISE**2


def problem(A=150, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((A, d)) * [3.0, 1.0][:d] + 5.0
    f = np.exp(-2 * ((X - X[A // 3]) ** 2).sum(axis=1))
    return X, f, lambda arms: f[arms] + NOISE * rng.normal(size=len(arms))


def make(cls, X, **kw):
    options = {"kernel": "rbf", "lengthscale": 0.7, "noise_std": NOISE, "delta": 0.01, "seed": seeded(0)}
    return configured(cls, arms=X, **(options | kw))


def covariance(d=2):
    return stationary(RBF, np.full(d, 0.7**-2.0), 1.0, LAM, np.zeros(d, dtype=bool))


class Literal:
    """Section 3 of the BKB paper, with one row an observation and no cleverness."""

    def __init__(self, X, atoms, pulled, y=None):
        values, vectors = np.linalg.eigh(naive.gram(covariance(X.shape[1]), X[atoms]))
        keep = values > 1e-12 * values.max()  # a cut at 1e-10 moves bounds by up to 3e-5
        root = vectors[:, keep] / np.sqrt(values[keep])
        self.Z = naive.gram(covariance(X.shape[1]), X, X[atoms]) @ root
        Zt = self.Z[pulled]
        self.V = Zt.T @ Zt + LAM * np.eye(self.Z.shape[1])
        self.mean = None if y is None else self.Z @ linalg.solve(self.V, Zt.T @ y)

    @property
    def variance(self):
        inside = np.einsum("ij,ji->i", self.Z, linalg.solve(self.V, self.Z.T))
        return (1.0 - np.sum(self.Z**2, axis=1)) / LAM + inside

    def pull(self, arm):
        self.V += np.outer(self.Z[arm], self.Z[arm])


def atoms_of(opt):
    """The arms that were drawn for the dictionary."""
    state = opt.state_dict()["model"]["model"]
    return [opt.space.decode(x) for x in state["pulls"]["X"][state["batch"]["base"]["draw"][1]]]


def near_best(bound, arm):
    return bound[arm] >= bound.max() - 1e-6 * (1.0 + abs(bound.max()))


@pytest.mark.parametrize("beta", ["paper", "reference", 1.5])
def test_bkb_is_the_algorithm_of_the_paper(beta):
    """Every arm is the literal argmax given the dictionary, and beta the literal formula."""
    X, _, pull = problem()
    opt = make(BKB, X, beta=beta)
    arms, y = [], []
    for t in range(60):
        arm = opt.ask()
        if t > 0:
            model = Literal(X, atoms_of(opt), arms, np.array(y))
            pulled = model.variance[arms].sum()
            width = {
                "paper": 2 * NOISE * math.sqrt(3 * math.log(max(t, 1)) * pulled + math.log(100))
                + (1 + math.sqrt(2)) * NOISE,
                "reference": NOISE + NOISE * math.sqrt(pulled * math.log(t) + math.log(100)),
                1.5: 1.5 * NOISE,
            }[beta]
            status = opt.status
            assert status.beta_tilde == pytest.approx(width, rel=1e-5)
            assert status.effective_dimension == pytest.approx(pulled, rel=1e-5)
            assert near_best(model.mean + width * np.sqrt(model.variance), arm)
        value = float(pull([arm])[0])
        opt.tell(arm, value)
        arms.append(arm)
        y.append(value)
    assert opt.status.resparsifications == 59
    assert 3 <= opt.status.dictionary_size <= len(set(arms))


@pytest.mark.parametrize("stopping", ["global", "global-local"])
def test_bbkb_is_the_algorithm_of_the_paper(stopping):
    """Every arm and every end of a batch follow from the literal posterior; beta from the literal sum."""
    X, _, pull = problem()
    opt = make(BBKB, X, beta="paper", stopping=stopping)
    first = opt.next_batch()
    assert len(first) == 1
    arms, y = list(first), list(pull(first))
    opt.tell(first, y)
    information = math.log1p(3 / LAM)  # the first point had the variance of the prior
    while len(arms) < 120:
        batch = opt.next_batch()
        atoms = atoms_of(opt)
        model = Literal(X, atoms, arms, np.array(y))
        start, V = model.variance, model.V.copy()
        beta = 2 * NOISE * math.sqrt(information + math.log(100)) + (1 + math.sqrt(2)) * NOISE
        assert opt.status.beta_tilde == pytest.approx(2 * beta, rel=1e-4)  # the literal root cuts eigenvalues off
        cross = (naive.gram(covariance(), X) - model.Z @ model.Z.T) / LAM + model.Z @ linalg.solve(V, model.Z.T)
        total, local = 1.0, np.ones(len(X))
        for i, arm in enumerate(batch):
            assert near_best(model.mean + 2 * beta * np.sqrt(model.variance), arm)
            model.pull(arm)
            total += start[arm]
            local += cross[:, arm] ** 2 / start
            goes_on = total <= 2.0 or (stopping == "global-local" and local.max() <= 2.0)
            assert goes_on == (i + 1 < len(batch))
        information += np.log1p(3 * start[batch]).sum()
        values = list(pull(batch))
        opt.tell(batch, values)
        arms += batch
        y += values
    assert max(opt.status.batch_sizes) > 3


@over_seeds()
def test_local_stopping_makes_larger_batches():
    X, _, pull = problem(A=400)
    sizes = {}
    for stopping in ("global", "global-local"):
        opt = make(BBKB, X, stopping=stopping, beta="paper")
        while opt.n_told < 200:
            batch = opt.next_batch(200 - opt.n_told)
            opt.tell(batch, pull(batch))
        sizes[stopping] = np.mean(opt.status.batch_sizes)
    assert sizes["global-local"] > 1.2 * sizes["global"], MOSTLY


@pytest.mark.parametrize("cls", [BBKB, SBPE])
@pytest.mark.parametrize("limit", [0, -3, True, 2.5, "a"])
def test_the_limit_of_a_batch_is_a_positive_integer(cls, limit):
    opt = cls({"x": Float(0.0, 1.0)}, seed=0)
    with pytest.raises(ValueError, match=rf"^limit must be an integer of at least 1, got {limit!r}\."):
        opt.next_batch(limit)
    assert opt.pending == []


@over_seeds()
def test_a_batch_over_a_box_ends_by_its_own_points_too_and_by_its_length():
    opt = BBKB({"x": Float(0, 1), "y": Float(0, 1)}, seed=seeded(0))
    waiting, by_own = [], 0
    for i in range(150):
        point = opt.ask()
        opt.tell(point, (point["x"] - 0.3) ** 2 + (point["y"] - 0.6) ** 2)
        model = inside(opt, "model")
        if i < 20 or not model.batch.pulls:  # the initial design has no model
            continue
        waiting.append(opt.n_told - model.fed_back)
        pulled = model.pulls.X[model.batch.pulls]
        own = model.base.ratios(pulled, pulled).max()
        largest = inside(opt, "chooser").largest_ratio(opt._run, model, 2.0)
        assert own <= largest * (1.0 + 1e-6)
        by_own += own > largest * (1.0 - 1e-6)
    assert max(waiting) == LONGEST, MOSTLY
    assert by_own > len(waiting) // 2, MOSTLY  # most batches are closest around their own points


def test_with_a_threshold_of_one_bbkb_is_bkb():
    X, _, _ = problem()
    f = np.sin(X.sum(axis=1))
    runs = []
    for cls, kw in ((BKB, {}), (BBKB, {"ratio_threshold": 1.0})):
        opt = make(cls, X, beta=1.5, **kw)
        for _ in range(40):
            batch = opt.next_batch()
            assert len(batch) == 1
            opt.tell(batch, f[batch])
        runs.append(opt.observations[0])
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize("resparsify", [0.0, 1e-9])
def test_with_a_perfect_dictionary_bbkb_is_gp_bucb(resparsify):
    """The exact GP's posterior, variances hallucinated within the batch (Desautels et al. 2014).

    Taken literally (0), the dictionary is frozen within a batch and cannot represent an arm that was never observed.
    """
    X, _, pull = problem()
    opt = make(BBKB, X, beta=1.5, qbar=math.inf, resparsify=resparsify)
    batch = opt.next_batch()
    arms, y = [], []
    for _ in range(10):
        values = list(pull(batch))
        opt.tell(batch, values)
        arms += batch
        y += values
        batch = opt.next_batch()
        mean, fed_back = naive.posterior(covariance(), X[arms], np.array(y), X)
        for i, arm in enumerate(batch):
            seen = arms + batch[:i]
            _, variance = naive.posterior(covariance(), X[seen], np.zeros(len(seen)), X)
            represented = resparsify > 0.0 or fed_back[batch[:i]].max(initial=0.0) < 0.5
            assert near_best(mean + 1.5 * np.sqrt(variance), arm) or not represented
        assert 1.0 + fed_back[batch[:-1]].sum() / LAM <= 2.0 + 1e-6 or len(batch) == 1


@pytest.mark.parametrize("P", [4, 16])
def test_uncertainty_sampling_guarantees_a_batch(P):
    X, _, pull = problem()
    opt = make(BBKB, X, min_batch=P, qbar=10.0)
    opt.tell(opt.next_batch(), pull([0]))
    exploration = opt.next_batch()
    opt.tell(exploration, pull(exploration))
    assert len(exploration) > P
    for _ in range(5):
        batch = opt.next_batch()
        assert len(batch) >= P
        opt.tell(batch, pull(batch))


def test_exploration_ends_as_soon_as_a_dictionary_off_by_three_allows_a_batch():
    """With exact variances, at the bound of appendix A.5, and no later."""
    X, _, pull = problem()
    P = 2
    opt = make(BBKB, X, min_batch=P, qbar=math.inf)
    arms = opt.next_batch()
    opt.tell(arms, pull(arms))
    while True:
        arm = opt.ask()
        if opt.explain().beta is not None:
            break
        arms.append(arm)
        opt.tell(arm, float(pull([arm])[0]))
    for pulled, ended in ((arms, True), (arms[:-1], False)):
        distinct, counts = np.unique(pulled, return_counts=True)
        K = naive.gram(covariance(), X[distinct]) + np.diag(LAM / counts)  # repeats lower the noise
        k = naive.gram(covariance(), X, X[distinct])
        largest = (1.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))).max() / LAM
        assert (3.0 * largest <= (2.0 - 1.0) / P * (1 + 1e-6)) == ended


def test_a_batch_does_not_begin_with_a_repeat_that_probes_for_noise(monkeypatch):
    opt = BBKB({"a": Int(0, 30), "b": Int(0, 30)}, n_initial=5, seed=0)
    for _ in range(8):
        p = opt.ask()
        opt.tell(p, (p["a"] - 7) ** 2 + (p["b"] - 20) ** 2)
    probe = opt.space.encode(p)
    monkeypatch.setattr(Availability, "probe", lambda self: probe)
    assert opt.ask() == p
    assert opt.next_batch(6)[0] != p


def information_of(X, arms):
    """The sum of theorem 2 over exact variances, each arm a batch of its own."""
    total = 0.0
    for s, arm in enumerate(arms):
        _, variance = naive.posterior(covariance(), X[arms[:s]], np.zeros(s), X[[arm]]) if s else (0.0, np.ones(1))
        total += math.log1p(3.0 * variance[0] / LAM)
    return total


def test_what_is_pending_as_exploration_ends_counts_once():
    """As if all had come one by one, since the variances of its beginning have shrunk."""
    X, f, _ = problem(A=30)
    opt = make(BBKB, X, min_batch=2, qbar=math.inf, beta="paper")
    asked, told = [], []

    def turn():
        asked.append(opt.ask())
        state = opt.state_dict()["model"]["model"]
        if len(asked) > 3:  # three workers
            told.append(asked[len(told)])
            opt.tell(told[-1], f[told[-1]])
        return state["by_variance"], state["fed_back"], state["information"]

    while (at := turn())[0]:
        pass
    _, fed_back, information = at
    assert len(asked) > fed_back + 2
    assert information == pytest.approx(information_of(X, told[:fed_back]), rel=1e-6)
    while (at := turn())[1] == fed_back:
        pass
    assert at[2] == pytest.approx(information_of(X, told[: at[1]]), rel=1e-6)


def test_the_paper_counts_the_information_of_what_was_there():
    X, _, pull = problem()
    rows = np.random.default_rng(0).integers(len(X), size=40)
    information = {}
    for beta in ("paper", "reference", 2.0):
        opt = make(BBKB, X, beta=beta)
        opt.tell(rows, pull(rows))
        opt.ask()
        information[beta] = opt.state_dict()["model"]["model"]["information"]
    K = naive.gram(covariance(), X[rows])
    assert information["paper"] == pytest.approx(information_of(X, rows), rel=1e-6)
    assert information["reference"] == pytest.approx(np.linalg.slogdet(K / LAM + np.eye(40))[1], rel=1e-6)
    assert information["reference"] == information[2.0] < information["paper"]


@over_seeds()
def test_kappa_is_the_largest_prior_variance_with_the_trend():
    X = np.random.default_rng(seeded(0)).random((300, 2))
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    for opt in (BKB(arms=X, seed=seeded(0), beta="paper"), BKB(space, seed=seeded(0), beta="paper")):
        for _ in range(25):
            p = opt.ask()
            x = X[p] if isinstance(p, int) else np.array([p["x"], p["y"]])
            opt.tell(p, float(3.0 * x[0] + x[1] ** 2))
        kernel = LearnedKernel(np.zeros(2, dtype=bool), "matern52", None, None, trend=True, winsorize=True)
        kernel.restore(opt.state_dict()["model"]["model"]["kernel"])
        cov = kernel.covariance
        corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        points = opt.space.grid() if isinstance(opt.space, Arms) else corners
        largest = prior_variances(cov, points).max()
        assert largest > 1.2 * cov.signal_variance, MOSTLY
        dimension = opt.status.effective_dimension
        expected = Confidence(1.0, 0.1).bkb("paper", dimension, 24, largest, cov.noise_variance)
        assert opt.status.beta_tilde == pytest.approx(expected)


@pytest.mark.parametrize("initial", ["bless", "rls"])
def test_history_is_taken_in_at_once(initial):
    X, f, pull = problem(A=500)
    history = np.random.default_rng(0).integers(500, size=1000)
    opt = make(BBKB, X, initial_dictionary=initial)
    opt.tell(history, pull(history))
    batch = opt.next_batch()
    assert opt.status.resparsifications == 1
    assert opt.status.dictionary_size < 100
    mean, _ = opt.predict(range(500))
    assert np.abs(mean - f).max() < 0.1
    assert f[batch].mean() > 0.8


@over_seeds()
def test_stragglers_are_not_waited_for():
    X, f, _ = problem()
    opt = make(BBKB, X, avoid_repeats=True)
    rng = np.random.default_rng(seeded(0))
    out = opt.ask(4)
    straggler = out[0]
    for _ in range(80):
        k = int(rng.integers(1, len(out)))
        arm = out.pop(k)
        opt.tell(arm, f[arm])
        out.append(opt.ask())
        assert len(set(out)) == 4
    assert straggler in opt.pending
    assert opt.n_told == 80
    assert opt.best[1] > 0.99, MOSTLY
    opt.tell(straggler, f[straggler])
    assert straggler not in opt.pending
    assert opt.status.resparsifications > 10, MOSTLY


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), arms=st.booleans(), data=st.data())
def test_a_restored_optimizer_goes_on_exactly(seed, arms, data):
    """Whatever was asked, told, released or predicted before, in any order."""
    X, f, _ = problem(A=60)
    space = Space({"x": Float(0, 1), "k": Int(0, 40)})
    kw = {"stopping": "global-local", "n_initial": 4, "seed": seed}
    kw |= {"min_batch": 3} if arms and seed % 2 else {}
    opt = make(BBKB, X, **kw) if arms else configured(BBKB, space, max_dictionary=12, **kw)

    def value(p):
        return float(f[p]) if arms else (p["x"] - 0.3) ** 2 + 0.01 * p["k"]

    for _ in range(30):
        action = data.draw(st.sampled_from(["ask", "ask", "tell", "tell", "tell", "fail", "release", "predict"]))
        pending = pending_of(opt)
        if action == "ask":
            opt.ask()
        elif action == "predict" and opt.best is not None:
            opt.predict([opt.best[0]])
        elif pending:
            key = data.draw(st.sampled_from(sorted(pending)))
            p = pending[key].params
            if action == "release":
                opt.release(key)
            else:
                opt.tell(p, None if action == "fail" else value(p), key=key)
    clone = BBKB.from_state_dict(opt.state_dict())
    for _ in range(8):
        a, b = opt.ask(), clone.ask()
        assert a == b
        opt.tell(a, value(a))
        clone.tell(b, value(b))
    assert opt.status == clone.status
    assert opt.predict([a]) == clone.predict([b])


def test_looking_at_the_model_changes_nothing():
    X, f, _ = problem()
    runs = []
    for look in (False, True):
        opt = make(BBKB, X)
        for _ in range(30):
            arm = opt.ask()
            if look and opt.best is not None:
                opt.predict([3])
            opt.tell(arm, f[arm])
        runs.append(opt.observations[0])
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize("cls", [BKB, BBKB])
@pytest.mark.parametrize(
    ("X", "f"),
    [
        pytest.param(np.ones((20, 3)), np.ones(20), id="all arms equal"),
        pytest.param(np.repeat(np.random.default_rng(0).random((5, 2)), 4, axis=0), np.arange(20) / 20, id="repeated"),
        pytest.param(np.random.default_rng(0).random((20, 2)), np.full(20, 7.0), id="constant objective"),
        pytest.param(np.random.default_rng(0).random((20, 2)), np.zeros(20), id="zero objective"),
        pytest.param(np.random.default_rng(0).random((1, 1)), np.ones(1), id="one arm"),
        pytest.param(np.random.default_rng(0).random((20, 2)) * 1e200, np.arange(20) / 20, id="huge features"),
        pytest.param(np.random.default_rng(0).random((20, 2)), np.arange(20) * 1e300, id="huge values"),
        pytest.param(np.random.default_rng(0).random((20, 200)), np.arange(20) / 20, id="more features than arms"),
    ],
)
@pytest.mark.parametrize("fixed", [True, False])
def test_ill_posed_problems_work(cls, X, f, fixed):
    kernel = {"lengthscale": np.maximum(np.ptp(X, axis=0), 1.0), "noise_std": 0.1} if fixed else {"n_initial": 3}
    opt = configured(cls, arms=X, seed=0, **kernel)
    for _ in range(25):
        arm = opt.ask()
        assert 0 <= arm < len(X)
        opt.tell(arm, f[arm])
    assert np.isfinite(opt.predict([0])).all()


BAD = [
    ({"noise_std": 0.0}, r"noise_std must be a positive number, got 0\.0"),
    ({"noise_std": 1e-8}, "noise_std must be at least 1e-06 of the kernel's unit standard deviation, got 1e-08"),
    ({"noise_std": None}, "give both, or neither"),
    ({"lengthscale": -1.0}, "lengthscale"),
    ({"lengthscale": [1.0, 2.0, 3.0]}, "lengthscale must be a positive number or 2"),
    ({"kernel": "cubic"}, "'cubic'"),
    ({"delta": 0.0}, "delta"),
    ({"delta": 1.0}, "delta"),
    ({"norm_bound": -1.0}, "norm_bound"),
    ({"qbar": 0.0}, "qbar"),
    ({"max_dictionary": 0}, "max_dictionary"),
    ({"initial_dictionary": "dpp"}, "'dpp'"),
    ({"ratio_threshold": 0.5}, "ratio_threshold"),
    ({"stopping": "never"}, "'never'"),
    ({"beta": "sqrt"}, "'sqrt'"),
    ({"min_batch": 0}, "min_batch"),
    ({"resparsify": -0.1}, "resparsify"),
]


@pytest.mark.parametrize(("setting", "words"), BAD)
def test_bad_settings(setting, words):
    with pytest.raises(ValueError, match=words) as error:
        make(BBKB, problem()[0], **setting)
    assert "\n" not in str(error.value)


def test_bad_domains():
    with pytest.raises(ValueError, match="exactly one of space and arms, got neither"):
        BBKB()
    with pytest.raises(ValueError, match="exactly one of space and arms, got both"):
        BBKB({"x": Float(0, 1)}, arms=np.ones((3, 1)))
    with pytest.raises(ValueError, match="min_batch=4 needs a ratio_threshold above 1"):
        BBKB(arms=np.ones((3, 1)), settings=BBKBSettings(min_batch=4, ratio_threshold=1.0))
    with pytest.raises(ValueError, match="min_batch=4 needs arms"):
        BBKB({"x": Float(0, 1)}, settings=BBKBSettings(min_batch=4))
    for name in ("ratio_threshold", "stopping", "min_batch"):
        with pytest.raises(TypeError, match=f"BKB has no setting '{name}'"):
            BKB(arms=np.ones((3, 1)), **{name: 2})


@over_seeds()
def test_arms_given_as_a_domain_are_the_same():
    X, f, _ = problem()
    runs = []
    for opt in (
        make(BBKB, X),
        BBKB(
            Arms(X), lengthscale=0.7, noise_std=NOISE, seed=seeded(0), settings=BBKBSettings(kernel="rbf", delta=0.01)
        ),
    ):
        for _ in range(15):
            arm = opt.ask()
            opt.tell(arm, f[arm])
        runs.append(opt.observations[0])
        assert opt.best == (int(np.argmax(f)), f.max()) or opt.best[1] > 0.9, MOSTLY
    np.testing.assert_array_equal(*runs)


@over_seeds()
def test_a_learned_kernel_finds_the_best_arm():
    X, f, _ = problem(A=2000)
    opt = BBKB(arms=X, seed=seeded(0))
    for _ in range(60):
        arm = opt.ask()
        opt.tell(arm, 100.0 + 30.0 * f[arm])
    assert opt.best[1] > 129.9, MOSTLY


def test_the_users_arrays_are_not_changed():
    X, f, _ = problem()
    copies = X.copy(), f.copy()
    opt = make(BBKB, X)
    arms = np.arange(10)
    opt.tell(arms, f[:10])
    opt.next_batch()
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(f, copies[1])
    np.testing.assert_array_equal(arms, np.arange(10))


@pytest.mark.parametrize("optimizer", [BKB, BBKB, SBPE])
def test_an_excluded_arm_is_not_suggested_where_repeats_are_welcome(optimizer):
    X, f, _ = problem()
    best = int(np.argmax(f))
    opt = optimizer(arms=X, seed=0)
    opt.exclude(best)
    for _ in range(40):
        arm = opt.ask()
        assert arm != best
        opt.tell(arm, f[arm])


@pytest.mark.allows_fallback
@pytest.mark.parametrize("broken", ["next_point", "follow"])
@pytest.mark.parametrize("call", [1, 2, 4])
def test_a_batch_in_which_the_model_breaks_is_handed_out_all_the_same(broken, call, monkeypatch):
    X, f, _ = problem()
    opt = make(BBKB, X, n_initial=5)
    for _ in range(2):
        arms = opt.next_batch(6)
        opt.tell(arms, f[arms])
    calls = []
    original = getattr(ArmSearch, broken)

    def breaks(*args):
        calls.append(1)
        if len(calls) == call:
            raise np.linalg.LinAlgError("boom")
        return original(*args)

    monkeypatch.setattr(ArmSearch, broken, breaks)
    batch = opt.next_batch(6)
    assert 1 <= len(batch) <= 6
    assert opt.pending == batch
    opt.tell(batch, f[batch])
    assert opt.ask() in range(len(X))


@pytest.mark.parametrize("order", ["asked", "backwards"])
def test_what_an_exploration_in_one_batch_has_learned_is_counted_as_if_it_had_come_one_by_one(order):
    """By the variances at its beginning, which were all that of the prior, it was counted up to nine times."""
    rng = np.random.default_rng(0)
    arms = rng.random((120, 2))
    opt = BBKB(arms=arms, seed=1, n_initial=1, settings=BBKBSettings(lengthscale=0.5, noise_std=1.0, min_batch=2))
    told = [opt.ask()]
    opt.tell(told[0], 0.3)
    pulls = []
    while opt._model.by_variance:
        pulls.append(opt.ask())
    for arm in pulls if order == "asked" else pulls[::-1]:
        opt.tell(arm, arms[arm].sum() + rng.normal())
        told.append(arm)
    opt.ask()
    assert opt._model.fed_back == len(told)
    points = arms[told]
    distances = np.sqrt(5.0) * np.linalg.norm(points[:, None] - points[None], axis=2) / 0.5
    K = (1.0 + distances + distances**2 / 3.0) * np.exp(-distances)
    exact = np.linalg.slogdet(K + np.eye(len(points)))[1]
    assert exact <= 1.001 * opt._model.information <= 1.25 * exact

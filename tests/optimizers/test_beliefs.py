"""Beliefs of good values: where a search starts, how long they count, and that wrong ones are overcome."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from tests.helpers import MOSTLY, over_seeds, played, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Guess, Int, Linear, Space
from numbo.models import trust
from numbo.models.trust import believed, borne_out, contradicted, disagree
from numbo.trials import History

DIMENSIONS = {
    "lr": Float(1e-5, 1, log=True),
    "k": Int(1, 64),
    "o": Categorical(["a", "b", "c"]),
    "m": Float(0, 1, when={"o": "b"}),
}
PRIOR = {"lr": Guess(1e-3), "k": Guess(9, "high"), "o": {"a": 1, "b": 3, "c": 1}, "m": Guess(0.4)}
WRONG = {"lr": Guess(1.0), "k": Guess(64, "high"), "o": {"a": 5, "b": 1, "c": 0}, "m": Guess(1.0)}


def loss(p):
    far = (np.log10(p["lr"]) + 3.2) ** 2 + ((p["k"] - 10) / 20) ** 2
    return float(far + {"a": 1.0, "b": 0.0, "c": 0.5}[p["o"]] + (p.get("m", 0.5) - 0.35) ** 2)


def run(opt, n, objective=loss):
    return played(opt, n, objective)


def best(prior, seed, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return min(map(loss, run(GSSBO(Space(DIMENSIONS, prior=prior), seed=seed), n)))


@pytest.mark.parametrize("algorithm", [GSSBO, GPUCB])
def test_the_first_point_is_the_mode_and_the_second_the_usual_one(algorithm):
    first, second = run(algorithm(Space(DIMENSIONS, prior=PRIOR), seed=seeded(0), n_initial=4), 2)
    assert first == {"lr": pytest.approx(1e-3), "k": 9, "o": "b", "m": pytest.approx(0.4)}
    assert second == run(algorithm(DIMENSIONS, seed=0, n_initial=4), 1)[0]


@pytest.mark.parametrize("algorithm", [GSSBO, GPUCB])
def test_the_start_goes_on_by_beliefs_while_trials_bear_them_out(algorithm):
    """The third point is that without beliefs if the mode was worse than the usual point, and believed in otherwise."""
    ends = []
    for worse in (False, True):
        space = Space(DIMENSIONS, prior={"k": Guess(60, 0.02), "lr": Guess(1e-3, 0.02)})
        opt = algorithm(space, seed=seeded(0), n_initial=4)
        ends.append(run(opt, 3, lambda p, worse=worse: p["k"] if worse else -p["k"])[2])
    likely, free = ends
    assert free == run(algorithm(DIMENSIONS, seed=seeded(0), n_initial=4), 3)[2]
    assert likely != free
    logs = [space.beliefs.values(space.encode(p)[None])[0] for p in ends]
    assert logs[0] > logs[1]


@pytest.mark.parametrize("algorithm", [BKB, BBKB, SBPE])
@pytest.mark.parametrize("known", [{"prior": PRIOR}, {"default": {"k": 3}}])
def test_other_algorithms_refuse_them(algorithm, known):
    message = f"^{algorithm.__name__} does not take {next(iter(known))}= of a space: GSSBO and GPUCB do.$"
    with pytest.raises(ValueError, match=message):
        algorithm(Space(DIMENSIONS, **known))


@over_seeds()
def test_a_good_belief_helps_and_a_wrong_one_is_overcome():
    seed = seeded(0)
    assert best(PRIOR, seed, 8) < best({}, seed, 8), MOSTLY
    assert best(WRONG, seed, 50) < 0.05, MOSTLY


def test_a_wrong_belief_is_told_once_and_explained():
    opt = GSSBO(Space(DIMENSIONS, prior={"lr": Guess(1.0, "high")}), seed=0, n_initial=6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(opt, 40)
    told = [str(one.message) for one in caught if "prior=" in str(one.message)]
    assert len(told) == 1
    assert told[0].startswith("Trials disagree with prior= of lr: ")
    (hint,) = [hint for hint in opt.explain().hints if hint.kind == "prior"]
    assert hint.names == ("lr",)
    assert "trials disagree with what was believed of lr" in str(opt.explain())


@pytest.mark.parametrize("algorithm", [GSSBO, GPUCB])
def test_saved_restored_and_pickled_optimizers_go_on_alike(algorithm):
    opt = algorithm(Space(DIMENSIONS, prior=PRIOR | {"m": lambda v: v}), seed=0)
    run(opt, 12)
    state = pickle.loads(pickle.dumps(opt.state_dict()))
    twins = [algorithm.from_state_dict(state), pickle.loads(pickle.dumps(opt))]
    expected = run(opt, 6)
    assert all(run(twin, 6) == expected for twin in twins)


@pytest.mark.filterwarnings("ignore:Trials disagree")
def test_all_suggestions_are_allowed_or_keep_what_is_given():
    dimensions = {f"x{j}": Float(0, 1) for j in range(4)}
    prior = {name: Guess(0.9, "high") for name in dimensions}
    allowed = [Linear(dict.fromkeys(dimensions, 1), most=1.5), lambda p: p["x0"] < p["x1"] + 0.2]
    opt = GSSBO(Space(dimensions, prior=prior, allowed=allowed), seed=0)
    points = run(opt, 25, lambda p: (p["x0"] - 0.2) ** 2 + p["x1"])
    assert all(sum(p.values()) <= 1.5 + 1e-9 and p["x0"] < p["x1"] + 0.2 for p in points)
    x, _ = opt.suggest(fixed={"x2": 0.05})
    assert opt.space.decode(x)["x2"] == 0.05


def test_batches_and_finite_spaces():
    parts = {"k": Int(0, 9), "c": Categorical(["a", "b", "c"])}
    space = Space(parts, prior={"k": Guess(7), "c": {"a": 1, "b": 1, "c": 9}})
    opt = GSSBO(space, seed=0)
    points = opt.ask(30)
    assert points[0] == {"k": 7, "c": "c"}
    assert len({tuple(p.values()) for p in points}) == 30


def test_several_objectives_and_constraints():
    opt = GSSBO(Space(DIMENSIONS, prior=PRIOR), seed=0, directions=("minimize", "minimize"), constraints=("c",))
    for _ in range(15):
        p = opt.ask()
        opt.tell(p, (loss(p), p["k"]), constraints={"c": p["k"] - 30.0})
    assert np.isfinite(opt.acquisition_values([opt.ask()])).all()


def history_of(space, X, y):
    history = History(space.d)
    for x, value in zip(X, y, strict=True):
        history.add(x, float(value), space.decode(x), -1)
    return history


def test_what_is_believed_fades_with_the_number_of_trials():
    space = Space({"x": Float(0, 1), "y": Float(0, 1)}, prior={"x": Guess(0.5)})
    beliefs = space.beliefs
    X = np.random.default_rng(0).random((80, 2))
    for n in (1, 20, 80):
        found = believed(beliefs, history_of(space, X[:n], -np.abs(X[:n, 0] - 0.5)))
        np.testing.assert_allclose(found, min(trust.LARGEST, trust.STRENGTH / n) * beliefs.logs)


def test_beliefs_are_borne_out_unless_the_rank_correlation_is_negative():
    rng = np.random.default_rng(seeded(0))
    for n in (2, 3, 5, 30):
        for _ in range(40):
            logs, scores = rng.normal(size=(2, n))
            found = stats.spearmanr(logs, scores).statistic
            assert borne_out(logs, scores) == (found > -1e-9)
            assert borne_out(logs, -scores) == (found < 1e-9)
            assert borne_out(np.exp(logs), 3.0 * scores**3) == borne_out(logs, scores)
    assert borne_out(np.empty(0), np.empty(0))
    assert borne_out(np.array([1.0]), np.array([-1.0]))
    assert borne_out(np.array([1.0, 2.0, 3.0]), np.zeros(3))  # equal values say nothing
    assert not borne_out(np.array([1.0, 1.0, 2.0]), np.array([0.0, 0.0, -1.0]))


def test_what_trials_do_not_bear_out_does_not_count():
    space = Space({"x": Float(0, 1)}, prior={"x": Guess(0.0, 0.1)})
    X = np.array([[0.0], [0.5]])
    assert believed(space.beliefs, history_of(space, X, [2.0, 1.0])) is not None
    assert believed(space.beliefs, history_of(space, X, [1.0, 2.0])) is None
    assert contradicted(space.beliefs, history_of(space, X, [1.0, 2.0])) == ()  # two trials are no reason to warn


def test_what_data_disagree_with_does_not_count():
    space = Space({"x": Float(0, 1), "y": Float(0, 1)}, prior={"x": Guess(0.0, 0.1), "y": Guess(0.0, 0.1)})
    X = np.random.default_rng(0).random((60, 2))
    one = history_of(space, X, X[:, 0] - 0.9 * X[:, 1])
    assert contradicted(space.beliefs, one) == ("x",)
    left = believed(space.beliefs, one)
    assert not left[0].any()
    assert left[1].any()
    both = history_of(space, X, X[:, 0] + X[:, 1])
    assert contradicted(space.beliefs, both) == ("x", "y")
    assert believed(space.beliefs, both) is None
    assert contradicted(space.beliefs, history_of(space, X, -X[:, 0] - X[:, 1])) == ()
    assert contradicted(space.beliefs, history_of(space, X[:7], X[:7, 0])) == ()


def test_data_disagree_where_the_best_are_unlikely_and_the_likely_are_bad():
    logs = np.array([1.0, 0.5, -2.0, -2.0, -2.0, -1.0, -1.0, -1.0])
    scores = np.array([0.0, 1.0, 9.0, 8.0, 7.0, 3.0, 4.0, 5.0])
    assert disagree(logs, scores)
    assert not disagree(logs[1:], scores[1:])  # too few
    assert not disagree(logs, np.where(logs == 1.0, 6.5, scores))  # one of the likely ones is good
    assert not disagree(np.where(scores > 8.5, 0.0, logs), scores)  # the best is not unlikely
    assert not disagree(logs - 2.0, scores)  # what it favours was not tried

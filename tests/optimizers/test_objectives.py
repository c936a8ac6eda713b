"""Several objectives in the core: fronts, predictions, constraints, noise, failures, restores."""

import math

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import BKB, GPUCB, GSSBO, SBPE, Categorical, Float, Int
from numbo.kernels.front import hypervolume
from numbo.trials.front import non_dominated

SPACE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}


def trade_off(p):
    """The front is the line between two optima: ``x`` in [0.2, 0.8], ``y = 0.5``."""
    return (p["x"] - 0.2) ** 2 + (p["y"] - 0.5) ** 2, (p["x"] - 0.8) ** 2 + (p["y"] - 0.5) ** 2


def run(opt, objective, n):
    for _ in range(n):
        p = opt.ask()
        opt.tell(p, objective(p))
    return opt


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
@over_seeds()
def test_the_front_is_found(cls):
    opt = run(cls(SPACE, directions=("minimize", "minimize"), seed=seeded(0)), trade_off, 40)
    front = opt.front()
    assert len(front) >= 10, MOSTLY
    assert opt.hypervolumes((0.5, 0.5))[-1] > 0.93 * ideal(), MOSTLY
    values = np.array([y for _, y in front])
    assert non_dominated(-values).all()
    assert (np.diff(values[:, 0]) > 0.0).all()
    assert all(y == trade_off(p) for p, y in front)


def ideal():
    t = np.linspace(0.0, 0.6, 4001)
    values = np.stack([-(t**2), -((0.6 - t) ** 2)], axis=1)
    return hypervolume(values, np.array([-0.5, -0.5]))


def test_directions_are_those_of_each_objective():
    """A maximised objective is the minimised one with its sign turned, to the bit."""
    one = run(GSSBO(SPACE, directions=("minimize", "minimize"), seed=1), trade_off, 30)
    other = run(
        GSSBO(SPACE, directions=("minimize", "maximize"), seed=1), lambda p: (trade_off(p)[0], -trade_off(p)[1]), 30
    )
    np.testing.assert_array_equal(one.observations[0], other.observations[0])
    np.testing.assert_array_equal(one.observations[1], other.observations[1] * [1.0, -1.0])


@pytest.mark.parametrize("k", [3, 4, 5])
@over_seeds()
def test_up_to_five_objectives(k):
    def objective(p):
        return tuple((p["x"] - j / k) ** 2 + (p["y"] - (j % 2)) ** 2 for j in range(k))

    opt = run(GSSBO(SPACE, directions=("minimize",) * k, seed=seeded(0)), objective, 25)
    mean, std = opt.predict([{"x": 0.5, "y": 0.5}, {"x": 0.1, "y": 0.9}])
    assert mean.shape == std.shape == (2, k)
    assert mean[0] == pytest.approx(objective({"x": 0.5, "y": 0.5}), abs=0.05), MOSTLY
    assert len(opt.front()) > 5, MOSTLY


def test_restored_optimizers_go_on_as_before():
    objective = trade_off
    opt = run(GSSBO(SPACE, directions=("minimize",) * 2, seed=3), objective, 25)
    pending = opt.ask()
    again = GSSBO.from_state_dict(opt.state_dict())
    assert again.front() == opt.front()
    assert again.pending == [pending]
    for _ in range(8):
        p, q = opt.ask(), again.ask()
        assert p == q
        for one in (opt, again):
            one.tell(p, objective(p))
    assert again.front() == opt.front()


@over_seeds()
def test_what_violates_constraints_is_not_on_the_front():
    opt = GSSBO(SPACE, directions=("minimize",) * 2, constraints=("c",), seed=seeded(0))
    for _ in range(40):
        p = opt.ask()
        opt.tell(p, trade_off(p), constraints={"c": p["x"] - 0.5})
    assert all(p["x"] <= 0.5 for p, _ in opt.front())
    assert len(opt.front()) > 8, MOSTLY
    assert max(p["x"] for p, _ in opt.front()) > 0.49, MOSTLY
    none = GSSBO(SPACE, directions=("minimize",) * 2, constraints=("c",), seed=seeded(0))
    for _ in range(20):
        p = none.ask()
        none.tell(p, trade_off(p), constraints={"c": 1.0 + p["x"]})
    assert none.front() == []


@over_seeds()
def test_fronts_of_noisy_values_are_by_expected_ones():
    """The front of what was told would be that of the luckiest values."""
    shares = []
    for seed in range(3):  # one repeat in twenty agrees by chance, and is believed until there are more
        rng = np.random.default_rng(seeded(seed))
        opt = run(
            GSSBO(SPACE, directions=("minimize",) * 2, seed=seeded(seed)),
            lambda p, rng=rng: np.add(trade_off(p), 0.05 * rng.normal(size=2)),
            70,
        )
        errors = np.array([np.subtract(y, trade_off(p)) for p, y in opt.front()])
        X, told = opt.observations
        on = non_dominated(-told)
        of_told = told[on] - [trade_off({"x": x, "y": y}) for x, y in X[on]]
        shares.append(np.abs(errors.mean(axis=0)).max() / np.abs(of_told.mean(axis=0)).max())
    assert np.median(shares) < 0.3, MOSTLY


@over_seeds()
def test_noise_is_known_of_each_objective():
    """Size is exact, and accuracy is not: repeats of one say nothing of the other."""
    rng = np.random.default_rng(seeded(0))
    space = {"x": Int(0, 9)}
    opt = GSSBO(space, directions=("minimize",) * 2, seed=seeded(0))
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, (p["x"] / 9.0, (1.0 - p["x"] / 9.0) ** 2 + 0.2 * rng.normal()))
    assert [opt.explain(objective).noisy for objective in range(2)] == [False, True], MOSTLY


@over_seeds()
def test_failures_branches_and_pending_points():
    space = {"kind": Categorical(["a", "b"]), "x": Float(0, 1), "y": Float(0, 1, when={"kind": "b"})}
    opt = GSSBO(space, directions=("minimize", "maximize"), seed=seeded(0))
    for i in range(50):
        batch = opt.ask(3)
        assert len({tuple(p.items()) for p in batch}) == 3
        for p in batch:
            y = p.get("y", 0.5)
            opt.tell(p, None if i % 7 == 3 else (p["x"] ** 2 + y, p["x"] - (y - 0.3) ** 2))
    assert len(opt.front()) > 5, MOSTLY
    assert opt.pending == []


def test_equal_and_dominated_crowds_count_once():
    opt = GSSBO(SPACE, directions=("minimize",) * 2, seed=0)
    for x in np.linspace(0.0, 1.0, 20):
        opt.tell({"x": x, "y": 0.1}, (1.0, 1.0))
    assert len(opt.front()) == 1
    opt.ask()
    opt.tell({"x": 0.5, "y": 0.9}, (0.5, 2.0))
    assert len(opt.front()) == 2
    run(opt, trade_off, 3)


@pytest.mark.parametrize("wild", [math.inf, -math.inf, 1e300, -1e300])
def test_wild_values_of_one_objective(wild):
    opt = run(GSSBO(SPACE, directions=("minimize",) * 2, seed=0), trade_off, 12)
    opt.tell({"x": 0.5, "y": 0.5}, (wild, 0.3))
    run(opt, trade_off, 12)
    assert np.isfinite(opt.predict({"x": 0.1, "y": 0.2})[0]).all()


def test_what_is_of_one_objective_says_so():
    opt = run(GSSBO(SPACE, directions=("minimize",) * 2, seed=0), trade_off, 8)
    p = opt.ask()
    with pytest.raises(ValueError, match=r"^There is no best point of 2 objectives: see front\(\)\.$"):
        opt.best  # noqa: B018
    with pytest.raises(ValueError, match=r"^There is no best point of 2 objectives"):
        opt.best_predicted()
    with pytest.raises(ValueError, match=r"^report takes values of one objective, and this GSSBO has 2"):
        opt.report(p, 1, 0.3)
    with pytest.raises(ValueError, match=r"^reports are those of one objective, and there are 2"):
        opt.tell(p, (0.1, 0.2), reports={1: 0.3})
    for wrong in ((0.1, None), {"a": 0.1, "b": 0.2}, "ab"):
        with pytest.raises(ValueError, match=r"^value must be a sequence of 2 numbers, one for each objective; got "):
            opt.tell(p, wrong)
    with pytest.raises(ValueError, match=r"^std is that of one objective, and there are 2; got 0.1"):
        opt.tell(p, (0.1, 0.2), std=0.1)
    with pytest.raises(ValueError, match=r"^value must be a sequence of 2 numbers, one for each objective; got 0.1"):
        opt.tell(p, 0.1)
    with pytest.raises(ValueError, match=r"^reference must be 2 finite numbers, one an objective; got \(1\.0,\)"):
        opt.hypervolumes((1.0,))
    for wrong in (1.0, None, "12", ("0.5", 1.0), (True, 1.0), (10**400, 1.0), {0.5: 0, 1.0: 1}):
        with pytest.raises(ValueError, match=r"^reference must be 2 finite numbers, one an objective; got "):
            opt.hypervolumes(wrong)
    assert opt.pending == [p]
    for wrong in ((), ("minimize",) * 6, "minimize", ("min", "max")):
        with pytest.raises(ValueError, match=r"^directions must be one to 5 of "):
            GSSBO(SPACE, directions=wrong)
    with pytest.raises(ValueError, match=r"^direction and directions exclude each other"):
        GSSBO(SPACE, direction="minimize", directions=("minimize",) * 2)
    for cls in (BKB, SBPE):
        with pytest.raises(TypeError, match=f"^{cls.__name__} has one objective, and no setting 'directions': GSSBO"):
            cls(SPACE, directions=("minimize",) * 2)


def test_one_direction_is_one_objective():
    one = run(GSSBO(SPACE, directions=("maximize",), seed=0), lambda p: p["x"], 15)
    other = run(GSSBO(SPACE, direction="maximize", seed=0), lambda p: p["x"], 15)
    np.testing.assert_array_equal(one.observations[0], other.observations[0])
    assert one.best == other.best


def test_a_snapshot_of_one_objective_answers_as_if_it_were_the_only_one():
    opt = run(GSSBO(SPACE, directions=("minimize",) * 2, seed=0), trade_off, 30)
    second = opt.snapshot().objective(1)
    assert second.best_predicted()[0] == min((p for p, _ in opt.front()), key=lambda p: trade_off(p)[1])
    mean, _ = second.predict({"x": 0.3, "y": 0.4})
    np.testing.assert_array_equal(mean, opt.predict({"x": 0.3, "y": 0.4})[0][1])
    assert second.explain().relevance.keys() == SPACE.keys()
    for wrong in (2, -1, True, 1.0, "1"):
        with pytest.raises(ValueError, match=rf"^objective must be an integer from 0 to 1, got {wrong!r}\.$"):
            opt.snapshot().objective(wrong)


@over_seeds()
def test_each_objective_is_explained_by_its_model():
    opt = run(GSSBO(SPACE, directions=("minimize",) * 2, seed=seeded(0)), lambda p: (p["x"] ** 2, p["y"] ** 2), 25)
    first, second = opt.explain(), opt.explain(1)
    assert first.relevance["x"] > 0.95, MOSTLY
    assert second.relevance["y"] > 0.95, MOSTLY
    assert (first.objective, second.objective) == (0, 1)
    assert str(second).splitlines()[1] == "objective   1, counted from 0"
    twin = opt.snapshot().objective(1).explain()
    assert twin.objective is None
    assert "objective" not in str(twin)
    assert (twin.relevance, twin.lengthscales, twin.n_told) == (second.relevance, second.lengthscales, 25)
    assert len(second.ask_seconds) == 25
    one = run(GSSBO(SPACE, seed=seeded(0)), lambda p: p["x"] ** 2, 8)
    assert one.explain(0).objective is None
    for known, accepted in ((opt, "an integer from 0 to 1"), (one, "0, as there is one objective")):
        with pytest.raises(ValueError, match=rf"^objective must be {accepted}, got 2\.$"):
            known.explain(2)
    with pytest.raises(ValueError, match="at least one successful observation"):
        GSSBO(SPACE, directions=("minimize",) * 2).explain(1)


def flipped(p):
    first, second = trade_off(p)
    return first, -second


@pytest.mark.parametrize("wild", [math.inf, 1e300])
def test_volumes_of_wild_values(wild):
    """An infinite value counts as the best finite one, 2 and 0 here."""
    opt = GSSBO(SPACE, directions=("maximize",) * 2, seed=0)
    for x, values in (
        (0.1, (0.0, 0.0)),
        (0.2, (wild, 0.0)),
        (0.3, (2.0, wild)),
        (0.4, (wild, wild)),
        (0.5, (1.5, 0.0)),
    ):
        opt.tell({"x": x, "y": 0.5}, values)
    volumes = opt.hypervolumes((1.0, -1.0))
    assert volumes[0] == 0.0
    assert (volumes[1:] >= (1e299 if math.isfinite(wild) else 1.0)).all()
    assert volumes[-1] == (math.inf if math.isfinite(wild) else 1.0)
    assert (volumes[1:] >= volumes[:-1]).all()


def test_a_volume_never_shrinks():
    """With the last value, what is computed is the difference of two volumes of 1e300 and more."""
    opt = GSSBO({"x": Float(0, 1)}, directions=("maximize",) * 3, seed=0)
    for values in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (1.0, 1e300, 5e-324)):
        opt.tell({"x": 0.5}, values)
    volumes = opt.hypervolumes((0.0,) * 3)
    np.testing.assert_allclose(volumes, [0.006, 0.01, 0.01], rtol=1e-12)


@over_seeds()
def test_partial_values_do_not_hide_final_ones():
    opt, final = GSSBO(SPACE, directions=("minimize",) * 2, seed=seeded(0)), []
    for k in range(25):
        p = opt.ask()
        stopped = k < 6 or k % 3 == 0
        opt.tell(p, np.multiply(trade_off(p), 0.1 if stopped else 1.0), partial=stopped)
        final += [] if stopped else [p]
    assert all(p in final for p, _ in opt.front())
    assert len(opt.front()) >= 3, MOSTLY


@pytest.mark.parametrize("seed", range(4))
@over_seeds()
def test_fronts_are_found_to_their_ends(seed):
    opt = run(GSSBO(SPACE, directions=("minimize", "maximize"), seed=seeded(seed)), flipped, 40)
    found = [p["x"] for p, _ in opt.front()]
    assert min(found) < 0.3, MOSTLY
    assert max(found) > 0.7, MOSTLY


@over_seeds()
def test_batches_before_anything_is_feasible_are_spread():
    opt = GSSBO(SPACE, directions=("minimize",) * 2, constraints=("c",), seed=seeded(0))
    for _ in range(12):
        p = opt.ask()
        opt.tell(p, trade_off(p), constraints={"c": 0.1 + (p["x"] - 0.7) ** 2})
    batch = np.array([[p["x"], p["y"]] for p in opt.ask(6)])
    gaps = np.linalg.norm(batch[:, None] - batch[None], axis=2)[np.triu_indices(6, 1)]
    assert gaps.min() > 0.01, MOSTLY

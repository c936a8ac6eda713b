"""Learning from earlier studies."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
from tests.helpers import MOSTLY, over_seeds, seeded

from numbo import BKB, GPUCB, GSSBO, Arms, Categorical, EarlierStudy, Float, GSSBOSettings, Int, Space, Table
from numbo.models.earlier import RHO, V
from numbo.models.sources import LEAST_TRIALS, MOST, normal_scores, opening, sources_of
from numbo.optimizers import GSSBO as Optimizer
from numbo.optimizers.base import AFTER_OTHERS
from numbo.trials.goal import Goal

SPACE = {"lr": Float(1e-5, 1.0, log=True), "width": Int(8, 512, log=True), "act": Categorical(["relu", "tanh"])}


def loss(p, shift=0.0):
    lr = (math.log10(p["lr"]) + 2.0 + shift) ** 2
    return lr + 0.3 * (math.log2(p["width"]) - 6.0) ** 2 + (p["act"] == "tanh")


def trials(n=80, seed=0, shift=0.0):
    rng = np.random.default_rng(seeded(seed))
    space = Space(SPACE)
    points = [space.decode(x) for x in space.snap(rng.random((n, 3)))]
    return points, [loss(p, shift) for p in points]


def run(opt, n, f=loss):
    values = []
    for _ in range(n):
        p = opt.ask()
        values.append(f(p))
        opt.tell(p, values[-1])
    return values


def study_like():
    """What the first trial of a run costs without anything known: the usual point."""
    return loss(GSSBO(SPACE, seed=seeded(0)).ask())


@over_seeds()
@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_the_first_trials_are_where_an_earlier_study_was_good(cls):
    values = run(cls(SPACE, seed=seeded(0), earlier=[trials(seed=1, shift=0.1), trials(seed=2, shift=-0.1)]), 6)
    assert values[0] < 0.25 < study_like(), MOSTLY
    assert min(values) < 0.05, MOSTLY


def test_without_earlier_studies_nothing_changes():
    plain, empty = GSSBO(SPACE, seed=seeded(3)), GSSBO(SPACE, seed=seeded(3), earlier=[])
    assert run(plain, 25) == run(empty, 25)
    assert "earlier" not in plain.state_dict()["arguments"]


@pytest.mark.parametrize("as_given", [lambda y: [-v for v in y], lambda y: [1e6 * v - 7.0 for v in y]])
def test_values_may_be_on_any_scale_and_in_any_direction(as_given):
    points, values = trials(seed=1)
    told = as_given(values)
    direction = "maximize" if told[0] != pytest.approx(1e6 * values[0] - 7.0) else "minimize"
    study = EarlierStudy(points, told, directions=[direction])
    assert run(GSSBO(SPACE, seed=seeded(0), earlier=[study]), 10) == run(
        GSSBO(SPACE, seed=seeded(0), earlier=[trials(seed=1)]), 10
    )


@over_seeds()
@pytest.mark.filterwarnings("error")
def test_wild_values():
    points, values = trials(seed=1)
    for wild in ([1e300 * v for v in values], [math.inf if i % 7 == 0 else v for i, v in enumerate(values)]):
        assert run(GSSBO(SPACE, seed=seeded(0), earlier=[(points, wild)]), 1)[0] < 0.5, MOSTLY
    known = GSSBO(SPACE, seed=seeded(0), earlier=[(points, values, [0.1] * len(values))])
    assert run(known, 1)[0] < 0.5, MOSTLY


@over_seeds()
def test_upside_down_studies_get_negative_weights_and_do_not_trap():
    points, values = trials(seed=1)
    opt = GSSBO(SPACE, seed=seeded(0), earlier=[(points, [-v for v in values])])
    assert min(run(opt, 40)) < 0.05, MOSTLY
    assert opt.explain().studies["study 0"] < 0.1, MOSTLY


@over_seeds()
def test_shuffled_values_cost_little():
    points, values = trials(seed=1)
    shuffled = np.random.default_rng(seeded(0)).permutation(values).tolist()
    ends = [min(run(GSSBO(SPACE, seed=seeded(s), earlier=[(points, shuffled)]), 30)) for s in range(3)]
    assert np.median(ends) < 0.05, MOSTLY


@over_seeds()
def test_other_spaces():
    """Other ranges and scales, other categories, a parameter more, one less, and values of another type."""
    rng = np.random.default_rng(seeded(0))
    points = []
    for _ in range(60):
        points.append(
            {
                "lr": float(10 ** rng.uniform(-6, 1)),
                "width": float(rng.uniform(4, 900)),
                "act": str(rng.choice(["relu", "tanh", "gelu"])),
                "dropout": float(rng.random()),
            }
        )
    values = [loss(p) for p in points]
    without = [{name: v for name, v in p.items() if name != "width"} for p in points]
    first = run(GSSBO(SPACE, seed=seeded(0), earlier=[(points, values)]), 5)
    assert min(first) < 0.3, MOSTLY
    lacking = run(GSSBO(SPACE, seed=seeded(0), earlier=[(without, values)]), 5)
    assert lacking[0] < np.quantile(trials()[1], 0.1), MOSTLY


@over_seeds()
def test_branches():
    space = {
        "kind": Categorical(["sgd", "adam"]),
        "lr": Float(1e-5, 1.0, log=True),
        "momentum": Float(0.0, 1.0, when={"kind": "sgd"}),
    }

    def f(p):
        rest = (p["momentum"] - 0.9) ** 2 if p["kind"] == "sgd" else 0.5
        return (math.log10(p["lr"]) + 2.0) ** 2 + rest

    rng = np.random.default_rng(seeded(0))
    whole = Space(space)
    points = [whole.decode(x) for x in whole.snap(rng.random((60, 3)))]
    values = run(GSSBO(space, seed=seeded(0), earlier=[(points, [f(p) for p in points])]), 8, f)
    assert values[0] < 0.3, MOSTLY
    assert min(values) < 0.05, MOSTLY


@over_seeds()
def test_failures_and_several_objectives():
    points, values = trials(seed=1)
    failed = [None if p["lr"] > 0.1 else v for p, v in zip(points, values, strict=True)]
    assert run(GSSBO(SPACE, seed=seeded(0), earlier=[(points, failed)]), 1)[0] < 0.5, MOSTLY
    two = [(v, p["width"]) for p, v in zip(points, values, strict=True)]
    opt = GSSBO(SPACE, seed=seeded(0), directions=["minimize", "minimize"], earlier=[(points, two)])
    for _ in range(12):
        p = opt.ask()
        opt.tell(p, (loss(p), p["width"]))
    assert set(opt.explain(objective=1).studies) == {"study 0"}


@over_seeds()
@pytest.mark.parametrize("objectives", [1, 2])
def test_constraints(objectives):
    """Models of constraints have no earlier studies."""
    points, values = trials(seed=1)
    told = values if objectives == 1 else [(v, p["width"]) for p, v in zip(points, values, strict=True)]
    opt = GSSBO(
        SPACE, seed=seeded(0), directions=["minimize"] * objectives, constraints=["narrow"], earlier=[(points, told)]
    )
    for _ in range(14):
        p = opt.ask()
        value = loss(p) if objectives == 1 else (loss(p), p["width"])
        opt.tell(p, value, constraints={"narrow": p["width"] - 100.0})
    feasible = [p for p in opt.ask(6) if p["width"] <= 100]
    assert len(feasible) >= 3, MOSTLY


def test_several_at_once_are_spread():
    opt = GSSBO(SPACE, seed=seeded(0), earlier=[trials(seed=1, shift=0.5), trials(seed=2, shift=-0.5)])
    asked = opt.ask(8)
    assert len({tuple(sorted(p.items())) for p in asked}) == 8


@pytest.mark.parametrize("told", [1, 4, 30])
def test_a_restored_optimizer_goes_on_equally(told):
    opt = GSSBO(SPACE, seed=seeded(0), earlier=[trials(seed=1, shift=0.2), trials(seed=2)])
    run(opt, told)
    opt.ask()
    twin = Optimizer.from_state_dict(pickle.loads(pickle.dumps(opt.state_dict())))
    assert run(twin, 6) == run(opt, 6)


def test_noise_and_repeats():
    """Under noise all observations take part, through atoms that have features as well."""
    rng = np.random.default_rng(seeded(0))
    known = [{"x": a, "y": b} for a, b in rng.random((50, 2))]
    opt = GSSBO(
        {"x": Float(0, 1), "y": Float(0, 1)}, seed=seeded(0), earlier=[(known, [p["x"] + p["y"] for p in known])]
    )
    noisy = lambda p: (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2 + 0.1 * rng.normal()  # noqa: E731
    for p in [{"x": a, "y": b} for a, b in rng.random((40, 2))]:
        opt.tell(p, noisy(p))
        opt.tell(p, noisy(p))
    run(opt, 12, noisy)
    view = opt.snapshot()
    mean, std = view.predict([{"x": 0.3, "y": 0.6}])
    assert np.isfinite(mean).all()
    assert (std > 0).all()


@over_seeds()
def test_arms_and_tables():
    rng = np.random.default_rng(seeded(0))
    X = rng.random((200, 3)) * [1.0, 10.0, 100.0]
    y = -((X / [1.0, 10.0, 100.0] - 0.4) ** 2).sum(axis=1)
    other = rng.random((80, 3)) * [1.0, 10.0, 100.0]
    study = (list(other), (-((other / [1.0, 10.0, 100.0] - 0.4) ** 2).sum(axis=1)).tolist())
    opt = GSSBO(arms=X, seed=seeded(0), earlier=[study, (list(range(30)), y[:30].tolist())])
    row = opt.ask()
    assert y[row] >= np.sort(y)[-10], MOSTLY
    table = Table({"a": X[:, 0], "b": X[:, 1], "kind": rng.choice(["p", "q"], 200).tolist()})
    frame = [{"a": float(a), "b": float(b), "kind": "p"} for a, b, _ in other]
    opt = GSSBO(table, direction="maximize", seed=seeded(0), earlier=[(frame, study[1])])
    assert set(opt.ask()) == {"row"}


def test_what_cannot_be_used_is_said_by_name():
    points, values = trials(10)
    bad = [
        EarlierStudy(points[:2], values[:2], name="short"),
        EarlierStudy(points, [1.0] * 10, name="flat"),
        EarlierStudy([{"other": 1.0}] * 10, values, name="elsewhere"),
        EarlierStudy([{"lr": 0.1} if i % 2 else {"width": 9} for i in range(10)], values, name="halves"),
        EarlierStudy(points, [(v, v) for v in values], directions=["minimize"] * 2, name="two"),
    ]
    with pytest.warns(UserWarning, match="is not used: ") as caught:
        opt = GSSBO(SPACE, seed=seeded(0), earlier=bad)
    said = [str(one.message) for one in caught]
    assert len(said) == 5
    for name, words in zip(
        ("short", "flat", "elsewhere", "halves", "two"),
        (f"2 successful trials, and at least {LEAST_TRIALS}", "equal", "new one", "0 successful", "2 objectives"),
        strict=True,
    ):
        assert any(f"'{name}'" in one and words in one for one in said), (name, said)
    assert run(opt, 5) == run(GSSBO(SPACE, seed=seeded(0)), 5)


@over_seeds()
def test_values_without_an_order_are_not_used():
    rng = np.random.default_rng(seeded(1))
    points, values = trials(60, seed=1)
    shuffled = [EarlierStudy(points, rng.permutation(values).tolist(), name=f"shuffled {i}") for i in range(3)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = GSSBO(SPACE, seed=seeded(0), earlier=[*shuffled, EarlierStudy(points, values, name="good")])
    assert sum("values have no order" in str(one.message) for one in caught) == 3, MOSTLY
    assert run(opt, 5) == run(GSSBO(SPACE, seed=seeded(0), earlier=[EarlierStudy(points, values, name="good")]), 5)


@over_seeds()
def test_a_study_over_wider_ranges_is_used():
    """In the units of the new ranges a smooth function over ten times these would look rough."""
    rng = np.random.default_rng(seeded(0))
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    bowl = lambda p: (p["x"] - 0.3) ** 2 + (p["y"] - 0.7) ** 2  # noqa: E731
    points = [{"x": a, "y": b} for a, b in rng.uniform(-5, 5, size=(40, 2))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = GSSBO(space, seed=seeded(0), earlier=[(points, [bowl(p) for p in points])])
    assert not caught, MOSTLY
    assert bowl(opt.ask()) < 0.1, MOSTLY


@over_seeds()
def test_failures_by_accident_do_not_make_a_study_useless():
    points, values = trials(50, seed=1)
    for i in np.random.default_rng(seeded(0)).permutation(50)[:20].tolist():
        values[i] = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = GSSBO(SPACE, seed=seeded(0), earlier=[(points, values)])
    assert not caught, MOSTLY
    assert run(opt, 1)[0] < 0.6, MOSTLY


def test_studies_of_one_name_are_told_apart():
    points, values = trials(30, seed=1)
    same = [EarlierStudy(points, values, name="old") for _ in range(3)]
    opt = GSSBO(SPACE, seed=0, earlier=same)
    run(opt, 6)
    assert set(opt.explain().studies) == {"old", "old (2)", "old (3)"}
    assert Optimizer.from_state_dict(opt.state_dict()).explain().studies == opt.explain().studies


def test_parameters_that_some_trials_have():
    """Of a study by branches, the trials that have the new parameter count."""
    rng = np.random.default_rng(0)
    points = [{"lr": float(10 ** -rng.uniform(0, 5))} if i % 2 else {"depth": 3} for i in range(41)]
    values = [(math.log10(p["lr"]) + 2.0) ** 2 if "lr" in p else 0.5 for p in points]
    opt = GSSBO({"lr": Float(1e-5, 1.0, log=True)}, seed=0, earlier=[(points, values)])
    assert (math.log10(opt.ask()["lr"]) + 2.0) ** 2 < 0.3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"x": 1}], "earlier must have an EarlierStudy, or a pair of points and values"),
        ("study", "earlier must be a sequence of studies"),
        ([3], "earlier must have an EarlierStudy, or a pair of points and values"),
        ([([{"lr": 0.1}], [1.0, 2.0])], "earlier got 1 points and 2 values; they must match"),
        ([([{"lr": 0.1}], [1.0], [-1.0])], "std must be"),
    ],
)
def test_bad_input_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        GSSBO(SPACE, earlier=given)


def test_algorithms_with_bounds_refuse_them():
    with pytest.raises(TypeError, match=r"^BKB does not learn from earlier studies, .*: GSSBO does\.$"):
        BKB(SPACE, earlier=[trials()])


@over_seeds()
def test_many_trials_of_a_study_are_represented_by_some():
    points, values = trials(3000)
    (sources,) = sources_of(Space(SPACE), Goal(("minimize",)), [EarlierStudy(points, values, name="long")])
    assert sources.basis(sources.proposals(np.full((1, 3), 0.5))[0]).counts.tolist() == [MOST]
    scores = normal_scores(-np.array(values))
    X = np.array([Space(SPACE).encode(p) for p in points])
    assert np.corrcoef(sources.features(X)[:, 0], scores)[0, 1] > 0.95, MOSTLY


def test_the_opening_raises_what_the_studies_expect_of_the_best_point():
    space = Space(SPACE)
    studies = [EarlierStudy(*trials(seed=s, shift=t), name=str(s)) for s, t in enumerate((1.0, -1.0))]
    sources = sources_of(space, Goal(("minimize",)), studies)
    candidates = space.snap(np.random.default_rng(seeded(0)).random((300, 3)))
    found = opening(space, sources, candidates, 4)
    known = [np.maximum.accumulate(sources[0].features(found)[:, m]) for m in range(2)]
    gains = np.mean(known, axis=0)
    assert (np.diff(gains) > 0).all()
    assert gains[0] >= sources[0].features(candidates).mean(axis=1).max() - 1e-12


def test_proposals_are_all_pairs():
    (sources,) = sources_of(Space(SPACE), Goal(("minimize",)), [EarlierStudy(*trials(), name="a")])
    found = sources.proposals(np.full((2, 3), 0.5))
    assert len(found) == len(RHO) * len(V)
    assert not any(weights.silent for weights in found)


@over_seeds()
def test_settings_of_the_paper_take_them_too():
    opt = GSSBO(SPACE, seed=seeded(0), preset="paper", earlier=[trials(seed=1)])
    assert run(opt, 12)[0] < 0.3, MOSTLY
    assert GSSBO(SPACE, settings=GSSBOSettings(n_initial=5), earlier=[trials(seed=1)]).n_initial == 5
    assert GPUCB(SPACE, earlier=[trials(seed=1)]).n_initial == AFTER_OTHERS


def test_a_study_is_shown_shortly():
    assert len(repr(EarlierStudy(*trials(500), name="long"))) < 80
    assert Arms(np.eye(2)).place([0.5, 0.5]).tolist() == [0.5, 0.5]

"""Peers that know the space before the first trial, and those in a process of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.optimize import approx_fprime

from benchmarks.problems.suites import make
from benchmarks.samplers import textbook
from benchmarks.samplers.declared import OneHot
from benchmarks.samplers.elsewhere import Elsewhere
from benchmarks.samplers.textbook import GP, TextbookSampler, normalised

ROOT = Path(__file__).parents[2]
SPACE = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "share": FloatDistribution(-2.0, 3.0),
    "width": IntDistribution(2, 64, log=True),
    "depth": IntDistribution(1, 9, step=2),
    "weight": CategoricalDistribution((None, True, "some")),
}
#: Ten choices of "off" and "on", and three numbers from -1 to 1.
MIXED = "ackley-mixed-13"


def studied(sampler, count):
    problem = make(MIXED)
    study = optuna.create_study(sampler=sampler)
    study.set_user_attr("problem", MIXED)
    for _ in range(count):
        trial = problem.ask(study)
        study.tell(trial, problem.value(trial))
    return study


def test_configurations_are_the_same_after_a_way_through_vectors():
    code = OneHot(SPACE)
    assert code.width == 7
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(50):
        params = study.ask(SPACE).params
        back = code.decode(code.encode(params))
        assert list(back.values())[2:] == list(params.values())[2:]
        assert [back["rate"], back["share"]] == pytest.approx([params["rate"], params["share"]])


def test_any_vector_snaps_to_that_of_a_configuration():
    code = OneHot(SPACE)
    X = np.random.default_rng(0).uniform(-0.2, 1.2, (50, 7))
    snapped = code.snap(X)
    np.testing.assert_allclose(snapped, [code.encode(code.decode(x)) for x in X], atol=1e-12)


def test_a_study_that_names_no_problem_is_told():
    study = optuna.create_study(sampler=TextbookSampler(0))
    with pytest.raises(ValueError, match="TextbookSampler needs a study whose user attribute 'problem' names"):
        make(MIXED).ask(study)


@pytest.mark.parametrize("kind", ["positive", "signed", "equal", "apart"])
def test_values_are_made_normal_in_their_order(kind):
    y = np.random.default_rng(0).lognormal(sigma=2.0, size=40)
    y = {"positive": y, "signed": y - 1.0, "equal": np.ones(40), "apart": np.r_[y, 1e6]}[kind]
    z = normalised(y)
    assert np.all(np.diff(z[np.argsort(y)]) >= 0.0)
    if kind != "equal":
        assert [z.mean(), z.std()] == pytest.approx([0.0, 1.0])
        assert z.max() < 4.0
    else:
        np.testing.assert_array_equal(z, 0.0)


def test_the_gradient_of_the_textbook_fit(monkeypatch):
    checked = []

    def minimize(loss, start, **settings):
        at = start + 0.3
        numeric = approx_fprime(at, lambda theta: loss(theta)[0])
        np.testing.assert_allclose(loss(at)[1], numeric, rtol=1e-4, atol=1e-4)
        checked.append(at)
        return original(loss, start, **settings)

    original = textbook.minimize
    monkeypatch.setattr(textbook, "minimize", minimize)
    rng = np.random.default_rng(0)
    X = np.c_[rng.random((20, 2)), np.eye(3)[rng.integers(3, size=20)]]
    y = normalised(np.sin(6.0 * X[:, 0]) + X[:, 3])
    gp = GP(X, y, [slice(0, 1), slice(1, 2), slice(2, 5)])
    assert len(checked) == 1
    assert gp.scale[0] < gp.scale[1]  # the second parameter changes nothing
    np.testing.assert_allclose(gp.bound(X), y, atol=1.0)


def test_the_textbook_search_begins_in_the_middle_and_beats_random_points():
    best = {"textbook": [], "random": []}
    for seed in range(2):
        study = studied(TextbookSampler(seed), 20)
        assert study.trials[0].params == {f"s{i}": "off" for i in range(10)} | {f"x{i}": 0.0 for i in range(3)}
        assert len({tuple(t.params.values()) for t in study.trials}) == 20
        best["textbook"].append(study.best_value)
        best["random"].append(studied(optuna.samplers.RandomSampler(seed=seed), 20).best_value)
    assert np.mean(best["textbook"]) < np.mean(best["random"])


def elsewhere(tmp_path, monkeypatch, made):
    """A sampler in a process of its own; ``made`` is what the process makes of a space and a seed."""
    python = tmp_path / "python"
    python.write_text(f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
import optuna
from benchmarks.samplers.elsewhere import answer
from benchmarks.samplers.search import Study
answer(lambda space, seed: print("what a library prints") or {made})
""")
    python.chmod(0o755)
    monkeypatch.setenv("SOME_PYTHON", str(python))
    return Elsewhere("some", 3)


def test_a_sampler_in_another_process_suggests_the_same(tmp_path, monkeypatch):
    sampler = elsewhere(tmp_path, monkeypatch, "Study(space, optuna.samplers.TPESampler(seed=seed))")
    there, here = studied(sampler, 15), studied(optuna.samplers.TPESampler(seed=3), 15)
    assert [t.params for t in there.trials] == [t.params for t in here.trials]


def test_a_process_that_has_ended_is_told(tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match=r"some \(.* -m benchmarks.samplers.some\) has ended: ZeroDivisionError"):
        studied(elsewhere(tmp_path, monkeypatch, "1 / 0"), 1)


def test_a_process_takes_one_trial_at_a_time(tmp_path, monkeypatch):
    study = optuna.create_study(sampler=elsewhere(tmp_path, monkeypatch, "Study(space, None)"))
    study.set_user_attr("problem", MIXED)
    make(MIXED).ask(study)
    with pytest.raises(ValueError, match="some must be told each value before the next trial; 0 are known"):
        make(MIXED).ask(study)

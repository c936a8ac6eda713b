"""Random define-by-run programs: no sampler does what no sound sampler may do, whatever a program asks for."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from tests.harness import program_runs
from tests.harness.program_maker import make
from tests.harness.program_runs import differs, run, shrunk
from tests.harness.programs import Ask, Branch, Case, Fail, Loop, Program, asks, smaller

pytestmark = pytest.mark.arithmetic

TRIALS = 25
X = Ask("x", FloatDistribution(0.0, 1.0), 0.3)
Y = Ask("y", FloatDistribution(0.0, 1.0), 0.6)
RATE = Ask("rate", FloatDistribution(1e-4, 1.0, log=True), 0.4)
MODEL = Ask("model", CategoricalDistribution(["svm", "mlp", "gbm"]), 0.0)
DEPTH = Ask("depth", IntDistribution(1, 6), 0.4)
C = Ask("c", FloatDistribution(0.1, 10.0, log=True), 0.5)


def of_models(*gbm):
    """Three models; ``gbm`` is what the last one does after it has asked for what it shares with the second."""
    cases = (Case((C,), ("svm",)), Case((RATE, DEPTH), ("mlp",)), Case((RATE, *gbm), ("gbm",)))
    return (Branch(MODEL, cases),)


def equal(choices, *block):
    """A branch by choices some of which are equal, with the same ``block`` for all of them."""
    on = Ask("kind", CategoricalDistribution(choices), 0.0)
    return Branch(on, tuple(Case(block, (choice,)) for choice in dict.fromkeys(choices)))


#: Small programs, by what is special about them.
SMALL = {
    "a shared parameter, and a branch that always fails": Program(0, of_models(Fail(True))),
    "so early that less is asked for": Program(0, of_models(Fail(False), DEPTH)),
    "with other ranges": Program(
        0,
        (
            Branch(
                MODEL,
                (
                    Case((C,), ("svm",)),
                    Case((RATE,), ("mlp",)),
                    Case((Ask("rate", FloatDistribution(1e-2, 10.0, log=True)), Fail(True)), ("gbm",)),
                ),
            ),
        ),
    ),
    "ten workers": Program(0, of_models(Fail(True)), workers=10),
    "ten workers, one after the other": Program(0, of_models(DEPTH), workers=10, rolling=True),
    "equal strings": Program(0, (X, equal(["a", "b", "a", "c", "d"], DEPTH))),
    "equal numbers": Program(0, (X, equal([1, 1.0, 2, 3], DEPTH))),
    "equal choices beside a number": Program(0, (Ask("c", CategoricalDistribution(["a", "b", "a", "c", "d"])), DEPTH)),
    "equal choices alone": Program(1, (Ask("c", CategoricalDistribution(["a", "b", "a", "c", "d"])),)),
    "copies of failed trials": Program(0, of_models(Fail(True)), retry="copy"),
    "Optuna's copies of failed trials": Program(0, (X, Fail(False, X, 0.6), *of_models()), retry="callback"),
    "copies of trials that were lost": Program(0, (X, *of_models()), random=0.4, random_at="between", retry="callback"),
    "half of their values": Program(0, of_models(Fail(True)), retry="enqueue"),
    "whole seconds": Program(0, (X, Y), whole_seconds=True),
    "whole seconds and few points": Program(0, (DEPTH, Ask("n", IntDistribution(1, 40), 0.3)), whole_seconds=True),
    "a new parameter": Program(0, of_models(), second=(*of_models(), X)),
    "a new range": Program(0, (X, Y), second=(Ask("x", FloatDistribution(0.2, 2.0)), Y)),
    "a loop": Program(0, (Loop(Ask("layers", IntDistribution(1, 3), 0.5), Ask("units", IntDistribution(1, 64))), X)),
    "a space that does not match": Program(0, (X, Y, *of_models(Fail(True))), declared="narrower"),
}


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def report(found):
    return "\n".join([repr(found.program), *(f"{b.kind}: {b.words}" for b in found.broken)])


@pytest.mark.parametrize("seed", range(36))
def test_random_programs(seed):
    found = run(make(seed), TRIALS)
    assert not found.broken, report(found)


@pytest.mark.parametrize("name", SMALL)
def test_small_programs(name):
    found = run(SMALL[name], 40)
    assert not found.broken, report(found)


@pytest.mark.parametrize("kind", ["journal", "sqlite"])
@pytest.mark.parametrize("seed", [101, 112])
def test_storages_make_no_difference(seed, kind):
    assert not differs(make(seed), TRIALS, kind)


# -- the harness itself ------------------------------------------------------------------------------------------------


def test_programs_are_those_of_their_seeds():
    for seed in range(60):
        program = make(seed)
        assert repr(program) == repr(make(seed))
        assert any(not path.fails for path in program.paths(0))
        assert sum(path.share for path in program.paths(0)) <= 1.0 + 1e-9
        for less in smaller(program):
            assert repr(less) != repr(program)
    kinds = {kind for seed in range(300) for kind in make(seed).kinds}
    assert len(kinds) > 30


def test_a_program_takes_the_paths_that_it_says():
    for seed in range(25):
        program = make(seed)
        found = run(program, TRIALS, sampler="Random")
        names = {a.name for block in program.blocks() for a in asks(block)}
        for number, note in found.notes.items():
            trial = found.trials[number]
            if note.played.through:
                assert note.played.labels in {path.labels for path in program.paths(note.day)}
                assert trial.params.keys() <= names
                assert not program.second or note.day == (number >= TRIALS // 2)


class Stuck(RandomSampler):
    """A sampler that has only one idea."""

    def sample_independent(self, study, trial, param_name, param_distribution):
        d = param_distribution
        return d.choices[-1] if isinstance(d, CategoricalDistribution) else d.low


class Careless(RandomSampler):
    """A sampler that does not survive its tenth trial."""

    def before_trial(self, study, trial):
        if trial.number == 10:
            raise KeyError("careless")


def broken_by(sampler, program, monkeypatch):
    monkeypatch.setattr(program_runs, "sampler_for", lambda *_: sampler)
    return {b.kind for b in run(program, 40).broken}


def test_a_sampler_that_is_stuck_is_found(monkeypatch):
    assert broken_by(Stuck(), Program(0, (X, *of_models())), monkeypatch) == {"branch", "again"}
    region = Program(0, (X, Y, Fail(True, X, 0.0), equal(["a", "b"])), enqueued=((("x", 0.5),),))
    assert "branch" in broken_by(Stuck(), region, monkeypatch)


def test_a_branch_that_is_asked_for_over_and_over_is_found(monkeypatch):
    program = Program(0, of_models(Fail(True)), enqueued=((("model", "svm"),),))
    assert {"failing branch", "branch"} <= broken_by(Stuck(), program, monkeypatch)


def test_errors_and_logged_reasons_are_found(monkeypatch):
    assert broken_by(Careless(), Program(0, (X,)), monkeypatch) == {"error"}


def test_what_random_search_finds_is_demanded_of_others(monkeypatch):
    for name in ("equal strings", "a loop", "a new range"):
        assert "branch" not in {b.kind for b in run(SMALL[name], 40, sampler="Random").broken}


def test_a_program_is_made_smaller_as_long_as_it_breaks_the_same(monkeypatch):
    monkeypatch.setattr(program_runs, "sampler_for", lambda *_: Stuck())
    program = next(p for p in map(make, range(200)) if "branch" in run(p, TRIALS).kinds and p.second is not None)
    less = shrunk(program, "branch", TRIALS)
    assert "branch" in run(less, TRIALS).kinds
    assert len(repr(less)) < len(repr(program))

import pytest

from benchmarks.checks import trips
from benchmarks.checks.digests import digest

#: The most files that a suggestion enters, and the most files and calls of a told value, in the median of five. The
#: path of a search depends on rounding; each has a tenth more than was counted.
MOST = {"plain": (64, 30, 186), "branches": (65, 28, 171), "curves": (64, 32, 244)}


@pytest.mark.parametrize("kind", MOST)
def test_a_suggestion_and_a_told_value_stay_short_ways(kind):
    asked, told = trips.trips(kind)
    files, told_files, told_calls = MOST[kind]
    assert asked.files <= files
    assert told.files <= told_files
    assert told.calls <= told_calls


def test_a_trip_counts_calls_into_the_package():
    opt = trips.GSSBO({"x": trips.numbo.Float(0, 1)}, seed=0)
    point, way = trips.trip(opt.ask)
    assert point["x"] == 0.5
    assert way.calls >= way.moves >= way.returns > 0
    assert trips.trip(lambda: 3) == (3, (0, 0, 0, 0))


def test_fingerprints_are_those_of_the_run_and_name_the_first_step_that_differs(monkeypatch):
    known = digest("GSSBO", "a constraint", "core", 9)
    assert digest("GSSBO", "a constraint", "core", 9) == known
    assert len(known) == 9
    from numbo.search.maximiser import Maximiser

    monkeypatch.setattr(Maximiser, "exploring", lambda self, run: run.step >= 6)
    other = digest("GSSBO", "a constraint", "core", 9)
    assert other[:3] == known[:3]
    assert other[-1] != known[-1]


@pytest.mark.parametrize("mode", ["optuna", "ray"])
def test_fingerprints_through_adapters_have_a_mark_for_each_step(mode):
    assert len(digest("GSSBO", "curves", mode, 8)) == 8

"""Where the time of suggestions goes."""

from __future__ import annotations

import itertools

import pytest

from numbo._plain import copied
from numbo.run import times
from numbo.run.times import AskTimes


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """One second from one look to the next."""
    looks = itertools.count()
    monkeypatch.setattr(times.time, "perf_counter", lambda: float(next(looks)))


def test_parts_of_one_name_add_up_and_are_those_of_the_last_ask():
    known = AskTimes()
    for n in (4, 7):
        with known.ask(n):
            with known.phase("model"):
                pass
            with known.phase("search"), known.phase("model"):
                pass
    assert known.phases == {"model": 2.0, "search": 3.0}
    assert known.asks == [(4, 7.0), (7, 7.0)]


def test_an_ask_that_fails_is_timed_too():
    known = AskTimes()
    with pytest.raises(RuntimeError, match="broken"), known.ask(3), known.phase("model"):
        raise RuntimeError("broken")
    assert known.phases == {"model": 1.0}
    assert known.asks == [(3, 3.0)]


def test_a_copy_keeps_its_times():
    known = AskTimes()
    with known.ask(3), known.phase("model"):
        pass
    twin = copied(known)
    with known.ask(4), known.phase("search"):
        pass
    assert [n for n, _ in twin.asks] == [3]
    assert list(twin.phases) == ["model"]

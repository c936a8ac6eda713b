"""Compilation in the background: everything that the first suggestions need, and nothing that outlives its purpose."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import numba
import pytest

from numbo import GSSBO, Float
from numbo.compiling import jit, turns
from numbo.warming import ahead

pytestmark = [
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="there is nothing to compile"),
    pytest.mark.skipif(not turns.possible(), reason="nothing is compiled in the background"),
]

#: Starts the processes in the background, and prints their numbers.
START = """
import sys
from numbo import GSSBO, Float
from numbo.warming import ahead
optimizer = GSSBO({"x": Float(0, 1)}, seed=0)
optimizer.ask()
print(*(child.pid for child in ahead._children), flush=True)
"""


def start(cache, code, **variables):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), ahead.SWITCH: "1"} | variables
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def children_of(process):
    return [int(word) for word in process.stdout.readline().split()]


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids):
    while any(map(running, pids)):
        time.sleep(0.01)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", ["return", "kill", "kill, but not a fork of it"])
def test_children_end_with_the_process_that_started_them(end, tmp_path):
    fork = "import os; os.fork(); " if "fork" in end else ""
    process = start(tmp_path, START + fork + "sys.stdin.read()")
    pids = children_of(process)
    assert pids
    if end.startswith("kill"):
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until_gone(pids)
        assert not list(tmp_path.rglob("ascent.ascend-*.nbc"))  # at once, not when all is compiled
    else:
        process.stdin.close()
        assert process.wait() == 0
        assert not any(map(running, pids))
    process.stdin.close()  # which ends the fork


#: As `START`, of an optimizer whose class nobody has imported by name.
UNPICKLED = """
import pickle, sys
pickle.loads(bytes.fromhex(sys.stdin.readline())).ask()
from numbo.warming import ahead
print(*(child.pid for child in ahead._children), flush=True)
"""


def test_an_optimizer_from_a_pickle_compiles_in_the_background_too(tmp_path):
    process = start(tmp_path, UNPICKLED)
    process.stdin.write(pickle.dumps(GSSBO({"x": Float(0, 1)}, seed=0)).hex() + "\n")
    process.stdin.close()
    assert len(children_of(process)) == ahead.PARTS
    assert process.wait() == 0


@pytest.fixture
def started(monkeypatch, tmp_path):
    """What would be started on a machine with a cold cache."""
    monkeypatch.setattr(ahead, "_considered", set())
    monkeypatch.setattr(ahead, "_children", calls := [])
    monkeypatch.setattr(ahead, "_cores", lambda: 2)
    monkeypatch.setattr(ahead.subprocess, "Popen", lambda command, **options: (command, options))
    monkeypatch.setattr(ahead.atexit, "register", lambda *arguments: None)
    monkeypatch.setattr(jit, "is_cached", lambda kernel: False)
    monkeypatch.setattr(jit, "lock_path", lambda kernel: str(tmp_path / "lock"))
    monkeypatch.setenv(ahead.SWITCH, "1")
    return calls


class Mine(GSSBO):
    """A user's variant of an algorithm."""


@pytest.mark.parametrize("algorithm", [GSSBO, Mine])
def test_it_starts_once(started, algorithm):
    ahead.compile_ahead(algorithm)
    assert len(started) == ahead.PARTS
    for command, options in started:
        assert '"GSSBO"' in command[-1]
        assert options["start_new_session"]
        assert options["env"][ahead.SWITCH] == "0"
    del started[:]
    ahead.compile_ahead(algorithm)
    assert not started


CASES = ["switched off", "warm", "read-only", "no locks", "one core", "frozen", "embedded", "unknown"]


@pytest.mark.parametrize("case", CASES)
def test_it_does_not_start(started, case, monkeypatch):
    algorithm = GSSBO
    if case == "one core":
        monkeypatch.setattr(ahead, "_cores", lambda: 1)
    elif case == "switched off":
        monkeypatch.setenv(ahead.SWITCH, "0")
    elif case == "warm":
        monkeypatch.setattr(jit, "is_cached", lambda kernel: True)
    elif case == "read-only":
        monkeypatch.setattr(jit, "lock_path", lambda kernel: None)
    elif case == "no locks":
        monkeypatch.setattr(turns, "fcntl", None)
    elif case == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    elif case == "embedded":
        monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    else:
        algorithm = dict
    ahead.compile_ahead(algorithm)
    assert not started


def test_an_error_is_no_concern_of_the_user(started, monkeypatch):
    def fail(*arguments, **options):
        raise OSError("too many processes")

    monkeypatch.setattr(ahead.subprocess, "Popen", fail)
    GSSBO({"x": Float(0, 1)}, seed=0).ask()
    assert not started


def test_a_child_writes_to_no_other_cache(tmp_path):
    code = f"from numbo.warming.first_use import compile_part; compile_part('GSSBO', 0, {str(tmp_path / 'other')!r})"
    process = start(tmp_path / "cache", code)
    assert process.wait() == 0
    assert not list((tmp_path / "cache").rglob("*.nbi"))


WORK = """
import os, sys
from numbo.warming import ahead
with ahead.work(os.getppid(), "GSSBO", 0, sys.argv[1]) as mine:
    print(mine, os.nice(0), flush=True)
"""


def test_a_part_is_compiled_at_low_priority_by_one_process(tmp_path):
    lock, before = str(tmp_path / "lock"), os.nice(0)

    def said():
        return subprocess.run([sys.executable, "-c", WORK, lock], capture_output=True, text=True).stdout.split()

    for others, mine in (("GSSBO 0", False), ("GSSBO 1", True), ("BKB 0", True)):
        with turns.turn(lock, f"compile ahead {others}", 0.0):
            assert said() == [str(mine), str(min(19, before + ahead.NICE))]


HOLD = """
import sys
from numbo.compiling.turns import turn
with turn(sys.argv[1], "kernel", 600.0) as mine:
    print(mine, flush=True)
    sys.stdin.read()
"""


def test_a_turn_is_one_process_at_a_time_and_ends_with_it(tmp_path):
    lock = str(tmp_path / "lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "True\n"
    with turns.turn(lock, "kernel", 0.05) as mine:
        assert not mine
    with turns.turn(lock, "another kernel", 0.0) as mine:
        assert mine
    holder.kill()
    holder.wait()
    with turns.turn(lock, "kernel", 600.0) as mine:
        assert mine


def test_without_a_file_nobody_waits(tmp_path, monkeypatch):
    for path in (None, str(tmp_path / "missing" / "lock")):
        with turns.turn(path, "kernel", 600.0) as mine:
            assert mine
    monkeypatch.setattr(turns, "fcntl", None)
    with turns.turn(str(tmp_path / "lock"), "kernel", 600.0) as mine:
        assert mine

"""The cache policy: no stale code, and no failing import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numba
import pytest

from numbo.compiling import jit, turns

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="there is no machine code to cache")

posix = pytest.mark.skipif(os.name != "posix", reason="there are other signals")
locks = pytest.mark.skipif(not turns.possible(), reason="files cannot be locked")

PROBE = "from pkg.compiling import jit; jit.warn_after(None); from pkg.kernels.caller import outer; print(outer(1.0))"


def package(folder: Path, constant: str) -> None:
    """A package with a kernel in one file that calls a kernel in another, compiled by our decorator."""
    compiling, kernels = folder / "pkg" / "compiling", folder / "pkg" / "kernels"
    for part in (compiling, kernels):
        part.mkdir(parents=True, exist_ok=True)
    (compiling / "jit.py").write_text(Path(jit.__file__).read_text())
    (kernels / "callee.py").write_text(
        f"from pkg.compiling.jit import jit\n@jit\ndef inner(x):\n    return x + {constant}\n"
    )
    (kernels / "caller.py").write_text(
        "from pkg.compiling.jit import jit\nfrom pkg.kernels.callee import inner\n"
        "@jit\ndef outer(x):\n    return inner(x)\n"
    )


def run(folder: Path, code: str = PROBE, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | variables
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)


def test_an_edit_to_a_callee_in_another_file_is_seen(tmp_path):
    package(tmp_path, "1.0")
    assert run(tmp_path).stdout.strip() == "2.0"
    assert list((tmp_path / "pkg" / "kernels" / "__pycache__").glob("caller.outer*.nbi")), "nothing was cached"
    package(tmp_path, "10.0")
    assert run(tmp_path).stdout.strip() == "11.0"


KILLED = """
import os
from numba.core.caching import IndexDataCacheFile
IndexDataCacheFile._save_data = lambda *arguments: os.kill(os.getpid(), 9)
"""


@posix
def test_a_process_killed_while_it_writes_leaves_no_stale_code(tmp_path):
    """Numba has written the index then, but not the code that belongs to it."""
    package(tmp_path, "1.0")
    assert run(tmp_path).stdout.strip() == "2.0"
    package(tmp_path, "10.0")
    assert run(tmp_path, KILLED + PROBE).returncode == -9
    assert run(tmp_path).stdout.strip() == "11.0"


HITS = PROBE + "; print(sum(outer.stats.cache_hits.values()))"


def test_the_cache_is_used(tmp_path):
    package(tmp_path, "1.0")
    run(tmp_path)
    assert run(tmp_path, HITS).stdout.split() == ["2.0", "1"]


def test_a_damaged_file_is_written_anew(tmp_path):
    package(tmp_path, "1.0")
    run(tmp_path)
    for kind, share in product(["nbi", "nbc"], [0.0, 0.5]):
        for path in (tmp_path / "pkg" / "kernels" / "__pycache__").glob(f"*.{kind}"):
            content = path.read_bytes()
            path.write_bytes(content[: int(len(content) * share)])
        damaged = run(tmp_path, HITS)
        assert damaged.stdout.split() == ["2.0", "0"]
        assert not damaged.stderr
        assert run(tmp_path, HITS).stdout.split() == ["2.0", "1"]


INNER = """
from pkg.compiling import jit
from pkg.kernels.callee import inner
from pkg.kernels.caller import outer
print(outer(1.0), sum(inner.stats.cache_hits.values()), sum(outer.stats.cache_hits.values()))
"""
CODE = """
for kernel in (inner, outer):
    (compiled,) = kernel.overloads.values()
    print(kernel.__name__, len(list(compiled.library.get_defined_functions())) > 0)
"""


def test_a_subroutine_has_code_in_kernels_only_and_is_cached_for_them(tmp_path):
    package(tmp_path, "1.0")
    callee = tmp_path / "pkg" / "kernels" / "callee.py"
    callee.write_text(callee.read_text().replace("jit\n", "subroutine as jit\n", 1))
    made = run(tmp_path, INNER + CODE)
    assert made.stdout.splitlines() == ["2.0 0 0", "inner False", "outer True"], made.stderr
    for path in (tmp_path / "pkg" / "kernels" / "__pycache__").glob("caller.outer*"):
        path.unlink()
    assert run(tmp_path, INNER).stdout.strip() == "2.0 1 0"
    assert run(tmp_path, INNER).stdout.strip() == "2.0 0 1"


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"


def test_on_a_full_disk_kernels_run_and_one_warning_says_that_they_are_not_cached(tmp_path):
    pytest.importorskip("resource")
    package(tmp_path, "1.0")
    result = run(tmp_path, FULL + PROBE, PYTHONDONTWRITEBYTECODE="1")
    assert result.stdout.strip() == "2.0"
    assert result.stderr.count("cannot be cached") == 1
    assert str(tmp_path / "pkg" / "kernels" / "__pycache__") in result.stderr


IS_CACHED = "from pkg.compiling.jit import is_cached; from pkg.kernels.caller import outer; print(is_cached(outer))"


def test_code_is_cached_if_it_is_there_and_for_this_processor(tmp_path):
    package(tmp_path, "1.0")
    assert run(tmp_path, IS_CACHED).stdout.strip() == "False"
    run(tmp_path)
    assert run(tmp_path, IS_CACHED).stdout.strip() == "True"
    assert run(tmp_path, IS_CACHED, NUMBA_CPU_NAME="generic").stdout.strip() == "False"
    for path in (tmp_path / "pkg" / "kernels" / "__pycache__").glob("caller.outer*.nbc"):
        path.write_bytes(b"")
    assert run(tmp_path, IS_CACHED).stdout.strip() == "False"


TURNS = """
from contextlib import contextmanager

from numba.core.compiler_lock import global_compiler_lock
from numbo.compiling import turns
from pkg.compiling import jit

turn, waited = turns.turn, set()
jit.wait_at_most(0.1)


@contextmanager
def noted(path, name, patience, waiting):
    if patience:
        assert not global_compiler_lock.is_locked()
    with turn(path, name, patience, waiting) as came:
        if patience:
            waited.add((name, came))
        yield came


turns.turn = noted
from pkg.kernels.caller import outer
outer(1.0)
outer(1)  # for which it is as patient again
print(sorted(waited), jit.seconds_spent() >= %r)
"""


@locks
@pytest.mark.parametrize(
    ("held", "waited"),
    [
        (None, [("outer", True)]),
        ("inner", [("inner", False), ("outer", True)]),
        ("outer", [("outer", False)]),  # whoever compiles it compiles its callee, too
    ],
)
def test_a_kernel_waits_for_its_turn_and_for_its_callees_without_the_lock_of_the_compiler(held, waited, tmp_path):
    package(tmp_path, "1.0")
    (tmp_path / "pkg" / "kernels" / "__pycache__").mkdir(exist_ok=True)
    lock = str(tmp_path / "pkg" / "kernels" / "__pycache__" / "numbo.lock")
    with turns.turn(lock if held else None, held or "", 0.0):
        result = run(tmp_path, TURNS % (0.1 if held else 0.0))
    assert result.stdout.strip() == f"{waited} True", result.stderr


INTERRUPTED = """
import signal
from numba.core import event
from pkg.kernels.caller import outer


class Interrupt(event.Listener):
    def on_start(self, event):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, event):
        print("compiled")


signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may have begun without it
event.register("numba:compile", Interrupt())
try:
    outer(1.0)
except KeyboardInterrupt:
    print(len(outer.overloads))
"""


def test_an_interrupt_waits_until_a_kernel_is_compiled(tmp_path):
    package(tmp_path, "1.0")
    assert run(tmp_path, INTERRUPTED).stdout.split() == ["compiled", "compiled", "1"]


def test_without_any_writable_place_kernels_still_import_and_run(tmp_path):
    package(tmp_path, "1.0")
    shutil.rmtree(tmp_path / "pkg" / "kernels" / "__pycache__", ignore_errors=True)
    (tmp_path / "pkg" / "kernels" / "__pycache__").write_text("a file where the cache folder would be")
    home = tmp_path / "home"
    home.write_text("no folder either")
    variables = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    result = run(tmp_path, **variables)
    assert result.stdout.strip() == "2.0", result.stderr


def test_bounds_checks_are_part_of_the_stamp(monkeypatch):
    plain = jit.source_digest.__wrapped__()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1" if not os.environ.get("NUMBA_BOUNDSCHECK") else "")
    assert jit.source_digest.__wrapped__() != plain


@posix
def test_signals_wait_until_a_kernel_is_compiled():
    """An exception from a signal handler inside LLVM would crash the process later."""
    import signal

    from numbo.compiling.jit import signals_wait

    def interrupt(number, frame):
        raise KeyboardInterrupt

    done = []
    others = [
        signal.SIGUSR1,
        getattr(signal, "SIGRTMIN", signal.SIGUSR2) + 1,
    ]  # a signal without a name, if there are any
    handlers = {signal.SIGALRM: interrupt} | {s: lambda number, frame: done.append(number) for s in others}
    before = {s: signal.signal(s, handler) for s, handler in handlers.items()}

    def wait():
        with signals_wait():
            for s in handlers:
                signal.raise_signal(s)
            done.append("compiled")

    try:
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert done[0] == "compiled"
        assert sorted(done[1:]) == sorted(others)
        assert signal.getsignal(signal.SIGALRM) is interrupt
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


WARNED = """
import logging
from pkg.compiling import jit


class Heard(logging.Handler):
    def emit(self, record):
        print(record.levelname, record.name, len(outer.overloads), record.getMessage())


logging.getLogger("numbo").addHandler(Heard())
jit.wait_at_most(0.1)
jit.warn_after(%s)
from pkg.kernels.caller import outer
print(outer(1.0), outer(1))
"""


def test_a_warning_comes_once_while_one_waits_for_the_compiler(tmp_path):
    package(tmp_path, "1.0")
    assert run(tmp_path, WARNED % 3600.0).stdout.splitlines() == ["2.0 2.0"]
    package(tmp_path, "10.0")
    assert run(tmp_path, WARNED % None).stdout.splitlines() == ["11.0 11.0"]
    package(tmp_path, "100.0")
    first, last = run(tmp_path, WARNED % 0.0).stdout.splitlines()
    assert first.startswith("WARNING numbo.compiling 0 numbo compiles its kernels for this machine, once, and caches")
    assert "numbo.warmup()" in first
    assert last == "101.0 101.0"
    assert run(tmp_path, WARNED % 0.0).stdout.splitlines() == ["101.0 101.0"], "from the cache, in silence"


@locks
def test_a_warning_comes_while_another_process_compiles(tmp_path):
    package(tmp_path, "1.0")
    run(tmp_path, WARNED % None)
    lock = str(tmp_path / "pkg" / "kernels" / "__pycache__" / "numbo.lock")
    with turns.turn(lock, "outer", 0.0):
        first, last = run(tmp_path, WARNED % 0.0).stdout.splitlines()
    assert first.startswith("WARNING numbo.compiling 0 ")
    assert last == "2.0 2.0"


NOWHERE = """
from pkg.compiling import jit


class Nowhere:
    def __init__(self, function):
        raise RuntimeError("no folder is writable")


jit.KernelCache = Nowhere
"""


def test_a_warning_says_if_nothing_can_be_cached(tmp_path):
    package(tmp_path, "1.0")
    first, last = run(tmp_path, NOWHERE + WARNED % 0.0).stdout.splitlines()
    assert "in every process, as no cache folder is writable" in first
    assert last == "2.0 2.0"

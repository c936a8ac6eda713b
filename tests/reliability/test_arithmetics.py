"""Which arithmetics a machine has, and what is done under them."""

from __future__ import annotations

import argparse
import sys

import pytest
from tests.harness import arithmetics
from tests.harness.arithmetics import CORES, SAME, Arithmetic, cores, first_failing, left_out, other


def takes(*known):
    """An OpenBLAS that takes these kernels when it is told to, and else its own."""

    def chosen(variables):
        core = variables["OPENBLAS_CORETYPE"]
        return [SAME.get(core, core) if core in known else "Zen"]

    return chosen


def test_an_arithmetic_is_what_the_processor_can_do_and_openblas_takes():
    everything = set(CORES.values())
    assert cores(everything, takes(*CORES)) == list(CORES)
    assert cores(everything - {"avx512bw"}, takes(*CORES)) == list(CORES)[:-1]
    assert cores(everything, takes("Haswell")) == ["Haswell"]
    assert cores(set(), takes(*CORES)) == []


def test_numpy_leaves_out_what_a_processor_of_that_kind_cannot_do():
    loops = ["X86_V3", "X86_V4", "AVX512_ICL", "AVX2", "AVX512F"]
    assert left_out("SkylakeX", loops) == []
    assert left_out("Haswell", loops) == ["X86_V4", "AVX512_ICL", "AVX512F"]
    assert left_out("Prescott", loops) == loops


def test_the_other_one_is_the_nearest_that_is_not_the_machines_own_and_there_is_always_one():
    found = [Arithmetic(name, sys.executable) for name in ("Prescott", "Haswell", "SkylakeX", "Numba-generic")]
    assert [one.name for one in other(found, ["SkylakeX"])] == ["Haswell"]
    assert [one.name for one in other(found, ["Zen"])] == ["SkylakeX"]
    assert other(found[-1:], ["neoversen1"]) == found[-1:]


def test_what_can_be_had_here_is_really_taken():
    found = arithmetics.arithmetics()
    assert "Numba-generic" in {one.name for one in found}
    for one in found:
        if one.name in CORES:
            assert arithmetics.said(arithmetics.CHOSEN, one.variables) == [SAME.get(one.name, one.name)]


@pytest.mark.parametrize(("broken", "expected"), [("", ["a", "b", "c"]), ("b", ["a", "b"])])
def test_it_ends_at_the_first_failure(broken, expected, monkeypatch):
    run = []

    def exit_code(one, *arguments):
        run.append(one.name)
        assert arguments == ("tests/kernels",)
        return int(one.name == broken)

    monkeypatch.setattr(Arithmetic, "run", exit_code)
    failing = first_failing([Arithmetic(name, sys.executable) for name in "abc"], ["tests/kernels"])
    assert run == expected
    assert (failing.name if failing else "") == broken


def given(*words):
    parser = argparse.ArgumentParser()
    arithmetics.add_arguments(parser)
    return parser.parse_args(words)


def test_the_failing_arithmetic_is_named(monkeypatch):
    run = []
    monkeypatch.setattr(arithmetics, "arithmetics", lambda: [Arithmetic("Numba-generic", sys.executable)])
    monkeypatch.setattr(Arithmetic, "run", lambda one, *arguments: run.append((one.name, *arguments)) or 1)
    with pytest.raises(SystemExit, match=r"^Tests fail under the arithmetic Numba-generic\.$"):
        arithmetics.main(given("--only", "Numba-generic", "--", "-n", "1", "tests/kernels"))
    assert run == [("Numba-generic", "-n", "1", "tests/kernels")]


def test_what_cannot_be_had_is_refused(monkeypatch):
    monkeypatch.setattr(arithmetics, "arithmetics", lambda: [Arithmetic("Numba-generic", sys.executable)])
    with pytest.raises(SystemExit, match=r"^--only must be of Numba-generic, which can be had here; got Abacus\.$"):
        arithmetics.main(given("--only", "Abacus"))

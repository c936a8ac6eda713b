"""Studies that are interrupted at random times."""

from __future__ import annotations

import pytest
from tests.harness.interrupts import Outcome, interrupt_processes, interrupt_study


@pytest.mark.parametrize(("count", "jobs"), [(30, 1), (10, 2)])
def test_interrupts_get_out_of_a_study_and_lose_nothing(count, jobs):
    assert interrupt_study(count, jobs) == Outcome(sent=count, got_out=count)


def test_an_interrupted_process_ends_and_loses_nothing(tmp_path):
    assert interrupt_processes(2) == Outcome(sent=2, got_out=2)


def test_a_measurement_is_written_down(tmp_path):
    from tests.harness.interrupts import measure

    measure(tmp_path, {"main thread": 2})
    assert "| main thread | 2 | 2 | 0 | 0 |" in (tmp_path / "interrupts.md").read_text()

"""The benchmark of runs that prune: its tables, and what peers that choose the number of steps are charged."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.compare import curves
from benchmarks.problems import record_curves
from benchmarks.problems.curves import Task, problems, task
from benchmarks.samplers import budgets


@pytest.mark.parametrize("name", record_curves.PLANS)
def test_recorded_curves_are_those_of_the_plan(name):
    table, plan = task(f"recorded-{name}"), record_curves.PLANS[name]
    assert table.steps == plan.steps
    assert list(table.space) == list(plan.space)
    assert [type(d) for d in table.space.values()] == [type(d) for d in plan.space.values()]
    assert [d.log for d in table.space.values()] == [d.log for d in plan.space.values()]
    assert 0.0 < table.optimum < 0.8 * table.median
    assert np.isfinite(table.median)
    points = record_curves.configurations(name)
    ends = [table.curve(dict(zip(table.space, x, strict=True)))[-1] for x in points.tolist()]
    assert np.nanmin(ends) == table.optimum
    assert np.median(np.where(np.isfinite(ends), ends, np.inf)) == table.median


@pytest.mark.parametrize("name", record_curves.PLANS)
def test_a_curve_begins_as_it_was_recorded(name, monkeypatch):
    monkeypatch.setitem(record_curves.PLANS, name, record_curves.PLANS[name]._replace(steps=2))
    x = record_curves.configurations(name)[0].tolist()
    recorded = task(f"recorded-{name}").curve(dict(zip(record_curves.PLANS[name].space, x, strict=True)))
    assert record_curves.train(name, 0)["losses"] == pytest.approx(recorded[:2], rel=0.2)


def test_one_recorded_task_is_put_apart():
    names = {f"recorded-{name}" for name in record_curves.PLANS}
    assert len(names & set(problems())) == 2
    assert len(names & set(problems(apart=True))) == 1
    assert names <= {*problems(), *problems(apart=True)}


class Lines(Task):
    """Of which ``x`` is the value at each step, and those above 5 diverge at the third."""

    def __init__(self):
        self.steps, self.optimum, self.median = 10, 0.0, 10.0

    def curve(self, params):
        values = np.full(self.steps, float(params["x"]))
        if params["x"] > 5.0:
            values[2:] = np.nan
        return values


class Scripted(budgets.Peer):
    """Asks for what it is given."""

    def __init__(self, *asked):
        self.asked, self.told = list(asked), []

    def ask(self):
        x, steps = self.asked.pop(0)
        return {"x": x}, steps

    def tell(self, value):
        self.told.append(value)


def test_more_steps_of_a_configuration_cost_only_those_that_are_new():
    peer = Scripted((4.0, 3), (4.0, 10), (4.0, 10), (3.0, 9.6), (2.0, 1), (1.0, 10))
    found = curves.run_peer(peer, Lines(), (1, 2))
    assert found.regrets == pytest.approx([0.4, 0.3])
    assert (found.trials, found.ended) == (3, 2)
    assert peer.told == [4.0, 4.0, 4.0, 3.0]


def test_what_ran_to_fewer_steps_does_not_count_and_half_a_run_too_late_neither():
    peer = Scripted((1.0, 5), (3.0, 10), (2.0, 10), (0.5, 10))
    assert curves.run_peer(peer, Lines(), (1, 2)).regrets == pytest.approx([1.0, 0.3])


def test_what_diverges_costs_until_it_did_and_is_told_the_worst_value():
    peer = Scripted((4.0, 7), (6.0, 10), (6.0, 2), (3.0, 10), (1.0, 10))
    assert curves.run_peer(peer, Lines(), (1, 2)).regrets == pytest.approx([1.0, 0.3])
    assert peer.told == [4.0, 10.0, 6.0, 3.0]


def test_peers_run_once_without_a_pruner():
    found = curves.jobs(["TPE", "DEHB"], ["none", "median"], ["late-0"], 2, 1)
    assert len(found) == 6
    assert [job[:2] for job in found[:3]] == [("TPE", "none"), ("TPE", "median"), ("DEHB", curves.OWN)]
    assert not [job for job in curves.jobs(["DEHB"], ["none"], ["late-0"], 2, 4) if job[0] == "DEHB"]


@pytest.mark.parametrize("name", budgets.PEERS)
def test_a_peer_improves_on_the_median(name):
    pytest.importorskip(name.lower())
    row = curves.run_one(name, curves.OWN, "smooth-0", 0, 1)
    assert row["regrets"] == sorted(row["regrets"], reverse=True)
    assert row["regrets"][-1] < 0.8
    assert row["trials"] > row["ended"] > 0


def test_peers_are_ranked_beside_the_best_pruner_of_each_sampler_only():
    cells = {
        ("TPE", "none"): {"late-0": np.array([[0.3, 0.2, 0.1]])},
        ("TPE", "median"): {"late-0": np.array([[0.1, 0.2, 0.3]])},
        ("Random", "none"): {"late-0": np.array([[0.4, 0.4, 0.4]]), "late-1": np.array([[0.4, 0.4, 0.4]])},
        ("DEHB", curves.OWN): {"late-0": np.array([[0.2, 0.3, 0.05]])},
    }
    assert {name: places.tolist() for name, places in curves.ranks(cells).items()} == {
        "Random": [2] * 3,
        "TPE": [1] * 3,
    }
    found = {pair: places.tolist() for pair, places in curves.best_ranks(cells).items()}
    assert found == {("TPE", "none"): [2, 1, 2], ("Random", "none"): [3, 3, 3], ("DEHB", curves.OWN): [1, 2, 1]}

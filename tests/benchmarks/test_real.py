"""The benchmark of studies as people run them: its programs, and what its report says."""

from __future__ import annotations

import json

import numpy as np
import optuna
import pytest

from benchmarks.compare import real
from benchmarks.problems.programs import PROGRAMS, TooLargeError, names


def config_of(name, seed=0):
    """A random configuration."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    return PROGRAMS[name].suggest(study.ask())


@pytest.mark.parametrize("name", [*names(), *names(apart=True)])
def test_programs_report_after_each_step_and_are_noisy(name):
    of = PROGRAMS[name]
    configs = (config_of(name, k) for k in range(200))
    config = next(c for c in configs if c.get("rate", 0.0) < 0.01 and works(of, c))  # which never diverges
    one = list(of.values(config, np.random.default_rng(0)))
    assert len(one) == of.steps
    assert np.isfinite(one).all()
    ends = [list(of.values(config, np.random.default_rng(k)))[-1] for k in range(4)]
    assert len(set(ends)) > 1
    assert max(ends) <= 10.0


def works(of, config):
    try:
        return all(np.isfinite(v) for v in of.values(config, np.random.default_rng(0)))
    except (TooLargeError, ValueError):
        return False


def test_what_fails_has_the_worst_true_value():
    of = PROGRAMS["wine"]
    config = {"model": "boosting", "subsample": 0.1, "least": 60, "depth": 1, "features": 1.0, "shrinkage": 0.1}
    assert of.ends(config, np.random.default_rng(0), tested=True).tolist() == [of.worst] * 10


def test_half_of_the_programs_are_put_apart():
    assert not set(names()) & set(names(apart=True))
    assert len(names()) == len(names(apart=True))


def row(sampler, seed, value, luckiest, **more):
    marks = [{"trials": 60, "cost": 20.0, "recommended": value, "luckiest": luckiest, "measured": 0.1, **more}]
    study = {"sampler": sampler, "pruner": "median", "problem": "wine", "aside": True, "seed": seed, "to": 60}
    return study | {"marks": marks}


def test_the_report_compares_pairs_and_says_whether_luck_was_avoided(tmp_path):
    rows = [row("GSSBO", 0, 0.1, 0.2, stated=0.05), row("GSSBO", 1, 0.3, 0.3, stated=0.2)]
    rows += [row("TPE", 0, 0.2, 0.2), row("TPE", 1, 0.1, 0.1)]
    path = tmp_path / "real.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    real.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| median | wine | 2 | 0.2000 (0.3000) | 0.1500 (0.2000) | TPE 1:1 |" in text
    assert "| GSSBO | median | 2 | 1 | 1 | 0 | 0.88 / 1.25 / 1.62 |" in text


def test_a_study_is_run_marked_and_judged(monkeypatch):
    monkeypatch.setattr(real, "MARKS", (6,))
    found = real.run_one("Random", "median", "wine", 0, 6)
    (mark,) = found["marks"]
    assert mark["trials"] == 6
    assert mark["recommended"] == mark["luckiest"] <= PROGRAMS["wine"].worst
    assert 0.0 < mark["cost"] <= 6.0


def test_what_is_spent_is_marked_beside_trials(monkeypatch):
    monkeypatch.setattr(real, "MARKS", (6,))
    monkeypatch.setattr(real, "COSTS", (2, 5))
    found = real.run_one("Random", "none", "wine", 0, 6)
    assert [one.get("runs") for one in found["marks"]] == [2, 5, None]
    costs = [one["cost"] for one in found["marks"]]
    assert costs[0] >= 2.0
    assert costs[1] >= 5.0
    assert found["marks"][-1]["trials"] == 6


def test_the_report_counts_pairs_by_kind(tmp_path):
    rows = [row("GSSBO", 0, 0.1, 0.1), row("TPE", 0, 0.2, 0.2), row("GSSBO", 1, 0.3, 0.3), row("TPE", 1, 0.4, 0.4)]
    spent = [{**one, "marks": [{**one["marks"][0], "runs": 12, "recommended": 0.5}]} for one in rows]
    path = tmp_path / "real.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    real.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "| trained, aside | median | 2:0 |" in text
    assert "full runs" not in text.split("## ", 1)[1]
    path.write_text("".join(json.dumps(one) + "\n" for one in spent))
    real.write_report(path)
    text = path.with_suffix(".md").read_text()
    assert "## The cost of 12 full runs" in text
    assert "| trained, aside | median | 0:0 |" in text

"""The examples run as a user would run them, in short form."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.arithmetic


def run(name: str, *arguments: str, silent: bool = True, **environment: str) -> str:
    """What an example prints; a ``silent`` one gives no warning (Ray gives some of its own)."""
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert result.returncode == 0, result.stderr
    assert not (silent and "Warning" in result.stderr)
    return result.stdout


def test_diabetes_network_search():
    printed = run("nas_diabetes", "--trials", "20")
    error = float(re.search(r"Best test error ([\d.]+)%", printed)[1])
    assert 15.0 < error < 24.0
    for name in ("batch_size", "learning_rate", "learning_rate_decay", "hidden_units", "Training took"):
        assert name in printed


def test_a_network_with_pruning():
    printed = run("pruning", "--trials", "20")
    assert 0.05 < float(re.search(r"Best validation loss ([\d.]+) of 20", printed)[1]) < 0.2
    pruned, epochs = map(int, re.search(r"(\d+) were pruned: (\d+) of 600", printed).groups())
    assert pruned > 3
    assert epochs < 500


def check_accuracy_under_a_limit(printed: str, trials: int, at_least: int) -> None:
    met = int(re.search(rf"(\d+) of {trials} trials met the limit of [\d.]+ ms", printed)[1])
    assert met >= at_least
    found = float(re.search(r"Best accuracy found under the limit: ([\d.]+)%", printed)[1])
    there = float(re.search(r"Best accuracy there is: ([\d.]+)%", printed)[1])
    assert 80.0 < found <= there


def test_a_network_of_limited_size():
    printed = run("small_network", "--trials", "16", "--weights", "1500")
    assert 4 <= int(re.search(r"(\d+) of 16 networks have at most 1500 weights", printed)[1]) <= 16
    loss, weights = re.search(r"Best validation loss ([\d.]+) with (\d+) weights", printed).groups()
    assert 0.05 < float(loss) < 0.6
    assert int(weights) <= 1500


def check_front(found: list[tuple[str, ...]], printed: str, *, rising: bool) -> None:
    """Of pairs with the best of the first value first, the second ones get better too."""
    assert len(found) == int(re.search(r"No network is better in both than these (\d+) of", printed)[1]) >= 2
    first, second = ([float(pair[j]) for pair in found] for j in range(2))
    assert first == sorted(first, reverse=not rising)
    assert second == sorted(second, reverse=True)


def test_networks_of_all_sizes():
    printed = run("network_size", "--trials", "16")
    check_front(re.findall(r"loss ([\d.]+) with (\d+) weights, of \d", printed), printed, rising=True)
    half, end = map(float, re.search(r"Volume ([\d.]+) after half of the trials, ([\d.]+) after all", printed).groups())
    assert 0.5 < half <= end < 3.0


def check_accuracy_against_latency(printed: str) -> list[tuple[str, ...]]:
    found = re.findall(r"([\d.]+)% in ([\d.]+) ms; the most accurate as fast has ([\d.]+)%", printed)
    check_front(found, printed, rising=False)
    assert all(float(accuracy) <= float(there) for accuracy, _, there in found)
    return found


def test_accuracy_against_latency():
    printed = run("trade_off", "--trials", "40")
    found = check_accuracy_against_latency(printed)
    assert float(found[0][0]) > 85.0
    assert float(found[-1][1]) < 12.0


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_accuracy_against_latency_on_ray(local_ray):
    printed = run("ray_trade_off", "--trials", "12", silent=False, RAY_ADDRESS=local_ray)
    found = check_accuracy_against_latency(printed)
    assert float(re.search(r"Tune's best result has ([\d.]+)%", printed)[1]) == float(found[0][0])


def test_a_network_under_a_limit():
    check_accuracy_under_a_limit(run("constraints", "--trials", "40"), 40, at_least=9)  # a fifth of all networks are 8
    printed = run("constraints", "--trials", "4", "--limit", "0.001")
    assert "0 of 4 trials met the limit of 0.001 ms\nBest accuracy found under the limit: none\n" in printed


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_network_under_a_limit_on_ray(local_ray):
    printed = run("constraints", "--ray", "--trials", "12", silent=False, RAY_ADDRESS=local_ray)
    check_accuracy_under_a_limit(printed, 12, at_least=1)


def test_programs_that_branch():
    printed = run("pipeline", "--trials", "14")
    assert 40.0 < float(re.search(r"Best error ([\d.]+) in", printed)[1]) < 66.0
    assert "is asked for where model is" in printed
    printed = run("deep_network", "--trials", "14")
    assert 0.4 < float(re.search(r"Best test loss ([\d.]+) in", printed)[1]) < 0.7
    assert "where layers >= " in printed


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_branching_space_on_ray(local_ray):
    printed = run("ray_pipeline", "--trials", "6", silent=False, RAY_ADDRESS=local_ray)
    assert 40.0 < float(re.search(r"Best error ([\d.]+) of 6 trials", printed)[1]) < 70.0
    best = json.loads(printed[printed.index("{") :])
    assert best.keys() == {"scaler", "features", "model"}
    assert best["model"]["kind"] in ("svm", "linear", "neighbours", "boosting")


@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("name", ["ray_nas", pytest.param("ray_optuna", marks=pytest.mark.slow)])
def test_diabetes_network_search_on_ray(name, local_ray):
    printed = run(name, "--trials", "8", silent=False, RAY_ADDRESS=local_ray)
    error = float(re.search(r"Best test error ([\d.]+)% of 8 trials", printed)[1])
    assert 15.0 < error < 30.0
    assert "hidden_units" in printed


def test_quickstart():
    printed = run("quickstart", "--trials", "20")
    assert float(re.search(r"Best accuracy ([\d.]+)%", printed)[1]) > 96.0
    shares = re.findall(r"(kernel|C|gamma) (\d+)%", re.search(r"relevance   (.*)", printed)[1])
    assert {name for name, _ in shares} == {"kernel", "C", "gamma"}
    assert 98 <= sum(int(share) for _, share in shares) <= 102


def measured_again(trial, trials):
    """Whether a trial repeats one that was complete before, and the best when the repeat may have been asked for."""
    for first in trials:
        if first.params == trial.params and first.datetime_complete < trial.datetime_complete:
            asked = max(first.datetime_complete, trial.datetime_start)
            if all(first.value <= t.value for t in trials if t.datetime_complete <= asked):
                return True
    return False


def test_processes_over_a_database(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    printed = run("parallel_database", "--storage", url, "--workers", "2", "--trials", "30")
    found = re.search(r"(\d+) trials by 2 workers in .* s, (\d+) of them different", printed)
    trials = optuna.load_study(study_name="parallel", storage=url).get_trials()
    meant = sum(measured_again(trial, trials) for trial in trials)  # to see if values are noisy
    assert int(found[1]) == int(found[2]) + meant >= 30
    assert meant <= 2


def test_a_whole_study(tmp_path):
    printed = run("whole_study", "--storage", f"sqlite:///{tmp_path}/whole.db", "--trials", "16", "--workers", "2")
    found = re.findall(r"-month: (\d+) trials, (\d+) pruned, (\d+) failed\n  (\d+) of (\d+) steps", printed)
    assert len(found) == 2
    for trials, pruned, failed, steps, most in (map(int, one) for one in found):
        assert 16 <= trials <= 17
        assert most == 15 * trials
        assert 15 * (trials - pruned - failed) <= steps <= most
    loss, kilobytes = re.findall(r"best loss ([\d.]+) with (\d+) kB", printed)[-1]
    assert 0.03 < float(loss) < 2.3
    assert int(kilobytes) <= 200
    assert "Constraints, met at 0 or less" in printed
    assert "<h2>The model along the most relevant parameters" in (tmp_path / "whole.html").read_text()


def test_the_page_of_the_whole_study_shows_its_lines():
    program = (ROOT / "examples" / "whole_study.py").read_text()
    excerpts = re.findall(r"```py\n(.*?)```", (ROOT / "docs/guides/whole.md").read_text(), flags=re.DOTALL)
    assert len(excerpts) >= 4
    assert [excerpt for excerpt in excerpts if excerpt not in program] == []


def test_materials(tmp_path):
    printed = run("materials", "--batches", "6", "--size", "16")
    assert int(re.search(r"the table holds (\d+) better ones", printed)[1]) <= 3
    assert "after 96 of 4000 measurements" in printed
    table = tmp_path / "mine.csv"
    table.write_text("a,b,strength\n" + "".join(f"{i},{i % 7},{-abs(i - 40)}\n" for i in range(100)))
    printed = run("materials", "--table", str(table), "--target", "strength", "--batches", "4", "--size", "8")
    assert "strength 0.00; the table holds 0 better ones" in printed


def test_warm_start():
    printed = run("warm_start", "--trials", "30")
    before = float(re.search(r"TPE after 30 trials: ([\d.]+)", printed)[1])
    after = float(re.search(r"GSSBO after 63 trials in all: ([\d.]+)", printed)[1])
    assert after < before


@pytest.mark.slow
@pytest.mark.parametrize(("name", "trials", "shown"), [("looking_inside", 250, 5), ("five_minutes", 60, 3)])
def test_the_notebooks_run_and_show_their_plots(name, trials, shown):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    committed = [pictures(cell) for cell in notebook.cells]
    assert sum(committed) == shown
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace(f"n_trials={trials}", "n_trials=40")
    patient = {"timeout": None, "startup_timeout": 3600, "iopub_timeout": 3600}
    client.NotebookClient(notebook, kernel_name="python3", **patient).execute()
    assert [pictures(cell) for cell in notebook.cells] == committed


def pictures(cell) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))

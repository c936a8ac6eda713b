"""Optuna's dashboard shows a study made with numbo, in a real browser."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request

import optuna
import pytest
from tests.optuna.browser import chromium
from tests.optuna.inside import storage_of

import numbo.optuna
from numbo.optuna import GSSBOSampler


@pytest.fixture(params=[1, 2], ids=["one objective", "two objectives"])
def dashboard(request, tmp_path):
    """The URL of a dashboard over a study of 30 trials."""
    pytest.importorskip("optuna_dashboard", reason="pip install optuna-dashboard")
    storage, directions = f"sqlite:///{tmp_path}/study.db", ["minimize", "maximize"][: request.param]
    settings = {"study_name": "tuned-by-numbo", "storage": storage, "directions": directions}
    study = optuna.create_study(sampler=GSSBOSampler(seed=0), **settings)

    def objective(trial):
        x, act = trial.suggest_float("rate", 1e-3, 1.0, log=True), trial.suggest_categorical("act", ["relu", "tanh"])
        value = x + (act == "tanh")
        if request.param == 1:
            return value
        numbo.optuna.report(trial, (value, x), 1)
        numbo.optuna.report(trial, (float("inf"), x), 2)
        return value, x

    study.optimize(objective, n_trials=30)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"from optuna_dashboard import run_server; run_server({storage!r}, host='127.0.0.1', port={port})"
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/dashboard"
    try:
        while True:
            try:
                urllib.request.urlopen(url)
                break
            except OSError:
                assert server.poll() is None, "the dashboard has ended"
                time.sleep(0.1)
        yield url, study
    finally:
        server.kill()
        server.wait()


def test_a_study_in_the_dashboard(dashboard, tmp_path):
    url, study = dashboard
    errors = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(0)  # however slow the machine
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        page.get_by_text("tuned-by-numbo").first.wait_for()
        _, number = storage_of(study)
        page.goto(f"{url}/studies/{number}")
        if len(study.directions) == 1:
            page.get_by_text(f"Best Trial (number={study.best_trial.number})").first.wait_for()
        else:
            page.get_by_text("Best Trials").first.wait_for()
            for trial in study.best_trials[:3]:
                page.get_by_text(f"Trial {trial.number}").first.wait_for()
        overview = page.inner_text("body")
        page.screenshot(path=str(tmp_path / "study.png"))
        page.goto(f"{url}/studies/{number}/trials")
        page.get_by_text("30 Trials").first.wait_for()
        page.screenshot(path=str(tmp_path / "trials.png"))
    if len(study.directions) == 1:
        assert f"act: {study.best_params['act']}" in overview
    assert not errors

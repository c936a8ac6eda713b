"""The OptunaHub package, loaded as the hub loads it, without a network."""

from __future__ import annotations

import re
from pathlib import Path

import optuna
import pytest

optunahub = pytest.importorskip("optunahub")

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "integrations" / "optunahub" / "package"
FOLDER = PACKAGES / "samplers" / "numbo"


@pytest.fixture(scope="module")
def module():
    return optunahub.load_local_module("samplers/numbo", registry_root=str(PACKAGES))


def test_every_sampler_is_there_and_works(module):
    import numbo.optuna

    assert set(module.__all__) == {name for name in numbo.optuna.__all__ if name.endswith("Sampler")}
    for name in module.__all__:
        study = optuna.create_study(sampler=getattr(module, name)(seed=0, n_startup_trials=3))
        study.optimize(lambda t: t.suggest_float("x", -1, 1) ** 2, n_trials=8)
        found = study.sampler.explain()
        assert (found.algorithm, found.n_told) == (name.removesuffix("Sampler"), 8)


def test_the_front_matter_is_what_the_registry_asks_for():
    _, front, text = (FOLDER / "README.md").read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.strip().splitlines())
    assert set(fields) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in fields["tags"].strip("[]").split(", ")
    assert fields["license"] == "MIT License"
    sections = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert sections == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert not re.search(r"</?[a-z]+>", text), "the registry removes HTML"
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.arithmetic
def test_the_examples_run(module, monkeypatch):
    monkeypatch.setattr(optunahub, "load_module", lambda package: {"samplers/numbo": module}[package])
    (block,) = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), flags=re.DOTALL)
    for code in (block, (FOLDER / "example.py").read_text()):
        values: dict[str, object] = {"__name__": "__main__"}
        exec(compile(code, "example", "exec"), values)
        study = values["study"]
        assert isinstance(study, optuna.Study)
        assert len(study.trials) == 100
        assert study.best_value < 0.05

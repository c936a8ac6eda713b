"""``python -m numbo look``: what it prints and writes of a study, and that it changes nothing."""

from __future__ import annotations

import itertools
import os
import re
import sqlite3
import sys
from base64 import b64decode
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from tests.harness.programs import NAMED, constrain
from tests.optuna.browser import chromium

import numbo.optuna
from numbo import __main__ as command
from numbo.optuna import GSSBOSampler
from numbo.plot import _svg, matplotlib

NAME = "<script>alert('no')</script>"
LIMIT = "small & fast" if NAMED else "0"


def train(trial):
    x = trial.suggest_float("<i>x</i>", 0.0, 1.0)
    kind = trial.suggest_categorical("kind", ["<b>", "b"])
    if trial.number % 7 == 3:
        raise ValueError
    constrain(trial, LIMIT, x - 0.9)
    return (x - 0.4) ** 2 + (kind == "b")


@pytest.fixture(scope="module")
def study():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0))
    study.optimize(train, n_trials=16, catch=ValueError)
    return study


@pytest.fixture(scope="module", params=["sqlite", "journal"])
def stored(request, study, tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "studies of a day"
    url = f"sqlite:///{path}"
    storage = url if request.param == "sqlite" else JournalStorage(JournalFileBackend(str(path)))
    optuna.create_study(study_name=NAME, storage=storage).add_trials(study.trials)
    return path


def look(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["numbo", "look", *map(str, arguments)])
    command.main()
    return capsys.readouterr().out


def refusal(monkeypatch, capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        look(monkeypatch, capsys, *arguments)
    assert ended.value.code == 2
    out, error = capsys.readouterr()
    assert out == ""
    return error


def squeezed(text):
    """The text with one space where columns are apart."""
    return re.sub(" +", " ", text)


def row(*cells):
    """The beginning of a row of a table, squeezed."""
    return "\n " + " ".join(map(str, cells))


class Words(HTMLParser):
    """The text of a page, and its tags with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.text, self.tags = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_what_it_prints_is_what_the_sampler_knows_and_nothing_is_written(stored, study, monkeypatch, capsys):
    before = {path: path.read_bytes() for path in stored.parent.iterdir()}
    out = squeezed(look(monkeypatch, capsys, stored))
    assert {path: path.read_bytes() for path in stored.parent.iterdir()} == before
    assert NAME in out
    assert "14 complete, 2 fail" in out
    best = study.best_trial
    loaded = optuna.create_study(sampler=GSSBOSampler(seed=0))
    loaded.add_trials(study.trials)
    recommended = numbo.optuna.best_predicted_trial(loaded)
    both = (best, recommended)
    assert row("trial", *(trial.number for trial in both)) in out
    predicted = (numbo.optuna.predict(loaded, trial.params) for trial in both)
    assert row("expected, ± 2 sd", *(f"{mean:.6g} ± {2.0 * std:.2g}" for mean, std in predicted)) in out
    assert row("<i>x</i>", *(f"{trial.params['<i>x</i>']:.6g}" for trial in both)) in out
    model = numbo.optuna.explain(loaded)
    for line in str(model).splitlines()[1:]:
        label, words = line.split(maxsplit=1)
        if label != "last":  # how long this process took
            assert row(label, words) in out
    margins = (f"{trial.params['<i>x</i>'] - 0.9:.6g}" for trial in both)
    assert row(LIMIT, f"{model.violated[LIMIT]:.0%}", *margins) in out


def test_the_page_is_whole_and_everything_from_the_study_is_text(stored, monkeypatch, capsys, tmp_path):
    file = tmp_path / "page.html"
    out = look(monkeypatch, capsys, stored, NAME, "--html", file)
    page = Words(file.read_text(encoding="utf-8"))
    text = "".join(page.text)
    tags = [tag for tag, _ in page.tags]
    assert "script" not in tags
    assert "i" not in tags
    assert "b" not in tags
    assert NAME in text
    assert "<i>x</i>" in text
    assert LIMIT in text
    for line in out.splitlines()[:-1]:
        for word in line.split():
            assert word in text
    pictures = [attrs for tag, attrs in page.tags if tag == "img"]
    assert len(pictures) == 3
    assert all(one["src"].startswith("data:image/svg+xml;base64,") and one["alt"] for one in pictures)
    for one in pictures:
        drawn = b64decode(one["src"].partition(",")[2]).decode()
        assert "prefers-color-scheme: dark" in drawn
        assert "currentColor" in drawn
        assert re.search(r'id="patch_1">\s*<path [^>]*fill: none', drawn)  # the ground is that of the page
    assert not any("http" in str(value) for _, attrs in page.tags for value in attrs.values())


def test_several_objectives_have_a_front(monkeypatch, capsys, tmp_path):
    url = f"sqlite:///{tmp_path}/two.db"
    study = optuna.create_study(storage=url, directions=["minimize", "maximize"], sampler=GSSBOSampler(seed=0))
    study.optimize(lambda t: (t.suggest_float("x", 0.0, 1.0), t.params["x"] ** 0.5), n_trials=8)
    page = tmp_path / "page.html"
    out = look(monkeypatch, capsys, url, "--html", page)
    found = numbo.optuna.front(study)
    assert f"Front, {len(found)} trials" in out
    assert "goal minimize objective 0, maximize objective 1" in squeezed(out)
    for trial, values in found:
        stds = numbo.optuna.predict(study, trial.params)[1]
        expected = (f"{value:.6g} ± {2.0 * std:.2g}" for value, std in zip(values, stds, strict=True))
        assert row(trial.number, *expected, f"x={trial.params['x']:.6g}") in squeezed(out)
    assert "Model of objective 0" in out
    assert "Model of objective 1" in out
    assert "Best trials" not in out
    assert "BKBSampler optimises one objective" in refusal(monkeypatch, capsys, url, "--sampler", "BKB")
    assert len([tag for tag, _ in Words(page.read_text()).tags if tag == "img"]) == 3


def test_a_long_front_is_shown_from_end_to_end_with_its_margins(monkeypatch, capsys, tmp_path):
    url = f"sqlite:///{tmp_path}/front.db"
    study = optuna.create_study(storage=url, directions=["minimize", "minimize"])
    for i in range(30):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
        constrain(trial, LIMIT, i / 29 - 2.0)
        study.tell(trial, (trial.params["x"], 1.0 - trial.params["x"]))
    study.sampler = GSSBOSampler(seed=0)
    out = squeezed(look(monkeypatch, capsys, url))
    found = [trial.number for trial, _ in numbo.optuna.front(study)]
    listed = [number for number in found if re.search(rf"\n {number} \S+ ± ", out)]
    assert f"Front, {len(found)} trials by expected values ± 2 sd, 20 of them" in out
    assert len(listed) == 20
    assert (listed[0], listed[-1]) == (found[0], found[-1])
    assert max(np.diff([found.index(number) for number in listed])) <= 2
    assert f"{LIMIT}, met at 0 or less" in out
    assert f"{found[0] / 29 - 2.0:.6g} x=" in out


def test_a_study_without_a_success_says_so(monkeypatch, capsys, tmp_path):
    url = f"sqlite:///{tmp_path}/none.db"
    study = optuna.create_study(storage=url)
    words = f"STUDY must have a finished trial; {study.study_name!r} has "
    assert refusal(monkeypatch, capsys, url) == f"{words}no trial.\n"
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    assert refusal(monkeypatch, capsys, url) == f"{words}1 running.\n"
    study.tell(trial, state=optuna.trial.TrialState.FAIL)
    assert "1 fail" in look(monkeypatch, capsys, url, "--html", tmp_path / "page.html")
    assert "<img" not in (tmp_path / "page.html").read_text()


def test_what_cannot_be_read_is_refused_in_one_sentence_and_not_made(monkeypatch, capsys, tmp_path):
    missing = tmp_path / "missing.db"
    assert "must be the URL of a database or an existing file" in refusal(monkeypatch, capsys, missing)
    assert "existing file" in refusal(monkeypatch, capsys, f"sqlite:///{missing}")
    assert not missing.exists()
    text = tmp_path / "notes.txt"
    text.write_text("no journal\nnor a database\n")
    assert "cannot be read" in refusal(monkeypatch, capsys, text)
    assert "file is not a database" in refusal(monkeypatch, capsys, f"sqlite:///{text}")
    empty = tmp_path / "empty.db"
    empty.write_bytes(b"")
    assert "holds none" in refusal(monkeypatch, capsys, empty)
    url = f"sqlite:///{tmp_path}/three.db"
    failed = optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL)
    for name in ("a", "b", "c"):
        optuna.create_study(study_name=name, storage=url).add_trial(failed)
    assert refusal(monkeypatch, capsys, url) == ("STUDY must be one of the 3 studies in the storage: 'a', 'b', 'c'.\n")
    assert refusal(monkeypatch, capsys, url, "d").endswith("'a', 'b', 'c'; got 'd'.\n")
    words = refusal(monkeypatch, capsys, url, "a", "--html", tmp_path / "no folder" / "page.html")
    assert words.startswith("--html must be a file that can be written, got ")
    assert len(words.splitlines()) == 1


@pytest.mark.parametrize("url", ["sqlit:///a.db", "sqlite://a.db", "journal:///a", "https://a.example/b"])
def test_what_is_no_url_of_a_database_is_told_what_is(monkeypatch, capsys, url):
    example = "the URL of a database, such as sqlite:///studies.db, or an existing file"
    assert refusal(monkeypatch, capsys, url) == f"STORAGE must be {example}, got {url!r}.\n"


def test_a_file_is_read_where_nothing_can_be_written(study, monkeypatch, capsys, tmp_path):
    path = tmp_path / "wal.db"
    optuna.create_study(storage=f"sqlite:///{path}").add_trials(study.trials)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = wal")
    database.close()
    assert list(tmp_path.iterdir()) == [path]
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path and access(path, mode))
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name, **more: opened.append(name) or connect(name, **more))
    assert "14 complete, 2 fail" in look(monkeypatch, capsys, path)
    assert list(tmp_path.iterdir()) == [path]
    assert all("immutable=1" in name for name in opened)


@pytest.mark.parametrize("stored", ["sqlite"], indirect=True)
def test_a_look_does_not_wait_for_one_who_writes(stored, monkeypatch, capsys):
    writer = sqlite3.connect(stored, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE trials SET number = number")
    assert "14 complete, 2 fail" in look(monkeypatch, capsys, stored)
    writer.execute("COMMIT")
    assert writer.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    writer.close()


@pytest.mark.parametrize("stored", ["journal"], indirect=True)
def test_a_line_that_is_being_written_is_left_out(stored, monkeypatch, capsys, tmp_path):
    torn = tmp_path / "torn"
    torn.write_bytes(stored.read_bytes() + b'{"op_code": 4, "worker')
    before = torn.read_bytes()
    assert "14 complete, 2 fail" in look(monkeypatch, capsys, torn)
    assert torn.read_bytes() == before
    assert list(tmp_path.iterdir()) == [torn]


def test_a_storage_of_another_version_is_refused_and_not_upgraded(monkeypatch, capsys, tmp_path):
    path = tmp_path / "old.db"
    optuna.create_study(storage=f"sqlite:///{path}")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE alembic_version SET version_num = 'v3.0.0.d'")
    before = path.read_bytes()
    assert "optuna storage upgrade" in refusal(monkeypatch, capsys, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("stored", ["sqlite"], indirect=True)
def test_a_reader_may_close_the_pipe(stored, monkeypatch, capsys):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit) as ended:
            look(monkeypatch, capsys, stored)
    assert ended.value.code == 1


def test_no_form_of_a_url_makes_a_file(monkeypatch, capsys, tmp_path):
    missing = tmp_path / "missing.db"
    for url in (
        f"sqlite+pysqlite:///{missing}",
        f"sqlite:///file:{missing}?uri=true",
        f"sqlite:///{missing}?timeout=9",
    ):
        assert "existing file" in refusal(monkeypatch, capsys, url)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["sqlite:///{}", "sqlite+pysqlite:///{}", "sqlite:///file:{}?mode=rw&uri=true"])
def test_an_existing_database_is_read_by_each_form_of_its_url(monkeypatch, capsys, tmp_path, form):
    optuna.create_study(study_name="a", storage=f"sqlite:///{tmp_path}/a.db").add_trial(
        optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL)
    )
    assert "1 fail" in look(monkeypatch, capsys, form.format(tmp_path / "a.db"))


def test_a_page_does_not_overwrite_the_storage(stored, monkeypatch, capsys):
    before = stored.read_bytes()
    other = stored.parent / ".." / stored.parent.name / stored.name
    assert "another file than the storage" in refusal(monkeypatch, capsys, stored, "--html", other)
    assert stored.read_bytes() == before


def test_a_terminal_obeys_no_name(monkeypatch, capsys, tmp_path):
    url = f"sqlite:///{tmp_path}/odd.db"
    study = optuna.create_study(study_name="red\x1b[31m", storage=url)
    study.optimize(lambda t: t.suggest_float("x\ny", 0.0, 1.0), n_trials=3)
    out = look(monkeypatch, capsys, url)
    assert all(character.isprintable() for character in out.replace("\n", ""))
    assert "red\\x1b[31m" in out
    assert "relevance  x\\ny 100%" in out


def test_a_page_has_the_last_trials(stored, study, monkeypatch, capsys, tmp_path):
    file = tmp_path / "page.html"
    look(monkeypatch, capsys, stored, "--html", file)
    text = " ".join(Words(file.read_text(encoding="utf-8")).text)
    assert f"The last {len(study.trials)} trials" in text
    for trial in study.trials:
        value = "-" if trial.value is None else f"{trial.value:.6g}"
        assert f" {trial.number} {trial.state.name.lower()} {value} <i>x</i>={trial.params['<i>x</i>']:.6g}" in text


def test_a_page_with_signs_of_formulas_has_all_plots_of_the_most_relevant_parameters(monkeypatch, capsys, tmp_path):
    url = f"sqlite:///{tmp_path}/many.db"
    study = optuna.create_study(storage=url)
    study.optimize(lambda t: sum(t.suggest_float(f"$p^{i}$", 0.0, 1.0) for i in range(9)), n_trials=5)
    open_before = plt.get_fignums()
    look(monkeypatch, capsys, url, "--html", tmp_path / "page.html")
    assert plt.get_fignums() == open_before
    pictures = [attrs["src"] for tag, attrs in Words((tmp_path / "page.html").read_text()).tags if tag == "img"]
    assert len(pictures) == 3
    drawn = b64decode(pictures[1].partition(",")[2]).decode()
    assert sum(f"<!-- $p^{i}$ -->" in drawn for i in range(9)) == 6


def test_learning_curves_are_shown_by_day_and_by_night_and_many_marks_are_pixels(monkeypatch, capsys, tmp_path):
    url = f"sqlite:///{tmp_path}/curves.db"
    study = optuna.create_study(storage=url)
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    pruned, complete = optuna.trial.TrialState.PRUNED, optuna.trial.TrialState.COMPLETE
    for i in range(480):  # more than 300 are outside of the model
        x = (7 * i % 480) / 480
        reports = {step: x + 1.0 / (step + 1) for step in range(3 if i % 30 else 6)}
        state = pruned if i % 30 else complete
        values = {"value": reports[5]} if state == complete else {}
        study.add_trial(
            optuna.trial.create_trial(
                state=state, params={"x": x}, distributions=space, intermediate_values=reports, **values
            )
        )
    look(monkeypatch, capsys, url, "--html", tmp_path / "page.html")
    pictures = {a["alt"]: a["src"] for tag, a in Words((tmp_path / "page.html").read_text()).tags if tag == "img"}
    assert "Learning curves" in pictures
    drawn = {name: b64decode(source.partition(",")[2]).decode() for name, source in pictures.items()}
    assert "#202124" not in drawn["Learning curves"]  # the best curve has the colour of the text
    assert "data:image/png" in drawn["All trials"]
    study.sampler = GSSBOSampler(seed=0)
    monkeypatch.setattr(_svg, "VECTORS", 480)
    whole = _svg.svg_of(matplotlib.plot_subset, study)
    assert "data:image/png" not in whole
    sizes = [len(marks.get_offsets()) for marks in matplotlib.plot_subset(study)[0].collections]
    assert whole.count("<use") - drawn["All trials"].count("<use") == sum(size for size in sizes if size > 300)
    plt.close("all")


GROUND = "getComputedStyle(document.body).backgroundColor"
PICTURES = "Array.from(document.images, picture => picture.naturalWidth)"


@pytest.mark.parametrize("stored", ["sqlite"], indirect=True)
def test_a_browser_shows_the_page_at_any_width_by_day_and_by_night(stored, monkeypatch, capsys, tmp_path):
    file = tmp_path / "page.html"
    look(monkeypatch, capsys, stored, "--html", file)
    asked = []
    grounds = []
    with chromium() as browser:
        for scheme, width in itertools.product(("light", "dark"), (400, 1280)):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.on("request", lambda request: asked.append(request.url.partition(":")[0]))
            page.goto(file.as_uri())
            grounds.append(page.evaluate(GROUND))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert all(width > 0 for width in page.evaluate(PICTURES))
            assert not page.get_by_text("complete", exact=True).first.is_visible()
            page.locator("summary").click()
            assert page.get_by_text("complete", exact=True).first.is_visible()
            page.screenshot(path=str(tmp_path / f"{scheme} {width}.png"), full_page=True)
    assert set(asked) <= {"file", "data"}
    assert len(set(grounds)) == 2

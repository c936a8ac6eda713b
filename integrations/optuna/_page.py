"""What is known of a study in a storage, as text and as a page: ``python -m numbo look``."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo.optuna._algorithms import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler
from numbo.optuna._inspection import _met
from numbo.optuna._looking import best_predicted_trial, explain, front, predict
from numbo.optuna._records import constraints_of

SAMPLERS = {
    "GSSBO": GSSBOSampler,
    "GPUCB": GPUCBSampler,
    "BKB": BKBSampler,
    "BBKB": BBKBSampler,
    "SBPE": SBPESampler,
}
#: Plots of a study of one objective, and of several: their names in `numbo.plot`, and what they show.
PLOTS = {
    "plot_subset": "All trials",
    "plot_posterior": "The model along the most relevant parameters",
    "plot_contour": "The model over the two most relevant parameters",
}
FRONT_PLOTS = {"plot_front": "The front", "plot_hypervolume": "Its hypervolume", "plot_relevance": "Relevance"}
SQLITE = b"SQLite format 3\0"
SQLITE_URL = re.compile(r"sqlite(?:\+\w+)?:///(?P<uri>file:)?(?P<path>[^?]*)")
#: Maximum number of parameters that the model is drawn along.
SLICES = 6
#: Names of studies that a message lists.
LISTED = 20

PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; --line: #8885 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem }
@media (prefers-color-scheme: light) { body { background: #fff; color: #222 } }
@media (prefers-color-scheme: dark) { body { background: #181a1b; color: #ddd } }
h1 { font-size: 1.6rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; min-width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600; min-width: 5rem; max-width: 14rem; overflow-wrap: anywhere }
td { font-variant-numeric: tabular-nums; min-width: 4rem; overflow-wrap: anywhere }
img { display: block; width: 100%; min-width: 34rem }
</style>
</head>
<body>
<h1>$title</h1>
$body
</body>
</html>
""")


class Section(NamedTuple):
    """Facts of one kind: a heading, and labels with words."""

    heading: str
    rows: list[tuple[str, str]]


class _Unchanged(JournalFileBackend):
    """A journal that is only read."""

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        raise RuntimeError("The journal is opened to be read only.")


def look(storage: str, name: str | None, sampler: str, page: Path | None) -> str:
    """What is known of a study; with a ``page``, that is written, too.

    Args:
        storage: the URL of a database, or the path of an SQLite file or of a journal. It is not changed.
        name: of the study; None if there is one only.
        sampler: one of `SAMPLERS`, whose model is asked.
        page: the file to write.

    Raises:
        ValueError: with one sentence for whoever gave these.
    """
    if page is not None and page.exists() and (path := _file_of(storage)) is not None and page.samefile(path):
        raise ValueError(f"--html must be another file than the storage, got {str(page)!r}.")
    study = _study(storage, name, sampler)
    sections = list(_sections(study))
    lines = []
    for section in sections:
        width = max((len(label) for label, _ in section.rows), default=0)
        lines += [section.heading, *(f"  {label:<{width}}  {words}" for label, words in section.rows), ""]
    if page is not None:
        try:
            page.write_text(_page(study, sections), encoding="utf-8")
        except OSError as error:
            raise ValueError(f"--html must be a file that can be written, got {str(page)!r}: {error}.") from None
        lines.append(f"wrote {page}")
    return "\n".join(lines).rstrip()


# -- the study ---------------------------------------------------------------------------------------------------------


def _study(storage: str, name: str | None, sampler: str) -> Study:
    """The study, opened to be read."""
    path = _file_of(storage)
    try:
        opened = _opened(storage, path)
        names = optuna.get_all_study_names(opened)
    except Exception as error:  # of any database, or of what is none
        raise ValueError(f"STORAGE must hold studies of Optuna, and cannot be read: {_cause(error)}") from None
    listed = ", ".join(map(repr, names[:LISTED])) + (", ..." if len(names) > LISTED else "")
    if not names:
        raise ValueError(f"STORAGE must hold a study; {storage!r} holds none.")
    if name is None and len(names) > 1:
        raise ValueError(f"STUDY must be one of the {len(names)} studies in the storage: {listed}.")
    if name is not None and name not in names:
        raise ValueError(f"STUDY must be one of the studies in the storage, {listed}; got {name!r}.")
    made = SAMPLERS[sampler](seed=0)
    return optuna.load_study(study_name=name or names[0], storage=opened, sampler=made)


def _cause(error: BaseException) -> str:
    """The first line of what was behind an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _file_of(storage: str) -> Path | None:
    """The file of a storage, which must exist; None for a database on a server."""
    url = SQLITE_URL.match(storage)
    if url is None and "://" in storage:
        return None
    path = Path(storage)
    if url is not None:
        path = Path(unquote(url["path"]) if url["uri"] else url["path"])
    if not path.is_file():
        raise ValueError(f"STORAGE must be a URL of a database or an existing file, got {storage!r}.")
    return path


def _opened(storage: str, path: Path | None) -> BaseStorage:
    """The storage, opened so that files are not changed."""
    if path is None:
        return RDBStorage(storage, skip_table_creation=True)
    if "://" in storage or _begins(path, SQLITE):
        return RDBStorage(f"sqlite:///file:{quote(str(path.resolve()))}?mode=ro&uri=true", skip_table_creation=True)
    return JournalStorage(_Unchanged(str(path)))


def _begins(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


# -- what is known -----------------------------------------------------------------------------------------------------


def _sections(study: Study) -> Iterator[Section]:
    trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state.name.lower() for trial in trials)
    counted = ", ".join(f"{count} {state}" for state, count in states.most_common()) or "none"
    directions = ", ".join(direction.name.lower() for direction in study.directions)
    yield Section("Study", [("name", study.study_name), ("directions", directions), ("trials", counted)])
    if not any(trial.state.is_finished() and trial.params for trial in trials):
        return
    try:
        model = [one for one in str(explain(study)).splitlines()[1:] if not one.startswith("last ask")]
    except ValueError as error:  # no trial has succeeded
        yield Section("Model", [("none", str(error))])
        return
    yield from _one_best(study) if len(study.directions) == 1 else [_front(study)]
    rows = [tuple(part.strip() for part in line.split(maxsplit=1)) for line in model]
    yield Section("Model", [(one, rest) for one, rest in rows])


def _one_best(study: Study) -> Iterator[Section]:
    """The best trial by its value, and the recommended one."""
    met = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE" and _met(trial)]
    if met:
        sign = 1.0 if study.direction.name == "MINIMIZE" else -1.0
        best = min(met, key=lambda trial: sign * (trial.value if trial.value is not None else float("inf")))
        yield Section("Best trial", _trial(best))
    recommended = best_predicted_trial(study)
    if recommended is None:
        yield Section("Recommended", [("none", "no trial meets all constraints")])
        return
    mean, std = predict(study, recommended.params)
    expected = ("expected", f"{mean:.6g} ± {2.0 * std:.2g} (two standard deviations, without noise)")
    yield Section("Recommended, by expected value", [expected, *_trial(recommended)])


def _front(study: Study) -> Section:
    """The trials on the front, by expected values."""
    rows = [(f"trial {trial.number}", f"{_numbers(values)}: {_params(trial)}") for trial, values in front(study)]
    return Section(f"Front, {len(rows)} trials", rows)


def _trial(trial: FrozenTrial) -> list[tuple[str, str]]:
    limits = constraints_of(trial)
    rows = [("number", str(trial.number)), ("parameters", _params(trial))]
    if trial.values is not None:
        rows.append(("value", _numbers(trial.values)))
    if limits:
        rows.append(("constraints", ", ".join(f"{name} {value:.6g}" for name, value in limits.items())))
    return rows


def _params(trial: FrozenTrial) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in trial.params.items())


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


# -- the page ----------------------------------------------------------------------------------------------------------


def _page(study: Study, sections: list[Section]) -> str:
    parts = []
    for section in sections:
        rows = "".join(f"<tr><th>{escape(one)}</th><td>{escape(rest)}</td></tr>" for one, rest in section.rows)
        parts.append(f'<h2>{escape(section.heading)}</h2>\n<div class="wide"><table>{rows}</table></div>')
    parts += _pictures(study)
    return PAGE.substitute(title=escape(f"Study {study.study_name}"), body="\n".join(parts))


def _pictures(study: Study) -> Iterator[str]:
    """Plots as pictures within the page; those that a study has too few trials for are left out."""
    from numbo.plot import matplotlib as plots
    from numbo.plot._svg import svg_of

    try:
        most = list(explain(study).relevance)[:SLICES]
    except ValueError:  # no trial has succeeded
        return
    for name, caption in (PLOTS if len(study.directions) == 1 else FRONT_PLOTS).items():
        options = {"params": most} if name == "plot_posterior" else {}
        try:
            picture = b64encode(svg_of(getattr(plots, name), study, **options).encode()).decode()
        except ValueError:
            continue
        image = f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{picture}">'
        yield f'<h2>{escape(caption)}</h2>\n<div class="wide">{image}</div>'

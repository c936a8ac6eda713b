"""What is known of a study in a storage, as text and as a page: ``python -m numbo look``."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial

from numbo.inspection.words import rounded
from numbo.optimizers import Explanation
from numbo.optuna import _algorithms
from numbo.optuna._looking import best_predicted_trial, explain, front, predict, predict_feasible
from numbo.optuna._records import constraints_of
from numbo.optuna._samplers import NumboSampler
from numbo.optuna._unchanged import file_of, unchanged

#: Plots of a study of one objective, and of several: their names in `numbo.plot`, and what they show.
PLOTS = {
    "plot_subset": "All trials",
    "plot_posterior": "The model along the most relevant parameters",
    "plot_contour": "The model over two relevant parameters",
    "plot_curves": "Learning curves",
}
FRONT_PLOTS = {"plot_front": "The front", "plot_hypervolume": "Its hypervolume", "plot_relevance": "Relevance"}
#: Errors of SQLAlchemy about a URL: it is none, or that of a database that is not known.
NO_URL = ("ArgumentError", "NoSuchModuleError")
#: Cells of a page with more characters than this have several lines where it is narrow.
LONG = 20
#: Maximum number of parameters that the model is drawn along.
SLICES = 6
#: Maximum number of trials in the table of a page.
LAST = 200
#: Shown where there is nothing.
NOTHING = "-"
#: A label of an `Explanation` that is about this process.
OF_THE_PROCESS = "last ask"
#: Maximum number of studies that a message names, and of trials of a front.
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
th { font-weight: 600 }
th:first-child { max-width: 14rem; overflow-wrap: break-word }
td { font-variant-numeric: tabular-nums; white-space: nowrap }
td.long { white-space: normal; min-width: 7rem; overflow-wrap: anywhere }
td.long:nth-child(n+4) { min-width: 14rem }
@media (max-width: 40rem) {
  table { font-size: .85rem }
  th, td { padding-right: .6rem }
  th:first-child { max-width: 7rem }
}
summary { cursor: pointer; font-weight: 600; margin-top: 2rem }
img { display: block; max-width: 100%; min-width: 36rem }
</style>
</head>
<body>
<h1>$title</h1>
$body
</body>
</html>
""")


class Facts(NamedTuple):
    """A table: a heading, the names of the columns if they have names, and the rows."""

    heading: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def look(storage: str, name: str | None, sampler: str, page: Path | None) -> str:
    """What is known of a study; with a ``page``, that is written, too.

    Args:
        storage: the URL of a database, or the path of an SQLite file or of a journal. It is not changed.
        name: of the study; None if there is one only.
        sampler: the name of an algorithm, whose model is asked.
        page: the file to write.

    Raises:
        ValueError: with one sentence for whoever gave these.
    """
    path = file_of(storage)
    if page is not None and path is not None and page.exists() and path.exists() and page.samefile(path):
        raise ValueError(f"--html must be another file than the storage, got {str(page)!r}.")
    study = _study(storage, name, sampler)
    facts = list(_facts(study))
    parts = list(map(_text, facts))
    if page is not None:
        try:
            page.write_text(_page(study, facts), encoding="utf-8")
        except OSError as error:
            raise ValueError(f"--html must be a file that can be written, got {str(page)!r}: {error}.") from None
        parts.append(f"wrote {page}")
    return "\n\n".join(parts)


# -- the study ---------------------------------------------------------------------------------------------------------


def _study(storage: str, name: str | None, sampler: str) -> Study:
    """The study, opened to be read."""
    try:
        opened = unchanged(storage)
        names = optuna.get_all_study_names(opened)
    except Exception as error:  # of any database, or of what is none
        if isinstance(error, FileNotFoundError):
            raise ValueError(f"STORAGE must be the URL of a database or an existing file, got {storage!r}.") from None
        if type(error).__name__ in NO_URL:
            accepted = "the URL of a database, such as sqlite:///studies.db, or an existing file"
            raise ValueError(f"STORAGE must be {accepted}, got {storage!r}.") from None
        raise ValueError(f"STORAGE must hold studies of Optuna; {storage!r} cannot be read: {_cause(error)}.") from None
    listed = ", ".join(map(repr, names[:LISTED])) + (", ..." if len(names) > LISTED else "")
    if not names:
        raise ValueError(f"STORAGE must hold a study; {storage!r} holds none.")
    if name is None and len(names) > 1:
        raise ValueError(f"STUDY must be one of the {len(names)} studies in the storage: {listed}.")
    if name is not None and name not in names:
        raise ValueError(f"STUDY must be one of the studies in the storage, {listed}; got {name!r}.")
    made: NumboSampler = getattr(_algorithms, f"{sampler}Sampler")(seed=0)
    study = optuna.load_study(study_name=name or names[0], storage=opened, sampler=made)
    made._raise_error_if_multi_objective(study)
    return study


def _cause(error: BaseException) -> str:
    """The first line of what was behind an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")


# -- what is known -----------------------------------------------------------------------------------------------------


def _facts(study: Study) -> Iterator[Facts]:
    """All that is known of a study, as tables.

    Raises:
        ValueError: if no trial has finished.
    """
    trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state.name.lower() for trial in trials).most_common()
    counted = ", ".join(f"{count} {state}" for state, count in states) or "no trial"
    if not any(trial.state.is_finished() for trial in trials):
        raise ValueError(f"STUDY must have a finished trial; {study.study_name!r} has {counted}.")
    names = _objectives(study)
    goal = ", ".join(f"{way.name.lower()} {name}" for way, name in zip(study.directions, names, strict=True))
    yield Facts("Study", (), [("name", study.study_name), ("goal", goal), ("trials", counted)])
    try:
        models = [explain(study, objective=j) for j in range(len(names))]
    except ValueError as error:
        yield Facts("Model", (), [("none", str(error))])
        return
    if len(names) == 1:
        yield from _best(study, models[0])
    else:
        yield _front(study, names, models[0].violated)
    for name, model in zip(names, models, strict=True):
        lines = [line for line in model._lines() if line[0] != OF_THE_PROCESS]
        yield Facts(f"Model of {name}", (), [("data", model._head()), *lines])


def _objectives(study: Study) -> list[str]:
    """What the objectives are called."""
    k = len(study.directions)
    return study.metric_names or (["value"] if k == 1 else [f"objective {j}" for j in range(k)])


def _best(study: Study, model: Explanation) -> Iterator[Facts]:
    """The trial with the best value, and the recommended one, which has the best expected value."""
    columns = ("", "best value", "recommended")
    both: list[FrozenTrial | None] = [None, best_predicted_trial(study)]
    with suppress(ValueError):  # none is complete, or none meets all constraints
        both[0] = study.best_trial

    def of_both(words: Callable[[FrozenTrial], str]) -> list[str]:
        out = [NOTHING, NOTHING]
        for k, trial in enumerate(both):
            with suppress(ValueError):  # it lies outside the space of the later trials
                out[k] = NOTHING if trial is None else words(trial)
        return out

    rows = [("trial", *of_both(lambda trial: str(trial.number)))]
    rows.append(("value", *of_both(lambda trial: ", ".join(map(_short, trial.values or ())) or NOTHING)))
    rows.append(("expected, ± 2 sd", *of_both(lambda trial: _interval(*predict(study, trial.params)))))
    if model.violated:
        feasible = of_both(lambda trial: f"{predict_feasible(study, trial.params):.0%}")
        rows.append(("feasible, by the model", *feasible))
    params = dict.fromkeys(name for trial in both if trial is not None for name in trial.params)
    rows += [(name, *(_of({} if trial is None else trial.params, name) for trial in both)) for name in params]
    yield Facts("Best trials", columns, rows)
    if model.violated:
        limits = [{} if trial is None else constraints_of(trial) for trial in both]
        rows = [(name, f"{share:.0%}", *(_of(one, name) for one in limits)) for name, share in model.violated.items()]
        yield Facts("Constraints, met at 0 or less", ("", "violated by", *columns[1:]), rows)


def _interval(mean: float, std: float) -> str:
    return f"{_short(float(mean))} ± {rounded(2.0 * std)}"


def _front(study: Study, names: Sequence[str], limits: Collection[str]) -> Facts:
    """The trials on the front, by expected values; of many, some that are spread over it."""
    found = front(study)
    kept = dict.fromkeys(round(k * (len(found) - 1) / (LISTED - 1)) for k in range(LISTED)) if found else ()
    rows = []
    for trial, values in (found[k] for k in kept):
        expected = _intervals(study, trial, values)
        margins = (_of(constraints_of(trial), name) for name in limits)
        rows.append((str(trial.number), *expected, *margins, _params(trial)))
    some = f", {LISTED} of them" if len(found) > LISTED else ""
    heading = f"Front, {len(found)} trials by expected values ± 2 sd{some}"
    return Facts(heading, ("trial", *names, *(f"{name}, met at 0 or less" for name in limits), "parameters"), rows)


def _intervals(study: Study, trial: FrozenTrial, values: Sequence[float]) -> list[str]:
    """The expected values of a trial with their deviations, which are not known outside of the space."""
    try:
        stds = predict(study, [trial.params])[1][0]
    except ValueError:
        return [*map(_short, values)]
    return [*map(_interval, values, stds)]


def _params(trial: FrozenTrial) -> str:
    """The parameters of a trial in one line."""
    return ", ".join(f"{name}={_short(value)}" for name, value in trial.params.items())


def _of(values: Mapping[str, Any], name: str) -> str:
    return _short(values[name]) if name in values else NOTHING


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _text(facts: Facts) -> str:
    """A table for a terminal, without the characters that a terminal obeys."""
    table = [facts.columns] * bool(facts.columns) + facts.rows
    shown = [["".join(c if c.isprintable() else repr(c)[1:-1] for c in cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown)
    return "\n".join([facts.heading, *(f"  {line}".rstrip() for line in lines)])


# -- the page ----------------------------------------------------------------------------------------------------------


def _page(study: Study, facts: list[Facts]) -> str:
    last = _last(study)
    parts = [f"<h2>{escape(one.heading)}</h2>\n{_table(one)}" for one in facts]
    parts += _pictures(study)
    parts.append(f"<details><summary>{escape(last.heading)}</summary>\n{_table(last)}</details>")
    return PAGE.substitute(title=escape(f"Study {study.study_name}"), body="\n".join(parts))


def _table(facts: Facts) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in facts.columns)
    rows = [f"<tr>{head}</tr>"] * bool(head)
    for first, *others in facts.rows:
        cells = "".join(f"<td{' class=long' * (len(cell) > LONG)}>{escape(cell)}</td>" for cell in others)
        rows.append(f"<tr><th>{escape(first)}</th>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _last(study: Study) -> Facts:
    """The last trials, the latest first."""
    trials = study.get_trials(deepcopy=False)[: -LAST - 1 : -1]
    names = _objectives(study)
    rows = []
    for trial in trials:
        values = trial.values or [None] * len(names)
        shown = ("-" if value is None else f"{value:.6g}" for value in values)
        rows.append((str(trial.number), trial.state.name.lower(), *shown, _params(trial)))
    return Facts(f"The last {len(rows)} trials", ("trial", "state", *names, "parameters"), rows)


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

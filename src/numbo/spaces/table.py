"""The rows of a table as a search space: named columns of numbers and texts, in place of an array of features."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np

from numbo._types import Array
from numbo.spaces.arms import Arms
from numbo.spaces.dimensions import Int

#: The name of the parameter that is searched.
ROW = "row"
#: Maximum number of different texts in a column: each is a feature.
TEXTS = 256


class Table(Arms):
    """A table of candidates: its columns describe them, and one of its rows is suggested.

        table = Table(frame, log=["rate"])
        opt = GSSBO(table, direction="minimize", seed=0)
        p = opt.ask()                                 # {"row": 17}
        opt.tell(p, measure(**table.row(p["row"])))

    Rows are numbered from 0 as they stand, whatever index a frame has. Rows that are equal in all ``columns`` are one
    candidate, identified by the first of them.

    Args:
        data: a pandas ``DataFrame``, or a mapping of names to columns of equal length. A column holds numbers,
            booleans or texts; each text is a feature of its own.
        columns: names of the columns that describe the candidates, all by default. `row` returns the others as well.
        log: names of the columns whose numbers are compared by their logarithm.

    Raises:
        ValueError: if a column is missing, empty, of another kind, or lacks a value.
    """

    #: No parameter depends on another one.
    conditions: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, data: Any, *, columns: Collection[str] | None = None, log: Collection[str] = ()) -> None:
        names = list(data) if hasattr(data, "keys") else []
        if not names:
            raise ValueError(f"data must be a DataFrame or a mapping of names to columns, got {type(data).__name__}.")
        for argument, wanted in (("columns", names if columns is None else columns), ("log", log)):
            unknown = [wanted] if isinstance(wanted, str) else [name for name in wanted if name not in names]
            if unknown:
                raise ValueError(f"{argument} must be a list of names of columns of data, got {unknown[0]!r}.")
        self._columns: dict[Any, list[Any]] = {name: _values(name, data[name]) for name in names}
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ValueError(f"data must have columns of equal length, at least 1, got {lengths}.")
        chosen = names if columns is None else columns
        features = [one for name in chosen for one in _features(name, self._columns[name], log=name in log)]
        features = features or [("constant", np.zeros(next(iter(lengths.values()))))]
        self._names = [name for name, _ in features]
        super().__init__(np.column_stack([values for _, values in features]))

    @property
    def names(self) -> list[str]:
        """Names of the features: those of columns, or ``"column=text"``."""
        return self._names

    def __repr__(self) -> str:
        return f"Table(<{len(self)} rows of {len(self._columns)} columns>)"

    def row(self, number: int) -> dict[Any, Any]:
        """The values of a row, by the names of all columns.

        Raises:
            ValueError: if there is no row with this number.
        """
        super().encode(number)
        return {name: column[int(number)] for name, column in self._columns.items()}

    def suggest(self, trial: Any) -> dict[Any, Any]:
        """The values of the row that an Optuna ``trial`` is to evaluate; its parameter is ``"row"``."""
        return self.row(trial.suggest_int(ROW, 0, len(self) - 1))

    # -- a space of one parameter --------------------------------------------------------------------------------

    @property
    def dimension(self) -> Int:
        """The numbers of the rows."""
        return Int(0, len(self) - 1)

    def __getitem__(self, name: str) -> Int:
        if name != ROW:
            raise KeyError(name)
        return self.dimension

    def __iter__(self) -> Iterator[str]:
        return iter([ROW])

    def encode(self, params: Any) -> Array:
        """Unit-cube features (d,) of ``{"row": number}``.

        Raises:
            ValueError: if it is not of this form, or there is no such row.
        """
        if not isinstance(params, Mapping) or params.keys() != {ROW}:
            raise ValueError(f'A candidate must be {{"row": number}}, got {params!r}.')
        return super().encode(params[ROW])

    def decode(self, x: Array) -> Any:
        """``{"row": number}`` of the candidate with the features ``x (d,)``."""
        return {ROW: super().decode(x)}

    def partial(self, params: Any, *, snapped: bool = True) -> Array:
        """`encode`: a row is chosen as a whole."""
        return self.encode(params)

    def misfits(self, x: Array) -> list[str]:
        """Nothing: a row has no conditions."""
        return []


def _values(name: Any, column: Any) -> list[Any]:
    """The values of a column, as Python's."""
    try:
        values = column.tolist() if hasattr(column, "tolist") else list(column)
    except TypeError:
        values = None
    if not isinstance(values, list):
        raise ValueError(f"Column {name!r} must be a sequence, got {column!r}.")
    return values


def _features(name: Any, values: list[Any], *, log: bool) -> Iterator[tuple[str, Array]]:
    """The features that a column stands for; none if all values are equal."""
    missing = [i for i, value in enumerate(values) if value is None or value != value]
    if missing:
        raise ValueError(f"Column {name!r} lacks a value in row {missing[0]}: fill it in, or leave it out of columns.")
    if all(isinstance(value, Real) for value in values):
        numbers = np.array([float(value) for value in values])
        if log and not (numbers > 0.0).all():
            raise ValueError(f"Column {name!r} must be positive for log, got {values[int(np.argmin(numbers))]!r}.")
        numbers = np.log(numbers) if log else numbers
        if not np.isfinite(numbers).all():
            raise ValueError(f"Column {name!r} must be finite, got {values[int(np.argmin(np.isfinite(numbers)))]!r}.")
        if np.ptp(numbers) > 0.0:
            yield str(name), numbers
        return
    other = next((value for value in values if not isinstance(value, str)), None)
    if other is not None or log:
        wanted = "positive numbers for log" if log else "numbers, booleans or texts, of one kind"
        shown = other if other is not None else values[0]
        raise ValueError(f"Column {name!r} must hold {wanted}, got {shown!r}.")
    texts = list(dict.fromkeys(values))
    if len(texts) > TEXTS:
        raise ValueError(
            f"Column {name!r} has {len(texts)} different texts, and at most {TEXTS} can be features: leave it out of "
            "columns."
        )
    if len(texts) > 1:
        column = np.array(values)
        for text in texts:
            yield f"{name}={text}", (column == text).astype(np.float64)

"""The rows of a table as a search space: named columns of numbers and texts, instead of an array of features."""

from __future__ import annotations

import copy
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from numbo import _checks, _elementary
from numbo._types import Array
from numbo.spaces.allowed import Constraint, constraints_of, met, names_in
from numbo.spaces.arms import Arms
from numbo.spaces.dimensions import Int

#: The name of the searched parameter.
ROW = "row"
#: Maximum number of different texts in a column: each is a feature.
TEXTS = 256
#: A column has outliers if the middle nine tenths of its values lie in less than this share of its range. With one cell
#: a hundred times larger than the others, 60 trials found one of the best 30 of 2,000 rows. With one a thousand times
#: larger, two of six searches did no better than random rows.
CROWDED = 0.01
#: Doubles cannot represent all integers beyond this one.
EXACT = 2**53


class Table(Arms):
    """A table of candidates: its columns describe them, and each suggestion is a row.

        table = Table(frame, log=["rate"])
        opt = GSSBO(table, direction="minimize", seed=0)
        p = opt.ask()                                 # {"row": 17}
        opt.tell(p, measure(**table.row(p["row"])))

    Rows are numbered from 0 in their order, whatever index a frame has. Rows that are equal in all ``columns`` are one
    candidate, identified by the first of them. Numbers are scaled by the range of their column.

    Args:
        data: a pandas ``DataFrame``, or a mapping of names to columns of equal length. A column holds numbers,
            booleans or texts; each text is a feature of its own.
        columns: names of the columns that describe the candidates, all by default. `row` returns the others as well.
        log: names of the columns whose logarithms are used.
        allowed: which rows may be suggested, by the values of their columns: as `numbo.Space` takes it.

    Raises:
        ValueError: if a column is missing, empty, of another kind, or lacks a value, or no row is allowed.

    Warns:
        UserWarning: if outliers set the range of a column.
    """

    def __init__(
        self, data: Any, *, columns: Iterable[str] | None = None, log: Iterable[str] = (), allowed: Any = ()
    ) -> None:
        names = list(data) if hasattr(data, "keys") else []
        if not names:
            kind = type(data).__name__
            raise ValueError(f"data must be a DataFrame or a mapping of names to columns, got {kind}.")
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"data must have columns of different names, got {twice[0]!r} twice.")
        described = names if columns is None else _names("columns", columns, names)
        logarithmic = _names("log", log, names)
        self._columns: dict[Any, list[Any]] = {name: _values(name, data[name]) for name in names}
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ValueError(f"data must have columns of equal length and at least one row, got {lengths}.")
        self._described = described
        self._logarithmic = frozenset(logarithmic)
        features = [one for name in described for one in _features(name, self._columns[name], log=name in logarithmic)]
        features = features or [("constant", np.zeros(next(iter(lengths.values()))))]
        self._names = [name for name, _ in features]
        super().__init__(np.column_stack([values for _, values in features]))
        self._permit(constraints_of(allowed))

    @property
    def names(self) -> list[str]:
        """Names of the features: names of columns, or ``"column=text"``."""
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

    def restricted(self, allowed: Any) -> Table:
        """A copy in which only the rows may be suggested that are ``allowed``, as `numbo.Space` takes it.

        Raises:
            ValueError: if no row is.
        """
        twin = copy.copy(self)
        twin._permit(constraints_of(allowed))
        return twin

    def _permit(self, constraints: Sequence[Constraint]) -> None:
        """Allow the rows only that meet the ``constraints``, if there are any."""
        if not constraints:
            return
        for name in (name for one in constraints for name in names_in(one)):
            if name not in self._columns:
                raise ValueError(f"allowed must name columns of data, {list(self._columns)}, got {name!r}.")
        rows = (self.row(i) for i in range(len(self)))
        self.permitted = np.array([all(met(one, row, self._columns) for one in constraints) for row in rows])
        if not self.permitted.any():
            raise ValueError("allowed must leave rows of the table, but none of them meets it.")

    def fingerprint(self, count: int) -> int:
        """A checksum of the features of the first ``count`` rows."""
        return zlib.crc32(repr([(name, self._columns[name][:count]) for name in self._described]).encode())

    def suggest(self, trial: Any) -> dict[Any, Any]:
        """The values of the row to evaluate in an Optuna ``trial``; its parameter is ``"row"``."""
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

    def place(self, arm: Any) -> Array:
        """Unit-cube features (d,) of ``{"row": number}``, or of the values of columns by name; NaN for missing ones.

        Raises:
            ValueError: if it is no mapping.
        """
        if not isinstance(arm, Mapping):
            raise ValueError(f"A candidate must be a mapping, got {arm!r}.")
        if arm.keys() == {ROW}:
            return super().encode(arm[ROW])
        found = [self._feature(name, arm) for name in self._names]
        out: Array = (np.array(found) - self._low) / self.ranges
        return out

    def _feature(self, feature: str, values: Mapping[Any, Any]) -> float:
        """A feature of the candidate with these values of columns; NaN without the column."""
        column, equals, text = feature.partition("=")
        if equals and feature not in self._columns:
            return float(values[column] == text) if column in values else np.nan
        value = values.get(feature, np.nan)
        if not _checks.is_finite(value) or (feature in self._logarithmic and value <= 0):
            return np.nan
        return float(_elementary.log(np.array([float(value)]))[0]) if feature in self._logarithmic else float(value)

    def decode(self, x: Array) -> Any:
        """``{"row": number}`` of the candidate with the features ``x (d,)``."""
        return {ROW: super().decode(x)}

    def partial(self, params: Any, *, snapped: bool = True) -> Array:
        """`encode`: a row is chosen as a whole."""
        return self.encode(params)

    def misfits(self, x: Array) -> list[str]:
        """Nothing: a row has no conditions."""
        return []


def _names(argument: str, wanted: Any, names: list[Any]) -> list[Any]:
    """The names of columns that an argument lists."""
    listed = list(wanted) if isinstance(wanted, Iterable) and not isinstance(wanted, str) else [wanted]
    unknown = [name for name in listed if name not in names]
    if unknown or isinstance(wanted, str):
        raise ValueError(f"{argument} must be a list of names of columns of data, got {(unknown or listed)[0]!r}.")
    return listed


def _missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or pandas' NA, for which both ``==`` and ``!=`` give NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


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
    """The features of a column; none if all values are equal."""
    missing = [i for i, value in enumerate(values) if _missing(value)]
    if missing:
        raise ValueError(f"Column {name!r} lacks a value in row {missing[0]}: fill it in, or leave it out of columns.")
    if all(isinstance(value, Real) for value in values):
        if all(isinstance(value, Integral) for value in values) and max(map(abs, values)) > EXACT and not log:
            lowest = int(min(values))
            values = [int(value) - lowest for value in values]  # differences, which doubles represent better
        numbers = np.array([float(value) for value in values])
        if log and not (numbers > 0.0).all():
            raise ValueError(f"Column {name!r} must be positive for log, got {values[int(np.argmin(numbers))]!r}.")
        numbers = _elementary.log(numbers) if log else numbers
        if not np.isfinite(numbers).all():
            raise ValueError(f"Column {name!r} must be finite, got {values[int(np.argmin(np.isfinite(numbers)))]!r}.")
        if np.ptp(numbers) > 0.0:
            _look_for_outliers(name, numbers)
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


def _look_for_outliers(name: Any, numbers: Array) -> None:
    """Warn if a few of the ``numbers (A,)`` are so large that all others are nearly equal, in units of the range."""
    low, high = np.quantile(numbers / 2.0, (0.05, 0.95))
    share = (high - low) / (numbers.max() / 2.0 - numbers.min() / 2.0)
    if 0.0 < share < CROWDED:
        warnings.warn(
            f"Column {name!r} has outliers: nine tenths of its values lie in {100.0 * share:.2g} % of its range, and "
            "are hardly told apart. Pass it in log=, or clip what is an error.",
            stacklevel=5,
        )

"""Inference of conditions from the trials of a study: for which values of other parameters a parameter is used.

A define-by-run objective is a program, and a trial shows one path through it. A parameter that is missing in some
trials may depend on one *parent*, which is used in all trials that use the parameter and in others. The condition is a
set of the parent's values, or a threshold, that separates the trials with the parameter from those without. If several
parents qualify, prefer the one that explains the most parameters, then the one used least often (the innermost). If no
single parent explains all trials, a decision tree over several is tried. If that fails too, nothing is known about when
the parameter is used. A parameter that all trials have since one of them, and none before, was added to the program.
One that all had until one of them, and none after, was removed. That is a better reason than a tree of many tests or of
real parameters, which can separate any trials.

The result depends on the set of trials, but not on their order, and never contradicts a trial. A new trial updates the
statistics of each pair of parameters. Only trees use earlier trials again, when there are a fifth more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from numbo._plain import copied
from numbo._rows import distinct_rows
from numbo._types import Array, Indices, Mask
from numbo.spaces.conditions import Compared, Condition, OneOf
from numbo.spaces.dimensions import Categorical, Dimension, Float, Int
from numbo.spaces.trees import Group, between, grown, holds

#: Values of integers and categories are recorded one by one from ``-LISTED_VALUES`` up to below it.
LISTED_VALUES = 64
#: Maximum number of trials, those with the lowest numbers, that a decision tree is grown from.
GROWN_FROM = 2000
#: A parameter was added to the program if at least this many complete trials have it, and none before them. It was
#: removed if as many do not, and all before them, as many or more, do.
CHANGED = 5
#: Trees with more tests are less plausible than that.
PLAUSIBLE = 2
#: Up to this number of trials, a tree is grown after each.
GROWN_AT_ONCE = 50


def _stage(n: int) -> int:
    """How many of ``n`` trials a tree is grown from; it is grown again when there are a fifth more."""
    if n <= GROWN_AT_ONCE:
        return n
    steps = math.floor(math.log(n / GROWN_AT_ONCE) / math.log(1.2))
    return min(int(GROWN_AT_ONCE * 1.2**steps), GROWN_FROM)


class Record(NamedTuple):
    """A trial: its number, the values it used by name (indices for categories), and whether it ended normally."""

    number: int
    values: Mapping[str, float]
    complete: bool


class Usage:
    """Which trials used which parameters, with which values.

    Only a complete trial shows that a parameter is not used: others may have ended before.

    For all pairs p, q it holds the smallest and largest value of q, and the set of its values, in trials that use p and
    q (`_with`), and in complete trials that use q but not p (`_without`). The first row belongs to a parameter that no
    trial uses; rows of new parameters are copied from it.
    """

    __copy__ = copied

    def __init__(self) -> None:
        self._column: dict[str, int] = {"": 0}
        self._with = _Values(1)
        self._without = _Values(1)
        self._rows = np.full((64, 1), np.nan)
        self._numbers: list[int] = []
        self._complete: list[bool] = []
        self._found: dict[str, Condition] | None = None
        self._since: dict[str, int] = {}
        self._removed: dict[str, int] = {}
        self._trees: dict[str, tuple[Any, tuple[Group, ...] | None]] = {}

    def add(self, trials: Sequence[Record]) -> None:
        """Record finished trials."""
        if not trials:
            return
        first = len(self._numbers)
        n = len(self._numbers) + len(trials)
        for name in sorted({name for trial in trials for name in trial.values} - self._column.keys()):
            self._column[name] = len(self._column)
        self._grow(n, len(self._column))
        for row, (number, values, complete) in zip(self._rows[first:], trials, strict=False):
            for name, value in values.items():
                row[self._column[name]] = value
            self._numbers.append(number)
            self._complete.append(complete)
        self._count(first)

    def _count(self, first: int) -> None:
        """Update the statistics with the trials from row ``first`` on."""
        n = len(self._numbers)
        rows = self._rows[first:n]
        complete_ones = np.array(self._complete[first:])
        uses = ~np.isnan(rows)
        alike = bool((uses == uses[0]).all())
        firsts, pattern = (np.zeros(1, np.int64), np.zeros(len(uses))) if alike else distinct_rows(uses)
        for k, used in enumerate(uses[firsts]):
            here = np.flatnonzero(used)
            missing = np.flatnonzero(~used)
            mine = pattern == k
            self._with.add(here, here, rows[mine][:, used])
            self._without.add(missing, here, rows[mine & complete_ones][:, used])
        self._found = None

    def from_trial(self, number: int) -> Usage:
        """That of the trials from this ``number`` on."""
        rows = np.flatnonzero(np.array(self._numbers) >= number)
        names = [name for name, j in self._column.items() if j > 0 and not np.isnan(self._rows[rows, j]).all()]
        later = Usage()
        later._column |= {name: k + 1 for k, name in enumerate(names)}
        later._grow(len(rows), len(later._column))
        columns = np.array([self._column[name] for name in names], dtype=np.int64)
        later._rows[: len(rows), 1:] = self._rows[np.ix_(rows, columns)]
        later._numbers = [self._numbers[i] for i in rows]
        later._complete = [self._complete[i] for i in rows]
        later._count(0)
        return later

    def _grow(self, n: int, d: int) -> None:
        rows, columns = self._rows.shape
        if n > rows or d > columns:
            more = np.full((2 * n if n > rows else rows, d), np.nan)
            more[:rows, :columns] = self._rows
            self._rows = more
        self._with.grow(d, like_first=False)
        self._without.grow(d, like_first=True)

    def conditions(self, dimensions: Mapping[str, Dimension]) -> dict[str, Condition]:
        """The conditions of those ``dimensions`` that are known to have one."""
        if self._found is None:
            names = sorted(dimensions.keys() & self._column.keys())
            self._found = _acyclic(self._conditions(names, [dimensions[name] for name in names]))
        return self._found

    @property
    def optional(self) -> set[str]:
        """The parameters that some complete trial did not use."""
        return {name for name, j in self._column.items() if j > 0 and self._without.count[j].any()}

    @property
    def since(self) -> dict[str, int]:
        """The parameters that were added to the program, and the number of the first trial with each.

        Of those that were last asked for with `conditions`.
        """
        return self._since

    @property
    def removed(self) -> dict[str, int]:
        """The parameters that were removed from the program, and the number of the last trial with each.

        Of those that were last asked for with `conditions`.
        """
        return self._removed

    @property
    def names(self) -> set[str]:
        """The parameters that some trial has used."""
        return self._column.keys() - {""}

    def _added(self, p: int) -> tuple[int, int] | None:
        """The first trial with the parameter in column ``p``, and how many complete ones have it since.

        None if one that came later does not, or one before does.
        """
        numbers, used, complete = self._uses(p)
        first = int(numbers[used].min())
        return None if (complete & (used != (numbers >= first))).any() else (first, int((complete & used).sum()))

    def _gone(self, p: int) -> int | None:
        """The last trial with the parameter in column ``p``, if all complete ones until then have it; otherwise None.

        None, too, if few have it, or few came later.
        """
        numbers, used, complete = self._uses(p)
        last = int(numbers[used].max())
        if (complete & (used != (numbers <= last))).any():
            return None
        few = min(int((complete & used).sum()), int((complete & ~used).sum())) < CHANGED
        return None if few else last

    def _uses(self, p: int) -> tuple[Indices, Mask, Mask]:
        """The numbers (n,) of the trials, which of them use the parameter in column ``p``, and which are complete."""
        n = len(self._numbers)
        return np.array(self._numbers), ~np.isnan(self._rows[:n, p]), np.array(self._complete)

    def _conditions(self, names: list[str], kinds: list[Dimension]) -> dict[str, Condition]:
        at = np.array([self._column[name] for name in names], dtype=np.int64)
        unused = (self._without.count[np.ix_(at, at)] > 0).any(axis=1)
        self._since = {}
        self._removed = {}
        if not unused.any():
            return {}
        inside = self._with.of(at)
        outside = self._without.of(at)
        # a parent is used wherever the parameter is, and in other complete trials
        uses = np.diagonal(inside.count)
        parent = (inside.count == uses[:, None]) & (outside.count > 0)
        above = outside.high < inside.low
        below = outside.low > inside.high
        category = np.array([isinstance(kind, Categorical) for kind in kinds])
        integer = np.array([isinstance(kind, Int) for kind in kinds])
        apart = (inside.bits & outside.bits) == 0
        listed = apart.all(axis=0) & inside.listed & outside.listed & (category | integer)
        explains = parent & (listed | ((above | below) & ~category))
        # programs branch on categories, loop up to integers, and seldom depend on certain integers or a real parameter;
        # runs of the branching family are as before: ``benchmarks/results/compare-thresholds.md``
        kind = np.where(category, 0.0, np.where(integer, np.where(above | below, 1.0, 1.5), 2.0))
        rank = (kind * len(names) - explains.sum(axis=0)) * 1e12 + uses
        best = np.argmin(np.where(explains, rank, np.inf), axis=1)
        out = {}
        for p in np.flatnonzero(unused).tolist():
            q = int(best[p])
            if not explains[p, q]:
                condition = self._tree(p, names, kinds, at)
                plausible = condition is not None and _plausible(condition, names, kinds)
                added = None if plausible else self._added(int(at[p]))
                gone = None if plausible else self._gone(int(at[p]))
                if gone is not None:
                    self._removed[names[p]] = gone
                elif added is not None and added[1] >= CHANGED:
                    self._since[names[p]] = added[0]
                elif added is None and condition is not None:
                    out[names[p]] = condition
                continue
            test: OneOf | Compared
            if not category[q] and above[p, q]:
                test = Compared(">=", between(integer[q], outside.high[p, q], inside.low[p, q]))
            elif not category[q] and below[p, q]:
                test = Compared("<=", between(integer[q], outside.low[p, q], inside.high[p, q]))
            else:
                test = OneOf(inside.values(p, q))
            out[names[p]] = Condition((((names[q], test),),))
        return out

    def _tree(self, p: int, names: list[str], kinds: list[Dimension], at: Indices) -> Condition | None:
        """The condition of the parameter ``names[p]`` by a decision tree; None if there is none."""
        n = len(self._numbers)
        values = self._rows[:n][:, at]
        complete = np.array(self._complete)
        used = ~np.isnan(values[:, p])
        known = np.flatnonzero(used | complete)
        first = known[np.argsort(np.array(self._numbers)[known], kind="stable")[: _stage(len(known))]]
        others = np.delete(np.arange(len(names)), p)
        key = tuple(names), first.tobytes()
        before, found = self._trees.get(names[p], (None, None))
        if key != before:
            found = grown(
                [names[q] for q in others], [kinds[q] for q in others], values[np.ix_(first, others)], used[first]
            )
            self._trees[names[p]] = key, found
        if found is None or (holds(found, names, values[known]) != used[known]).any():
            return None
        return Condition(found)


class _Values:
    """For pairs of parameters (d, d): the second one's smallest and largest value, its values, and their number."""

    __copy__ = copied

    def __init__(self, d: int) -> None:
        self.low = np.full((d, d), np.inf)
        self.high = np.full((d, d), -np.inf)
        #: (2, d, d) sets of values from 0 on, and of those below.
        self.bits = np.zeros((2, d, d), dtype=np.uint64)
        self.listed = np.ones((d, d), dtype=bool)
        self.count = np.zeros((d, d), dtype=np.int64)

    def add(self, rows: Indices, columns: Indices, values: Array) -> None:
        """Record the ``values (n, len(columns))`` of some parameters, for their pairs with others."""
        if not len(values):
            return
        at = np.ix_(rows, columns)
        listed = (values == np.floor(values)) & (values >= -LISTED_VALUES) & (values < LISTED_VALUES)
        self.low[at] = np.minimum(self.low[at], values.min(axis=0))
        self.high[at] = np.maximum(self.high[at], values.max(axis=0))
        if listed.any():
            places = np.where(listed, values, 0).astype(np.int64)
            bits = np.left_shift(np.uint64(1), np.where(places < 0, places + LISTED_VALUES, places).astype(np.uint64))
            for half, mine in enumerate((listed & (places >= 0), listed & (places < 0))):
                self.bits[half][at] |= np.bitwise_or.reduce(np.where(mine, bits, 0).astype(np.uint64), axis=0)
        self.listed[at] &= listed.all(axis=0)
        self.count[at] += len(values)

    def grow(self, d: int, *, like_first: bool) -> None:
        """Make room for ``d`` parameters; new rows are ``like_first``, or empty."""
        old = len(self.count)
        if d == old:
            return
        new = _Values(d)
        for name, array in vars(new).items():
            before = getattr(self, name)
            array[..., :old, :old] = before
            if like_first:
                array[..., old:, :old] = before[..., :1, :]
        vars(self).update(vars(new))

    def of(self, at: Indices) -> Any:
        """The part for the parameters ``at``."""
        part = _Values(0)
        vars(part).update({name: array[(..., *np.ix_(at, at))] for name, array in vars(self).items()})
        return part

    def values(self, p: int, q: int) -> tuple[int, ...]:
        """The values of the second of a pair, in order."""
        above, below = (int(half[p, q]) for half in self.bits)
        places = range(-LISTED_VALUES, LISTED_VALUES)
        return tuple(k for k in places if (above >> k if k >= 0 else below >> k + LISTED_VALUES) & 1)


def _plausible(condition: Condition, names: Sequence[str], kinds: Sequence[Dimension]) -> bool:
    """Whether a program may have this condition: it has few tests, none of which is of a real parameter."""
    tests = [parent for group in condition.alternatives for parent, _ in group]
    return len(tests) <= PLAUSIBLE and not any(isinstance(kinds[names.index(parent)], Float) for parent in tests)


def _acyclic(conditions: dict[str, Condition]) -> dict[str, Condition]:
    """The conditions without circular ones."""
    done: set[str] = set()
    while True:
        left = [name for name in sorted(conditions) if name not in done]
        ready = [n for n in left if not (conditions[n].parents & conditions.keys()) - done]
        if not left:
            return conditions
        done.update(ready)
        if not ready:
            del conditions[left[-1]]

"""S-BPE: sparse batched pure exploration (Vakili et al. 2022, algorithm 1).

    3      batch i has N_i = ceil(sqrt(N N_{i-1})) points                                 `_close_batches`
    6, 7   its model knows the points of the batch alone, on a dictionary of them         `_resparsify`
    8      the next point is the most uncertain one of those still in the race            `_select`
    16     at its end, mean and variance by a dictionary of recursive RLS                 `_final_model`
    17     whatever cannot be the maximum within its confidence bounds drops out          `_judge`

That is what happens under a fixed kernel: which points a batch has does not depend on its values, as theorem 3.5 asks,
and what dropped out stays out. A learned kernel depends on all values, so there is no such independence to protect.
Then the kernel is learned at the end of each batch before it judges, models know all observations, and who is in the
race is decided afresh: an earlier kernel that was wrong does not have the last word.

A value that arrives after its batch has ended counts for the next one. Past the horizon N, batches go on with about N
points each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbo import _checks
from numbo.arms import Arms
from numbo.dictionaries import recursive_rls
from numbo.models import SparseGP
from numbo.optimizers._base import ENUMERABLE, GLOBAL
from numbo.optimizers._budgeted import BudgetedOptimizer
from numbo.optimizers._candidates import CANDIDATES
from numbo.optimizers._race import Filter, lambda_max
from numbo.optimizers._schedules import sparse_confidence, uniform_confidence, union_bound
from numbo.space import Space

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Within a batch the dictionary is drawn anew when variances may have shrunk by this factor, as in BBKB.
RATIO_THRESHOLD = 2.0
BETAS = ("union", "paper")
#: Draws of candidates in a large space before the search for points in the race is given up.
ROUNDS = 20


class SBPE(BudgetedOptimizer):
    """Sparse batched pure exploration.

    It explores what may still be the optimum, evenly, and rules out the rest with confidence: for noisy objectives
    and large budgets. Over arms and spaces that can be enumerated, all of them are in the race at first; in larger
    spaces, membership is decided point by point. Under a learned kernel a point that was ruled out may come back.

        opt = SBPE(arms=features, horizon=2000, seed=0)

    Args:
        space: what is searched: a `numbo.Space`, or a mapping of names to `Float`, `Int` and `Categorical`; or
        arms: an explicit set of arms, an array (A, d) of features or `numbo.Arms`. Points are then row indices.
        direction: ``"minimize"`` or ``"maximize"``; by default spaces are minimised and arms are maximised.
        n_initial: number of points of the space-filling initial design: by default 1 under a fixed kernel, otherwise
            10.
        seed: anything that `numpy.random.default_rng` takes. Same seed and same history give the same suggestions.
        avoid_repeats: whether a point that was observed or is pending is never suggested again while others are left;
            by default in spaces, not of arms.
        learn_failures: whether failures depend on the parameters: ``True``, ``False``, or ``"auto"``, by the data.
        horizon: N, about how many evaluations there will be; it sets the sizes of the batches.
        beta: multiplier of the standard deviation in the bounds. ``"union"`` is ``sqrt(2 log(4 B |X| / delta))``: a
            draw from the model is within its bounds everywhere and after each of the B batches with probability
            ``1 - delta`` (Srinivas et al. 2010, lemma 5.1); a space too large to be enumerated counts as the largest
            that can be. ``"paper"`` is theorem 3.5, or corollary 3.7 in a continuous space, for an objective within
            `norm_bound`. Or a number.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: of a fixed kernel, a number or (d,), in the units of the arms' features, or of the unit cube that
            a space is mapped to. The fixed kernel has unit variance, and values are taken as they are.
        noise_std: standard deviation of the noise under a fixed kernel, in the units of the objective; lambda is its
            square. Without both of them the kernel is learned from the data, on a schedule.
        norm_bound: F, a bound of the objective's RKHS norm under the kernel.
        delta: the probability with which confidence bounds may fail.
        qbar: oversampling of the dictionary. Infinity puts every observed point into it: the exact GP.
        max_dictionary: maximum number of atoms that are drawn, ``None`` for no limit; ``"auto"`` is 256 where the
            kernel is learned, and no limit under a fixed one.
        initial_dictionary: how the first dictionary is drawn from a history, ``"bless"`` or ``"rls"``.
        resparsify: the dictionary is drawn again when the history has grown by this share; in between, new points join
            it with their probability as feedback is taken in. 0 draws it at the end of every batch, as the papers do:
            the default under a fixed kernel. 0.1 by default where the kernel is learned.
        trend: whether a learned kernel has a linear and quadratic part.
        winsorize: whether outliers on the bad side are clipped under a learned kernel.

    Raises:
        ValueError: for a setting outside of what is described here.
        TypeError: for one that is not described here.
    """

    @_checks.settings_by_name
    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: str | None = None,
        n_initial: int | None = None,
        seed: _checks.Seed = None,
        avoid_repeats: bool | None = None,
        learn_failures: bool | str = "auto",
        horizon: int = 1000,
        beta: float | str = "union",
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float = 0.1,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        resparsify: float | None = None,
        trend: bool = True,
        winsorize: bool = True,
    ) -> None:
        super().__init__(
            space,
            arms=arms,
            direction=direction,
            n_initial=n_initial,
            seed=seed,
            avoid_repeats=avoid_repeats,
            learn_failures=learn_failures,
            kernel=kernel,
            lengthscale=lengthscale,
            noise_std=noise_std,
            norm_bound=norm_bound,
            delta=delta,
            qbar=qbar,
            max_dictionary=max_dictionary,
            initial_dictionary=initial_dictionary,
            resparsify=resparsify,
            trend=trend,
            winsorize=winsorize,
        )
        self.horizon = _checks.integer("horizon", horizon, 1)
        self.beta = _checks.number_or(BETAS, "beta", beta)
        self._size = self._next_size(1)
        self._batch_start = 0
        self._racing = np.ones(0 if self._grid is None else len(self._grid), dtype=bool)
        self._filters: list[Filter] = []
        self._pool: Array | None = None
        self._pool_of = (0, 0)

    #: Judging needs a model that is nearly exact: what few atoms leave unexplained keeps everything in the race.
    _default_dictionary = 256

    def _next_size(self, size: int) -> int:
        return max(1, math.ceil(math.sqrt(self.horizon * size)))

    @property
    def n_batches(self) -> int:
        """B, the number of batches within the horizon."""
        size, total, count = 1, 0, 0
        while total < self.horizon:
            size = self._next_size(size)
            total, count = total + size, count + 1
        return count

    @property
    def racing(self) -> NDArray[np.bool_] | None:
        """Which arms (A,) may still be the optimum; None in a space that is too large to be enumerated."""
        return None if self._grid is None else self._racing.copy()

    def next_batch(self, limit: int | None = None) -> list[Any]:
        """The points that the present batch still lacks, at most ``limit``: to evaluate together, then tell."""
        missing = self._size - (self._history.n - self._batch_start) - len(self._history.pending)
        if missing <= 0:
            missing = self._next_size(self._size)
        return self.ask(missing if limit is None else min(missing, limit))

    # -- lines 3 to 8 ------------------------------------------------------------------------------------------

    def _propose(self) -> tuple[Array, int]:
        with self._times.phase("selection"):
            self._close_batches()
        if len(self._told()) + len(self._history.pending) == 0:
            return self._first_point(), GLOBAL
        return super()._propose()

    def _close_batches(self) -> None:
        """End every batch whose values have arrived."""
        history, open_since = self._history, self._batch_start
        while history.n - self._batch_start >= self._size:
            start = self._batch_start
            self._batch_start += self._size
            self._batch_sizes.append(self._size)
            self._size = self._next_size(self._size)
            if self._kernel.fixed:  # each batch alone
                self._judge(start, self._batch_start)
                self._window = self._batch_start
        if self._batch_start == open_since:
            return
        if not self._kernel.fixed:  # all observations together, by what they say about the kernel
            end = self._batch_start
            self._kernel.learn(history.X[:end], history.values(end), self._rng)
            self._racing[:] = True
            self._filters.clear()
            self._judge(0, end)
        self._model = None
        self._fed_back = self._drawn_at = self._window

    def _first_point(self) -> Array:
        """Any point in the race: before the first pull all are equally uncertain."""
        if self._grid is not None:
            allowed = np.flatnonzero(~self._excluded())
            return self._grid[self._rng.choice(allowed)] if len(allowed) else self._space_filling()
        candidates = self._candidates()
        free = [x for x in candidates if not self.taken(x)]
        return free[0] if free else self._space_filling()

    def _select(self) -> tuple[Array, int]:
        if self._arms is not None:
            return super()._select()
        assert self._model is not None
        posterior = self._given_batch()
        without_mean = posterior._replace(alpha=np.zeros(posterior.n))

        def eliminated(x: Array) -> bool:
            return not bool(self._in_race(x[None])[0])

        def out(x: Array) -> bool:
            return self.taken(x) or eliminated(x)

        x = self._maximize(without_mean, 1.0, [self._candidates()], out)
        if x is None:  # what is left is taken: rather repeat it
            x = self._maximize(without_mean, 1.0, [self._candidates()], eliminated)
        return (self._space_filling() if x is None else x), GLOBAL

    def _choose(self) -> int:
        arm = super()._choose()
        if arm < 0:  # the last one that was free entered the present batch
            self._start(self._multiplier, by_variance=self._by_variance)
            arm = super()._choose()
        return arm

    def _candidates(self) -> Array:
        """Points (c, d) of a large space that are in the race, drawn anew with each dictionary."""
        if self._pool is None or self._pool_of != (self._draws, self._batch_start):
            self._pool, self._pool_of = self._draw_candidates(), (self._draws, self._batch_start)
        return self._pool

    def _draw_candidates(self) -> Array:
        found: list[Array] = []
        elites = self._elites(self._history.values())
        for _ in range(ROUNDS):
            points = np.concatenate(self._starts.groups(elites, self._kernel.lengthscales, self._rng))
            points = self._rng.permutation(points[self._in_race(points)])
            found.append(points)
            if sum(map(len, found)) >= CANDIDATES or not self._filters:
                break
            if len(points):  # what is left of a small region is found around what was found of it
                elites = points[self._rng.integers(len(points), size=len(elites))]
        if not any(map(len, found)):  # the race is too small to be hit: what was observed of it
            found.append(self._history.X[self._in_race(self._history.X)])
        return np.concatenate([*found, elites[:1]])[:CANDIDATES]

    def _in_race(self, X: Array) -> NDArray[np.bool_]:
        rows = np.arange(len(X))
        for one in self._filters:
            rows = rows[one.passes(X[rows])]
        inside = np.zeros(len(X), dtype=bool)
        inside[rows] = True
        return inside

    def _free(self) -> NDArray[np.bool_]:
        """Which arms (A,) of the race were not taken yet."""
        taken = super()._excluded()
        return self._racing if taken is None else self._racing & ~taken

    def _excluded(self) -> NDArray[np.bool_]:
        """What is out of the race, and what is taken; but where all of the race is taken, it is repeated."""
        free = self._free()
        if free.any():
            return ~free
        out = np.ones(len(free), dtype=bool)
        out[self._free_rows(repeats=True)] = False
        return out | ~self._racing

    def taken(self, x: Array) -> bool:
        """As `Optimizer`, until all points of the race are: to repeat them says more than to leave the race."""
        return super().taken(x) and (self._grid is None or self._barred(x) or bool(self._free().any()))

    def _batch_is_over(self) -> bool:
        assert self._model is not None
        return 1.0 + self._model.total > RATIO_THRESHOLD

    @property
    def _by_variance(self) -> bool:
        return True

    def _count_batch(self, size: int) -> None:
        """The batches of S-BPE are counted where they end (`_close_batches`)."""

    def _confidence_multiplier(self) -> float:
        return 1.0

    def _learning_is_due(self) -> bool:
        """Only at the ends of batches (`_close_batches`); inside the first one, from the initial design."""
        return self._kernel.fitted_at == 0 and self._kernel.due(self._history.n)

    # -- lines 16 and 17 ---------------------------------------------------------------------------------------

    def _final_model(self, start: int, end: int) -> SparseGP:
        """The model of observations ``start`` to ``end`` on a dictionary of recursive RLS.

        A dictionary of lemma 3.8 fails with probability ``delta / 2B``, so those of all batches with half of ``delta``;
        the other half is the confidence bounds'. The lemma needs less than 1/32.
        """
        values = self._kernel.transformed(self._history.values(end))[start:end]
        told = self._pulls.told(self._history, end)[start:]
        counts = self._pulls.counts(told)
        points = np.flatnonzero(counts)
        X, covariance = np.ascontiguousarray(self._pulls.X[points]), self._kernel.covariance
        delta = min(self.delta / (2.0 * self.n_batches), 1.0 / 33.0)
        chosen = recursive_rls(covariance, X, self._rng, delta=delta, limit=self.max_dictionary)
        gp = SparseGP.over(covariance, X, counts[points].astype(np.float64), chosen)
        gp.set_values(np.bincount(told, values, self._pulls.u)[points].astype(np.float64))
        return gp

    def _judge(self, start: int, end: int) -> None:
        """Line 17: leave in the race what has an upper bound of at least the best lower bound."""
        gp = self._final_model(start, end)
        verdict = self._filter(gp, end - start)
        if self._grid is not None:
            racing = np.flatnonzero(self._racing)
            lower, upper = verdict.bounds(self._grid[racing])
            self._racing[racing[upper < lower.max()]] = False
            return
        points = np.concatenate([self._draw_candidates(), gp.X])
        verdict.best_lower = float(verdict.bounds(points[self._in_race(points)])[0].max(initial=-math.inf))
        self._filters.append(verdict)

    def _filter(self, gp: SparseGP, n: int) -> Filter:
        if self.beta == "union":
            points = ENUMERABLE if self._grid is None else len(self._grid)
            return Filter(gp.posterior, union_bound(self.delta, self.n_batches, points), 0.0, 0.0)
        if self.beta != "paper":
            return Filter(gp.posterior, float(self.beta), 0.0, 0.0)
        tau, top = math.sqrt(gp.regularization), lambda_max(gp)
        share, bound = self.delta / (4.0 * self.n_batches), self.norm_bound
        if self._grid is not None:
            beta = sparse_confidence(share / len(self._grid), top, tau, bound, tau)
            return Filter(gp.posterior, beta, 0.0, 0.0)
        beta = uniform_confidence(share, top, tau, bound, tau, n, self.space.d, self._largest_prior())
        return Filter(gp.posterior, beta, 2.0 / n, 2.0 / math.sqrt(n))

    # -- the rest ----------------------------------------------------------------------------------------------

    def _bring_up_to_date(self) -> None:
        """By a model of all observations, not of the present batch alone."""
        if self._window > 0:
            self._window = self._fed_back = 0
            self._model, self._extra = None, self._extra[:0]
        super()._bring_up_to_date()

    def _model_state(self) -> dict[str, Any]:
        filters = [(f.posterior, f.beta, f.offset, f.widening, f.best_lower) for f in self._filters]
        return super()._model_state() | {
            "size": self._size,
            "batch_start": self._batch_start,
            "racing": self._racing.copy(),
            "filters": filters,
            "pool": (self._pool, self._pool_of),
        }

    def _restore_model(self, state: dict[str, Any]) -> None:
        self._size, self._batch_start = state["size"], state["batch_start"]
        self._racing = state["racing"].copy()
        self._pool, self._pool_of = state["pool"]
        for posterior, beta, offset, widening, best_lower in state["filters"]:
            one = Filter(posterior, beta, offset, widening)
            one.best_lower = best_lower
            self._filters.append(one)
        super()._restore_model(state)

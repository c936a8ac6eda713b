"""A description of an optimizer's model, and the relevance of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from numbo._types import Array, Indices, Mask, TrialPositions
from numbo.inspection.hints import Hint, hints_of
from numbo.inspection.remaining import Remaining
from numbo.inspection.spending import Spending
from numbo.inspection.words import listed, rounded
from numbo.kernels.acquisition import CERTAIN, success_probabilities
from numbo.models.feasibility import NEGLIGIBLE
from numbo.models.noise import NOISY
from numbo.models.view import ModelView
from numbo.run.failures import failing_place
from numbo.run.situation import Situation
from numbo.search.fewer import changed
from numbo.search.trust_region import Region
from numbo.spaces import INACTIVE, Condition, Domain
from numbo.trials import best_first

if TYPE_CHECKING:
    from numbo.inspection.snapshot import Snapshot

#: Number of points at which relevance is estimated, a power of two; the mean is computed as often for each parameter.
SAMPLES = 256
#: Maximum number of constraints that are shown, the most violated ones.
SHOWN = 5
#: Number of random points, enough to contain `SAMPLES` at which a conditional parameter is active.
DRAWN = 2**14


def relevance(mean: Callable[[Array], Array], space: Domain, *, unvaried: Mask | None = None) -> dict[str, float]:
    """Shares of the parameters in the variation of ``mean`` over the points (c, d) of a space.

    They sum to 1, or are all 0 if ``mean`` is constant. Those of ``unvaried (d,)`` coordinates, on which ``mean`` must
    not depend, are 0.

    They are the total Sobol' indices (Saltelli et al. 2010), by Monte Carlo: the share of the variance over the space
    that is left when all other parameters are known. Lengthscales alone say how fast values change, not how much. The
    effect of a conditional parameter is measured where it is active.
    """
    names = space.names
    total = (_effects if space.conditional.any() else _total_indices)(mean, space)
    if unvaried is not None:
        total[unvaried] = 0.0
    shares = total / max(float(total.sum()), np.finfo(float).tiny)
    return {names[j]: float(shares[j]) for j in np.argsort(-shares, kind="stable")}


def _total_indices(mean: Callable[[Array], Array], space: Domain) -> Array:
    """Total Sobol' indices (d,) of ``mean`` over the points of a space."""
    from scipy.stats import sobol_indices, uniform

    if space.d == 1:
        return np.ones(1)
    found = sobol_indices(
        func=lambda x: mean(space.snap(np.ascontiguousarray(x.T))),
        n=SAMPLES,
        dists=[uniform()] * space.d,
        rng=np.random.default_rng(0),
    )
    out: Array = np.nan_to_num(np.maximum(np.atleast_1d(found.total_order), 0.0))
    return out


def _effects(mean: Callable[[Array], Array], space: Domain) -> Array:
    """Half the mean squared effect (d,) of drawing one parameter again, where it is active (Jansen 1999)."""
    rng = np.random.default_rng(0)
    drawn = rng.random((DRAWN, space.d))
    points = space.snap(drawn)
    out = np.zeros(space.d)
    for j in range(space.d):
        rows = np.flatnonzero(points[:, j] != INACTIVE)[:SAMPLES]
        if len(rows):
            other = drawn[rows]
            other[:, j] = rng.random(len(rows))
            out[j] = 0.5 * np.mean((mean(space.snap(other)) - mean(points[rows])) ** 2)
    return out


@dataclass(frozen=True, eq=False)
class Explanation:
    """A description of an optimizer's model, given all observations.

    Attributes:
        algorithm: name of the optimizer.
        objective: the objective that is modelled, from 0, if there are several; None if there is only one.
        n_told, n_pending: numbers of trials told, failures included, and of pending points.
        n_failed: number of trials told that failed.
        failure_trust: weight, from 0 to 1, of the model in which failures depend on the parameters; the rest is that
            of failures by accident (`numbo.models.Feasibility`).
        failing: where most of the failures are: the test of one parameter that separates them best from the successes;
            None if that is not clear (`numbo.run.failures`).
        success: probability of success at the best point, given the failures.
        n_feasible: number of observations that meet all constraints; None without constraints.
        violated: share of the observations that violate each constraint.
        members: (m,) observations that the model is built on, by their position in the order of telling: the subset of
            GSSBO, the atoms of the dictionary of BKB, BBKB and S-BPE, all observations of GP-UCB.
        relevance: share of each parameter in the variation of the posterior mean over the space, the largest first;
            those that were not varied are held at their values, and have 0.
        unvaried: parameters that had the same value in all observations where they were used, or were never used:
            nothing is known of their effect.
        conditions: of conditional parameters, in words: the values of others for which they are used.
        inferred: whether the conditions are inferred from the trials. They agree with all trials, but the program may
            behave differently where there are no trials.
        lengthscales: of each parameter: distance in the unit cube over which values stay correlated, apart from the
            trend and the additive part.
        noise_std: standard deviation of the noise in the model, in the units of the objective.
        spread_std: standard deviation of the posterior mean over the space, in the same units.
        noise_share: share of the variance of all values told that is noise in the model.
        noisy: whether the search counts values as noisy: it may measure points again, and models average. The noise of
            the model alone is not believed if points can be measured again, and is refuted if repeats agree.
        all_data: whether the posterior uses all observations, with the members as atoms.
        buffer_size: M, the size of the subset; None if there is no limit (yet).
        beta: multiplier of the standard deviation in the confidence bounds; None if it is not used.
        effective_dimension: of a sparse model, ``sum var~(x_s)`` over the observations, at most the number of
            different ones; None for other models.
        batch_sizes: of the batches that ended.
        studies: how much the predictions of earlier studies count in the model, by their names: their expected weights.
            All are 0 before the model has spoken.
        spending: what the next trial is expected to cost, and what is left of the budget.
        remaining: what fifty more trials would bring; None before that can be said.
        changed: parameters in which the best point differs from the default; None without a default.
        hints: what the trials say of ranges, parameters, beliefs and constraints, and of the optimum
            (`numbo.inspection.hints.Hint`).
        region: the trust region, if there is one.
        phases: seconds of the last ask by phase: ``"selection"`` of the subset, or of the race at the end of a batch of
            S-BPE; ``"model"`` for fitting and conditioning; ``"search"`` for finding the point.
        asked_at, ask_seconds: (asks,) numbers of observations at which a point was asked for, and the time it took;
            in this process only.
    """

    algorithm: str
    n_told: int
    n_pending: int
    members: TrialPositions = field(repr=False)
    relevance: dict[str, float]
    lengthscales: dict[str, float]
    noise_std: float
    spread_std: float
    noise_share: float
    noisy: bool = False
    objective: int | None = None
    n_failed: int = 0
    failure_trust: float = 0.0
    failing: Condition | None = None
    success: float = 1.0
    n_feasible: int | None = None
    violated: dict[str, float] = field(default_factory=dict)
    all_data: bool = False
    unvaried: tuple[str, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict)
    inferred: bool = False
    buffer_size: int | None = None
    beta: float | None = None
    effective_dimension: float | None = None
    batch_sizes: tuple[int, ...] = ()
    studies: dict[str, float] = field(default_factory=dict)
    spending: Spending = field(default_factory=Spending)
    remaining: Remaining | None = None
    changed: tuple[str, ...] | None = None
    hints: tuple[Hint, ...] = ()
    region: Region | None = None
    phases: dict[str, float] = field(default_factory=dict)
    asked_at: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    ask_seconds: Array = field(default_factory=lambda: np.empty(0), repr=False)

    def of_objective(self, number: int) -> Explanation:
        """The same for one of several objectives, whose best is not the best of all."""
        hints = tuple(hint for hint in self.hints if hint.kind not in ("bound", "allowed", "needle"))
        return replace(self, objective=number, changed=None, hints=hints)

    def __str__(self) -> str:
        return "\n".join([self._head(), *(f"{label:<12}{words}" for label, words in self._lines())])

    def _repr_html_(self) -> str:
        """The lines of the text as a table, for notebooks."""
        rows = (f"<tr><th>{escape(label)}</th><td>{escape(words)}</td></tr>" for label, words in self._lines())
        return f"<table><caption>{escape(self._head())}</caption><tbody>{''.join(rows)}</tbody></table>"

    def _head(self) -> str:
        """The first line."""
        model = f"model on all through {len(self.members)}" if self.all_data else f"model on {len(self.members)}"
        return f"{self.algorithm}: {self.n_told} observations, {self.n_pending} pending, {model}"

    def _lines(self) -> list[tuple[str, str]]:
        """The other lines, each a label and words; those that have nothing to say are left out."""
        doubted = " in the model, not confirmed" if self.noise_share > NOISY and not self.noisy else ""
        noise = f"{rounded(self.noise_std, 3)}{doubted}, {self.noise_share:.0%} of the variance told"
        varied = {name: share for name, share in self.relevance.items() if name not in self.unvaried}
        worst = dict(sorted(self.violated.items(), key=lambda one: -one[1])[:SHOWN])
        conditions = "; ".join(f"{name} where {words}" for name, words in self.conditions.items())
        region = self.region
        sizes = self.batch_sizes
        lines = [
            ("objective", "" if self.objective is None else f"{self.objective}, counted from 0"),
            ("noise", f"{noise}; values spread by {rounded(self.spread_std, 3)}"),
            ("relevance", listed(varied) or "not known"),
            ("not varied", ", ".join(self.unvaried)),
            ("failures", self._failures() if self.n_failed else ""),
            ("feasible", "" if self.n_feasible is None else f"{self.n_feasible or 'none'}; violated: {listed(worst)}"),
            ("conditions", conditions and "as far as the trials show: " * self.inferred + conditions),
            ("buffer", "" if self.buffer_size is None else f"{self.buffer_size} observations"),
            ("dimension", "" if self.effective_dimension is None else f"{self.effective_dimension:.1f} effective"),
            ("beta", "" if self.beta is None else f"{self.beta:.3g}"),
            ("batches", f"{len(sizes)}, the last of {sizes[-1]}" if sizes else ""),
            ("earlier", _counting(self.studies) if self.studies else ""),
            *self.spending.lines(),
            ("remaining", "" if self.remaining is None else str(self.remaining)),
            ("region", "" if region is None else f"number {region.number}, length {region.length:.3g}"),
            ("changed", "" if self.changed is None else f"at the best point: {', '.join(self.changed) or 'nothing'}"),
            *(("hint", str(hint)) for hint in self.hints),
            ("last ask", ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in self.phases.items())),
        ]
        return [line for line in lines if line[1]]

    def _failures(self) -> str:
        """The failures in words."""
        where = "" if self.failing is None else f", mostly where {self.failing}"
        trust = self.failure_trust
        learned = f"learned with weight {trust:.0%}" if trust > NEGLIGIBLE else "not learned"
        return f"{self.n_failed} of {self.n_told}{where}; {learned}; success at the best point {self.success:.0%}"


def _counting(studies: dict[str, float]) -> str:
    """Which earlier studies count, in words."""
    listed = sorted(studies.items(), key=lambda one: -abs(one[1]))
    shown = ", ".join(f"{name} {weight:.2g}" for name, weight in listed[:SHOWN])
    rest = f", and {len(listed) - SHOWN} that count less" if len(listed) > SHOWN else ""
    return f"weights of what they predict: {shown}{rest}"


def explained(known: Snapshot) -> Explanation:
    """The description of the model of one objective that a snapshot has."""
    run = known._run
    predictions = known.predictions
    view = predictions.model("explain")
    history = run.history
    space = run.space
    drawn = np.random.default_rng(0).random((SAMPLES, space.d))
    points = space.grid()[(drawn[:, 0] * space.cardinality).astype(int)] if space.explicit else drawn
    unit = view.transform.slope(0.0)  # values may be of any size
    variance = float(np.var(history.values() / unit))
    noise = view.noise_std / unit
    variation = predictions.variation
    unvaried = variation.unvaried
    shares = relevance(lambda X: view.mean_sd(variation.held(X)).mean / unit, space, unvaried=unvaried)
    rows = np.flatnonzero(known.recommendations.met & (not history.several))
    rows = rows[best_first(known.recommendations.assured[rows])]
    spread = unit * float(np.std(view.mean_sd(space.snap(points)).mean / unit))
    return Explanation(
        algorithm=known.algorithm,
        n_told=history.told,
        n_pending=len(history.pending),
        members=history.positions[view.members],
        relevance=shares,
        changed=None if space.default is None or not len(rows) else changed(space, history.X[rows[0]]),
        hints=hints_of(run, view, rows, shares, unvaried, spread),
        unvaried=tuple(name for name, same in zip(space.names, unvaried.tolist(), strict=True) if same),
        lengthscales=dict(zip(space.names, view.lengthscales.tolist(), strict=True)),
        noise_std=view.noise_std,
        spread_std=spread,
        n_failed=history.told - history.n,
        failure_trust=run.feasibility.trust,
        failing=failing_place(run),
        success=_success(run, view),
        n_feasible=int(history.met.sum()) if history.constrained else None,
        violated=dict(zip(run.goal.constraints, np.mean(history.C > 0.0, axis=0).tolist(), strict=True)),
        noise_share=min(1.0, noise * noise / variance) if variance > 0.0 else 0.0,
        noisy=run.noise.found,
        all_data=view.sparse is not None,
        conditions={name: str(condition) for name, condition in space.conditions.items()},
        buffer_size=view.buffer_size,
        beta=view.beta,
        effective_dimension=view.effective_dimension,
        batch_sizes=view.batch_sizes,
        studies=view.studies,
        spending=Spending.of(run, view),
        region=known.region,
        phases=dict(known.times.phases),
        asked_at=np.array([n for n, _ in known.times.asks], dtype=np.int64),
        ask_seconds=np.array([seconds for _, seconds in known.times.asks], dtype=np.float64),
    )


def _success(run: Situation, view: ModelView) -> float:
    """The probability of success at the best point; the share of successes if failures are not learned."""
    success = view.acquisition.success
    if success is CERTAIN:
        return run.history.n / run.history.told
    return float(success_probabilities(success, run.history.X[run.history.best][None])[0])

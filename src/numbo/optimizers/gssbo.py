"""GSSBO: Bayesian optimisation on a subset chosen by gradient information (Wei et al., algorithm 1).

Each round of `GSSBO` is a round of the algorithm, with its line numbers. A round begins with the update for the last
point, lines 5 to 17, and ends with the next point, line 3 (`numbo.rules.everywhere.Everywhere`).

    1      the first ``n_initial`` points are a scrambled Sobol design, but for the usual point, which is the first
    3      the next point maximises the acquisition function on the current GP           `GPSearch.next_point`
    4      it is evaluated and told
    5-10   as soon as an iteration costs more than Z initial ones, M = |D|               `DynamicBuffer`
    12     gradients g = d log p(y | X) / dy, eq. (3)                                    `numbo.models.subsets.Pool`
    13     the initial and the newest samples are forced into the subset                 `Subset._select`
    12, 14 g is perturbed by N(0, sigma_d^2), and the criterion chooses the others       `numbo.selection.select_sign`
    15, 17 the GP is updated with the subset, or with all samples before the switch      `GPSearch.next_point`

The default preset adds engines (`numbo.search.engine`), which make three of four suggestions or more, and one of
two with several objectives: a local search in a trust region, and a population search. ``preset="paper"`` is the
algorithm as published, and what failures and unclear noise need (`Probe`, `Again`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks, rules
from numbo._plain import Kept, Saved
from numbo._settings import ACQUISITIONS, GPSettings, checked, handed_on
from numbo._types import (
    AcquisitionName,
    Array,
    AvoidRepeats,
    BufferRule,
    BufferSize,
    Direction,
    Indices,
    ObservationIndices,
    Preset,
)
from numbo.models.outputs import Outputs
from numbo.models.subsets import CRITERIA, Pool
from numbo.models.surrogate import Surrogate
from numbo.models.view import ModelView
from numbo.optimizers._calls import Capabilities
from numbo.optimizers.base import Optimizer
from numbo.optimizers.parts.buffer import RULES, DynamicBuffer
from numbo.run.situation import Situation
from numbo.search.front_search import FrontSearch
from numbo.search.gp_search import GPSearch
from numbo.search.local_search import LocalSearch
from numbo.search.population_search import PopulationSearch
from numbo.search.trust_region import Region
from numbo.spaces import Arms, Space
from numbo.trials import best_first, scores_of
from numbo.trials.schedule import Schedule

if TYPE_CHECKING:
    from typing_extensions import Self

#: Size of the initial design, which begins at the usual point (`numbo.run.design.Design`):
#: ``benchmarks/results/compare-start.md``, with more seeds ``compare-start-six-seeds.md``; on searches put aside
#: ``compare-start-apart.md``.
FEW = 3
#: M, unless it is set; more with a large initial design, so that the criterion has a choice.
BUFFER_SIZE = 128
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "criterion": "sign",
        "buffer_size": "dynamic",
        "perturbation": 0.1,
        "elites": 0.0,
        "reselect": 0.0,
        "acquisition": "ucb",
        "trend": False,
        "additive": False,
        "winsorize": False,
        "warp": False,
        "all_data": False,
        "cover_categories": False,
        "avoid_ties": False,
        "scouting": 0.0,
        "trust_region": False,
        "population": False,
        "coordinate_lines": False,
    },
}
#: One suggestion in this many comes from the global model.
TURN = 4
#: The same with several objectives. On nine problems, one seed of 300 trials, it was better on six than one in four.
TURN_OF_FRONT = 2
#: The share of the cost that is spent on scouts; other shares: `numbo.rules.filling.SCOUTED`.
SCOUTING = 0.5
#: Number of observations that a local model is conditioned on if the buffer has no fixed size.
LOCAL_SIZE = 128
LOCAL_REFIT = {"growth": 0.05, "longest": 8}


class Subset(Kept):
    """Lines 5 to 17: the number of samples that the model is fitted to, and their choice.

    Args:
        settings: of `GSSBO`.
        buffer: M, or the rule that determines it.
        first: number of initial samples, which are always in the subset.
    """

    _kept = ("buffer", "_selected", "_from_all")
    _selected_at: Saved[int] = 0

    def __init__(self, settings: GSSBOSettings, buffer: DynamicBuffer, first: int) -> None:
        self._settings = settings
        self.buffer = buffer
        self._first = first
        self._selected: ObservationIndices = np.empty(0, dtype=np.int64)
        self._from_all = Schedule(settings.reselect)

    def members(self, run: Situation, search: GPSearch) -> ObservationIndices:
        """All samples before the switch, the chosen subset after it (lines 15 and 17)."""
        n = run.history.n
        size = self.buffer.limit(n)
        if n <= size:
            return run.noise.distinct(np.arange(n))
        if self._selected_at != n:
            if self._from_all.due(n):
                pool = np.arange(n)
                self._from_all.at = n
            else:
                pool = np.concatenate([self._selected, np.arange(self._selected_at, n)])
            pool = run.noise.distinct(pool)
            with run.times.phase("selection"):
                chosen = pool[self._select(run, search.prepared(run, size), pool, size)] if len(pool) > size else pool
            self._selected = chosen
            self._selected_at = n
        return self._selected

    @property
    def size(self) -> int | None:
        return self.buffer.size

    def record(self, n: int, seconds: float) -> None:
        self.buffer.record(n, seconds)

    def _select(self, run: Situation, surrogate: Surrogate, pool: ObservationIndices, size: int) -> Indices:
        """Positions in ``pool`` of the subset: initial, newest and best samples, and the criterion's choice."""
        history = run.history
        y = history.values()
        forced = (pool < self._first) | (pool == history.n - 1)  # line 13
        best = best_first(scores_of(history, pool))[: int(self._settings.elites * size)]
        forced[best[: size - np.count_nonzero(forced)]] = True
        candidates = Pool(  # line 12
            X=history.X[pool],
            y=surrogate.transform.forward(y[pool]),
            model=surrogate.gp,
            members=np.isin(pool, surrogate.members),
            perturbation=self._settings.perturbation,
        )
        return CRITERIA[self._settings.criterion](candidates, size, np.flatnonzero(forced), run.rng)  # line 14


@dataclass(frozen=True, kw_only=True)
class GSSBOSettings(GPSettings):
    """Settings of `GSSBO`; ``GSSBOSettings.of_preset("paper")`` are those of the paper.

    Args:
        n_initial: number of points of the initial design before the model takes over; by default 3.
        buffer_size: M, number of observations that the model is fitted to, at least ``n_initial + 2``; ``"dynamic"``
            for the rule of the paper; by default 128, or more with a large initial design.
        trust_region: whether a local search runs in addition to the global model; never in spaces small enough to be
            enumerated.
        population: whether a population search (`numbo.search.population_search`) takes turns with the local search,
            after a region was given up, or as soon as a full quadratic foresees how observations rank; only with
            ``trust_region``, and with one objective. It has no turns under noise, with constraints, a default or fixed
            values, or after trials that were stopped.
        scouting: below 1. If trials are stopped early, this share of the reports of all trials, times the share of the
            cost that stopping has saved, is spent on space-filling points. A trial that is stopped soon costs little,
            so these are many points. By default 0.5. Without ``use_curves``, reports are not kept, so nothing is known
            of the cost: nothing is spent then by default, and other shares than 0 are refused. With several objectives,
            nothing is spent either.
        criterion: how the subset is chosen, one of `numbo.selection.CRITERIA`. This setting and the following ones are
            for ablations and reproductions, and so are ``trend``, ``additive``, ``winsorize`` and ``warp``.
        buffer_factor: Z, above 1: the ratio of iteration costs at which a dynamic buffer switches.
        buffer_rule: how these are measured: ``"work"`` (a cost model, reproducible) or ``"time"`` (the wall clock, as
            in the paper).
        perturbation: sigma_d, standard deviation of the noise on the gradients with ``"sign"``, and on the logarithm of
            the residuals with ``"nystrom"``; other criteria ignore it.
        elites: share of the subset, below 1, that is reserved for the best observations; the criterion chooses the
            others. The model has to be accurate where the optimum may be (quality and diversity, Moss et al. 2023).
        reselect: the subset is chosen from all data when the history has grown by this share, and in between from the
            last subset and the new observations. 0 chooses from all data every time.
        warp: whether the global model is fitted to the logarithm of the gap to the best value if it then predicts
            better.
        all_data: whether the posterior uses all observations if values are noisy, with the subset as its atoms.
        coordinate_lines: whether the suggestions of the global model differ from the best point in one coordinate
            (Kirschner et al. 2019) when the local search has narrowed down; only with ``trust_region``, in 12 or more
            dimensions, with one objective, and without noise.
        cover_categories: whether every second suggestion tries an untried combination of categories, as long as there
            are any; only of those that do not depend on others, not if there are more than 40 combinations, nor in
            spaces that are enumerated; of a single category after 16 suggestions. And whether, once twelve observations
            have improved the best one by last digits at most, three of four suggestions try an untried combination of
            categories and of integers with at most 16 values, or an untried value of one of them if there are more than
            256 combinations.
        avoid_ties: whether to avoid points so near a known point that they most likely have exactly its value, if
            values tie (accuracies, steps). Values are then assumed to be exact.
    """

    acquisition: AcquisitionName = checked("alternate", _checks.one_of, ACQUISITIONS)
    trend: bool = checked(True, _checks.flag)
    additive: bool = checked(True, _checks.flag)
    winsorize: bool = checked(True, _checks.flag)
    warp: bool = checked(True, _checks.flag)
    buffer_size: BufferSize | None = checked(None, _checks.integer_or, 3, "dynamic")
    trust_region: bool = checked(True, _checks.flag)
    population: bool = checked(True, _checks.flag)
    scouting: float | None = checked(None, _checks.number, 0.0, 1.0)
    criterion: str = checked("kmeans++", _checks.one_of, CRITERIA)
    buffer_factor: float = checked(4.0, _checks.number, 1.0, above=True)
    buffer_rule: BufferRule = checked("work", _checks.one_of, RULES)
    perturbation: float = checked(0.0, _checks.number, 0.0)
    elites: float = checked(0.25, _checks.number, 0.0, 1.0)
    reselect: float = checked(0.1, _checks.number, 0.0)
    all_data: bool = checked(True, _checks.flag)
    coordinate_lines: bool = checked(True, _checks.flag)
    cover_categories: bool = checked(True, _checks.flag)
    avoid_ties: bool = checked(True, _checks.flag)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scouting and not self.use_curves:
            raise ValueError(f"scouting must be 0 with use_curves=False, which keeps no report; got {self.scouting!r}.")

    @property
    def scouted(self) -> float:
        """The share of reports that is spent on scouts, times that of the cost that stopping has saved."""
        usual = SCOUTING if self.use_curves else 0.0
        return usual if self.scouting is None else self.scouting

    @classmethod
    def of_preset(cls, preset: Preset, **given: Any) -> Self:
        """The settings of a ``preset``, ``"default"`` or ``"paper"``, replaced by those ``given``."""
        return cls(**{**PRESETS[_checks.one_of("preset", preset, PRESETS)], **given})

    @classmethod
    def of(cls, settings: Self | None, *, preset: Preset | None = None, **given: Any) -> Self:
        if preset is None:
            return super().of(settings, **given)
        if settings is not None:
            raise ValueError(f"preset and settings exclude each other: pass GSSBOSettings.of_preset({preset!r}, ...).")
        return super().of(cls.of_preset(preset), **given)

    def initial(self, d: int) -> int:
        return FEW if self.n_initial is None else self.n_initial

    def buffer(self, d: int) -> DynamicBuffer:
        """M in ``d`` dimensions, or the rule that determines it."""
        n_initial = self.initial(d)
        buffer = DynamicBuffer(n_initial, d, self.buffer_factor, self.buffer_rule)
        if self.buffer_size == "dynamic":
            return buffer
        size = max(BUFFER_SIZE, n_initial + BUFFER_SIZE // 4) if self.buffer_size is None else int(self.buffer_size)
        if size < n_initial + 2:
            raise ValueError(
                f"buffer_size must be 'dynamic' or an integer of at least n_initial + 2 = {n_initial + 2}, to hold the "
                f"initial samples, the newest and one that is chosen; got {size}."
            )
        buffer.size = size
        return buffer


class GSSBO(Optimizer):
    """Gradient-based sample selection Bayesian optimisation, for thousands of observations.

        opt = GSSBO({"x": Float(-5, 5), "k": Int(1, 64, log=True)}, seed=0)
        p = opt.ask()
        opt.tell(p, objective(p))

    Args:
        preset: ``"default"``, or ``"paper"`` for the algorithm as published; in place of ``settings``.
    """

    _kept = ("_search", "_subset", "_engines")
    settings: GSSBOSettings
    settings_class = GSSBOSettings
    capabilities = Capabilities(
        _checks.MOST_OBJECTIVES, constraints=True, std=True, costs=True, known=True, usual_initial=None
    )

    @handed_on(GSSBOSettings)
    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: Direction | None = None,
        directions: Sequence[str] | None = None,
        constraints: Sequence[str] = (),
        n_initial: int | None = None,
        seed: _checks.Seed = None,
        earlier: Sequence[Any] = (),
        budget: float | None = None,
        avoid_repeats: AvoidRepeats | None = None,
        buffer_size: BufferSize | None = None,
        preset: Preset | None = None,
        settings: GSSBOSettings | None = None,
    ) -> None: ...

    def _build(self) -> None:
        settings = self.settings
        self._search = GPSearch(self.space, settings, self._run.goal, self._sources)
        self._subset = Subset(settings, settings.buffer(self.space.d), self.n_initial)
        self._global = rules.GlobalModel(self._search, self._subset)
        self._engines = self._new_engines(settings)
        asks = settings.all_data and self.avoid_repeats == "auto"
        claims = tuple(zip(*(models.objectives for models in self._models), strict=True))
        self._run = replace(self._run, claims=claims, asks=asks)
        opening = partial(rules.Recalled, sources=self._sources) if self._sources else rules.Opening
        self._opening = opening(self.n_initial, replaces_failures=True)

    def _new_engines(self, settings: GSSBOSettings) -> tuple[LocalSearch, ...] | tuple[LocalSearch, PopulationSearch]:
        """The searches beside the global model."""
        several = self._run.history.several
        if not settings.trust_region or self._run.grid is not None:
            return ()
        new = partial(self._search.new_surrogate, **LOCAL_REFIT)
        limit = partial(new, winsorize=False)
        models = Outputs(new, limit, self._run.goal)
        kind = FrontSearch if several else LocalSearch
        local = kind(self.space, models, self._subset.buffer.size or LOCAL_SIZE, self._search.maximiser)
        if several or not settings.population:
            return (local,)
        return local, PopulationSearch(self.space, local, number=1)

    def _new_rules(self) -> tuple[rules.Rule, ...]:
        """One suggestion in `TURN` is by the algorithm of the paper, the last rule, and those for single categories are
        by its model, too. The engines make the others.
        """
        run = self._run
        settings = self.settings
        model = self._global
        turn = TURN_OF_FRONT if run.history.several else TURN
        space = run.named_space
        engines = self._engines
        found: list[rules.Rule] = [
            rules.Probe(),
            rules.Rebuilt(model, self.n_initial + turn),
            rules.Confirm(self._search.surrogate),
            rules.Scouts(model, settings.scouted, self.n_initial),
        ]
        if space is not None:
            found.append(rules.Again(model, space))
        if self._sources:
            found.append(rules.Recalling(model))
        if space is not None and settings.cover_categories:
            found += [rules.Untried(model, space), rules.Elsewhere(model, space)]
        if engines:
            found += [rules.Filling(self._search.surrogate, turn), rules.InTurn(engines, turn)]
        if engines and settings.coordinate_lines:
            found.append(rules.Lines(model, engines[0]))
        if settings.trust_region:
            found.append(rules.Ends(model))
        return (*found, rules.Everywhere(model))

    @property
    def _models(self) -> list[Outputs]:
        """The global models, and the models of the engines."""
        return [self._search.outputs, *(one for engine in self._engines for one in engine.models)]

    def _observed(self, i: int, y: float, origin: int) -> None:
        for engine in self._engines:
            engine.tell(self._run, i, y, origin)

    @property
    def _outdated(self) -> bool:
        pairs = (pair for models in self._models for pair in zip(models.objectives, self._run.noises, strict=True))
        return any(surrogate.averaged and noise.refuted for surrogate, noise in pairs)

    def _scores(self, run: Situation, X: Array) -> Array:
        return copy.deepcopy(self._global).scores(run, X)

    # -- looking inside ------------------------------------------------------------------------------------------

    def _view(self, run: Situation) -> ModelView:
        return copy.deepcopy(self._global).view(run)

    def _region(self) -> Region | None:
        regions = (engine.region(self._run.history) for engine in self._engines)
        return next((region for region in regions if region is not None), None)

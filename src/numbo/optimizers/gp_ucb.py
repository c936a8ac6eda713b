"""GP-UCB on all data: the exact baseline (Srinivas et al. 2010, algorithm 1)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from numbo import _checks
from numbo._settings import GPSettings, handed_on
from numbo._types import Array, AvoidRepeats, Beta, Direction, ObservationIndices
from numbo.models.view import ModelView
from numbo.optimizers._calls import Capabilities
from numbo.optimizers.base import Optimizer
from numbo.rules import Again, Everywhere, GlobalModel, Members, Probe, Recalled, Rule
from numbo.run.situation import Situation
from numbo.search.gp_search import GPSearch
from numbo.spaces import Arms, Space


@dataclass(frozen=True, kw_only=True)
class GPUCBSettings(GPSettings):
    """Settings of `GPUCB`.

    Args:
        acquisition: ``"ucb"`` (mean + beta * standard deviation), ``"log_ei"`` (log expected improvement), or
            ``"alternate"``: alternates between the two. Of several objectives it is always the expected hypervolume
            improvement.
        warp: whether the model is fitted to the logarithm of the gap to the best value if it then predicts better.
    """


class Everything(Members):
    """All observations without copies."""

    def members(self, run: Situation, search: GPSearch) -> ObservationIndices:
        return run.noise.distinct(np.arange(run.history.n))

    def record(self, n: int, seconds: float) -> None:
        """Times have no influence."""


class GPUCB(Optimizer):
    """Exact GP-UCB, for comparison, and for a few hundred trials.

        opt = GPUCB({"x": Float(-5, 5)}, beta="log", seed=0)

    A suggestion takes O(n^2), and a refit O(n^3).
    """

    _kept = ("_search",)
    settings: GPUCBSettings
    settings_class = GPUCBSettings
    capabilities = Capabilities(_checks.MOST_OBJECTIVES, constraints=True, std=True, costs=True, known=True)

    @handed_on(GPUCBSettings)
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
        beta: Beta | None = None,
        settings: GPUCBSettings | None = None,
    ) -> None: ...

    def _build(self) -> None:
        settings = self.settings
        self._search = GPSearch(self.space, settings, self._run.goal, self._sources)
        self._global = GlobalModel(self._search, Everything())
        self._run = replace(self._run, claims=tuple(zip(self._search.outputs.objectives, strict=True)))
        if self._sources:
            self._opening = Recalled(self.n_initial, sources=self._sources)

    def _new_rules(self) -> tuple[Rule, ...]:
        named = self._run.named_space
        again = () if named is None else (Again(self._global, named),)
        return Probe(), *again, Everywhere(self._global)

    def _scores(self, run: Situation, X: Array) -> Array:
        return copy.deepcopy(self._global).scores(run, X)

    def _view(self, run: Situation) -> ModelView:
        return copy.deepcopy(self._global).view(run)

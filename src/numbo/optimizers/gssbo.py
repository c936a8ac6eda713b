"""GSSBO: Bayesian optimisation on a subset chosen by gradient information (Wei et al., algorithm 1).

Each round of `GSSBO` is a round of the algorithm, with its line numbers:

    1      the first ``n_initial`` points are a scrambled Sobol design
    3      the next point maximises the acquisition function on the current GP           `_propose`
    4      it is evaluated and told
    5-10   as soon as an iteration costs more than Z initial ones, M = |D|               `_buffer`
    12     gradients g = d log p(y | X) / dy, eq. (3), perturbed by N(0, sigma_d^2)      `numbo.selection.Pool`
    13     the initial and the newest samples are forced into the subset                 `_select`
    14     the others are chosen by the criterion                                        `_select`
    15, 17 the GP is updated with the subset, or with all samples before the switch      `_members`

The default preset adds a local search in a trust region (`numbo.optimizers._local_search`), in which three
suggestions of four are made; ``preset="paper"`` is the algorithm literally.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbo.optimizers._base import GLOBAL
from numbo.optimizers._buffer import RULES, DynamicBuffer
from numbo.optimizers._gp_optimizer import TURN, GPOptimizer
from numbo.optimizers._inspection import Region
from numbo.optimizers._local_search import CANDIDATES, LocalSearch
from numbo.optimizers._trust_region import TrustRegion
from numbo.selection import CRITERIA, Pool, check_criterion

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "criterion": "kmeans++",
        "buffer_size": 128,
        "perturbation": 0.0,
        "elites": 0.25,
        "reselect": 0.1,
        "acquisition": "alternate",
        "trend": True,
        "additive": True,
        "winsorize": True,
        "warp": True,
        "trust_region": True,
    },
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
        "trust_region": False,
    },
}
LOCAL_REFIT = {"growth": 0.05, "longest": 8}


class GSSBO(GPOptimizer):
    """Gradient-based sample selection Bayesian optimisation, for thousands of observations.

    Args:
        space: what is searched.
        preset: ``"default"`` or ``"paper"``; fills in every setting below that is not given.
        criterion: how the subset is chosen, one of `numbo.selection.CRITERIA`.
        buffer_size: M, how many samples the model is fitted to; ``"dynamic"`` leaves it to the rule of the paper.
        buffer_factor: Z, the ratio of iteration costs at which the dynamic buffer switches.
        buffer_rule: ``"work"`` (a cost model, reproducible) or ``"time"`` (the wall clock, as in the paper).
        perturbation: sigma_d, standard deviation of the noise on the gradients.
        elites: this share of the subset is kept for the best samples, and the criterion chooses the rest: the model
            has to be good where the optimum may be (quality and diversity, Moss et al. 2023).
        reselect: the subset is chosen anew from all data when the history has grown by this share; in between it
            is chosen from the last subset and the new samples. 0 chooses from all data every time.
        trust_region: whether a local search is run beside the global model. Spaces small enough to be enumerated
            do without.
        options: those of `GPOptimizer` (``kernel, acquisition, beta, trend, additive, winsorize, warp``) and of
            `Optimizer` (``direction, n_initial, seed, avoid_repeats``).

    Raises:
        ValueError: for settings outside of what is described here.
    """

    def __init__(
        self,
        space: Any,
        *,
        preset: str = "default",
        criterion: str | None = None,
        buffer_size: int | str | None = None,
        buffer_factor: float = 4.0,
        buffer_rule: str = "work",
        perturbation: float | None = None,
        elites: float | None = None,
        reselect: float | None = None,
        trust_region: bool | None = None,
        **options: Any,
    ) -> None:
        if preset not in PRESETS:
            raise ValueError(f"preset must be one of {sorted(PRESETS)}, got {preset!r}.")
        default = dict(PRESETS[preset])
        model = {name: default.pop(name) for name in ("acquisition", "trend", "additive", "winsorize", "warp")}
        super().__init__(space, **(model | options))
        self.preset = preset
        self.criterion = check_criterion(default["criterion"] if criterion is None else criterion)
        self.perturbation = float(default["perturbation"] if perturbation is None else perturbation)
        if not 0.0 <= self.perturbation < np.inf:
            raise ValueError(f"perturbation must be a non-negative number, got {perturbation!r}.")
        self.elites = float(default["elites"] if elites is None else elites)
        if not 0.0 <= self.elites < 1.0:
            raise ValueError(f"elites must be a share of at least 0 and below 1, got {elites!r}.")
        self.reselect = float(default["reselect"] if reselect is None else reselect)
        if not 0.0 <= self.reselect < np.inf:
            raise ValueError(f"reselect must be a non-negative number, got {reselect!r}.")
        if buffer_size is None and preset == "default":  # room for the criterion beside any initial design
            buffer_size = max(default["buffer_size"], self.n_initial + default["buffer_size"] // 4)
        self.buffer_size = default["buffer_size"] if buffer_size is None else buffer_size
        self._buffer = self._check_buffer(self.buffer_size, buffer_factor, buffer_rule)
        self._selected: Indices = np.empty(0, dtype=np.int64)
        self._selected_at = self._reselect_at = 0
        self.trust_region = bool(default["trust_region"] if trust_region is None else trust_region)
        self._local: LocalSearch | None = None
        if self.trust_region and self._grid is None:
            self._local = LocalSearch(self.space, self._surrogate(**LOCAL_REFIT), self._buffer.size or 128)

    def _check_buffer(self, size: int | str | None, factor: float, rule: str) -> DynamicBuffer:
        if rule not in RULES:
            raise ValueError(f"buffer_rule must be one of {RULES}, got {rule!r}.")
        if not 1.0 < factor < np.inf:
            raise ValueError(f"buffer_factor must be a number above 1, got {factor!r}.")
        buffer = DynamicBuffer(self.n_initial, self.space.d, float(factor), rule)
        if size != "dynamic":
            if not isinstance(size, int | np.integer) or size < self.n_initial + 2:
                raise ValueError(
                    f"buffer_size must be 'dynamic' or an integer of at least n_initial + 2 = {self.n_initial + 2}, "
                    f"to hold the initial samples, the newest and one that is chosen; got {size!r}."
                )
            buffer.size = int(size)
        return buffer

    # -- line 3 ------------------------------------------------------------------------------------------------

    def _propose(self) -> tuple[Array, int]:
        if self._local is not None:
            step = self._history.n + len(self._history.pending)
            region = self._local.region
            if region.scouting and region.exploring:
                return self._space_filling(), GLOBAL
            if not region.scouting and step % TURN != 0:
                x = self._propose_locally(self._local)
                if x is not None:
                    return x, region.origin
        started = time.perf_counter()
        x = self._propose_from(self._members())
        self._buffer.record(self._history.n, time.perf_counter() - started)
        return x, GLOBAL

    def _propose_locally(self, local: LocalSearch) -> Array | None:
        history = self._history
        y = history.values()
        with self._times.phase("model"):
            corners = local.update(history, y)
        groups = [local.candidates(history, self._starts.spread(CANDIDATES, self._rng), corners, self._rng)]
        return self._step(local.surrogate, groups, *corners)

    # -- lines 5 to 17 -----------------------------------------------------------------------------------------

    def _members(self) -> Indices:
        """All samples before the switch, the chosen subset after it."""
        n = self._history.n
        size = self._buffer.limit(n)
        if n <= size:
            return np.arange(n)
        if self._selected_at != n:
            if n >= self._reselect_at:
                pool = np.arange(n)
                self._reselect_at = n + max(1, int(self.reselect * n))
            else:
                pool = np.concatenate([self._selected, np.arange(self._selected_at, n)])
            with self._times.phase("selection"):
                self._selected, self._selected_at = pool[self._select(pool, size)], n
        return self._selected

    def _select(self, pool: Indices, size: int) -> Indices:
        """Positions in ``pool`` of the subset: initial, newest and best samples, and the criterion's choice."""
        history, surrogate = self._history, self._global
        y = history.values()
        if len(surrogate.members) == 0:  # a long history at once: a first model on an even sample of it
            surrogate.update(history.X, y, np.linspace(0, history.n - 1, size).astype(np.int64))
            surrogate.fitted_at = 0
        surrogate.release()
        forced = (pool < self.n_initial) | (pool == history.n - 1)
        best = np.argsort(-y[pool], kind="stable")[: int(self.elites * size)]
        forced[best[: size - np.count_nonzero(forced)]] = True
        candidates = Pool(
            X=history.X[pool],
            y=surrogate.transform.forward(y[pool]),
            model=surrogate.gp,
            members=np.isin(pool, surrogate.members),
            perturbation=self.perturbation,
        )
        return CRITERIA[self.criterion](candidates, size, np.flatnonzero(forced), self._rng)

    # -- looking inside ------------------------------------------------------------------------------------------

    def _bring_up_to_date(self) -> None:
        self._buffer = copy.copy(self._buffer)
        super()._bring_up_to_date()

    def _describe(self) -> dict[str, Any]:
        region = None
        if self._local is not None:
            now = self._local.region
            region = Region(number=now.number, length=now.length, center=now.center)
        return super()._describe() | {"buffer_size": self._buffer.size, "region": region}

    # -- state -------------------------------------------------------------------------------------------------

    def _observed(self, i: int, y: float, origin: int) -> None:
        super()._observed(i, y, origin)
        if self._local is not None:
            # an infinite value counts as the best or worst finite one, and none of them is an improvement
            self._local.region.tell(i, -np.inf if np.isinf(y) else y, origin)

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "preset": self.preset,
            "criterion": self.criterion,
            "buffer_size": self.buffer_size,
            "buffer_factor": self._buffer.factor,
            "buffer_rule": self._buffer.rule,
            "perturbation": self.perturbation,
            "elites": self.elites,
            "reselect": self.reselect,
            "trust_region": self.trust_region,
        }

    def _model_state(self) -> dict[str, Any]:
        return super()._model_state() | {
            "buffer": {"size": self._buffer.size, "times": list(self._buffer.times)},
            "selected": self._selected.copy(),
            "selected_at": self._selected_at,
            "reselect_at": self._reselect_at,
            "local": None if self._local is None else self._local.state_dict(),
        }

    def _restore_model(self, state: dict[str, Any]) -> None:
        super()._restore_model(state)
        self._buffer.size, self._buffer.times = state["buffer"]["size"], list(state["buffer"]["times"])
        self._selected, self._selected_at = state["selected"].copy(), state["selected_at"]
        self._reselect_at = state["reselect_at"]
        if self._local is not None:
            self._local.region = TrustRegion(**state["local"]["region"])
            self._restore_surrogate(self._local.surrogate, state["local"]["surrogate"])

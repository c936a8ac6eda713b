"""What the optimizers on a sparse posterior share: arms or a space, the covariance, the dictionary, and choosing.

Two representations of the same model, `numbo.models.SparseGP`, serve two kinds of domain. Arms and spaces small
enough to be enumerated are searched exactly, arm by arm, lazily (`numbo.models.ArmPosterior`). Larger spaces are
searched from candidates by gradient ascent and flips (`numbo.optimizers._search`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbo import _checks
from numbo.arms import Arms
from numbo.dictionaries import bless, posterior_variance_sampling, recursive_rls
from numbo.kernels.acquisition import CERTAIN, UCB, Acquisition, Posterior, predict, success_probabilities
from numbo.kernels.covariance import prior_variances
from numbo.models import ArmPosterior, SparseGP
from numbo.models.gp import FAMILIES
from numbo.optimizers._base import Optimizer
from numbo.optimizers._candidates import ELITES
from numbo.optimizers._kernel import KernelSchedule
from numbo.optimizers._pulls import Pulls
from numbo.optimizers._search import maximize
from numbo.space import Space

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

STARTS = 2
#: Space-filling candidates of a search.
SPREAD = 256
#: Atoms of a dictionary under a learned covariance, unless it is set.
DEFAULT_DICTIONARY = 96
#: Histories of at most so many points need no sampling to find a first dictionary.
SMALL_HISTORY = 64
#: Smallest noise_std of a fixed kernel. Its square meets rounding errors of the kernel's unit variance, 2e-16 times the
#: number of observations that are summed up: from 3e-8 down models cannot be conditioned, or variances explode.
LEAST_NOISE = 1e-6
#: Probabilities of success of all arms are computed again when the history has grown by this factor.
WEIGHED_AGAIN = 1.1
INITIAL_DICTIONARIES = ("bless", "rls")


class SparseOptimizer(Optimizer):
    """An `Optimizer` over a sparse Gaussian process.

    Args:
        space: what is searched; or
        arms: an explicit set of arms, an array (A, d) of features or `numbo.Arms`. Points are then row indices, which
            are maximised unless ``direction`` says otherwise, and may be repeated.
        kernel: ``"matern52"``, ``"matern32"`` or ``"rbf"``.
        lengthscale: of a fixed kernel, a number or (d,), in the units of the arms' features, or of the unit cube
            that a space is mapped to. The fixed kernel has unit variance, and values are taken as they are.
        noise_std: standard deviation of the noise under a fixed kernel, in the units of the objective, at least 1e-6;
            lambda is its square. Without both of them the kernel is learned from the data, on a schedule.
        norm_bound: F, a bound of the objective's RKHS norm under the kernel.
        delta: the probability with which confidence bounds may fail.
        qbar: oversampling of the dictionary. Infinity puts every observed point into it: the exact GP.
        max_dictionary: most atoms that are drawn, ``None`` for no limit; 96 by default where the kernel is learned, 256
            of S-BPE.
        initial_dictionary: how the first dictionary is drawn from a history, ``"bless"`` or ``"rls"``.
        trend, winsorize: of a learned kernel, as `numbo.GSSBO`.
        n_initial: points of the space-filling initial design: 1 by default under a fixed kernel, 10 otherwise.
        avoid_repeats: as `Optimizer`; by default for spaces, not for arms.

    Raises:
        ValueError: for settings outside of what is described here.
    """

    _shown: tuple[KernelSchedule, SparseGP]  # of a double that is looked at

    def __init__(
        self,
        space: Space | Arms | Mapping[str, Any] | None = None,
        *,
        arms: Arms | ArrayLike | None = None,
        direction: str | None = None,
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | Array | None = None,
        noise_std: float | None = None,
        norm_bound: float = 1.0,
        delta: float = 0.1,
        qbar: float = 2.0,
        max_dictionary: int | str | None = "auto",
        initial_dictionary: str = "bless",
        trend: bool = True,
        winsorize: bool = True,
        n_initial: int | None = None,
        avoid_repeats: bool | None = None,
        learn_failures: bool | str = "auto",
        seed: _checks.Seed = None,
    ) -> None:
        if (space is None) == (arms is None):
            raise ValueError(f"{type(self).__name__} takes either a space or arms=, exactly one of the two.")
        domain: Any = space if arms is None else arms if isinstance(arms, Arms) else Arms(arms)
        explicit = isinstance(domain, Arms)
        fixed = lengthscale is not None
        super().__init__(
            domain,
            direction=("maximize" if explicit else "minimize") if direction is None else direction,
            n_initial=(1 if fixed else 10) if n_initial is None else n_initial,
            seed=seed,
            avoid_repeats=not explicit if avoid_repeats is None else avoid_repeats,
            learn_failures=learn_failures,
        )
        self.kernel = _checks.one_of("kernel", kernel, FAMILIES)
        self.trend, self.winsorize = _checks.flag("trend", trend), _checks.flag("winsorize", winsorize)
        self.lengthscale, self.noise_std = _check_kernel(lengthscale, noise_std, self.space.d)
        self.norm_bound = _checks.number("norm_bound", norm_bound, 0.0, above=True)
        self.delta = _checks.number("delta", delta, 0.0, 1.0, above=True)
        self.qbar = _checks.number("qbar", qbar, 0.0, above=True, infinite=True)
        self.max_dictionary = _check_limit(max_dictionary, None if fixed else self._default_dictionary)
        self.initial_dictionary = _checks.one_of("initial_dictionary", initial_dictionary, INITIAL_DICTIONARIES)
        scaled = None if self.lengthscale is None else np.asarray(self.lengthscale)
        if scaled is not None and explicit:
            scaled = scaled / self.space.ranges
        self._kernel = KernelSchedule(
            self.space.categorical, kernel, scaled, self.noise_std, trend=trend, winsorize=winsorize
        )
        self._pulls = Pulls(self.space.d)
        self._arms = None if self._grid is None else ArmPosterior(self._grid)
        self._arm_of: Indices = np.empty(0, dtype=np.int64)
        self._search_rng = self._rng
        self._success_of_arms: Array | float = 1.0
        self._weighed, self._sliced = (0, 0), False

    #: `max_dictionary` under a learned kernel, unless it is set.
    _default_dictionary = DEFAULT_DICTIONARY

    # -- the dictionary ----------------------------------------------------------------------------------------

    def _draw(self, leverage: Array) -> tuple[Indices, NDArray[np.bool_]]:
        """Which points become atoms: each with probability ``min(1, qbar leverage)``; and which of them are certain.

        ``leverage (u,)`` is the variance ``var~`` of a point, summed over its pulls: at least as likely as one draw a
        pull. ``qbar`` is lowered where the expected number of atoms would exceed `max_dictionary`.
        """
        qbar = self.qbar
        if self.max_dictionary is not None and np.minimum(1.0, _times(qbar, leverage)).sum() > self.max_dictionary:
            qbar = _expecting(leverage, self.max_dictionary)
        p = _times(qbar, leverage)
        chosen = posterior_variance_sampling(p, 1.0, self._rng)
        if len(chosen) == 0:
            chosen = np.array([int(np.argmax(leverage))])
        return chosen, p[chosen] >= 1.0

    def _first_dictionary(self, X: Array) -> tuple[Indices, NDArray[np.bool_]]:
        """Atoms for points ``X (n, d)`` that no model knows yet: all of a few, a leverage score sample of many."""
        limit = self.max_dictionary
        if len(X) <= SMALL_HISTORY or (math.isinf(self.qbar) and limit is None):
            return np.arange(len(X)), np.ones(len(X), dtype=bool)
        X = np.ascontiguousarray(X)
        if self.initial_dictionary == "bless":
            chosen = bless(self._kernel.covariance, X, self._rng, qbar=self.qbar, limit=limit)
        else:
            chosen = recursive_rls(self._kernel.covariance, X, self._rng, delta=self.delta, limit=limit)
        return chosen, np.zeros(len(chosen), dtype=bool)

    # -- choosing ----------------------------------------------------------------------------------------------

    def _maximize(
        self, posterior: Posterior, beta: float, groups: Sequence[Array], out: Callable[[Array], bool]
    ) -> Array | None:
        """The point (d,) of a large space with the largest ``mean + beta sd``, from ``groups`` of candidates.

        ``out`` says of a point that it must not be proposed; None if that holds for all.
        """
        d = self.space.d
        return maximize(
            posterior,
            Acquisition(UCB, beta, self._success(), self._worst(posterior)),
            self.space,
            [self._pin(group) for group in groups],
            self._pin(np.zeros(d)),
            self._pin(np.ones(d)),
            out,
            starts=STARTS,
        )

    def _worst(self, posterior: Posterior) -> float:
        """The value that a failure counts as: the worst one that the model has seen; 0 where the mean plays no part."""
        return float(self._kernel.transform.forward(self._history.values()).min()) if posterior.alpha.any() else 0.0

    def _elites(self, y: Array) -> Array:
        """The best observed points (e, d)."""
        return self._history.X[np.argsort(-y, kind="stable")[:ELITES]]

    def _start(self, beta: float, *, by_variance: bool) -> None:
        """Let the arms be chosen from, with what is known of failures (`numbo.models.ArmPosterior.start`)."""
        assert self._arms is not None
        worst = float(self._kernel.transform.forward(self._history.values()).min())
        self._sliced = self._pinned is not None
        self._arms.start(beta, self._excluded(), by_variance=by_variance, success=self._success_of_arms, worst=worst)

    def _weigh_arms(self) -> bool:
        """Find the arms' probabilities of success, after every failure and now and then; returns whether it did."""
        assert self._grid is not None
        failures, told = self._history.told - self._history.n, self._history.told
        if failures == 0 or (failures == self._weighed[0] and told < WEIGHED_AGAIN * self._weighed[1]):
            return False
        success, self._weighed = self._success(), (failures, told)
        self._success_of_arms = 1.0 if success is CERTAIN else success_probabilities(success, self._grid)
        return True

    def _rows(self) -> Indices:
        """The arms (numbers,) that the distinct points are."""
        known = len(self._arm_of)
        if known < self._pulls.u:
            self._arm_of = np.append(self._arm_of, self.space.grid_index(self._pulls.X[known:]))
        return self._arm_of

    def _excluded(self) -> NDArray[np.bool_] | None:
        """Which arms (A,) must not be chosen."""
        if not self.avoid_repeats and self._pinned is None and not self._history.failed:
            return None
        out = np.ones(len(self._unseen), dtype=bool)
        out[self._free_rows()] = False
        return out

    def _largest_prior(self) -> float:
        """``max k(x, x)``, kappa^2: over the arms, or over the cube, where the trend is largest in a corner."""
        covariance = self._kernel.covariance
        if self._kernel.fixed:
            return float(covariance.signal_variance)
        farthest = np.where(covariance.center < 0.5, 1.0, 0.0)[None]
        return float(prior_variances(covariance, farthest if self._grid is None else self._grid).max())

    # -- state -----------------------------------------------------------------------------------------------

    def _model_state(self) -> dict[str, Any]:
        success = np.copy(self._success_of_arms)
        return {"kernel": self._kernel.state_dict(), "pulls": self._pulls.X.copy(), "success": (success, self._weighed)}

    def _restore_model(self, state: dict[str, Any]) -> None:
        self._kernel.restore(state["kernel"])
        success, self._weighed = state["success"]
        self._success_of_arms = success.copy() if success.ndim else float(success)
        self._pulls.restore(state["pulls"])

    # -- looking inside ----------------------------------------------------------------------------------------

    def _predict(self, X: Array) -> tuple[Array, Array]:
        kernel, gp = self._shown
        mean, variance = predict(gp.posterior, np.ascontiguousarray(X))
        return kernel.transform.backward(mean, np.sqrt(variance))

    def _at_observations(self) -> tuple[Array, Array]:
        kernel, gp = self._shown
        X = self._history.X
        missing = prior_variances(gp.covariance, X) - np.sum(gp.embed(X) ** 2, axis=1)
        return self._predict(X)[0], np.sqrt(np.maximum(missing, 0.0)) * kernel.transform.scale

    @property
    def _noise_is_given(self) -> bool:
        return self._kernel.fixed


def _times(qbar: float, leverage: Array) -> Array:
    """``qbar leverage``, with an infinite ``qbar`` meaning certainty."""
    return np.full(len(leverage), np.inf) if math.isinf(qbar) else qbar * leverage


def _expecting(leverage: Array, size: int) -> float:
    """The ``qbar`` with ``sum min(1, qbar leverage) = size``; there are more than ``size`` points."""
    falling = np.sort(leverage)[::-1]
    rest = np.append(np.cumsum(falling[::-1])[::-1], 0.0)
    for certain in range(size):  # the most important points reach probability 1 first
        qbar = (size - certain) / max(rest[certain], np.finfo(float).tiny)
        if qbar * falling[certain] <= 1.0:
            break
    return float(qbar)


def _check_limit(limit: int | str | None, default: int | None) -> int | None:
    """The largest size of a dictionary; ``default`` of ``"auto"``."""
    if limit is None or limit == "auto":
        return default if limit else None
    try:
        return _checks.integer("max_dictionary", limit, 1)
    except ValueError:
        raise ValueError(f"max_dictionary must be 'auto', None or an integer of at least 1, got {limit!r}.") from None


def _check_kernel(lengthscale: Any, noise_std: Any, d: int) -> tuple[Any, float | None]:
    if (lengthscale is None) != (noise_std is None):
        raise ValueError("lengthscale and noise_std fix the kernel together: give both, or neither to learn it.")
    if lengthscale is None:
        return None, None
    scales = np.asarray(lengthscale, dtype=np.float64)
    if scales.shape not in ((), (d,)) or not (np.isfinite(scales).all() and (scales > 0.0).all()):
        raise ValueError(f"lengthscale must be a positive number or {d} of them, got {lengthscale!r}.")
    if not (isinstance(noise_std, int | float) and 0.0 < noise_std < math.inf):
        raise ValueError(
            f"noise_std must be a positive number, got {noise_std!r}: its square, lambda, regularises the model. For "
            "an objective without noise take a small share of its range, such as 0.01."
        )
    if noise_std < LEAST_NOISE:
        raise ValueError(
            f"noise_std must be at least {LEAST_NOISE:g} of the kernel's unit standard deviation, got {noise_std!r}: "
            "double precision carries no less."
        )
    return float(scales) if scales.ndim == 0 else scales, float(noise_std)

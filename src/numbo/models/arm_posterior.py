"""A sparse posterior at a fixed set of arms, evaluated at the few that can matter.

Between two updates of the model, bounds only shrink and are evaluated lazily (`numbo.kernels.lazy`). An update changes
the dictionary, and with it every mean and variance. The means cost one matrix-vector product. The variances would
cost a matrix product, so they get an upper bound instead, the *ceiling*:

    lambda var~(x) = min over a of |phi(x) - P_S Phi^T a|^2 + lambda |a|^2 ,

with one weight ``a_s`` per observation. If only observations of a subset C of the atoms get weights, the right side is
the exact posterior variance given those observations. That variance is therefore a ceiling of ``lambda var~`` under
every dictionary that contains C, whatever else was observed, and more observations only lower ``lambda var~``. The
ceiling is computed for all arms when C is no longer part of the dictionary, or when its looseness has cost as much as
computing it.
"""

from __future__ import annotations

import numpy as np

from numbo._rows import extended
from numbo._types import ArmIndices, Array, Indices, Mask
from numbo.kernels.acquisition import Posterior
from numbo.kernels.cholesky import lower_product_into
from numbo.kernels.covariance import Covariance, cross_covariance, prior_variances
from numbo.kernels.lazy import (
    BLOCK_WIDTH,
    Bounds,
    best_of_block,
    combine_into,
    lazy_argmax,
    squared_remainders_into,
    start_bounds,
)
from numbo.models.sparse_gp import SparseGP

#: Number of arms that are whitened together: ``benchmarks/results/compare-arms.md``.
ARMS_AT_ONCE = 512
#: Maximum memory for cached columns of the covariance between all arms and some of them.
COLUMN_BYTES = 256 * 2**20
#: Cost of computing one arm by itself, relative to its share of a computation of all arms.
SINGLE_COST = 4


class ArmPosterior:
    """Mean, variance and upper confidence bounds at the arms ``X (A, d)``."""

    def __init__(self, X: Array) -> None:
        A = len(X)
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self._XT = np.ascontiguousarray(self.X.T)
        self._columns = _Columns(self._XT)
        self._bounds = Bounds(
            mean=np.zeros(A),
            variance=np.zeros(A),
            bound=np.zeros(A),
            stamp=np.zeros(A, dtype=np.int64),
            weight=np.ones(A),
            shift=np.zeros(A),
            top=np.zeros(-(-A // BLOCK_WIDTH), dtype=np.int64),
        )
        self._conditioned: Posterior | None = None
        self._posterior: Posterior | None = None
        self._atoms: ArmIndices = np.empty(0, dtype=np.int64)
        self._directions = np.empty((0, 0))
        self._count = 0
        self._whitened: tuple[Array, Array] | None = None
        self._beta = 0.0
        self._means: tuple[Array, float] = np.zeros(A), 0.0
        self._ceiling_sd = np.empty(0)
        self._prior = np.empty(0)
        self._largest_prior = 0.0
        self._core: ArmIndices = np.empty(0, dtype=np.int64)
        self._core_counts = np.empty(0)
        self._core_covariance: Covariance | None = None
        self._effort = 0

    # -- a new model -------------------------------------------------------------------------------------------

    def condition(
        self,
        gp: SparseGP,
        points: ArmIndices,
        atoms: ArmIndices,
        lasting: Mask,
        posterior: Posterior | None = None,
    ) -> None:
        """Condition on a model; call `start` next.

        Args:
            gp: the model, all of whose points and atoms are arms.
            points: arms (u,) of its points.
            atoms: arms (m,) of the rows of its posterior.
            lasting: (m,) which atoms are expected to be in the next dictionaries, too.
            posterior: its posterior given further points (`numbo.models.pending`); its own by default.
        """
        posterior = gp.posterior if posterior is None else posterior
        self._conditioned = posterior
        self._posterior = posterior
        self._atoms = atoms
        self._whitened = None
        self._directions = np.empty((16, posterior.n))
        self._count = 0
        counts = np.zeros(len(self.X))
        missing = np.ones(len(self.X), dtype=bool)
        counts[points] = gp.counts
        missing[atoms] = False
        held = (
            _same(self._core_covariance, gp.covariance)
            and not missing[self._core].any()
            and not (counts[self._core] < self._core_counts).any()
        )
        if not held or SINGLE_COST * self._effort > len(self.X):
            core = atoms[lasting]
            self._raise_ceiling(gp.covariance, core, counts[core])
        self._means = self._all_means(posterior, atoms)

    def _raise_ceiling(self, covariance: Covariance, core: ArmIndices, counts: Array) -> None:
        self._effort = 0
        if not _same(self._core_covariance, covariance):
            self._prior = prior_variances(covariance, self.X)
            self._largest_prior = float(self._prior.max())
            self._core_covariance = covariance
        self._core = core
        self._core_counts = counts
        ceiling = self._prior
        if len(core):
            exact = SparseGP.over(covariance, self.X[core], counts, np.arange(len(core)))
            explained = np.empty(len(self.X))
            for block, K in self._blocks(exact.posterior, core[exact.kept]):
                V = _whitened(exact.posterior, K)
                np.einsum("ij,ij->j", V, V, out=explained[block])
            ceiling = ceiling - explained
        self._ceiling_sd = np.sqrt(np.maximum(ceiling, 0.0) * (1.0 + 1e-6) + 1e-12 * self._prior)

    def _all_means(self, posterior: Posterior, atoms: ArmIndices) -> tuple[Array, float]:
        """alpha^T k_S(x) at all arms, and a bound on the rounding error."""
        slots = self._columns.slots(posterior.covariance, atoms)
        if slots is None:
            means = np.concatenate(
                [np.einsum("i,ij->j", posterior.alpha, K) for _, K in self._blocks(posterior, atoms)]
            )
        else:
            means = np.empty(len(self.X))
            combine_into(self._columns.rows, slots, posterior.alpha, means)
        return means, 1e-15 * len(atoms) * self._largest_prior * float(np.abs(posterior.alpha).sum())

    def _blocks(self, posterior: Posterior, atoms: ArmIndices):  # type: ignore[no-untyped-def]
        """Covariances (m, c) of the atoms with the arms of each block, block by block."""
        cov = posterior.covariance
        A = len(self.X)
        slots = self._columns.slots(cov, atoms)
        for first in range(0, A, ARMS_AT_ONCE):
            block = slice(first, min(first + ARMS_AT_ONCE, A))
            if slots is None:
                yield block, cross_covariance(cov, np.ascontiguousarray(self._XT[:, block]), posterior.XT)
            else:
                yield block, self._columns.rows[slots, block]

    # -- choosing ----------------------------------------------------------------------------------------------

    def start(
        self,
        beta: float,
        excluded: Mask | None = None,
        *,
        by_variance: bool = False,
        success: Array | float = 1.0,
        worst: float = 0.0,
    ) -> None:
        """Prepare to choose by ``p (mean + beta sqrt(variance)) + (1 - p) worst``, where p (A,) is the ``success``.

        Arms that are ``excluded (A,)`` are never chosen. ``by_variance`` ignores the mean and ``worst``: uncertainty
        sampling.
        """
        bounds = self._bounds
        self._beta = 1.0 if by_variance else beta
        means, slack = (np.zeros(len(self.X)), 0.0) if by_variance else self._means
        posterior = self._conditioned
        assert posterior is not None, "call condition first"
        self._posterior = posterior._replace(alpha=np.zeros(posterior.n)) if by_variance else posterior
        bounds.weight[:] = success
        without = np.empty(0, dtype=bool) if excluded is None else excluded
        worst = 0.0 if by_variance else worst
        start_bounds(means, self._ceiling_sd, float(self._beta), slack, worst, without, bounds)

    def choose(self) -> int:
        """The arm with the largest upper confidence bound, -1 if every arm is excluded."""
        arm, computed = lazy_argmax(self._model, self.X, self._directions, self._count, self._beta, self._bounds)
        self._effort += computed
        return int(arm)

    def observe(self, direction: Array) -> None:
        """Reduce the variances by ``direction (m,)`` (`numbo.models.SparseGP.hallucinate`)."""
        self._directions = extended(self._directions, self._count, direction[None])
        self._count += 1

    def exclude(self, arm: int) -> None:
        """Never choose ``arm`` until the next `start`."""
        block = arm // BLOCK_WIDTH
        self._bounds.bound[arm] = -np.inf
        self._bounds.top[block] = best_of_block(self._bounds.bound, block)

    def variance(self, arm: int) -> float:
        """``lambda var~`` of ``arm``, which must just have been chosen."""
        return float(self._bounds.variance[arm])

    @property
    def _model(self) -> Posterior:
        assert self._posterior is not None, "call condition first"
        return self._posterior

    def ratios(self, others: ArmIndices) -> Array:
        """``sum_s k~(x, x_s)^2 / var~(x)`` over the arms ``others``, at all arms, before any `observe`.

        Calandriello et al. (2020), lemma 3: one plus this bounds the factor by which observing ``others`` shrinks the
        variance at an arm.
        """
        posterior = self._model
        cov = posterior.covariance
        if self._whitened is None:
            V = np.concatenate([_whitened(posterior, K) for _, K in self._blocks(posterior, self._atoms)], axis=1)
            variance = self._prior - np.einsum("ij,ij->j", V, V)
            self._whitened = V, np.maximum(variance, 1e-12 * self._prior)
        V, variance = self._whitened
        slots = self._columns.slots(cov, others)
        if slots is None:
            between = cross_covariance(cov, self._XT, np.ascontiguousarray(self._XT[:, others]))
        else:
            between = self._columns.rows[slots]
        out = np.empty(len(self.X))
        squared_remainders_into(between, np.ascontiguousarray(V[:, others]), V, out)
        out /= cov.noise_variance * variance
        return out


class _Columns:
    """Covariances of some arms, one per row, with all arms, computed when first needed."""

    def __init__(self, XT: Array) -> None:
        A = XT.shape[1]
        self._XT = XT
        self._capacity = max(64, COLUMN_BYTES // (8 * A))
        self._covariance: Covariance | None = None
        self._slot: Indices = np.full(A, -1)
        self._filled = 0
        self.rows: Array = np.empty((0, A))

    def slots(self, covariance: Covariance, arms: ArmIndices) -> Indices | None:
        """Row numbers in `rows` of the ``arms``; None if there are too many to keep."""
        if len(arms) > self._capacity:
            return None
        if not _same(self._covariance, covariance):
            self._covariance = covariance
            self._filled = 0
            self._slot[:] = -1
        slots = self._slot[arms]
        if slots.min(initial=0) >= 0:
            return slots
        missing = np.unique(arms[slots < 0])
        if self._filled + len(missing) > self._capacity:  # start over with what is needed now
            self._filled = 0
            missing = np.unique(arms)
            self._slot[:] = -1
        for arm in missing.tolist():
            slot = self._filled
            if slot == len(self.rows):
                more = min(self._capacity, max(2 * slot, 64)) - slot
                self.rows = np.concatenate([self.rows, np.empty((more, len(self._slot)))])
            column = np.ascontiguousarray(self._XT[:, arm : arm + 1])
            self.rows[slot] = cross_covariance(covariance, self._XT, column)[0]
            self._slot[arm] = slot
            self._filled = slot + 1
        return self._slot[arms]


def _whitened(posterior: Posterior, K: Array) -> Array:
    """W K (m, c), where ``K (m, c)`` are covariances of the atoms with some arms."""
    out = np.empty_like(K)
    lower_product_into(posterior.W, len(K), K, K.shape[1], out)
    return out


def _same(known: Covariance | None, now: Covariance) -> bool:
    if known is None or known is now:
        return known is now
    return all(np.array_equal(getattr(known, name), getattr(now, name)) for name in now._fields)

"""A sparse posterior at a fixed set of arms, evaluated at the few that can matter.

Between two updates of the model, bounds only shrink and are found lazily (`numbo.kernels.lazy`). An update changes
the dictionary, and with it every mean and variance. The means cost one matrix-vector product. The variances would
cost a matrix product, so they get an upper bound instead, the *ceiling*:

    lambda var~(x) = min over a of |phi(x) - P_S Phi^T a|^2 + lambda |a|^2 ,

with one weight ``a_s`` an observation. Weights on observations of a subset C of the atoms alone turn the right side
into the exact posterior variance given those observations. So that variance is a ceiling of ``lambda var~`` under
every dictionary that contains C, whatever else was observed, and observing more only lowers it. It is computed for
all arms when C stops being part of the dictionary, or when its looseness has cost as much as computing it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numbo.kernels.acquisition import Posterior
from numbo.kernels.covariance import Covariance, cross_covariance, prior_variances
from numbo.kernels.lazy import UNKNOWN, WIDTH, Bounds, lazy_argmax, rank_blocks, refresh_all
from numbo.models.sparse_gp import SparseGP

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

BLOCK = 2048
#: Columns of the covariance between all arms and some of them are kept up to this size.
COLUMN_BYTES = 256 * 2**20
#: Computing one arm by itself costs so many times its share of a computation of all.
SINGLE_COST = 8


class ArmPosterior:
    """Mean, variance and upper confidence bounds at the arms ``X (A, d)``."""

    def __init__(self, X: Array) -> None:
        A = len(X)
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self._XT = np.ascontiguousarray(self.X.T)
        self._columns = _Columns(self._XT)
        blocks = -(-A // WIDTH)
        self._bounds = Bounds(*(np.zeros(A) for _ in range(4)), np.zeros(A, dtype=np.int64), np.zeros(blocks, int))
        self._posterior: Posterior | None = None
        self._atoms: Indices = np.empty(0, dtype=np.int64)
        self._directions: list[Array] = []
        self._whitened: tuple[Array, Array] | None = None
        self._beta = 0.0
        self._means: tuple[Array, float] = np.zeros(A), 0.0
        self._ceiling, self._ceiling_sd = np.empty(0), np.empty(0)
        self._core: dict[int, float] = {}
        self._core_covariance: Covariance | None = None
        self._effort = 0

    # -- a new model -------------------------------------------------------------------------------------------

    def condition(self, gp: SparseGP, points: Indices, atoms: Indices, lasting: NDArray[np.bool_]) -> None:
        """Take in a model; `start` comes next.

        Args:
            gp: the model, all of whose points and atoms are arms.
            points: the arms (u,) that its points are.
            atoms: the arms (m,) that its atoms are.
            lasting: which atoms (m,) are expected to be part of the next dictionaries, too.
        """
        self._posterior, self._atoms, self._directions, self._whitened = gp.posterior, atoms, [], None
        counts = dict(zip(points.tolist(), gp.counts.tolist(), strict=True))
        present = set(atoms.tolist())
        held = (
            self._core_covariance is not None
            and _same(self._core_covariance, gp.covariance)
            and all(arm in present and counts[arm] >= count for arm, count in self._core.items())
        )
        if not held or SINGLE_COST * self._effort > len(self.X):
            core = atoms[lasting]
            self._raise_ceiling(gp.covariance, core, np.array([counts[int(a)] for a in core]))
        self._means = self._all_means(gp.posterior, atoms)

    def _raise_ceiling(self, covariance: Covariance, core: Indices, counts: Array) -> None:
        self._effort = 0
        self._core, self._core_covariance = dict(zip(core.tolist(), counts.tolist(), strict=True)), covariance
        self._ceiling = prior_variances(covariance, self.X)
        if len(core):
            exact = SparseGP(covariance, self.X[core])
            exact.condition(self.X[core], counts)
            self._ceiling -= self._explained(exact.posterior, core[exact.kept])
        prior = float(np.max(prior_variances(covariance, self.X)))
        self._ceiling = np.maximum(self._ceiling, 0.0) * (1.0 + 1e-6) + 1e-12 * prior
        self._ceiling_sd = np.sqrt(self._ceiling)

    def _explained(self, posterior: Posterior, atoms: Indices) -> Array:
        """|W k_S(x)|^2 at all arms, by matrix products."""
        out = np.empty(len(self.X))
        for block, K in self._blocks(posterior, atoms):
            V = posterior.W @ K
            np.einsum("ij,ij->j", V, V, out=out[block])
        return out

    def _all_means(self, posterior: Posterior, atoms: Indices) -> tuple[Array, float]:
        """alpha^T k_S(x) at all arms, and a bound of the rounding error."""
        slots = self._columns.slots(posterior.covariance, atoms)
        if slots is None:
            means = np.concatenate([posterior.alpha @ K for _, K in self._blocks(posterior, atoms)])
        else:
            used = self._columns.rows[: slots.max() + 1]
            weights = np.zeros(len(used))
            weights[slots] = posterior.alpha
            means = weights @ used
        prior = float(np.max(prior_variances(posterior.covariance, posterior.X)))
        return means, 1e-15 * len(atoms) * prior * float(np.abs(posterior.alpha).sum())

    def _blocks(self, posterior: Posterior, atoms: Indices):  # type: ignore[no-untyped-def]
        """Covariances (m, c) of the atoms with a block of arms, block after block."""
        cov, A = posterior.covariance, len(self.X)
        slots = self._columns.slots(cov, atoms)
        for first in range(0, A, BLOCK):
            block = slice(first, min(first + BLOCK, A))
            if slots is None:
                yield block, cross_covariance(cov, np.ascontiguousarray(self._XT[:, block]), posterior.XT)
            else:
                yield block, self._columns.rows[slots, block]

    # -- choosing ----------------------------------------------------------------------------------------------

    def start(
        self, beta: float, excluded: NDArray[np.bool_] | None = None, *, by_variance: bool = False
    ) -> None:
        """Set out to choose by ``mean + beta sqrt(variance)``; ``excluded (A,)`` arms are never chosen.

        With ``by_variance`` the mean is left out: uncertainty sampling.
        """
        bounds, self._beta = self._bounds, 1.0 if by_variance else beta
        means, slack = (np.zeros(len(self.X)), 0.0) if by_variance else self._means
        if by_variance:
            self._posterior = self._model._replace(alpha=np.zeros(self._model.n))
        bounds.stamp[:] = UNKNOWN
        np.multiply(self._ceiling_sd, self._beta, out=bounds.bound)
        np.add(bounds.bound, means, out=bounds.bound)
        np.add(bounds.bound, slack, out=bounds.bound)
        if excluded is not None:
            bounds.bound[excluded] = -np.inf
        rank_blocks(bounds)

    def choose(self) -> int:
        """The arm with the largest upper confidence bound, -1 if every arm is excluded."""
        H = np.array(self._directions).reshape(len(self._directions), self._model.n)
        arm, computed = lazy_argmax(self._model, self.X, H, len(H), self._beta, self._bounds)
        self._effort += computed
        return int(arm)

    def observe(self, direction: Array) -> None:
        """Take ``direction (m,)`` off the variances (`numbo.models.SparseGP.add`)."""
        self._directions.append(direction)

    def exclude(self, arm: int) -> None:
        """Never choose ``arm`` until the next `start`."""
        self._bounds.bound[arm] = -np.inf
        rank_blocks(self._bounds)

    def prospect(self, arm: int) -> tuple[float, float]:
        """Mean and variance ``lambda var~`` of ``arm`` before any direction was taken off."""
        refresh_all(self._model, self.X, np.array([arm]), self._bounds)
        return float(self._bounds.mean[arm]), float(self._bounds.start[arm])

    def variance(self, arm: int) -> float:
        """``lambda var~`` of ``arm``, which was just chosen."""
        return float(self._bounds.variance[arm])

    @property
    def _model(self) -> Posterior:
        assert self._posterior is not None, "condition comes first"
        return self._posterior

    def ratios(self, others: Indices) -> Array:
        """``sum_s k~(x, x_s)^2 / var~(x)`` over the arms ``others``, at all arms, before any direction.

        Calandriello et al. (2020), lemma 3: one more than this bounds by what factor observing ``others`` shrinks the
        variance at an arm.
        """
        posterior = self._model
        cov = posterior.covariance
        if self._whitened is None:
            V = np.concatenate([posterior.W @ K for _, K in self._blocks(posterior, self._atoms)], axis=1)
            prior = prior_variances(cov, self.X)
            self._whitened = V, np.maximum(prior - np.einsum("ij,ij->j", V, V), 1e-12 * prior)
        V, variance = self._whitened
        slots = self._columns.slots(cov, others)
        if slots is None:
            between = cross_covariance(cov, self._XT, np.ascontiguousarray(self._XT[:, others]))
        else:
            between = self._columns.rows[slots]
        covariance = between - V[:, others].T @ V
        out: Array = np.einsum("ij,ij->j", covariance, covariance) / (cov.noise_variance * variance)
        return out


class _Columns:
    """Covariances between all arms and some of them, by row, computed when they are first needed."""

    def __init__(self, XT: Array) -> None:
        self._XT = XT
        self._capacity = max(64, COLUMN_BYTES // (8 * max(XT.shape[1], 1)))
        self._covariance: Covariance | None = None
        self._slot: dict[int, int] = {}
        self.rows: Array = np.zeros((0, XT.shape[1]))

    def slots(self, covariance: Covariance, arms: Indices) -> Indices | None:
        """Rows of `rows` at which the columns of ``arms`` stand; None if there are too many to keep."""
        if len(arms) > self._capacity:
            return None
        if self._covariance is None or not _same(self._covariance, covariance):
            self._covariance, self._slot = covariance, {}
        wanted = arms.tolist()
        missing = [a for a in wanted if a not in self._slot]
        if len(self._slot) + len(missing) > self._capacity:
            self._slot = {a: s for a, s in self._slot.items() if a in set(wanted)}
        if missing:
            free = iter(sorted(set(range(len(self._slot) + len(missing))) - set(self._slot.values())))
            for arm in missing:
                self._slot[arm] = self._fill(next(free), arm)
        return np.array([self._slot[a] for a in wanted], dtype=np.int64)

    def _fill(self, slot: int, arm: int) -> int:
        if slot >= len(self.rows):
            more = min(self._capacity, max(2 * len(self.rows), 64)) - len(self.rows)
            self.rows = np.concatenate([self.rows, np.zeros((more, self._XT.shape[1]))])
        assert self._covariance is not None
        column = np.ascontiguousarray(self._XT[:, arm : arm + 1])
        self.rows[slot] = cross_covariance(self._covariance, self._XT, column)[0]
        return slot


def _same(a: Covariance, b: Covariance) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))

"""Experiments on the theory of GSSBO (Wei et al. 2025): theorems 5.1 and 5.2, appendix A, and figure 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.exact import Array, unit_arms
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.gssbo_runs import FIVE, follow, gp_ucb, subset_size
from benchmarks.problems.arms import Indices
from benchmarks.problems.suites import make
from numbo.models import ExactGP
from numbo.selection import CRITERIA, select_subset

#: N, and the lengthscale of the kernel, in the unit square.
SAMPLES = 250
LENGTHSCALE = 0.2
DELTA = 0.1


def matern(X: Array, Z: Array, lengthscale: float | Array = LENGTHSCALE) -> Array:
    """The Matern-5/2 kernel of unit variance between ``X (n, d)`` and ``Z (p, d)``, that of the paper's experiments."""
    r2 = (((X / lengthscale)[:, None] - (Z / lengthscale)[None]) ** 2).sum(axis=2)
    r = np.sqrt(5.0 * r2)
    return np.asarray((1.0 + r + r**2 / 3.0) * np.exp(-r))


def squared_width(n: int, d: int) -> float:
    """beta~_n of equation 43, for the unit cube.

    b of assumption 5.1 is that of a partial derivative at one point, whose variance is ``5 / (3 l^2)``; a is 1.
    """
    b = math.sqrt(10.0 / 3.0) / LENGTHSCALE
    points = n**2 * b * d * math.sqrt(math.log(4.0 * d / DELTA))
    return 2.0 * math.log(4.0 * math.pi**2 * n**2 / 6.0 / DELTA) + 2.0 * d * math.log(points)


def norm(A: NDArray[Any]) -> float:
    """The spectral norm."""
    return float(np.linalg.norm(A, 2))


def greedy(columns: NDArray[Any], size: int) -> Indices:
    """Appendix A.1, as printed: the column with the largest part outside the span of those chosen before."""
    left = columns.copy()
    chosen: list[int] = []
    for _ in range(size):
        lengths = np.linalg.norm(left, axis=0)
        lengths[chosen] = -1.0
        chosen.append(int(np.argmax(lengths)))
        q = left[:, chosen[-1]] / lengths[chosen[-1]]
        left -= np.outer(q, q @ left)
        left -= np.outer(q, q @ left)  # again, for orthogonality in floating point
    return np.array(chosen)


def low_rank(K: Array, chosen: Indices) -> Array:
    """K^ = K_DU K_UU^-1 K_UD."""
    values, vectors = np.linalg.eigh(K[np.ix_(chosen, chosen)])
    whole = values > 1e-12 * values[-1]
    half = K[:, chosen] @ (vectors[:, whole] / np.sqrt(values[whole]))
    return np.asarray(half @ half.T)


def outside(K: Array, chosen: Indices, vectors: Array) -> float:
    """eps_g of equation 10, with the projector on the columns of the chosen samples."""
    q, r = np.linalg.qr(K[:, chosen])
    q = q[:, np.abs(np.diag(r)) > 1e-10 * np.abs(r[0, 0])]
    return float(np.linalg.norm(vectors - q @ (q.T @ vectors)))


def drawn(X: Array, rng: np.random.Generator) -> Array:
    """Values at ``X (n, d)`` of a draw from the GP."""
    K = matern(X, X)
    values, vectors = np.linalg.eigh(K)
    return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(X))))


def selected(rule: str, X: Array, y: Array, size: int, lam: float, seed: int) -> Indices:
    """A subset by one of numbo's criteria, for the kernel of the experiments."""
    return select_subset(X, y, size, criterion=rule, lengthscale=LENGTHSCALE, noise_variance=lam, seed=seed)


# -- theorem 5.1 ---------------------------------------------------------------------------------------------------


def subset_error(seed: int, rule: str, size: int, lam: float) -> dict[str, Any]:
    """Theorem 5.1, equations 10, 11, 15 and 22; and the GP on the subset, which algorithm 1 fits."""
    rng = np.random.default_rng([seed, 20])
    X = unit_arms(SAMPLES, 2, rng)
    probes = rng.random((200, 2))
    f = drawn(np.concatenate([X, probes]), rng)
    y = f[:SAMPLES] + math.sqrt(lam) * rng.normal(size=SAMPLES)
    K = matern(X, X)
    k = matern(probes, X)
    U = selected(rule, X, y, size, lam, seed)
    full = np.linalg.inv(K + lam * np.eye(SAMPLES))
    approximate = np.linalg.inv(low_rank(K, U) + lam * np.eye(SAMPLES))
    of_subset = np.zeros((SAMPLES, SAMPLES))
    of_subset[np.ix_(U, U)] = np.linalg.inv(K[np.ix_(U, U)] + lam * np.eye(size))
    mean, printed, subset = ((k @ A @ y) for A in (full, approximate, of_subset))
    var, var_printed, var_subset = (1.0 - np.einsum("ij,jk,ik->i", k, A, k) for A in (full, approximate, of_subset))

    error = norm(K - low_rank(K, U))
    C = norm(full) * norm(approximate)
    lengths = np.linalg.norm(k, axis=1)
    bound = lengths * float(np.linalg.norm(y)) * C * error
    bound_var = lengths**2 * C * error
    sd = np.sqrt(np.maximum(var, 0.0))
    out: dict[str, Any] = {
        "mean-over-bound": float((np.abs(mean - printed) / bound).max()),
        "variance-over-bound": float((np.abs(var - var_printed) / bound_var).max()),
        "bound": float(np.median(bound)),
        "mean-error": float(np.abs(mean - printed).max()),
        "negative": float((var_printed < 0.0).mean()),
        "subset-error": float(np.abs(mean - subset).max()),
        "subset-error-in-sd": float(np.median(np.abs(mean - subset) / sd)),
        "subset-over-bound": float((np.abs(mean - subset) / bound).max()),
        "subset-sd-ratio": float(np.median(np.sqrt(np.maximum(var_subset, 0.0)) / sd)),
        "approximation": error / norm(K),
    }
    return out | schedule(K, U, C, lengths, float(np.linalg.norm(y)), float(sd.min()), error)


def schedule(
    K: Array, U: Indices, C: float, lengths: Array, size_of_y: float, smallest_sd: float, error: float
) -> dict[str, Any]:
    """Equations 10, 11 and 22, at the probe where beta_n is largest; ``beta-exact`` has ‖K - K^‖ for its bound."""
    N = len(K)
    M = len(U)
    values, vectors = np.linalg.eigh(K)
    eps = outside(K, U, vectors[:, N - M :])
    right = float(values[N - M - 1]) + eps * float((np.diag(K) ** 2).sum())
    P = low_rank(K, U)
    bracket = squared_width(N, 2)

    def beta(most: float) -> float:
        A = lengths.min() * size_of_y * C * most
        B = lengths.min() * math.sqrt(C * most)
        return float((smallest_sd * bracket - A) / (smallest_sd + B))

    return {
        "eps-g": eps,
        "eq-11": error / right,
        "right-of-11": right / norm(K),
        "printed-projector": norm(P @ P - P),
        "bracket": bracket,
        "beta": beta(right),
        "beta-exact": beta(error),
        "positive": beta(right) > 0.0,
    }


# -- appendix A.1 --------------------------------------------------------------------------------------------------


def approximation(seed: int, size: int, lam: float = 1e-2) -> dict[str, Any]:
    """Appendix A.1, equations 11 and 12 and "Comparison": ‖K - K^‖ over ‖K‖, by rule."""
    rng = np.random.default_rng([seed, 21])
    X = unit_arms(SAMPLES, 2, rng)
    y = drawn(X, rng) + math.sqrt(lam) * rng.normal(size=SAMPLES)
    K = matern(X, X)
    values, vectors = np.linalg.eigh(K)
    top = vectors[:, SAMPLES - size :]
    subsets = {rule: selected(rule, X, y, size, lam, seed) for rule in CRITERIA}
    subsets["kernel-columns"] = greedy(K, size)
    subsets["gradient-columns"] = greedy(np.linalg.inv(K + lam * np.eye(SAMPLES)), size)
    out: dict[str, Any] = {rule: norm(K - low_rank(K, U)) / norm(K) for rule, U in subsets.items()}
    out["best"] = max(float(values[SAMPLES - size - 1]), 0.0) / norm(K)
    out["nystrom-over-random"] = out["nystrom"] / out["random"]
    out["sign-over-random"] = out["sign"] / out["random"]
    for rule in ("kernel-columns", "random"):
        out[f"eps-{rule}"] = outside(K, subsets[rule], top)
    out["eps-bound"] = math.sqrt(size) * math.exp(-0.5 * size / SAMPLES)
    return out | energies(K, subsets["kernel-columns"], top) | drawn_columns(K, size, float(values[-size - 1]), rng)


def energies(K: Array, path: Indices, top: Array) -> dict[str, Any]:
    """ "Comparison": E_t <= M (1 - t/N), and E_{t+1} = E_t minus the part of the new column, along a greedy path."""
    N, M = top.shape
    left = K.copy()
    E = [float(M)]
    removed = []
    basis = np.zeros((N, 0))
    for j in path:
        column = left[:, j]
        removed.append(float(column @ column))
        q = column / np.linalg.norm(column)
        q -= basis @ (basis.T @ q)
        q /= np.linalg.norm(q)
        basis = np.column_stack([basis, q])
        left -= np.outer(q, q @ left)
        E.append(float(np.linalg.norm(top - basis @ (basis.T @ top)) ** 2))
    steps = np.array(E[:-1]) - np.array(E[1:])
    most = M * (1.0 - np.arange(1, M + 1) / N)
    return {
        "E-over-bound": float((np.array(E[1:]) / most).max()),
        "largest-step": float(steps.max()),
        "claimed-step": float(max(removed)),
    }


def drawn_columns(K: Array, c: int, next_value: float, rng: np.random.Generator) -> dict[str, Any]:
    """Equation 12, for columns that are drawn in proportion to K_ii^2, with replacement."""
    weights = np.diag(K) ** 2
    chosen = np.unique(rng.choice(len(K), size=c, p=weights / weights.sum()))
    eps = math.sqrt(8.0 / c * math.log(2.0 * c / DELTA))
    right = max(next_value, 0.0) + eps * float(weights.sum())
    return {"eq-12-holds": norm(K - low_rank(K, chosen)) <= right, "right-of-12": right / norm(K)}


def columns(seed: int, n: int, size: int, lengthscale: float) -> dict[str, Any]:
    """Appendix A.1: the rules on kernel columns and on gradient columns, and the ranges of their projectors.

    ``off`` is how far the "key identity" is off, relative to the size of its right side.
    """
    rng = np.random.default_rng([seed, 22])
    X = rng.random((n, 2))
    K = matern(X, X, lengthscale) + 1e-6 * np.eye(n)
    inverse = np.linalg.inv(K)
    by_kernel = greedy(K, size)
    by_gradient = greedy(inverse, size)
    kernel, _ = np.linalg.qr(K[:, by_kernel])
    gradient, _ = np.linalg.qr(inverse[:, by_kernel])
    left = np.eye(n) - gradient @ gradient.T
    right = inverse @ (np.eye(n) - kernel @ kernel.T) @ K
    X_unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    pivoted = select_subset(X_unit, np.zeros(n), size, lengthscale=lengthscale / np.ptp(X, axis=0), noise_variance=1e-6)
    return {
        "shared": len(np.intersect1d(by_kernel, by_gradient)) / size,
        "by-chance": size / n,
        "same-order": bool((by_kernel == by_gradient).all()),
        "shared-with-nystrom": len(np.intersect1d(by_kernel, pivoted)) / size,
        "cosine": float(np.linalg.svd(kernel.T @ gradient, compute_uv=False).min()),
        "off": norm(left - right) / norm(right),
    }


def smallest(seed: int, problem: str, trials: int = 300) -> dict[str, Any]:
    """Appendix A.1: the smallest M with ‖K - K^‖ at most 5 % of ‖K‖, on a history of GP-UCB, with a learned kernel."""
    box = make(problem)
    course = follow(box, gp_ucb(box, seed), trials)
    y = (course.values - course.values.mean()) / course.values.std()
    gp = ExactGP(np.zeros(len(box.space), dtype=bool), trend=False)
    gp.fit(course.points, y)
    K = matern(course.points, course.points, gp.lengthscales)
    values = np.linalg.eigvalsh(K)[::-1]
    paths = {
        "nystrom": select_subset(course.points, y, trials, lengthscale=gp.lengthscales / np.ptp(course.points, axis=0)),
        "random": np.random.default_rng([seed, 23]).permutation(trials),
    }
    out: dict[str, Any] = {"best": int(np.argmax(values[1:] <= 0.05 * values[0])) + 1}
    for rule, path in paths.items():
        low = 1
        high = trials
        while low < high:  # ‖K - K^‖ falls with every sample that is added
            middle = (low + high) // 2
            if norm(K - low_rank(K, path[:middle])) <= 0.05 * values[0]:
                high = middle
            else:
                low = middle + 1
        out[rule] = low
        error = norm(K - low_rank(K, path[: subset_size(len(box.space))]))
        out[f"at-M-{rule}"] = error / float(values[0])
    return out


# -- theorem 5.2 ---------------------------------------------------------------------------------------------------


def on_draws(seed: int, subset: str, beta: str | float, lam: float, T: int = 200, M: int = 20) -> dict[str, Any]:
    """Theorem 5.2 on draws from a GP on 200 points, with a subset of M samples after M trials, or ``"all"``.

    ``beta="paper"`` is beta~_n of equation 43, since beta_n of equation 22 is negative.
    """
    rng = np.random.default_rng([seed, 24])
    grid = np.linspace(0.0, 1.0, 200)[:, None]
    f = drawn(grid, rng)
    K = matern(grid, grid)
    arms = np.empty(T, dtype=np.int64)
    y = np.empty(T)
    inside = True
    information = 0.0
    exact = K.copy()
    for t in range(T):
        rows = np.arange(t)
        if t > M and subset != "all":
            X = grid[arms[:t]]
            scale = LENGTHSCALE / float(np.ptp(X))
            rows = select_subset(
                X, y[:t], M, criterion=subset, forced=[t - 1], lengthscale=scale, noise_variance=lam, seed=rng
            )
        U = arms[rows]
        A = np.linalg.inv(K[np.ix_(U, U)] + lam * np.eye(len(U)))
        mean = K[:, U] @ A @ y[rows]
        sd = np.sqrt(np.maximum(1.0 - np.einsum("ij,jk,ik->i", K[:, U], A, K[:, U]), 0.0))
        squared = squared_width(t + 1, 1)
        width = math.sqrt(squared) if beta == "paper" else float(beta)
        inside = inside and bool((np.abs(f - mean) <= width * sd + 1e-6).all())
        arms[t] = np.argmax(mean + width * sd)
        y[t] = f[arms[t]] + math.sqrt(lam) * rng.normal()
        column = exact[:, arms[t]].copy()
        variance = max(float(column[arms[t]]), 0.0)
        information += 0.5 * math.log1p(variance / lam)
        exact -= np.outer(column, column) / (variance + lam)
    regrets = f.max() - f[arms]
    bound = math.sqrt(8.0 / math.log1p(1.0 / lam) * T * squared * information)
    total = float(regrets.sum())
    return {
        "inside": inside,
        "regret": total,
        "regret-ratio": total / (T * float((f.max() - f).mean())),
        "growth": float(np.log2(total / regrets[: T // 2].sum())),
        "regret-over-bound": total / bound,
        "bound-over-most": bound / (T * float(np.ptp(f))),
    }


# -- figure 1 ------------------------------------------------------------------------------------------------------


def illustration(seed: int, criterion: str, n: int = 10, size: int = 6) -> dict[str, Any]:
    """Figure 1: the GP on 6 of 10 samples of a draw on [0, 1], beside the GP on all of them."""
    rng = np.random.default_rng([seed, 25])
    grid = np.linspace(0.0, 1.0, 201)
    X = np.sort((np.arange(n) + rng.random(n)) / n)
    points = np.concatenate([grid, X])[:, None]
    f = drawn(points, rng)
    y = f[201:]
    chosen = select_subset(
        X[:, None],
        y,
        size,
        criterion=criterion,
        lengthscale=LENGTHSCALE / float(np.ptp(X)),
        noise_variance=1e-4,
        seed=seed,
    )
    K = matern(points, points)
    out: dict[str, Any] = {}
    means = {}
    for name, rows in (("all", np.arange(n)), ("subset", np.sort(chosen))):
        cross = K[:201, 201 + rows]
        A = np.linalg.inv(K[np.ix_(201 + rows, 201 + rows)] + 1e-4 * np.eye(len(rows)))
        means[name] = cross @ A @ y[rows]
        sd = np.sqrt(np.maximum(1.0 - np.einsum("ij,jk,ik->i", cross, A, cross), 0.0))
        out[f"inside-{name}"] = float((np.abs(f[:201] - means[name]) <= 2.0 * sd + 1e-3).mean())
        out[f"error-{name}"] = float(np.abs(f[:201] - means[name]).max() / np.ptp(f[:201]))
    out["correlation"] = float(np.corrcoef(means["all"], means["subset"])[0, 1])
    out["same-optimum"] = bool(abs(grid[means["all"].argmax()] - grid[means["subset"].argmax()]) <= 0.05)
    return out


EXPERIMENTS = {
    "subset-error": Experiment(
        "GSSBO, theorem 5.1 and equations 10, 11 and 22: posteriors on a subset against those on 250 samples of the "
        "unit square, at 200 probes; lambda is the variance of the noise. Left sides over right sides; `negative` is "
        "the share of probes where the theorem's variance is below 0; `subset` is the GP that algorithm 1 fits.",
        subset_error,
        {
            f"{rule},lambda={lam:g},M={M}": {"rule": rule, "size": M, "lam": lam}
            for lam in (1.0, 1e-2)
            for rule in ("nystrom", "random", "sign")
            for M in (25, 50, 100)
        },
        seeds=10,
    ),
    "approximation": Experiment(
        'GSSBO, appendix A.1, equations 11 and 12, and "Comparison": ‖K - K^‖ over ‖K‖ for 250 samples of the unit '
        "square, by rule; eps_g of the greedy rule on kernel columns; E along its path over the bound.",
        approximation,
        {f"M={M}": {"size": M} for M in (10, 25, 50, 100)},
        seeds=50,
    ),
    "columns": Experiment(
        "GSSBO, appendix A.1: the greedy rules on kernel columns and on gradient columns pick the same samples, and "
        "their projectors have the same range. 10 samples of 40.",
        columns,
        {f"lengthscale={value:g}": {"n": 40, "size": 10, "lengthscale": value} for value in (0.05, 0.15, 0.5)},
        seeds=50,
    ),
    "smallest": Experiment(
        "GSSBO, appendix A.1: the smallest M with ‖K - K^‖ at most 5 % of ‖K‖, for 300 trials of GP-UCB and the "
        "Matern-5/2 kernel that they give; `best` is the best approximation of rank M.",
        smallest,
        {problem: {"problem": problem} for problem in FIVE},
        seeds=3,
    ),
    "on-draws": Experiment(
        "GSSBO, theorem 5.2: 200 trials on draws from a GP on 200 points of [0, 1], from trial 21 on with a subset of "
        "20 samples, or with all. beta = paper is beta~ of equation 43. `growth` is the exponent of the cumulative "
        "regret between 100 and 200 trials: 1 is linear.",
        on_draws,
        {
            f"beta={beta},lambda={lam:g},{subset}": {"subset": subset, "beta": beta, "lam": lam}
            for beta in ("paper", 2)
            for lam in (1.0, 1e-2)
            for subset in ("all", "random", "sign", "nystrom")
        },
        seeds=20,
    ),
    "illustration": Experiment(
        "GSSBO, figure 1: GPs on 10 samples of a draw on [0, 1], and on 6 of them.",
        illustration,
        {criterion: {"criterion": criterion} for criterion in CRITERIA},
        seeds=50,
    ),
}

"""Experiments on S-BPE (Vakili et al. 2022)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.exact import Array, ExactGP, covariance, gaussian, rkhs_function, unit_arms
from benchmarks.papers.experiment import Experiment
from numbo import SBPE, SBPESettings
from numbo.dictionaries import recursive_rls
from numbo.models import SparseGP
from numbo.models.confidence import sparse_confidence, uniform_confidence
from numbo.optimizers.parts.race import lambda_max

Mask = NDArray[np.bool_]

TAU = 0.1
LENGTHSCALE = 0.3
DELTA = 0.1
DRAWS = 400


# -- identities ----------------------------------------------------------------------------------------------------


def identities(seed: int, tau: float, atoms: int) -> dict[str, Any]:
    """Lemma 3.1, theorem 3.2 and lemmas C.1, C.2 and G.1 for random points, and inducing points that are others."""
    rng = np.random.default_rng([seed, 2])
    X = rng.random((40, 2))
    S = rng.random((atoms, 2))
    probes = rng.random((100, 2))
    lam = tau**2
    gp = SparseGP(covariance(2, LENGTHSCALE, lam), S)
    gp.condition(X)
    found = lam * gp.mean_variance(probes)[1]
    KS = gaussian(S, S, LENGTHSCALE)
    at_probes = np.linalg.solve(KS, gaussian(S, probes, LENGTHSCALE))
    at_X = np.linalg.solve(KS, gaussian(S, X, LENGTHSCALE))
    kappa = gaussian(X, S, LENGTHSCALE) @ at_X  # of X and X
    cross = gaussian(X, S, LENGTHSCALE) @ at_probes  # of X and the probes
    own = np.einsum("ij,ij->j", gaussian(S, probes, LENGTHSCALE), at_probes)
    V = np.linalg.solve(kappa + lam * np.eye(40), cross)  # lemma C.2
    second = own - 2.0 * np.einsum("ij,ij->j", V, cross) + np.einsum("ij,ij->j", V, kappa @ V)
    total = (1.0 - own) + second + lam * (V**2).sum(axis=0)
    K = gaussian(X, X, LENGTHSCALE)
    to = gaussian(X, probes, LENGTHSCALE)
    exact = 1.0 - np.einsum("ij,ij->j", to, np.linalg.solve(K + lam * np.eye(40), to))
    top = float(np.linalg.eigvalsh(K - kappa)[-1])
    r = top / lam
    factor = 1.0 + 0.5 * (r + math.sqrt(r**2 + 4.0 * r))
    posterior = own - np.einsum("ij,ij->j", cross, V)
    return {
        "theorem-3.2": float(np.abs(total / found - 1.0).max()),
        "lemma-C.1": float(np.abs(second + lam * (V**2).sum(axis=0) - posterior).max()),
        "G.1-left": float((exact / found).max()),
        "G.1-right": float((found / ((1.0 + r) * exact)).max()),
        "two-sided": float(np.maximum(exact / found, found / exact).max()) / factor,
        "lambda-max": r,
        "lambda-max-error": abs(lambda_max(gp) / top - 1.0),
    }


# -- inducing points -----------------------------------------------------------------------------------------------


def inducing(seed: int, n: int, lengthscale: float, delta: float = 0.03) -> dict[str, Any]:
    """Lemma 3.8: recursive RLS keeps lambda_max at tau^2 = 1 or below, with few points."""
    rng = np.random.default_rng([seed, 3])
    X = rng.random((n, 2))
    cov = covariance(2, lengthscale, 1.0)
    chosen = recursive_rls(cov, X, rng, delta=delta)
    gp = SparseGP.over(cov, X, np.ones(n), chosen)
    whole = SparseGP.over(cov, X, np.ones(n), np.arange(n))
    d_eff = float(whole.variances().sum())
    top = lambda_max(gp)
    return {
        "d-eff": d_eff,
        "points": len(chosen),
        "atoms": gp.m,
        "points-over-bound": len(chosen) / (384.0 * d_eff * math.log(3.0 * d_eff / delta)),
        "lambda-max": top,
        "holds": top <= 1.0,
    }


def few(seed: int, qbar: float, n: int = 2000) -> dict[str, Any]:
    """Lemma 3.8 with less oversampling than the theory's."""
    rng = np.random.default_rng([seed, 4])
    X = rng.random((n, 2))
    cov = covariance(2, LENGTHSCALE, 1.0)
    gp = SparseGP.over(cov, X, np.ones(n), recursive_rls(cov, X, rng, qbar=qbar))
    top = lambda_max(gp)
    return {"atoms": gp.m, "lambda-max": top, "holds": top <= 1.0}


# -- intervals -----------------------------------------------------------------------------------------------------


def _noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Of standard deviation tau."""
    return TAU * rng.normal(size=shape) if kind == "gaussian" else rng.laplace(scale=TAU / math.sqrt(2.0), size=shape)


def _light_tailed(delta: float, top: float) -> float:
    """The multiplier of theorem E.2 for Laplace noise of scale b: E e^(hX) = 1 / (1 - b^2 h^2), with the best h_0."""
    b2 = TAU**2 / 2.0
    h = np.linspace(0.01, 0.99, 500) / math.sqrt(b2)
    u = b2 * h**2
    xi = 2.0 * b2 * (1.0 + 3.0 * u) / (1.0 - u) ** 3  # its second derivative, which grows with h
    most = np.maximum(xi, 2.0 * math.log(1.0 / delta) / h**2)
    return (2.0 + math.sqrt(top) / TAU) + math.sqrt(2.0 * float(most.min()) * math.log(1.0 / delta)) / TAU


def intervals(seed: int, d: int, delta: float, noise: str = "gaussian", n: int = 50) -> dict[str, Any]:
    """Theorem 3.5, lemma D.2, corollary 3.7, lemma F.1 and theorem E.2: how often 400 draws of the noise fail them."""
    rng = np.random.default_rng([seed, 5])
    X = rng.random((n, d))
    probes = rng.random((2000, d))
    S = X[rng.permutation(n)[:25]]
    f = rkhs_function(np.concatenate([X, probes]), LENGTHSCALE, rng)
    gp = SparseGP(covariance(d, LENGTHSCALE, TAU**2), S)
    gp.condition(X)
    Z = gp.embed(X)
    half = np.linalg.solve(gp.LV.T, np.linalg.solve(gp.LV, Z.T))
    weights = gp.embed(probes) @ half  # V_n (probes, n)
    sigma = TAU * np.sqrt(gp.mean_variance(probes)[1])
    E = _noise(noise, (n, DRAWS), rng)
    errors = f[n:, None] - weights @ (f[:n, None] + E)
    top = lambda_max(gp)
    beta = _light_tailed(delta, top) if noise == "laplace" else sparse_confidence(delta, top, TAU, 1.0, TAU)
    uniform = uniform_confidence(delta, top, TAU, 1.0, TAU, n, d, 1.0)
    above = (errors > beta * sigma[:, None]).mean(axis=1)
    below = (errors < -beta * sigma[:, None]).mean(axis=1)
    only_noise = (weights @ E > math.sqrt(2.0 * math.log(1.0 / delta)) * sigma[:, None]).mean(axis=1)
    widths = 2.0 / n + uniform * (sigma + 2.0 / math.sqrt(n))
    section = gaussian(probes, X, LENGTHSCALE)
    worst2 = 1.0 - 2.0 * (weights * section).sum(axis=1) + (weights @ gaussian(X, X, LENGTHSCALE) * weights).sum(axis=1)
    bias = np.sqrt(np.maximum(worst2, 0.0)) / ((2.0 + math.sqrt(top) / TAU) * sigma)
    norms = np.linalg.norm(half @ (f[:n, None] + E), axis=0)  # of weights on an orthonormal embedding
    allowed = (1.0 + math.sqrt(n) / TAU) + math.sqrt(n) * math.sqrt(2.0 * math.log(2.0 * n / delta))
    return {
        "failures": float(max(above.max(), below.max())),
        "share-of-width": float(np.quantile(np.abs(errors) / (beta * sigma[:, None]), 1.0 - delta)),
        "worst-bias": float(bias.max()),
        "noise-alone": float(only_noise.max()),
        "uniform-failures": float((np.abs(errors) > widths[:, None]).any(axis=0).mean()),
        "uniform-over-range": float(widths.min() / np.ptp(f)),
        "norm-over-bound": float(norms.max() / allowed),
        "multiplier": beta,
    }


def prediction(seed: int, n: int, lengthscale: float = LENGTHSCALE) -> dict[str, Any]:
    """Theorem 4.1, and equations 26 to 28: the design of a first batch, and the error of what it predicts."""
    rng = np.random.default_rng([seed, 6])
    X = unit_arms(300, 2, rng)
    f = rkhs_function(X, lengthscale, rng)
    given = SBPESettings(kernel="rbf", lengthscale=lengthscale, noise_std=TAU)
    opt = SBPE(arms=X, horizon=n * n, seed=seed, settings=given)  # so that the first batch has n points
    first = opt.next_batch(1)
    opt.tell(first, f[first])
    arms = np.array(first + opt.next_batch())
    assert len(arms) == n
    exact = ExactGP(gaussian(X, X, lengthscale), TAU**2)
    for arm in arms:
        exact.pull(int(arm))
    cov = covariance(2, lengthscale, TAU**2)
    chosen = recursive_rls(cov, X[arms], rng, delta=0.03)
    gp = SparseGP.over(cov, X[arms], np.ones(n), chosen)
    top = lambda_max(gp)
    gamma = 0.5 * exact.information  # at most that of the best design, so this is sharper than the paper's
    growth = gamma / (math.log(1.0 + TAU**-2.0) * n)
    largest = float((TAU**2 * gp.mean_variance(X)[1]).max())
    noise = TAU * rng.normal(size=(n, 100))
    cross = gaussian(X, X[arms], lengthscale)
    weights = np.linalg.solve(gaussian(X[arms], X[arms], lengthscale) + TAU**2 * np.eye(n), cross.T).T
    errors = np.abs(f[:, None] - weights @ (f[arms][:, None] + noise)).max(axis=0)
    bound = (3.0 + math.sqrt(2.0 * math.log(4.0 * 300 / DELTA))) * math.sqrt(8.0 * growth)
    return {
        "error": float(np.median(errors)),
        "bound": bound,
        "error-over-bound": float(errors.max()) / bound,
        "eq-28": largest / (2.0 * (1.0 + top / TAU**2) ** 2 * growth),
        "lambda-max": top / TAU**2,
    }


# -- the race ------------------------------------------------------------------------------------------------------


def elimination(seed: int, beta: Any, N: int, norm_bound: float = 1.0) -> dict[str, Any]:
    """Theorem 5.2 and its proof: regret over its bound, and whether the optimum stays in the race."""
    rng = np.random.default_rng([seed, 7])
    X = unit_arms(150, 2, rng)
    f = rkhs_function(X, LENGTHSCALE, rng)
    settings = SBPESettings(
        kernel="rbf", lengthscale=LENGTHSCALE, noise_std=TAU, beta=beta, norm_bound=norm_bound, delta=DELTA
    )
    opt = SBPE(arms=X, horizon=N, seed=seed, settings=settings)
    exact = ExactGP(gaussian(X, X, LENGTHSCALE), TAU**2)
    best = int(np.argmax(f))

    def left() -> Mask:
        assert opt.racing is not None, "arms are enumerated"
        return opt.racing

    kept = True
    regret = 0.0
    n = 0
    while n < N:
        batch = opt.next_batch(min(N - n, 1))
        kept = kept and bool(left()[best])
        batch += opt.next_batch(N - n - 1) if n + 1 < N else []
        batch = batch[: N - n]
        opt.tell(batch, f[batch] + TAU * rng.normal(size=len(batch)))
        regret += float((f.max() - f[batch]).sum())
        n += len(batch)
        for arm in batch:
            exact.pull(arm)
    opt.ask()  # judges the last batch, if it is whole
    kept = kept and bool(left()[best])
    gamma = 0.5 * exact.information
    rounds = math.log2(math.log2(N)) + 2.0
    multiplier = 12.0 + 4.0 * math.sqrt(2.0 * math.log(4.0 * 150 * rounds / DELTA))
    bound = multiplier * (math.sqrt(N) + 1.0) * rounds * math.sqrt(8.0 * gamma / math.log(1.0 + TAU**-2.0))
    return {
        "kept": kept,
        "share-left": float(left().mean()),
        "regret": regret,
        "regret-ratio": regret / (N * float((f.max() - f).mean())),
        "regret-over-bound": regret / bound,
        "bound-over-most": bound / (N * float(np.ptp(f))),
    }


def slope(seed: int, of: str, marks: tuple[int, ...], beta: Any = "paper") -> dict[str, Any]:
    """The exponent of the regret in N (theorem 5.2), or of the error in n (theorem 4.1), and of their bounds."""
    if of == "regret":
        found = [elimination(seed, beta, N) for N in marks]
        values = [f["regret"] for f in found]
        bounds = [f["regret"] / f["regret-over-bound"] for f in found]
    else:
        found = [prediction(seed, n) for n in marks]
        values = [f["error"] for f in found]
        bounds = [f["bound"] for f in found]
    log = np.log(marks)
    return {
        "slope": float(np.polyfit(log, np.log(values), 1)[0]),
        "slope-of-bound": float(np.polyfit(log, np.log(bounds), 1)[0]),
    }


def rounds(seed: int, base: str) -> dict[str, Any]:
    """The number of batches, at most ceil(log log N) + 1: for how many N of 16 to 20,000 it is larger."""
    log = math.log2 if base == "2" else math.log
    wrong = 0
    for N in range(16, 20_001):
        size = 1
        total = 0
        count = 0
        while total < N:
            size = math.ceil(math.sqrt(N * size))
            total += size
            count += 1
        wrong += count > math.ceil(log(log(N))) + 1
    return {"horizons": 20_001 - 16, "too-many": wrong}


EXPERIMENTS = {
    "identities": Experiment(
        "S-BPE, theorem 3.2 and lemmas C.1, C.2 and G.1: relative errors of what is equal, and left sides over right "
        "sides. Inducing points are at random, none of them observed.",
        identities,
        {f"tau={tau:g},atoms={m}": {"tau": tau, "atoms": m} for tau in (1.0, 0.1) for m in (5, 12)},
        seeds=20,
    ),
    "inducing": Experiment(
        "S-BPE, lemma 3.8: lambda_max is at most tau^2 = 1 with probability 1 - delta = 0.97, for at most "
        "384 d log(3 d / delta) inducing points.",
        inducing,
        {f"n={n},lengthscale={s:g}": {"n": n, "lengthscale": s} for n in (1500, 3000) for s in (0.5, 1.5)},
        seeds=5,
    ),
    "few-inducing": Experiment(
        "S-BPE, lemma 3.8, with less oversampling than the theory's 16 log(sum of scores / delta): n = 2,000, "
        "lengthscale 0.3.",
        few,
        {f"qbar={qbar:g}": {"qbar": qbar} for qbar in (0.25, 0.5, 1.0, 2.0)},
        seeds=10,
    ),
    "intervals": Experiment(
        "S-BPE, theorem 3.5 (E.2 for Laplace noise), lemma D.2, corollary 3.7 and lemma F.1: the largest rate of "
        "failure at a point, over 2,000 points and both sides, which is to be at most delta; that of the noise term "
        "alone; that of the uniform bound at any of the points. `worst-bias` is the error without noise of the worst "
        "function of norm 1 over its part of the bound.",
        intervals,
        {
            f"{noise},d={d},delta={delta:g}": {"noise": noise, "d": d, "delta": delta}
            for noise in ("gaussian", "laplace")
            for d in (1, 2)
            for delta in (0.5, 0.1)
        },
        seeds=10,
    ),
    "prediction": Experiment(
        "S-BPE, theorem 4.1 and equation 28: the largest error over 300 arms after n points of largest variance, over "
        "its bound with the information of this design in place of the largest; 100 draws of the noise.",
        prediction,
        {f"n={n}": {"n": n} for n in (20, 50, 100, 200, 500)},
        seeds=10,
    ),
    "elimination": Experiment(
        "S-BPE, theorem 5.2: regret over its bound, and whether the optimum stays in the race after every batch; "
        "functions of norm 1 on 150 arms, noise 0.1, delta = 0.1.",
        elimination,
        {f"beta={beta},N={N}": {"beta": beta, "N": N} for beta in ("paper", "union", 2, 1) for N in (100, 400, 1600)}
        | {f"beta=paper,norm-bound=0.1,N={N}": {"beta": "paper", "N": N, "norm_bound": 0.1} for N in (400, 1600)},
        seeds=30,
    ),
    "slopes": Experiment(
        "S-BPE, theorems 4.1 and 5.2: exponents of the error in n = 20 to 200, and of the regret in N = 100 to 1,600.",
        slope,
        {"error": {"of": "error", "marks": (20, 50, 100, 200)}}
        | {
            f"regret,beta={beta}": {"of": "regret", "marks": (100, 200, 400, 800, 1600), "beta": beta}
            for beta in ("paper", "union", 2)
        },
        seeds=10,
    ),
    "rounds": Experiment(
        "S-BPE, appendix H: there are at most ceil(log log N) + 1 batches.",
        rounds,
        {f"base={base}": {"base": base} for base in ("2", "e")},
        seeds=1,
    ),
}

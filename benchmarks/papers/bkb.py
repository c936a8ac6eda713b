"""Experiments on BKB and BBKB (Calandriello et al. 2019, 2020)."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.exact import Array, ExactGP, covariance, gaussian, rkhs_function, unit_arms
from benchmarks.papers.experiment import Experiment
from benchmarks.problems.arms import Indices, abalone
from numbo import BBKB, BKB, SBPE, BBKBSettings, BKBSettings, SBPESettings
from numbo.dictionaries import posterior_variance_sampling
from numbo.models import SparseGP

ARMS = 300
LENGTHSCALE = 0.2
DELTA = 0.1
#: eps = 1/2, with which the papers' constants are computed.
EPS = 0.5
ALPHA = (1.0 + EPS) / (1.0 - EPS)


def drawn(variance: Array, qbar: float, rng: np.random.Generator) -> Indices:
    """Rows that are drawn by their variance; the largest if there would be none."""
    chosen = posterior_variance_sampling(variance, qbar, rng)
    return chosen if len(chosen) else np.array([int(np.argmax(variance))])


def theory(T: int) -> float:
    """The oversampling factor of theorem 3.1 of BKB."""
    return 6.0 * ALPHA * math.log(4.0 * T / DELTA) / EPS**2


# -- BKB, figure 2 -------------------------------------------------------------------------------------------------


def starvation(seed: int, rate: float, lam: float, t: int) -> dict[str, Any]:
    """``t`` evaluations in [0, 1/2] of a draw from the GP with the kernel ``exp(-rate r^2)`` on [0, 1]."""
    rng = np.random.default_rng([seed, 2])
    grid = np.linspace(0.0, 1.0, 201)[:, None]
    lengthscale = math.sqrt(0.5 / rate)
    X = 0.5 * rng.random((t, 1))
    points = np.concatenate([grid, X])
    K = gaussian(points, points, lengthscale)
    f = np.linalg.cholesky(K + 1e-9 * np.eye(len(K))) @ rng.normal(size=len(K))
    y = f[201:] + math.sqrt(lam) * rng.normal(size=t)
    cov = covariance(1, lengthscale, lam)
    gp = SparseGP(cov, X[:1])
    for n in range(1, t + 1):  # a dictionary at every step, by the variances of the step before
        if n > 1:
            gp = SparseGP(cov, X[:n][drawn(gp.mean_variance(X[:n])[1], 2.0, rng)])
        gp.condition(X[:n])
    gp.set_values(y)
    mean, variance = gp.mean_variance(grid)
    sd = np.sqrt(lam * variance)
    Z = gp.embed(grid)
    starved = np.sqrt(lam * np.sum(np.linalg.solve(gp.LV, Z.T) ** 2, axis=0))
    cross = K[:201, 201:]
    exact = np.sqrt(1.0 - np.sum(cross * np.linalg.solve(K[201:, 201:] + lam * np.eye(t), cross.T).T, axis=1))
    error = np.abs(f[:201] - mean)
    far = grid[:, 0] > 0.5
    out: dict[str, Any] = {
        "smallest-ratio": float(((sd / exact) ** 2).min()),
        "largest-ratio": float(((sd / exact) ** 2).max()),
        "inside": float((error <= 3.0 * sd)[~far].mean()),
        "outside": float((error <= 3.0 * sd)[far].mean()),
        "smallest-ratio-SoR": float(((starved / exact) ** 2).min()),
        "outside-SoR": float((error <= 3.0 * starved)[far].mean()),
        "atoms": gp.m,
    }
    if seed == 0:
        curves = {"f": f[:201], "mean": mean, "sd": sd, "starved": starved}
        out["_curves"] = {name: [round(float(v), 4) for v in values] for name, values in curves.items()}
        out["_atoms"] = [round(float(x), 4) for x in gp.dictionary[:, 0]]
    return out


# -- runs on arms, beside the exact GP -----------------------------------------------------------------------------


def optimizer(algorithm: str, X: Array, noise: float, seed: int, lengthscale: float, **settings: Any) -> BBKB | BKB:
    """BKB, BBKB, or ``GlobalLocal-BBKB``, with a fixed Gaussian kernel."""
    given: dict[str, Any] = {"kernel": "rbf", "lengthscale": lengthscale, "noise_std": noise, "delta": DELTA}
    given |= settings
    if algorithm == "BKB":
        return BKB(arms=X, seed=seed, settings=BKBSettings(**given))
    if algorithm == "GlobalLocal-BBKB":
        given["stopping"] = "global-local"
    return BBKB(arms=X, seed=seed, settings=BBKBSettings(**given))


def played(
    opt: BBKB, f: Array, noise: float, T: int, rng: np.random.Generator
) -> Iterator[tuple[list[int], SparseGP, float]]:
    """The batches of a run, each with the model that chose it and the multiplier of its standard deviations."""
    n = 0
    while n < T:
        batch = opt.next_batch(T - n)
        gp = opt._model.base.gp
        assert int(gp.counts.sum()) == n
        yield batch, gp, opt.status.beta_tilde / noise
        opt.tell(batch, f[batch] + noise * rng.normal(size=len(batch)))
        n += len(batch)


def accuracy(seed: int, algorithm: str, lam: float, qbar: float | str, T: int = 1000) -> dict[str, Any]:
    """Theorem 3.1 of BKB; lemmas 2 and 6 and theorem 1 of BBKB: variances over a run beside the exact ones."""
    rng = np.random.default_rng([seed, 3])
    noise = math.sqrt(lam)
    X = unit_arms(ARMS, 2, rng)
    f = rkhs_function(X, LENGTHSCALE, rng, 3.0)
    factor = theory(T) if qbar == "theory" else float(qbar)
    opt = optimizer(algorithm, X, noise, seed, LENGTHSCALE, qbar=factor)
    exact = ExactGP(gaussian(X, X, LENGTHSCALE), lam)
    threshold = opt.settings.ratio_threshold
    ratios = [1.0]
    sizes = [0.0]
    within = [1.0]
    lengths = []
    for batch, gp, _ in played(opt, f, noise, T, rng):
        before = exact.variance
        if gp.m:
            ratio = gp.mean_variance(X)[1] / before
            ratios += [float(ratio.min()), float(ratio.max())]
            bound = 3.0 * ALPHA * threshold * (1.0 + 1.0 / lam) * factor * exact.effective_dimension
            sizes.append(gp.m / bound)
        for arm in batch[:-1]:
            exact.pull(arm)
        within.append(float((before / exact.variance).max()))
        exact.pull(batch[-1])
        lengths.append(len(batch))
    d_eff = exact.effective_dimension
    atoms = opt.status.dictionary_size
    out = {
        "smallest-ratio": min(ratios),
        "largest-ratio": max(ratios),
        "within-3": min(ratios) >= 1.0 / 3.0 and max(ratios) <= 3.0,
        "atoms": atoms,
        "points": int((exact.pulls > 0).sum()),
        "d-eff": d_eff,
        "atoms-per-dimension": atoms / d_eff,
        "size-over-bound": max(sizes),
    }
    if algorithm == "BKB":
        return out
    most = 9.0 * (1.0 + 1.0 / lam) * exact.last * threshold / (threshold - 1.0)
    return out | {
        "in-batch": max(within),
        "batches": len(lengths),
        "batches-per-dimension": len(lengths) / d_eff,
        "batches-over-bound": len(lengths) / most,
    }


def batch_sizes(seed: int, algorithm: str, lam: float, T: int = 5000) -> dict[str, Any]:
    """Figure 3, middle, of BBKB: the size of a batch against the evaluations before it."""
    rng = np.random.default_rng([seed, 4])
    noise = math.sqrt(lam)
    X = unit_arms(ARMS, 2, rng)
    f = rkhs_function(X, LENGTHSCALE, rng, 3.0)
    opt = optimizer(algorithm, X, noise, seed, LENGTHSCALE)
    sizes = [len(batch) for batch, _, _ in played(opt, f, noise, T, rng)]
    whole = np.array(sizes[:-1])  # the last one is cut
    t = np.cumsum(sizes)[:-1]
    late = t >= 50
    return {
        "batches": len(sizes),
        "batches-to-500": int((np.cumsum(sizes) <= 500).sum()),
        "largest": int(whole.max()),
        "slope": float(np.polyfit(np.log(t[late]), np.log(whole[late]), 1)[0]),
        "dimension": opt.status.effective_dimension,
    }


def coverage(seed: int, algorithm: str, beta: str | float, lam: float, T: int) -> dict[str, Any]:
    """Theorems D.1 and 4.1 of BKB, proposition 5 and theorem 2 of BBKB: f of norm 1 within its bounds, and regret."""
    rng = np.random.default_rng([seed, 5])
    noise = math.sqrt(lam)
    X = unit_arms(ARMS, 2, rng)
    f = rkhs_function(X, LENGTHSCALE, rng)
    opt = optimizer(algorithm, X, noise, seed, LENGTHSCALE, beta=beta, norm_bound=1.0)
    exact = ExactGP(gaussian(X, X, LENGTHSCALE), lam)
    threshold = opt.settings.ratio_threshold
    share = 0.0
    step = 0.0
    regret = 0.0
    for batch, gp, multiplier in played(opt, f, noise, T, rng):
        n = int(exact.pulls.sum())
        if gp.m:
            mean, variance = gp.mean_variance(X)
            width = multiplier / threshold if beta == "paper" else multiplier
            share = max(share, float((np.abs(f - mean) / (width * np.sqrt(lam * variance))).max()))
        if n > 1 and algorithm == "BKB":
            used = ALPHA * math.log(n) * opt.status.effective_dimension
            step = max(step, exact.information / used)
        for arm in batch:
            exact.pull(arm)
        regret += float((f.max() - f[batch]).sum())
    log_delta = math.log(1.0 / DELTA)
    d_eff = exact.effective_dimension
    if algorithm == "BKB":
        root = math.sqrt(lam * d_eff * math.log(T))
        bound = 2.0 * (2.0 * ALPHA) ** 1.5 * math.sqrt(T) * (noise * (d_eff * math.log(T) + log_delta) + root)
    else:
        root = math.sqrt(lam * exact.before)
        bound = 55.0 * threshold**3 * math.sqrt(T) * (noise * (exact.before + log_delta) + root)
    out = {
        "covered": share <= 1.0,
        "share-of-width": share,
        "multiplier": multiplier,
        "regret": regret,
        "regret-ratio": regret / (T * float((f.max() - f).mean())),
        "regret-over-bound": regret / bound,
        "bound-over-most": bound / (T * float(np.ptp(f))),
    }
    return out | ({"information-over-used": step} if algorithm == "BKB" else {})


# -- inequalities that always hold ---------------------------------------------------------------------------------


def information(seed: int, lam: float, n: int, lengthscale: float = 0.1) -> dict[str, Any]:
    """Propositions B.1 and B.3 of BKB, and what papers say of 1/2 log det: left sides over right sides."""
    rng = np.random.default_rng([seed, 6])
    X = rng.random((n, 2))
    K = gaussian(X, X, lengthscale)
    gp = ExactGP(K, lam)
    for i in range(n):
        gp.pull(i)
    d_eff = float(np.trace(np.linalg.solve(K + lam * np.eye(n), K)))
    top = float(np.linalg.eigvalsh(K)[-1])
    return {
        "d-eff": d_eff,
        "d-over-sum": d_eff / gp.last,
        "sum-over-log-det": gp.last / gp.information,
        "log-det-over-last": gp.information / (d_eff * (1.0 + math.log(top / lam + 1.0))),
        "sum-over-half-log-det": gp.last / (0.5 * gp.information),
        "d-over-half-log-det": d_eff / (0.5 * gp.information),
        "log-det-over-2-log-n-d": gp.information / (2.0 * math.log(n) * d_eff),
    }


def projection(seed: int, lam: float, qbar: float, n: int = 300) -> dict[str, Any]:
    """Proposition D.3 and lemma C.1 of BKB for the accuracy eps that a dictionary has."""
    rng = np.random.default_rng([seed, 7])
    X = rng.random((n, 2))
    K = gaussian(X, X, LENGTHSCALE)
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    scores = (vectors**2) @ (values / (values + lam))
    p = np.minimum(1.0, qbar * scores)
    chosen = np.flatnonzero(rng.random(n) < p)
    half = np.sqrt(values / (values + lam))[:, None] * vectors[chosen].T
    eps = float(np.abs(np.linalg.eigvalsh((half / p[chosen]) @ half.T - np.diag(values / (values + lam)))).max())
    gp = SparseGP(covariance(2, LENGTHSCALE, lam), X[chosen])
    gp.condition(X)
    left = K - gp.embed(X) @ gp.embed(X).T
    out: dict[str, Any] = {"eps": eps, "accurate": eps < 1.0, "atoms": len(chosen)}
    ratio = gp.variances() / (scores)
    out["largest-ratio"] = float(ratio.max())
    out["smallest-ratio"] = float(ratio.min())
    if eps < 1.0:
        alpha = (1.0 + eps) / (1.0 - eps)
        out["D.3"] = float(np.linalg.eigvalsh(left)[-1]) * (1.0 - eps) / lam
        out["C.1"] = max(float(ratio.max()), 1.0 / float(ratio.min())) / alpha
    return out


def ratios(seed: int, lam: float, tries: int = 100) -> dict[str, Any]:
    """Lemmas 1 and 3 of BBKB on random points, dictionaries and batches: left sides over right sides.

    The printed lemma 3 has the covariance ``k~`` of two points; its proof has that of a point and of the projection of
    the other on the dictionary.
    """
    rng = np.random.default_rng([seed, 8])
    shares: dict[str, list[float]] = defaultdict(list)
    for _ in range(tries):
        X = rng.random((40, 2))
        gp = SparseGP(covariance(2, 0.3, lam), X[rng.permutation(40)[: rng.integers(1, 15)]])
        gp.condition(X[: rng.integers(1, 30)])
        batch = rng.random((int(rng.integers(1, 12)), 2))
        probes = np.concatenate([rng.random((60, 2)), batch])
        before = gp.mean_variance(probes)[1]
        own = gp.mean_variance(batch)[1]
        printed = 1.0 + (gp.cross(probes, batch) ** 2).sum(axis=1) / before
        half = np.linalg.solve(gp.LV, np.concatenate([gp.embed(probes), gp.embed(batch)]).T)
        proved = 1.0 + ((half[:, : len(probes)].T @ half[:, len(probes) :]) ** 2).sum(axis=1) / before
        for x in batch:
            gp.add(x)
        ratio = before / gp.mean_variance(probes)[1]
        whole = 1.0 + own.sum()
        shares["lemma-1"].append(float((ratio / whole).max()))
        shares["lemma-3-printed"].append(float((ratio / printed).max()))
        shares["lemma-3-printed-largest"].append(float(ratio.max() / printed.max()))
        shares["lemma-3-proved"].append(float((ratio / proved).max()))
        shares["lemma-3-over-lemma-1"].append(float((printed / whole).max()))
    return {name: max(values) for name, values in shares.items()}


def uncertainty(seed: int, lam: float, T: int, arms: int = 200) -> dict[str, Any]:
    """Proposition 4 of BBKB: the largest variance after uncertainty sampling, over gamma_T / T from above."""
    rng = np.random.default_rng([seed, 9])
    X = unit_arms(arms, 2, rng)
    gp = ExactGP(gaussian(X, X, LENGTHSCALE), lam)
    for _ in range(T):
        gp.pull(int(np.argmax(gp.variance)))
    gamma = 0.5 * gp.information * math.e / (math.e - 1.0)  # greedy: at least 1 - 1/e of the largest
    return {"variance": float(gp.variance.max()), "over-gamma": float(gp.variance.max()) * T / gamma}


# -- time ----------------------------------------------------------------------------------------------------------


def growth(seed: int, qbar: float, marks: tuple[int, ...]) -> dict[str, Any]:
    """Seconds of BKB where no arm is pulled twice, up to numbers of evaluations; ``qbar`` infinite is the exact GP."""
    rng = np.random.default_rng([seed, 10])
    X = unit_arms(2000, 2, rng)
    f = rkhs_function(X, LENGTHSCALE, rng, 3.0)
    opt = optimizer("BKB", X, 0.3, seed, 0.5, kernel="matern52", qbar=qbar, avoid_repeats=True)
    spent = 0.0
    out: dict[str, Any] = {}
    last = []
    for n in range(1, max(marks) + 1):
        started = time.perf_counter()
        arm = opt.ask()
        opt.tell(arm, f[arm] + 0.3 * rng.normal())
        last.append(time.perf_counter() - started)
        spent += last[-1]
        if n in marks:
            out[f"seconds-{n}"] = spent
            out[f"ms-{n}"] = 1e3 * float(np.median(last[-50:]))
    return out | {"atoms": opt.status.dictionary_size, "dimension": opt.status.effective_dimension}


# -- abalone -------------------------------------------------------------------------------------------------------


def bandwidth(seed: int, algorithm: str, lengthscale: float, data: Path | None, T: int = 10_000) -> dict[str, Any]:
    """Table 1 and figure 5 of BBKB, abalone: the regret over that of uniform sampling."""
    problem = abalone(data)
    given = problem.settings | {"lengthscale": lengthscale}
    qbar = math.inf if algorithm in ("GP-UCB", "GP-BUCB") else 2.0
    seeds = np.random.default_rng([seed, 11])
    own = int(seeds.integers(2**31))
    opt: BBKB | SBPE
    if algorithm == "S-BPE":
        opt = SBPE(arms=problem.X, horizon=T, seed=own, settings=SBPESettings(**given))
    else:
        sparse = {"GP-UCB": "BKB", "GP-BUCB": "BBKB"}.get(algorithm, algorithm)
        del given["lengthscale"], given["noise_std"], given["kernel"]
        options = {"delta": 1.0 / T, "beta": "reference", "qbar": qbar}
        opt = optimizer(sparse, problem.X, problem.settings["noise_std"], own, lengthscale, **options)
    gap = problem.mean.max() - problem.mean
    total = 0.0
    n = 0
    started = time.perf_counter()
    while n < T:
        batch = np.array(opt.next_batch(T - n))
        opt.tell(batch, problem.observe(batch, seeds))
        total += float(gap[batch].sum())
        n += len(batch)
    out = {
        "ratio": total / (T * float(gap.mean())),
        "seconds": time.perf_counter() - started,
        "batches": len(opt.status.batch_sizes),
    }
    return out if algorithm == "S-BPE" else out | {"atoms": opt.status.dictionary_size}


BANDWIDTHS = (5.0, 7.5, 10.0, 12.5, 15.0, 17.5)
LAMBDAS = (1.0, 1e-2, 1e-4)

EXPERIMENTS = {
    "starvation": Experiment(
        "BKB, figure 2: variances do not vanish away from the evaluations. Ratios are lambda var~ over the exact "
        "variance on [0, 1]; inside and outside are the shares of [0, 1/2] and of the rest where f is within 3 "
        "standard deviations. SoR is the variance without its first term.",
        starvation,
        {
            f"rate={rate},lambda={lam:g},t={t}": {"rate": float(rate), "lam": lam, "t": t}
            for rate in (100, 50)
            for lam in (1e-2, 1e-4)
            for t in (6, 63, 215)
        },
        seeds=20,
    ),
    "accuracy": Experiment(
        "BKB, theorem 3.1; BBKB, lemmas 2 and 6 and theorem 1: var~ is within a factor of 3 of the exact variance, at "
        "all times and arms; exact variances shrink by at most 3 C~ within a batch (`in-batch`, C~ = 2); dictionary "
        "and number of batches follow the effective dimension. 1,000 evaluations of 300 arms.",
        accuracy,
        {
            f"{algorithm},lambda={lam:g},qbar={qbar}": {"algorithm": algorithm, "lam": lam, "qbar": qbar}
            for algorithm, qbar in (
                ("BKB", 2),
                ("BKB", 10),
                ("BKB", "theory"),
                ("BBKB", 2),
                ("BBKB", 10),
                ("GlobalLocal-BBKB", 2),
            )
            for lam in LAMBDAS
        },
        seeds=10,
    ),
    "batch-sizes": Experiment(
        "BBKB, figure 3 (middle): batches grow linearly, those of the local rule are larger. The slope is that of "
        "log size against log t, from t = 50 on. 5,000 evaluations of 300 arms.",
        batch_sizes,
        {
            f"{algorithm},lambda={lam:g}": {"algorithm": algorithm, "lam": lam}
            for algorithm in ("BBKB", "GlobalLocal-BBKB")
            for lam in LAMBDAS
        },
        seeds=10,
    ),
    "coverage": Experiment(
        "BKB, theorems D.1 and 4.1; BBKB, proposition 5 and theorem 2: a function of norm 1 is within its bounds at "
        "all times and arms, and the regret within its bound. delta = 0.1; 300 arms; 100 evaluations of BKB, 300 of "
        "BBKB.",
        coverage,
        {
            f"{algorithm},beta={beta},lambda={lam:g}": {"algorithm": algorithm, "beta": beta, "lam": lam, "T": T}
            for algorithm, T in (("BKB", 100), ("BBKB", 300))
            for beta in ("paper", "reference", 2)
            for lam in LAMBDAS
        },
        seeds=50,
    ),
    "information": Experiment(
        "BKB, propositions B.1 and B.3 and the text of section 3.2; S-BPE, section 3.3: left sides over right sides, "
        "for random points of the unit square.",
        information,
        {f"lambda={lam:g},n={n}": {"lam": lam, "n": n} for lam in (10.0, *LAMBDAS) for n in (2, 10, 50, 200)},
        seeds=20,
    ),
    "projection": Experiment(
        "BKB, proposition D.3 and lemma C.1: left sides over right sides, for the eps that the dictionary has.",
        projection,
        {f"lambda={lam:g},qbar={qbar}": {"lam": lam, "qbar": qbar} for lam in (1.0, 1e-2) for qbar in (2, 10, 50)},
        seeds=50,
    ),
    "ratios": Experiment(
        "BBKB, lemmas 1 and 3, for any points, dictionary and batch: left sides over right sides. Lemma 3 as it is "
        "printed, at each point and for the largest of both sides; and as it is proved, with the projection of the "
        "points of the batch on the dictionary.",
        ratios,
        {f"lambda={lam:g}": {"lam": lam} for lam in (10.0, *LAMBDAS)},
        seeds=10,
    ),
    "uncertainty": Experiment(
        "BBKB, proposition 4: after uncertainty sampling the largest variance is at most gamma_T / T; `over-gamma` is "
        "it over this bound, with gamma_T from above.",
        uncertainty,
        {f"lambda={lam:g},T={T}": {"lam": lam, "T": T} for lam in (10.0, *LAMBDAS) for T in (5, 50, 500)},
        seeds=5,
    ),
    "growth": Experiment(
        "BKB, sections 3.2 and 4: the cost of a step does not grow with t. 2,000 arms, none of them pulled twice; "
        "Matern-5/2 kernel, which keeps exact models at full rank.",
        growth,
        {"BKB": {"qbar": 2.0, "marks": (125, 250, 500, 1000)}, "exact": {"qbar": math.inf, "marks": (125, 250, 500)}},
        seeds=3,
    ),
    "bandwidths": Experiment(
        "BBKB, table 1 and figure 5: abalone, 10,000 evaluations, with other bandwidths. The ratio is the regret over "
        "that of uniform sampling.",
        bandwidth,
        {
            f"{algorithm},sigma={sigma:g}": {"algorithm": algorithm, "lengthscale": sigma}
            for sigma in BANDWIDTHS
            for algorithm in ("BBKB", "GlobalLocal-BBKB", "BKB", "GP-UCB", "GP-BUCB")
        },
        seeds=2,
        reads=True,
    ),
    "race": Experiment(
        "S-BPE, sections 1 and 5: regret beside that of BKB; abalone, sigma = 12.5.",
        bandwidth,
        {
            f"{algorithm},T={T}": {"algorithm": algorithm, "lengthscale": 12.5, "T": T}
            for T in (1000, 10_000)
            for algorithm in ("S-BPE", "BKB", "BBKB")
        },
        seeds=3,
        reads=True,
    ),
}

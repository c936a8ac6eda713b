"""The first use on a machine, when kernels are compiled and cached for all later processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from numbo.compiling import jit
from numbo.kernels.acquisition import (
    LOG_EI,
    Acquisition,
    Posterior,
    Term,
    acquisition_values,
    mean_variance,
    unweighted_values,
)
from numbo.kernels.ascent import ascend
from numbo.kernels.cholesky import cholesky_append, inverse_into
from numbo.kernels.covariance import MATERN52, gram_into, stationary
from numbo.kernels.eigen import eigen
from numbo.kernels.lazy import best_of_block, squared_remainders_into
from numbo.kernels.likelihood import log_marginal_likelihood
from numbo.kernels.pending import shares_beside
from numbo.kernels.sparse import dtc_weights, observe
from numbo.models.pending import represented
from numbo.optimizers import BBKB, BKB, GPUCB, GSSBO, SBPE, BBKBSettings, GSSBOSettings, Optimizer
from numbo.search.utility import ASCENT_ITERATIONS, ASCENT_TOLERANCE
from numbo.spaces import Categorical, Float, Int, Space

#: Kernels that every study compiles by itself, if it is interrupted before the background processes are ready.
KERNELS = (log_marginal_likelihood, ascend, mean_variance, unweighted_values)
SPARSE_KERNELS = (*KERNELS, dtc_weights)
#: The algorithms, each with its kernels among these.
ALGORITHMS: dict[type[Optimizer], tuple[Any, ...]] = {
    GSSBO: KERNELS,
    GPUCB: KERNELS,
    BKB: SPARSE_KERNELS,
    BBKB: SPARSE_KERNELS,
    SBPE: SPARSE_KERNELS,
}
#: A buffer of this size is soon full.
FULL = 16
#: Seconds that a process in the background waits for a kernel that another one is compiling.
PATIENCE = 120.0


def cache_path() -> str | None:
    """The folder where compiled kernels are cached; None if no folder is writable."""
    return jit.cache_path(mean_variance)


def compilation_time() -> float:
    """Seconds that this process has spent on getting kernels ready: compiling them, or loading them from the cache."""
    return jit.seconds_spent()


def announce_compilation(log: Callable[[str], Any]) -> None:
    """If kernels have to be compiled, announce it through ``log`` instead of pausing silently."""

    def say() -> None:
        place = cache_path()
        where = f" and caches them in {place}" if place else ", in every process, as no cache folder is writable"
        log(f"numbo compiles its kernels for this machine{where}. The first suggestions wait for it.")

    jit.announce_by(say)


def compile_part(algorithm: str, part: int, lock: str) -> None:
    """Compile the kernels of the default settings of the named ``algorithm``, in an order that ``part`` determines.

    Every part compiles all kernels that no other process has compiled or is compiling. Nothing is done if this process
    would not write to the cache whose lock is given.
    """
    if jit.lock_path(mean_variance) != lock:
        return
    jit.wait_at_most(PATIENCE)
    if part == 1:  # what the first model needs beside its likelihood, which takes the other part as long
        posterior = _prior_of(1, 2)
        acquisition = Acquisition(LOG_EI, 0.0)
        X = posterior.X
        ascend((Term(posterior, acquisition),), None, X, X, X, ASCENT_ITERATIONS, ASCENT_TOLERANCE, None)
        cholesky_append(np.eye(2), np.eye(2), np.eye(2), 1, np.zeros(2), 1.0)
        acquisition_values(posterior, acquisition, X)
        gram_into(posterior.covariance, posterior.XT, 2, np.zeros(2), np.eye(2))
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(4)} | {"units": Int(1, 100)})
    chosen: Any = next(known for known in ALGORITHMS if known.__name__ == algorithm)
    runs = [(_smooth, chosen.settings_class()), (_rough, chosen.settings_class())]
    if chosen is GSSBO:  # as after hundreds of trials
        runs.append((_noisy, GSSBOSettings(buffer_size=FULL)))
    for objective, settings in runs:
        optimizer = chosen(space, seed=0, settings=settings)
        for i in range(10):  # told, not asked: the libraries of the initial design are not needed here
            params = space.decode(np.random.default_rng(i).random(space.d))
            optimizer.tell(params, objective(i, params))
        _run(optimizer, range(10, 40), objective)
        optimizer.ask(2)
    _stop(optimizer)
    _use_seldom()


def _prior_of(d: int, n: int) -> Posterior:
    """The prior in ``d`` dimensions, in the form of a posterior given ``n`` points."""
    covariance = stationary(MATERN52, np.ones(d), 1.0, 1.0, np.zeros(d, dtype=np.bool_))
    return Posterior(covariance, n, np.zeros((n, d)), np.zeros((d, n)), np.zeros(n), np.zeros((n, n)), np.zeros((n, n)))


def _run(optimizer: Optimizer, trials: range, objective: Callable[[int, Any], float | None]) -> None:
    for i in trials:
        optimizer.tell(params := optimizer.ask(), objective(i, params))


def _use_seldom() -> None:
    """The kernels that only some paths of a search call: quadratic models and populations, crowds of pending points,
    `observe` of a `SparseGP`, and tables of arms."""
    inverse_into(np.eye(2), 2, np.zeros((2, 2)))
    eigen(np.eye(2))
    observe(np.eye(2), np.eye(2), np.ones(2), 1.0)
    posterior = _prior_of(1, 2)
    shares_beside(posterior, posterior.X, posterior.XT, 1.0)
    represented(posterior, posterior.X, 1.0, 1)
    best_of_block(np.zeros(2), 0)
    squared_remainders_into(np.ones((1, 2)), np.ones((1, 1)), np.ones((1, 2)), np.zeros(2))


def _stop(optimizer: Optimizer) -> None:
    """Tell a trial that ends, and a trial that is stopped between two rungs of its curve."""
    for steps, partial in ((8, False), (7, True)):
        reports = {step: 9.0 - step for step in range(1, steps + 1)}
        optimizer.tell(optimizer.ask(), reports[steps], partial=partial, reports=reports)


def _smooth(i: int, params: dict[str, float]) -> float:
    return sum((value - 0.3) ** 2 for value in params.values())


def _rough(i: int, params: Any) -> float | None:
    """Arbitrary values; the last points fail, but too few for a warning."""
    return (7 * i) % 11 if i < 36 else None


def _noisy(i: int, params: Any) -> float:
    """Arbitrary values: noise to the models."""
    return float(params["x0"] + (7 * i) % 11)


def warmup() -> float:
    """Compile the kernels, or load them from the cache, so that no suggestion has to wait; returns the seconds taken.

    For three or more constraints, for more than three objectives, for earlier studies, known constraints and beliefs,
    there are other kernels, which are compiled when they are first needed.

    Useful in an image build: it takes over a minute of one core once, and a second or two if they are cached.

    Raises:
        RuntimeError: if a kernel cannot be compiled or run on this machine; the log says why.
    """
    started = time.perf_counter()
    before = jit.warn_after(None)  # whoever calls this knows what takes so long
    try:
        _use_all()
    finally:
        jit.warn_after(before)
    return time.perf_counter() - started


def _use_all() -> None:
    """Runs that need the kernels of all algorithms."""
    space = Space({"x": Float(0.0, 1.0), "units": Int(1, 100), "act": Categorical(["relu", "tanh"])})
    table = [[i / 40.0, (i % 7) / 7.0] for i in range(40)]
    optimizers = [
        GSSBO(space, n_initial=5, buffer_size=FULL, seed=0),
        GSSBO(space, n_initial=5, buffer_size=FULL, seed=0, preset="paper"),
        GSSBO(space, n_initial=5, buffer_size=FULL, seed=0, settings=GSSBOSettings(criterion="nystrom")),
        GPUCB(space, n_initial=5, seed=0),
        BKB(space, n_initial=5, seed=0),
        BBKB(space, n_initial=5, seed=0),
        SBPE(space, n_initial=5, seed=0, horizon=30),
        BBKB(arms=table, seed=0, settings=BBKBSettings(kernel="rbf", lengthscale=0.3, noise_std=0.1)),
        SBPE(arms=table, seed=0, horizon=30),
    ]
    for optimizer in optimizers:
        _run(optimizer, range(40), _rough)
        optimizer.ask(2)
        optimizer.explain()
        _stop(optimizer)
        if optimizer.fell_back:
            raise RuntimeError(f"{type(optimizer).__name__} could not fit its model on this machine; the log says why.")
    _use_seldom()
    for names in ("a", "ab"):  # kernels are compiled for each number of constraints
        limited = GSSBO(space, n_initial=5, buffer_size=FULL, seed=0, constraints=tuple(names))
        for i in range(20):
            limited.tell(limited.ask(), 1.0 / (i + 1), constraints=dict.fromkeys(names, 5 * i % 7 - 4.0))
    for k in (2, 3):  # and of objectives
        several = GSSBO(space, n_initial=5, buffer_size=FULL, seed=0, directions=("minimize",) * k)
        for i in range(12):
            several.tell(several.ask(), [float((5 * i + 3 * j) % 7) for j in range(k)])

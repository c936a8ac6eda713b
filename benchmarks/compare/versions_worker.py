"""One side of a comparison (`versions`): a process that runs studies with the numbo of its environment.

Requests and replies are lines of JSON, on standard input and output. The first reply says what runs here; the others
are the figures of the run that a request asked for, or its ``error``. Whatever else is printed goes to standard error.
"""

from __future__ import annotations

from benchmarks.compare import runner  # first: it sets the number of threads

# isort: split
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from benchmarks.problems.families import FAMILIES

#: Packages whose versions decide about suggestions and times.
PACKAGES = ("numpy", "scipy", "numba", "optuna", "scikit-learn")
#: First trials whose ask times are left out, and whose values give the scale of regrets.
FIRST = 20
#: Studies by which kernels are compiled or loaded: a family, a problem, trials.
WARMUPS = (
    ("smooth", "branin-2", 60),
    ("rough", "rastrigin-10-rotated", 250),
    ("mixed", "categories-8", 60),
    ("mixed", "training-12", 60),
    ("branching", "training", 60),
    ("noisy", "successes-3", 60),
    ("failures", "ackley-5-half-fails", 60),
    ("batches", "branin-2", 48),
)


def run_one(family: str, name: str, seed: int, trials: int, sampler: str, settings: Mapping[str, Any]) -> Any:
    """One run: regrets at the checkpoints, ask times in milliseconds, extra evaluations, the scale of the values.

    A trial is extra if an earlier one of its study has the same parameters. Regrets of noisy problems are those of what
    is recommended, without noise.
    """
    import numbo.optuna

    kind = FAMILIES[family]
    problem = kind.problems[name](seed)
    recommended: dict[str, float] = {}

    def mark(t: int, study: optuna.Study) -> None:
        if problem.recommended and t in kind.checkpoints:
            recommended[str(t)] = float(problem.function(runner.recommended(study)) - problem.minimum)

    started = time.process_time()
    made = getattr(numbo.optuna, f"{sampler}Sampler")(seed=seed, **settings)
    course = runner.follow(problem, made, seed, trials, name, width=kind.width, mark=mark)
    points = [frozenset(t.params.items()) for t in course.study.get_trials(deepcopy=False)]
    later = 1e3 * (course.asks[FIRST:] if trials > FIRST else course.asks)
    first = course.told[:FIRST][~course.failed[:FIRST]]
    best = {str(t): float(course.best[t - 1]) for t in kind.checkpoints if t <= trials}
    return {
        "best": {t: v if np.isfinite(v) else None for t, v in (recommended or best).items()},
        "spread": float(np.std(first)) if len(first) else 0.0,
        "ask_ms_median": float(np.median(later)),
        "ask_ms_mean": float(np.mean(later)),
        "ask_seconds": float(course.asks.sum()),
        "seconds": course.seconds,
        "cpu_seconds": time.process_time() - started,
        "extra": trials - len(set(points)),
        "failed": int(course.failed.sum()),
        "deterministic": problem.told is None and problem.noise == 0.0 and problem.failure_rate == 0.0,
    }


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anything else prints is no reply
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def reply(found: Any) -> None:
        replies.write(json.dumps(found) + "\n")
        replies.flush()

    import numbo

    place = str(Path(numbo.__file__).resolve())
    reply({"numbo": place, "python": sys.version.split()[0], "versions": {name: version(name) for name in PACKAGES}})
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request.pop("warm", False):
                for family, name, trials in WARMUPS if os.environ.get("NUMBO_COMPARE_WARM") != "0" else ():
                    run_one(family, name, 0, trials, **request)
                reply({})
            else:
                reply(run_one(**request))
        except Exception as error:
            traceback.print_exc()
            reply({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()

"""Inspection of a study by functions that type-check: for a type checker ``study.sampler`` may be any sampler.

Each is the method of the same name of the study's sampler, a class of `numbo.optuna`. They raise a `ValueError` where
the method does, and if the sampler is not one of numbo's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from numbo._types import Array
from numbo.optimizers import Explanation, Remaining
from numbo.optuna._samplers import NumboSampler
from numbo.optuna._view import checked


def explain(study: Study, *, objective: int = 0) -> Explanation:
    """A description of the model, and the time of the last suggestion, as by `GSSBOSampler.explain`."""
    return sampler_of(study).explain(study, objective=objective)


@overload
def predict(study: Study, params: Mapping[str, Any]) -> tuple[float, float]: ...
@overload
def predict(study: Study, params: Sequence[Mapping[str, Any]]) -> tuple[Array, Array]: ...
def predict(study: Study, params: Any) -> tuple[Any, Any]:
    """Posterior mean and standard deviation of the objective, as by `GSSBOSampler.predict`."""
    return sampler_of(study).predict(params, study)


def predict_feasible(study: Study, params: Any) -> Any:
    """The probability that all constraints hold, as by `GSSBOSampler.predict_feasible`."""
    return sampler_of(study).predict_feasible(params, study)


def predict_end(study: Study, trial: FrozenTrial | Trial) -> tuple[float, float]:
    """Predicted final value of a trial and its standard deviation, as by `GSSBOSampler.predict_end`."""
    return sampler_of(study).predict_end(trial, study)


def best_predicted(study: Study, *, anywhere: bool = False) -> tuple[dict[str, Any], float] | None:
    """The parameters with the best expected value, and that value, as by `GSSBOSampler.best_predicted`."""
    return sampler_of(study).best_predicted(study, anywhere=anywhere)


def best_predicted_trial(study: Study) -> FrozenTrial | None:
    """The finished trial with the best expected value, as by `GSSBOSampler.best_predicted_trial`."""
    return sampler_of(study).best_predicted_trial(study)


def front(study: Study) -> list[tuple[FrozenTrial, tuple[float, ...]]]:
    """The trials that no other trial dominates by expected values, as by `GSSBOSampler.front`."""
    return sampler_of(study).front(study)


def hypervolumes(study: Study, reference: Sequence[float]) -> Array:
    """The volume (n,) that the front dominates after each trial, as by `GSSBOSampler.hypervolumes`."""
    return sampler_of(study).hypervolumes(reference, study)


def remaining(study: Study, trials: int, *, least: float = 0.0, reference: Sequence[float] | None = None) -> Remaining:
    """What so many more trials would bring, as by `GSSBOSampler.remaining`."""
    return sampler_of(study).remaining(trials, study, least=least, reference=reference)


def worthwhile(study: Study, worth: float, *, reference: Sequence[float] | None = None) -> Remaining | None:
    """For how many more trials it pays to go on, as by `GSSBOSampler.worthwhile`."""
    return sampler_of(study).worthwhile(worth, study, reference=reference)


def sampler_of(study: Study) -> NumboSampler:
    """The numbo sampler that the study uses, perhaps wrapped in others such as `PartialFixedSampler`."""
    sampler: Any = checked(study).sampler
    while not isinstance(sampler, NumboSampler):
        if not hasattr(sampler, "_base_sampler"):
            got = f"the class {sampler.__name__}" if isinstance(sampler, type) else type(study.sampler).__name__
            raise ValueError(
                f"The study's sampler must be one of numbo.optuna, got {got}: give one to load_study, or to the study."
            )
        sampler = sampler._base_sampler
    return sampler

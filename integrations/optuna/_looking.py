"""Inspection of a study by functions that type-check: for a type checker ``study.sampler`` may be any sampler."""

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
    """A description of the model of the study's sampler, and the time of the last suggestion.

    Args:
        study: a study whose sampler is one of numbo's.
        objective: the objective whose model is described, from 0.

    Raises:
        ValueError: before the first successful trial, if there is no such objective, or if the sampler is not one of
            numbo's.
    """
    return sampler_of(study).explain(study, objective=objective)


@overload
def predict(study: Study, params: Mapping[str, Any]) -> tuple[float, float]: ...
@overload
def predict(study: Study, params: Sequence[Mapping[str, Any]]) -> tuple[Array, Array]: ...
def predict(study: Study, params: Any) -> tuple[Any, Any]:
    """Posterior mean and standard deviation of the objective, without its noise, after all finished trials.

    With k objectives, arrays (k,) for one point, and (c, k) for a sequence.

    Args:
        study: a study whose sampler is one of numbo's.
        params: the parameters of one point, or a sequence of ``c`` points for two arrays (c,).

    Raises:
        ValueError: before the first successful trial, for points outside the search space, or if the sampler is not
            one of numbo's.
    """
    return sampler_of(study).predict(params, study)


def predict_feasible(study: Study, params: Any) -> Any:
    """The probability that all constraints hold at one point, or an array (c,) for a sequence of ``c`` points.

    Args:
        study: a study whose sampler is one of numbo's.
        params: as for `predict`.

    Raises:
        ValueError: without constraints, before the first successful trial, for points outside the search space, or if
            the sampler is not one of numbo's.
    """
    return sampler_of(study).predict_feasible(params, study)


def predict_end(study: Study, trial: FrozenTrial | Trial) -> tuple[float, float]:
    """Predicted final value of a running or pruned trial and its standard deviation, by the curves of finished trials.

    Args:
        study: a study whose sampler is one of numbo's.
        trial: one with intermediate values.

    Raises:
        ValueError: if neither the trial nor a finished one has reported anything, there are several objectives, or the
            sampler uses no curves, or is not one of numbo's.
    """
    return sampler_of(study).predict_end(trial, study)


def best_predicted(study: Study, *, anywhere: bool = False) -> tuple[dict[str, Any], float] | None:
    """The parameters of the finished trial with the best expected value, as it had them, and that value.

    None before the first success, and if no trial meets all constraints. For noisy objectives a better answer than
    ``study.best_params``, which belong to the luckiest trial. It may be a pruned trial; the value is then where the
    trial would have ended, as predicted from its reports.

    Args:
        study: a study whose sampler is one of numbo's.
        anywhere: whether parameters without a trial may be returned: the best by the model.

    Raises:
        ValueError: if the sampler is not one of numbo's, there are several objectives, or trials have succeeded without
            a parameter that has several possible values.
    """
    return sampler_of(study).best_predicted(study, anywhere=anywhere)


def best_predicted_trial(study: Study) -> FrozenTrial | None:
    """The finished trial with the best expected value, the first with its parameters; None before the first success.

    None as well if no trial meets all constraints. For noisy objectives a better answer than ``study.best_trial``,
    which is the luckiest one. It may be a pruned trial: its end is predicted from its reports.

    Raises:
        ValueError: as for `best_predicted`.
    """
    return sampler_of(study).best_predicted_trial(study)


def front(study: Study) -> list[tuple[FrozenTrial, tuple[float, ...]]]:
    """The complete trials that no other trial dominates by expected values, each with these values.

    These are the trade-offs between several objectives, among trials that meet all constraints, sorted by the first
    objective, the best first. Without noise they are ``study.best_trials``. If values are noisy, ``study.best_trials``
    are the luckiest trials, and expected values are a better answer. Of trials with the same parameters or values, only
    the first is included.

    Raises:
        ValueError: if the sampler is not one of numbo's, or no parameter is known yet.
    """
    return sampler_of(study).front(study)


def hypervolumes(study: Study, reference: Sequence[float]) -> Array:
    """The volume (n,) that the front dominates after each of the ``n`` finished trials, up to a ``reference`` point.

    It uses the values of the complete trials that meet all constraints, in the order of their numbers, including lucky
    values if these are noisy.

    Args:
        study: a study whose sampler is one of numbo's.
        reference: a value of each objective; trials that are worse in any of them do not count.

    Raises:
        ValueError: if ``reference`` is not as many finite numbers as there are objectives, the sampler is not one of
            numbo's, or no parameter is known yet.
    """
    return sampler_of(study).hypervolumes(reference, study)


def remaining(study: Study, trials: int, *, least: float = 0.0, reference: Sequence[float] | None = None) -> Remaining:
    """What so many more trials would bring: how likely an improvement is, and how large.

    Args:
        study: a study whose sampler is one of numbo's.
        trials: their number; failed and pruned ones are trials, too.
        least: gains up to this one do not count as improvements, in the units of the objective.
        reference: of several objectives, the point up to which the hypervolume is taken; by default the worst values on
            the front, and a tenth of its range beyond.

    Raises:
        ValueError: for an unsupported value, before trials have different values, or if the sampler is not one of
            numbo's.
    """
    return sampler_of(study).remaining(trials, study, least=least, reference=reference)


def worthwhile(study: Study, worth: float, *, reference: Sequence[float] | None = None) -> Remaining | None:
    """For how many more trials it pays to go on, and what they would bring; None if it does not pay.

    Args:
        study: a study whose sampler is one of numbo's.
        worth: the gain that has to come of a trial for it to pay, in the units of the objective; of several objectives,
            of the hypervolume.
        reference: as for `remaining`.

    Raises:
        ValueError: as `remaining`.
    """
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

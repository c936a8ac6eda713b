"""Reports of trials with several objectives, which Optuna does not support, and pruning by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from optuna.study import Study
from optuna.trial import FixedTrial, FrozenTrial, Trial, TrialState

from numbo import _checks
from numbo.optuna import _records
from numbo.trials import Goal, is_below_median

#: Reports of trials that are not part of a study are ignored, as in Optuna.
AnyTrial: TypeAlias = Trial | FrozenTrial | FixedTrial


def report(trial: AnyTrial, values: Sequence[float], step: int) -> None:
    """Report the values of several objectives after a ``step`` of a trial: ``trial.report`` takes one value only.

        for epoch in range(10):
            ...
            numbo.optuna.report(trial, (error, size), epoch)
            if numbo.optuna.should_prune(trial):
                raise optuna.TrialPruned

    A pruned trial counts with its last reported values, as if it had ended with them; without reports it is a failure.
    So report the values that the trial is expected to return: if a time adds up, report the expected time of the whole
    trial, or the search will prefer trials that are pruned. A report with a NaN is not kept. A second report at a step
    replaces the first.

    The values of each step are kept in a user attribute of the trial, such as ``numbo:report:3``.

    Args:
        trial: the argument of the objective.
        values: (k,) as many as the study has objectives.
        step: an integer of at least 0, such as the number of epochs.

    Raises:
        ValueError: if there are not as many numbers as objectives, ``step`` is no such integer, or the study has one
            objective.
    """
    step = _checks.integer("step", step, 0)
    study = _study_of(trial, "report(value, step)")
    if study is None:
        return
    k = len(study.directions)
    try:
        given = [] if isinstance(values, str) else [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        given = []
    if len(given) != k:
        raise ValueError(f"values must be a sequence of {k} numbers, one for each objective; got {values!r}.")
    if _records.reported(given, k) is not None:
        assert isinstance(trial, Trial)
        trial.set_user_attr(f"{_records.REPORT}{step}", given)


def should_prune(trial: AnyTrial, *, n_startup_trials: int = 5, n_warmup_steps: int = 0) -> bool:
    """Whether a trial with several objectives should be pruned: the median rule, by dominance.

    For each complete trial, take its last report up to the step of the trial's last report, and of these the median of
    each objective. If these medians dominate the trial's last report, it should be pruned: it is worse in at least one
    objective, and better in none. A trial that is better than the median in any objective goes on.

    Any sampler may suggest the trials.

    Args:
        trial: the argument of the objective, which calls `numbo.optuna.report`.
        n_startup_trials: no trial is pruned before this number of complete trials have reported by this step.
        n_warmup_steps: no trial is pruned before this step.

    Raises:
        ValueError: for numbers that are no integers of at least 1 and 0, or if the study has one objective.
    """
    least = _checks.integer("n_startup_trials", n_startup_trials, 1)
    warmup = _checks.integer("n_warmup_steps", n_warmup_steps, 0)
    study = _study_of(trial, "should_prune()")
    if study is None:
        return False
    assert isinstance(trial, Trial)
    goal = Goal(_records.directions_of(study))
    k = len(goal.directions)
    found = _records.last_report(study._storage.get_trial(trial._trial_id), k)
    if found is None or found[0] < warmup:
        return False
    step, values = found
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    others = [at[1] for other in complete if (at := _records.last_report(other, k, step)) is not None]
    return len(others) >= least and is_below_median(goal.outputs(values), [goal.outputs(other) for other in others])


def _study_of(trial: Any, own: str) -> Study | None:
    """The study of a ``trial``, None if it belongs to none; refuses one objective, for which Optuna has ``own``."""
    if not isinstance(trial, Trial | FrozenTrial | FixedTrial):
        raise ValueError(f"trial must be a trial of Optuna, got {trial!r}.")
    if not isinstance(trial, Trial):
        return None
    if len(trial.study.directions) == 1:
        raise ValueError(f"trial must be of a study of several objectives, and this one has one: use trial.{own}.")
    return trial.study

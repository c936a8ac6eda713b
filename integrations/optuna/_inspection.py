"""The part of a sampler that looks inside: what its optimizer knows about a study, in the study's own terms."""

from __future__ import annotations

import copy
import weakref
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from numbo import _checks
from numbo._descriptions import as_in
from numbo._types import Array
from numbo.inspection.fronts import front_of, volumes_of
from numbo.optimizers import Explanation, Optimizer, Remaining, Snapshot
from numbo.optuna import _records
from numbo.optuna._distributions import Searched, internal_point, to_external
from numbo.optuna._view import FirstTrials, checked
from numbo.optuna._views import Views
from numbo.trials import Goal


class NothingVaries(ValueError):
    """There is nothing to look at, since no trial has succeeded with a parameter that has several possible values."""


class NoSuccess(NothingVaries):
    """No trial has succeeded yet."""


@as_in(Optimizer)
class Inspected:
    """Methods to look inside."""

    _declared: Searched | None
    _views: Views
    _lock: Any
    #: A weak reference to the study that the sampler was last used for.
    _latest: Callable[[], Study | None]

    @abstractmethod
    def _raise_error_if_multi_objective(self, study: Study) -> None: ...

    def _remember(self, study: Study) -> None:
        """Make ``study`` the default of `predict` and similar methods; for a Hyperband bracket, its study."""
        self._latest = weakref.ref(getattr(study, "_study", study))

    def _meant(self, study: Study | None) -> Study:
        """The ``study``, by default the one that the sampler was last used for."""
        study = self._latest() if study is None else study
        if study is None:
            used = "no study yet" if self._latest is no_study else "a study that no longer exists"
            raise ValueError(f"{type(self).__name__} has been used for {used}: pass study= to say which one is meant.")
        study = checked(study)
        self._raise_error_if_multi_objective(study)
        return study

    def _looked_into(self, study: Study | None) -> tuple[Snapshot, Searched, FirstTrials]:
        """A snapshot of the study's optimizer, which knows all finished trials, its searched space, and the first
        trials at its points."""
        study = self._meant(study)
        with self._lock, self._views.of(study) as used:
            searched = used.searched()
            if used.view.desk is not None:  # the space of the last suggestions
                searched = searched.only(used.view.searched.distributions)
            if self._declared is None:
                _check_shown(used.trials, searched)
            desk = used.brought_up(searched)
            found = desk.optimizer.snapshot()
            return found, desk.searched, FirstTrials(found, desk.told, used.trials)

    @overload
    def predict(self, params: Mapping[str, Any], study: Study | None = None) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Mapping[str, Any]], study: Study | None = None) -> tuple[Array, Array]: ...
    def predict(self, params: Any, study: Study | None = None) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective, without its noise, after all finished trials.

        With k objectives, arrays (k,) for one point, and (c, k) for a sequence.

        Args:
            params: the parameters of one point, or a sequence of ``c`` points for two arrays (c,).
            study: by default the study that the sampler was last used for.

        Raises:
            ValueError: before the first successful trial, or for points outside the search space.
        """
        optimizer, internal = self._asked_about(params, study)
        return optimizer.predict(internal)

    def predict_feasible(self, params: Any, study: Study | None = None) -> Any:
        """The probability that all constraints hold at one point, or an array (c,) for a sequence of ``c`` points.

        Raises:
            ValueError: without constraints, before the first successful trial, or for points outside the search space.
        """
        optimizer, internal = self._asked_about(params, study)
        return optimizer.predict_feasible(internal)

    def _asked_about(self, params: Any, study: Study | None) -> tuple[Snapshot, Any]:
        """A snapshot of the study's optimizer, and the internal parameters of one point, or of each of a sequence."""
        optimizer, searched = self._optimizer_of(study)
        if isinstance(params, Mapping):
            return optimizer, internal_point(params, searched, optimizer.space)
        points = list(params) if isinstance(params, Collection) and not isinstance(params, str) else [params]
        for point in points:
            if not isinstance(point, Mapping):
                raise ValueError(
                    'params must be the parameters of a trial such as {"x": 0.5}, or a sequence of such, got '
                    f"{params!r}."
                )
        return optimizer, [internal_point(point, searched, optimizer.space) for point in points]

    def predict_end(self, trial: FrozenTrial | Trial, study: Study | None = None) -> tuple[float, float]:
        """Predicted final value of a running or pruned trial, and its standard deviation, by the curves of finished
        ones.

        Args:
            trial: one with intermediate values, of this study or another.

        Raises:
            ValueError: if neither the trial nor a finished one has reported anything, the sampler uses no curves, or
                there are several objectives.
        """
        if isinstance(trial, Trial):
            trial = trial.study._storage.get_trial(trial._trial_id)
        if not isinstance(trial, FrozenTrial):
            raise ValueError(f"trial must be a trial of Optuna, got {trial!r}.")
        optimizer = self._optimizer_of(study)[0]
        if (k := len(optimizer.directions)) > 1:
            raise ValueError(f"predict_end is for studies of one objective, and this one has {k}.")
        return optimizer.predict_end(trial.intermediate_values)

    def best_predicted(
        self,
        study: Study | None = None,
        *,
        anywhere: bool = False,
        tolerance: Mapping[str, float] | None = None,
    ) -> tuple[dict[str, Any], float] | None:
        """The parameters of the finished trial with the best expected value, exactly as it had them, and that value.

        None before the first success, and if no trial meets all constraints. For noisy objectives a better answer than
        ``study.best_params``, which belong to the luckiest trial. It may be a pruned trial; the value is then where the
        trial would have ended, as predicted from its reports.

        Raises:
            ValueError: if there are several objectives (`front` has the best trials then), or trials have succeeded
                without a parameter that has several possible values.
        """
        found = self._best("best_predicted", study, anywhere=anywhere, tolerance=tolerance)
        return None if found is None else found[:2]

    def best_predicted_trial(
        self, study: Study | None = None, *, tolerance: Mapping[str, float] | None = None
    ) -> FrozenTrial | None:
        """The finished trial with the best expected value; None before the first success.

        None as well if no trial meets all constraints. For noisy objectives a better answer than ``study.best_trial``,
        which is the luckiest one. Of several trials with the same parameters, it is the first. It may be a pruned
        trial: its end is predicted from its reports.

        Args:
            tolerance: as for `best_predicted`.

        Raises:
            ValueError: as for `best_predicted`.
        """
        found = self._best("best_predicted_trial", study, tolerance=tolerance)
        return None if found is None else copy.deepcopy(found[2])

    def _best(
        self, name: str, study: Study | None, *, anywhere: bool = False, tolerance: Any = None
    ) -> tuple[dict[str, Any], float, FrozenTrial | None] | None:
        """The parameters with the best expected value, that value, and the first trial with them, if there is one.

        For the method ``name``, of a study of one objective; None before the first success.
        """
        study = self._meant(study)
        if (k := len(study.directions)) > 1:
            one = f"{name} is for studies of one objective"
            raise ValueError(f"{one}, and this one has {k}: front has the best trials.")
        _checks.flag("anywhere", anywhere)
        try:
            optimizer, searched, first = self._looked_into(study)
        except NoSuccess:
            return None
        best = optimizer.best_predicted(anywhere=anywhere, tolerance=tolerance)
        if best is None:
            return None
        (trial,) = first.at([best[0]])
        params = to_external(best[0], searched.distributions) if trial is None else dict(trial.params)
        return params, best[1], trial

    def front(self, study: Study | None = None) -> list[tuple[FrozenTrial, tuple[float, ...]]]:
        """The complete trials that no other trial dominates by expected values, each with these values.

        These are the trade-offs between several objectives, among trials that meet all constraints, sorted by the first
        objective, the best first. Without noise they are ``study.best_trials``. If values are noisy,
        ``study.best_trials`` are the luckiest trials, and expected values are a better answer. Of trials with the same
        parameters or values, only the first is included.
        """
        optimizer, _, first = self._looked_into(study)
        front = optimizer.front()
        trials = first.at((params for params, _ in front), complete=True)
        found: dict[int, tuple[FrozenTrial, tuple[float, ...]]] = {}
        for trial, (_, values) in zip(trials, front, strict=True):
            if trial is not None:
                found.setdefault(trial.number, (trial, values))
        pairs = [*found.values(), *((trial, tuple(trial.values)) for trial in first.left_out() if _met(trial))]
        kept = front_of([values for _, values in pairs], Goal(optimizer.directions))
        return [(copy.deepcopy(pairs[i][0]), pairs[i][1]) for i in kept]

    def hypervolumes(self, reference: Sequence[float], study: Study | None = None) -> Array:
        """The volume (n,) that the front dominates after each of the ``n`` finished trials, up to a ``reference``.

        It uses the values of the complete trials that meet all constraints, in the order of their numbers, including
        lucky values if these are noisy.
        """
        optimizer, _, first = self._looked_into(study)
        at = optimizer.reference(reference)
        counted = (t.values if t.state == TrialState.COMPLETE and _met(t) else None for t in first.finished())
        return volumes_of(list(counted), Goal(optimizer.directions), at)

    def remaining(
        self,
        trials: int,
        study: Study | None = None,
        *,
        least: float = 0.0,
        reference: Sequence[float] | None = None,
    ) -> Remaining:
        """What so many more trials would bring: how likely an improvement is, and how large.

        As `numbo.optimizers.Optimizer.remaining`, after all finished trials.

        Args:
            trials: their number; failed and pruned ones are trials, too.
        """
        return self._optimizer_of(study)[0].remaining(trials, least=least, reference=reference)

    def worthwhile(
        self, worth: float, study: Study | None = None, *, reference: Sequence[float] | None = None
    ) -> Remaining | None:
        """For how many more trials it pays to go on, and what they would bring; None if it does not pay.

        It pays if the expected gain of some number of trials, up to 100, exceeds their cost (`StopWhenDone`).
        """
        return self._optimizer_of(study)[0].worthwhile(worth, reference=reference)

    def explain(self, study: Study | None = None, *, objective: int = 0) -> Explanation:
        """A description of the model, and the time of the last suggestion."""
        optimizer, searched = self._optimizer_of(study)
        words = searched.words()
        found = optimizer.objective(objective).explain()
        inferred = self._declared is None or not self._declared.conditions
        conditions = {name: words[name] for name in found.relevance if name in words}
        failing = None if found.failing is None else found.failing.translated(searched.shown)
        return replace(found, conditions=conditions, inferred=inferred, failing=failing)

    def inspected(self, study: Study | None = None) -> tuple[Snapshot, Callable[[str, Any], Any]]:
        """For `numbo.plot`: a snapshot of the study's optimizer, and a function to show a value of a parameter."""
        optimizer, searched = self._optimizer_of(study)
        return optimizer, searched.shown

    def _optimizer_of(self, study: Study | None) -> tuple[Snapshot, Searched]:
        """A snapshot of the study's optimizer, which knows all finished trials, and its searched space."""
        return self._looked_into(study)[:2]


def _met(trial: FrozenTrial) -> bool:
    """Whether no constraint of a trial is known to be violated."""
    return not any(value > 0.0 for value in _records.constraints_of(trial).values())


def _check_shown(trials: Sequence[FrozenTrial], searched: Searched) -> None:
    """Raise a `NothingVaries` if no trial has succeeded with a parameter of the ``searched`` space."""
    shown = (t for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED))
    if any(trial.distributions.keys() & searched.distributions.keys() for trial in shown):
        return
    states = [trial.state for trial in trials]
    failed = f", and {states.count(TrialState.FAIL)} failed" if TrialState.FAIL in states else ""
    kind = NothingVaries if TrialState.COMPLETE in states else NoSuccess
    raise kind(
        "There is nothing to look at: no trial of the study has succeeded with a parameter that has several possible "
        f"values{failed}."
    )


def no_study() -> None:
    return None

"""The common base of the samplers: Optuna's `BaseSampler` on top of numbo's optimizers. No mathematics here."""

from __future__ import annotations

import secrets
import threading
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, overload

from numbo.optuna import _records
from numbo.optuna._distributions import check_distributions, to_external, to_internal, to_space
from numbo.optuna._fixed import fixed_params, within
from numbo.optuna._view import StudyView

from numbo import _checks
from numbo._ahead import compile_ahead
from numbo.optimizers import Explanation, Optimizer, Snapshot
from numbo.spaces import Array, Float, Space
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.storages import InMemoryStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

#: Maximum number of studies (or Hyperband brackets) kept in memory; others are rebuilt from the storage when needed.
MAX_VIEWS = 8
#: Number of attempts to choose a point that no other process has, before one is repeated.
ATTEMPTS = 8


class NumboSampler(BaseSampler):
    """Base class of the samplers: keeps one optimizer per study, rebuilt from the storage whenever necessary.

    A suggestion depends on the seed, the trial's number, the finished and running trials in the storage, and the
    hyperparameters, which are fitted on a schedule. It makes no difference whether trials come from other processes,
    from an earlier run of the study, or were added to it.

    Args:
        seed: seed of the suggestions; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the Sobol initial
            design.
        independent_sampler: sampler for parameters outside the relative search space; random by default.
        warn_independent_sampling: whether to warn when a parameter is sampled independently after the start.
        search_space: distributions by name. By default, the parameters that all complete trials have in common; the
            first trial is then sampled independently.
        learn_failures: how to treat trials that failed, or were pruned before their first report. True: failures
            depend on the parameters, and points are weighted by their probability of success. False: nothing is
            learned, but a point that failed is not suggested again. ``"auto"`` lets the data decide between the two.
        settings: the algorithm's settings, as its optimizer in `numbo` takes them.
    """

    _optimizer: type[Optimizer]

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: Mapping[str, BaseDistribution] | None = None,
        learn_failures: bool | str = "auto",
        **settings: Any,
    ) -> None:
        seed = _checks.seed(seed)
        self._seed = secrets.randbits(32) if seed is None else seed
        self._n_startup_trials = _checks.integer("n_startup_trials", n_startup_trials, 0)
        if not isinstance(independent_sampler, BaseSampler | None):
            raise ValueError(
                f"independent_sampler must be an Optuna sampler such as RandomSampler(), got {independent_sampler!r}."
            )
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = _checks.flag("warn_independent_sampling", warn_independent_sampling)
        self._search_space = None if search_space is None else check_distributions(search_space)
        self._learn_failures = learn_failures
        self._space_known = search_space is not None
        self._views: dict[Any, StudyView] = {}
        self._latest: Callable[[], Study | None] = _no_study
        self._lock = threading.RLock()
        self._settings = settings
        searched = {name: d for name, d in (self._search_space or {}).items() if not d.single()}
        stand_in = {f"x{j}": Float(0.0, 1.0) for j in range(_checks.dimensions(settings.get("lengthscale")))}
        # report invalid settings here, not in mid-study
        self._make(to_space(searched) if searched else Space(stand_in), "minimize")

    def _make(self, space: Space, direction: str) -> Optimizer:
        return self._optimizer(
            space,
            direction=direction,
            seed=self._seed,
            n_initial=max(1, self._n_startup_trials),
            learn_failures=self._learn_failures,
            **self._settings,
        )

    # -- Optuna's interface --------------------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        self._remember(study)
        compile_ahead(self._optimizer)
        if self._search_space is not None:
            return {name: d for name, d in self._search_space.items() if not d.single()}
        if study._is_multi_objective():
            return {}
        with self._lock, self._view_of(study) as (view, trials):
            self._space_known = view.space.known
            return view.known_distributions(trials, trial.number)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        given = fixed_params(study, trial)
        with self._lock, self._view_of(study) as (view, trials):
            searched = self._search_space or view.known_distributions(trials, trial.number)
            searched = {name: d for name, d in searched.items() if not d.single()}
            if not given.keys() >= searched.keys() - search_space.keys():
                searched = search_space  # a parameter missing from the space has no known value
            optimizer = self._brought_up(study, view, trials, searched, trial.number)
            fixed = within(given, searched, optimizer.space)
            x, origin = optimizer.suggest((self._seed, trial.number), position=trial.number, fixed=fixed)
            self._publish(study, trial, view, x, origin)
            if not isinstance(study._storage, InMemoryStorage):  # in memory the lock suffices
                x = self._settle(study, trial, view, optimizer, x, fixed)
            params = to_external(optimizer.space.decode(x) | fixed, searched)
        return {name: params[name] for name in search_space}

    def _settle(
        self,
        study: Study,
        trial: FrozenTrial,
        view: StudyView,
        optimizer: Optimizer,
        x: Array,
        fixed: Mapping[str, Any],
    ) -> Array:
        """A published point that no other process has chosen at the same time.

        If both processes look again after publishing, the second one sees the first one's point. After a collision the
        first retry asks the model again; later retries take random points of the design, where another collision is
        unlikely.
        """
        for attempt in range(1, ATTEMPTS):
            trials = study._get_trials(deepcopy=False, use_cache=False)
            view.sync(trials)
            view.hold_running(trials, trial.number)
            if not optimizer.taken(x) or optimizer.exhausted or fixed.keys() == optimizer.space.keys():
                break
            seed = (self._seed, trial.number, attempt)
            if attempt == 1:
                x, origin = optimizer.suggest(seed, position=trial.number, fixed=fixed)
            else:
                x, origin = optimizer.suggest_anywhere(seed, fixed=fixed)
            self._publish(study, trial, view, x, origin)
        return x

    def _publish(self, study: Study, trial: FrozenTrial, view: StudyView, x: Array, origin: int) -> None:
        assert view.optimizer is not None
        _records.publish(study, trial, view.digest, view.optimizer.space.decode(x), origin)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        sampler = self._independent_sampler
        if sampler is None:
            # one stream per trial and name: processes with equal seeds must not start with equal points
            sampler = RandomSampler(seed=zlib.crc32(f"{self._seed} {trial.number} {param_name}".encode()))
        if self._warn_independent_sampling and self._space_known and trial.number >= self._n_startup_trials:
            warnings.warn(
                f"{type(self).__name__} samples the parameter {param_name!r} of trial {trial.number} independently, "
                f"with {type(sampler).__name__}: it is not part of every trial so far, or its "
                "range differs from the one searched. Give the sampler a search_space=, or pass "
                "warn_independent_sampling=False if that is intended.",
                stacklevel=2,
            )
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        self._seed = secrets.randbits(32)
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._remember(study)
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._remember(study)  # an objective may have used the sampler for a study of its own
        if getattr(trial, "constraints", None):
            warnings.warn(
                f"Constraints have been set, but {type(self).__name__} does not use them.", UserWarning, stacklevel=2
            )
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    # -- looking inside ----------------------------------------------------------------------------------------

    def _remember(self, study: Study) -> None:
        """Make ``study`` the default of `predict` and the like; for a Hyperband bracket, the study it belongs to."""
        self._latest = weakref.ref(getattr(study, "_study", study))

    @overload
    def predict(self, params: Mapping[str, Any], study: Study | None = None) -> tuple[float, float]: ...
    @overload
    def predict(self, params: Sequence[Mapping[str, Any]], study: Study | None = None) -> tuple[Array, Array]: ...
    def predict(self, params: Any, study: Study | None = None) -> tuple[Any, Any]:
        """Posterior mean and standard deviation of the objective, without its noise, after all finished trials.

        Args:
            params: the parameters of one point, or a sequence of ``c`` points for two arrays (c,).
            study: by default the study that the sampler was last used for.

        Raises:
            ValueError: before the first successful trial, or for points outside the search space.
        """
        optimizer, distributions = self._optimizer_of(study)
        points = [params] if isinstance(params, Mapping) else params
        internal = []
        for point in points:
            try:
                translated = to_internal(point, distributions) if isinstance(point, Mapping) else {}
            except ValueError:
                translated = {}
            if translated.keys() != distributions.keys():
                missing = f" without {sorted(distributions.keys() - set(point))}" if isinstance(point, Mapping) else ""
                raise ValueError(
                    f"params must hold {sorted(distributions)} with values in their ranges, got {point}{missing}."
                )
            internal.append(translated)
        return optimizer.predict(internal[0] if isinstance(params, Mapping) else internal)

    def best_predicted(self, study: Study | None = None) -> tuple[dict[str, Any], float] | None:
        """The parameters of the finished trial with the best expected value, and that value.

        For noisy objectives, a better answer than ``study.best_params``, which belong to the luckiest trial.
        """
        optimizer, distributions = self._optimizer_of(study)
        best = optimizer.best_predicted()
        return None if best is None else (to_external(best[0], distributions), best[1])

    def explain(self, study: Study | None = None) -> Explanation:
        """What the model consists of, and where a suggestion spends its time.

        Raises:
            ValueError: before the first successful trial.
        """
        return self._optimizer_of(study)[0].explain()

    def inspected(self, study: Study | None = None) -> tuple[Snapshot, Callable[[str, Any], Any]]:
        """For `numbo.plot`: a snapshot of the study's optimizer, and how a value of a parameter is shown."""
        optimizer, distributions = self._optimizer_of(study)
        return optimizer, lambda name, value: to_external({name: value}, {name: distributions[name]})[name]

    def _optimizer_of(self, study: Study | None) -> tuple[Snapshot, dict[str, BaseDistribution]]:
        """A snapshot of the study's optimizer, which knows all finished trials, and the distributions it searches."""
        study = self._latest() if study is None else study
        if study is None:
            used = "no study yet" if self._latest is _no_study else "a study that no longer exists"
            raise ValueError(f"{type(self).__name__} has been used for {used}: pass study= to say which one is meant.")
        with self._lock, self._view_of(study) as (view, trials):
            distributions = view.distributions or self._search_space or view.space.distributions()
            distributions = {name: d for name, d in distributions.items() if not d.single()}
            if not distributions:
                raise ValueError(
                    "There is nothing to look at: no trial of the study has finished with a parameter that has several "
                    "possible values."
                )
            return self._brought_up(study, view, trials, distributions, -1).snapshot(), distributions

    def _brought_up(
        self,
        study: Study,
        view: StudyView,
        trials: list[FrozenTrial],
        distributions: dict[str, BaseDistribution],
        current: int,
    ) -> Optimizer:
        """The optimizer over ``distributions``, with finished ``trials`` told and others but ``current`` pending."""
        direction = "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"
        optimizer = view.optimizer_over(distributions, trials, lambda space: self._make(space, direction))
        view.hold_running(trials, current)
        return optimizer

    # -- state -------------------------------------------------------------------------------------------------

    @contextmanager
    def _view_of(self, study: Study) -> Iterator[tuple[StudyView, list[FrozenTrial]]]:
        """The up-to-date view of ``study``, and all trials. Hyperband passes each bracket as a separate study.

        While in use, the view is removed from the store, and it is put back only if no exception is raised. Whatever an
        interrupt or an error leaves half done is thus discarded, and rebuilt from the storage when needed again.
        """
        trials = study._get_trials(deepcopy=False, use_cache=False)
        first = trials[0] if trials else None
        key = (study._study_id, None if first is None else (first._trial_id, first.datetime_start))
        view = self._views.pop(key, None)
        if view is None or not view.continues(trials):
            view = StudyView()
        view.sync(trials)
        yield view, trials
        self._views[key] = view  # the most recently used one comes last
        while len(self._views) > MAX_VIEWS:
            del self._views[next(iter(self._views))]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_lock"], state["_views"], state["_latest"]  # views are rebuilt from the storage
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._views = {}
        self._latest = _no_study
        self._lock = threading.RLock()


def _no_study() -> None:
    return None

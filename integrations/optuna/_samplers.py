"""The common base of the samplers: Optuna's `BaseSampler` on top of numbo's optimizers. No mathematics here."""

from __future__ import annotations

import secrets
import threading
import zlib
from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from numbo import _checks
from numbo._descriptions import complete
from numbo._forks import StartsAnew
from numbo._settings import INITIAL, Settings, as_call
from numbo.optimizers import Optimizer
from numbo.optuna import _earlier, _records
from numbo.optuna._allowed import allowing, check_names, first_value
from numbo.optuna._callable import ConstraintsFunc, checked_constraints, of_an_instance
from numbo.optuna._distributions import Searched, SearchSpace, declared, left_out, to_dimension, to_external, to_space
from numbo.optuna._fixed import fixed_params, held, within
from numbo.optuna._inspection import Inspected, no_study
from numbo.optuna._proposal import Proposal
from numbo.optuna._timers import Timers
from numbo.optuna._view import too_many
from numbo.optuna._views import Views
from numbo.spaces import Float, Space, Table
from numbo.spaces.known import NOTHING, Known
from numbo.trials.earlier import EarlierStudy
from numbo.warming.ahead import compile_ahead


class NumboSampler(Inspected, StartsAnew, BaseSampler):
    """Base class of the samplers: keeps one optimizer per study, rebuilt from the storage whenever necessary.

    A suggestion depends on the seed, the trial's number, the finished and running trials in the storage, and the
    hyperparameters, which are fitted on a schedule. Trials may come from other processes or an earlier run of the
    study, or be added to it; this makes no difference.

    A copy or a pickle keeps the settings, the seed and the independent sampler. Models are rebuilt from the storage
    with newly fitted hyperparameters, so its suggestions may differ. `predict` and similar methods need a ``study``.

    Args:
        seed: seed of the suggestions, an integer of at least 0; ``None`` draws one.
        n_startup_trials: number of finished or running trials before the model takes over from the initial design; by
            default 10.
        independent_sampler: sampler for parameters that are not in the suggestion; by default the model, given the
            trial's other values; a parameter that the model does not know gets its usual value in the first trial that
            asks for it, and is random in others.
        warn_independent_sampling: whether to warn when a parameter is not sampled by the model after the start.
        search_space: distributions by name, or pairs of a distribution and the values of other parameters for which
            it is used, such as ``(FloatDistribution(0, 1), {"optimizer": "sgd"})``; or a `Table`, whose rows are
            suggested. By default, all parameters of the trials, with inferred conditions; the first trial is then
            sampled independently.
        constraints_func: takes a trial that has ended and returns its constraints, a sequence of numbers that are met
            at 0 or less, as in Optuna's samplers. Constraints of ``trial.set_constraint`` need no setting.
        earlier: studies of other tasks to learn from: Optuna's studies, ``"storage-url#name"``, or
            `numbo.EarlierStudy`. They are read at once. Their parameters, ranges and scales may differ. The trials
            decide how much each counts.
        cost: what a trial costs: ``"duration"`` for the seconds from its start to its end, or the name of a user
            attribute with a positive number. Suggestions are then those that bring most for their cost. Trials that
            failed or were pruned cost, too; trials without the attribute count as of unknown cost.
        budget: what all trials of the study may cost together, by all workers, in the units of ``cost``. As it runs
            out, costs count less, and suggestions are those that probably still fit. It does not end the study.
        timeout: the seconds in which trials have to end, from the first trial of a study in this process on: those of
            ``optimize(timeout=...)``, which a sampler is not told. They need ``cost="duration"``, and count like a
            budget of which each worker has all. A trial that begins later begins them anew.
        allowed: what is known of the parameters together, as `numbo.Space` takes it: `numbo.Linear`, `numbo.Mixture`,
            `numbo.Order`, `numbo.Nonzero`, or functions of the parameters by name. It holds for all suggestions, but
            not for what an ``independent_sampler`` adds.
        settings: all settings of the algorithm, as its optimizer in `numbo` takes them; settings given by name take
            precedence. Trials count as failures if they failed, or were pruned before their first report.

    Raises:
        ValueError: for an invalid value of a setting.
        TypeError: for an unknown setting.
    """

    _optimizer: type[Optimizer]
    _earlier: tuple[EarlierStudy, ...] = ()
    _cost: str | None = None
    _budget: float | None = None
    _timeout: float | None = None
    _known: Known = NOTHING
    _started = ("_lock", "_views", "_latest")  # views are rebuilt from the storage

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        search_space: SearchSpace | None = None,
        constraints_func: ConstraintsFunc | None = None,
        earlier: Sequence[Any] = (),
        cost: str | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        allowed: Any = (),
        prior: Any = MappingProxyType({}),
        default: Any = MappingProxyType({}),
        settings: Settings,
    ) -> None:
        seed = _checks.seed(seed)
        self._seed = secrets.randbits(32) if seed is None else seed
        given = None if n_startup_trials is None else _checks.integer("n_startup_trials", n_startup_trials, 0)
        self._n_startup_trials = given
        if not isinstance(independent_sampler, BaseSampler | None):
            raise ValueError(
                f"independent_sampler must be an Optuna sampler such as RandomSampler(), got {independent_sampler!r}."
            )
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = _checks.flag("warn_independent_sampling", warn_independent_sampling)
        self._search_space = search_space
        self._declared = None if search_space is None else declared(search_space)
        self._known = Known.of(allowed, prior, default)
        searched = (self._declared or Searched({})).without_single()
        if self._declared is not None:
            check_names(self._known, self._declared)
            searched = allowing(searched, self._known, self._declared.distributions)
        if not (constraints_func is None or callable(constraints_func)):
            raise ValueError(f"constraints_func must be a function of a trial, got {constraints_func!r}.")
        self._constraints_func = constraints_func
        self._earlier = _earlier.read(earlier)
        self._cost = _checks.cost_name(cost, budget, timeout)
        self._budget = budget
        self._timeout = None if timeout is None else _checks.number("timeout", timeout, 0.0, above=True)
        self._space_known = search_space is not None
        self._start()
        if given is None and settings.n_initial is None and not self._earlier:
            given = self._optimizer.capabilities.usual_initial
        self._n_initial = None if given is None else max(1, given)
        self._settings = settings.of(settings, n_initial=self._n_initial)
        stand_in = {f"x{j}": Float(0.0, 1.0) for j in range(settings.dimensions)}
        # report invalid settings here, not during the study
        space = to_space(searched) if searched.distributions else Space(stand_in)
        self._optimizer(space, **self._spending(), seed=self._seed, settings=self._settings)

    def _spending(self) -> dict[str, Any]:
        """The budget as an argument of the optimizer, if there is one."""
        return {} if self._budget is None else {"budget": self._budget}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "_optimizer"):
            complete(cls, cls._optimizer, cls._optimizer.settings_class, Known)

    def _make(
        self, searched: Searched, space: Space | Table, directions: tuple[str, ...], constraints: tuple[str, ...]
    ) -> Optimizer:
        goal: dict[str, Any] = {"direction": directions[0]} if len(directions) == 1 else {"directions": directions}
        if self._optimizer.capabilities.constraints:
            goal["constraints"] = constraints
        if self._earlier:
            goal["earlier"] = [_earlier.internal(study, searched.distributions) for study in self._earlier]
        return self._optimizer(space, **goal, **self._spending(), seed=self._seed, settings=self._settings)

    def __repr__(self) -> str:
        given = {
            "seed": self._seed,
            "n_startup_trials": self._n_startup_trials,
            "independent_sampler": self._independent_sampler,
            "warn_independent_sampling": self._warn_independent_sampling,
            "search_space": self._search_space,
            "constraints_func": self._constraints_func,
            "earlier": self._earlier,
            "cost": self._cost,
            "budget": self._budget,
            "timeout": self._timeout,
            **self._known._asdict(),
        }
        return as_call(self, given, self._settings, {"n_initial": self._n_initial})

    # -- Optuna's interface --------------------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        self._remember(study)
        compile_ahead(self._optimizer)
        if self._declared is not None:
            return self._declared.without_single().distributions
        if self._refuses(study):
            return {}
        with self._lock, self._views.of(study, trial) as used:
            self._space_known = used.view.space.known
            if not isinstance(study._storage, InMemoryStorage):  # there nobody looks again, and a read costs nothing
                self._views.keep(study, trial, used.trials)
            return dict(
                used.view.known_space(used.trials, trial.number).distributions
            )  # samplers that wrap this one change it

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        given = fixed_params(study, trial)
        with self._lock, self._views.of(study, trial, anew=False) as used:
            searched = used.searched()
            if not given.keys() >= searched.distributions.keys() - search_space.keys():
                searched = searched.only(search_space)  # a parameter missing from the space has no known value
            desk = used.brought_up(searched)
            distributions = desk.searched.distributions
            fixed = held(trial, desk.identity, given, distributions, desk.optimizer.space)
            point = Proposal(used, desk, trial, fixed, self._seed).made()
            params = to_external(point | fixed, distributions)
        return {name: params[name] for name in search_space if name in params}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        sampler = self._independent_sampler
        usual = False
        if sampler is None:
            if (found := self._by_model(study, trial, param_name, param_distribution)) is not None:
                return found
            usual = _records.is_first(study, trial, param_name)
            said = self._known
            if said.allowed or param_name in said.prior or (usual and param_name in said.default):
                seed = None if usual else zlib.crc32(f"{self._seed} {trial.number}".encode())
                fixed = fixed_params(study, trial)
                if first := first_value(said, trial, param_name, param_distribution, seed, fixed):
                    return first[param_name]
            if usual and (known := _earlier.recalled(self._earlier, study, param_name, param_distribution)) is not None:
                return known
            # one stream per trial and name: processes with equal seeds must not start with equal points
            sampler = RandomSampler(seed=zlib.crc32(f"{self._seed} {trial.number} {param_name}".encode()))
        if self._warn_independent_sampling:
            chosen = "its usual value" if usual else type(sampler).__name__
            self._explain_independent(study, trial, param_name, param_distribution, chosen)
        if usual:
            space = Space({param_name: to_dimension(param_distribution)})
            return to_external(space.decode(space.usual), {param_name: param_distribution})[param_name]
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _explain_independent(
        self, study: Study, trial: FrozenTrial, name: str, asked: BaseDistribution, chosen: str
    ) -> None:
        """Warn, once for each parameter, why the model does not sample it, if it should after the start."""
        declared = self._declared
        started = trial.number >= (INITIAL if self._n_startup_trials is None else self._n_startup_trials)
        mismatch = declared is not None and declared.distributions.get(name, asked) != asked
        if not (mismatch or (self._space_known and started)):
            return
        self._views.once.warn(
            study,
            f"independent {name}",
            f"{type(self).__name__} samples the parameter {name!r} independently, with {chosen}: "
            f"{left_out(declared, name, asked)}, or pass warn_independent_sampling=False if that is intended.",
        )

    def _by_model(self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        """A value by the model, given the trial's values so far; None if the model does not know the parameter.

        This happens if the suggestion does not contain the parameter, or has it in another range.
        """
        if distribution.single():
            return None
        with self._lock, self._views.of(study, trial) as used:
            searched = used.searched()
            if searched.table is not None or type(searched.distributions.get(name)) is not type(distribution):
                return None
            desk = used.brought_up(searched)
            published = _records.read(trial, desk.identity).params
            given = published | within(fixed_params(study, trial), searched.distributions, desk.optimizer.space)
            given.pop(name, None)
            seed = (self._seed, trial.number, zlib.crc32(name.encode()))
            found = desk.optimizer.suggest_value(name, given, to_dimension(distribution), seed)
        return None if found is None else to_external({name: found}, {name: distribution})[name]

    def reseed_rng(self) -> None:
        self._seed = secrets.randbits(32)
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    @of_an_instance
    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._refuses(study):
            study.tell(trial.number, state=TrialState.FAIL)  # the trial exists already, and would stay running
        self._raise_error_if_multi_objective(study)
        self._remember(study)
        self._views.timers.begin(study)
        if trial.params or "fixed_params" in trial.system_attrs:  # it was added while it waited
            _records.mark_begun(study, trial)
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def _refuses(self, study: Study) -> bool:
        """Whether the study has more objectives than the sampler takes."""
        return len(study.directions) > self._optimizer.capabilities.objectives

    def _raise_error_if_multi_objective(self, study: Study) -> None:
        if self._refuses(study):
            raise ValueError(too_many(type(self).__name__, self._optimizer.capabilities.objectives, study))

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._remember(study)  # the objective may have used the sampler for another study
        if self._constraints_func is not None:
            _process_constraints_after_trial(partial(checked_constraints, self._constraints_func), study, trial, state)
        if not self._optimizer.capabilities.constraints and _records.constraints_of(trial):
            message = f"Constraints have been set, but {type(self).__name__} does not use them: GSSBOSampler does."
            self._views.once.warn(study, "constraints", message)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    # -- state -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        super()._start()
        self._views = Views(self._known, self._declared, self._cost, Timers(self._timeout), self._make)
        self._latest = no_study
        self._lock = threading.RLock()

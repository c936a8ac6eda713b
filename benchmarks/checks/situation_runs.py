"""Fingerprints of runs in a situation: an optimizer by itself, a study of Optuna, a searcher of Ray Tune.

At some odd steps the optimizer is replaced by its saved and restored self, or by its pickle, and a call is interrupted.
"""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.trial import TrialState
from ray import tune

from benchmarks.checks.fingerprint import Fingerprint, look
from benchmarks.checks.situations import Situation, Told
from numbo import Arms, Categorical, Float, Int, Space, _hooks

LOOK_EVERY = 23
PROBES = 12
SEED = 5


def by_itself(build: Any, situation: Situation, steps: int) -> list[str]:
    """Marks of an optimizer that is asked and told."""
    rng = np.random.default_rng(7)
    out = Fingerprint()
    given = {"seed": SEED, **situation.arguments}
    arms = isinstance(situation.space, Arms)
    opt = build(arms=situation.space, **given) if arms else build(situation.space, **given)
    probes = [opt.space.decode(x) for x in _spread(opt.space)]
    running: list[Any] = []
    given_up: list[Any] = []
    for step in range(steps):
        if step == steps // 3 | 1:
            opt = type(opt).from_state_dict(pickle.loads(pickle.dumps(opt.state_dict())))
        if step == steps // 2 | 1:
            _interrupt(opt)
        if step == 2 * steps // 3 | 1:
            opt = pickle.loads(pickle.dumps(opt))
        point = opt.ask()
        if situation.fixed is not None and step % 5 == 4:
            opt.withdraw(point)
            found = opt.suggest(fixed=dict(situation.fixed))
            point = opt.space.decode(found.x)
            opt.hold(("fixed", step), point, found.origin)
        out.add(point)
        running.append(point)
        if situation.losses and step % situation.losses == 3:
            given_up.append(running.pop(int(rng.integers(len(running)))))
            opt.withdraw(given_up[-1])
        if situation.losses and step % situation.losses == 5 and given_up:
            _finish(opt, situation, given_up.pop(0), rng)
        if len(running) >= situation.workers:
            _finish(opt, situation, running.pop(int(rng.integers(len(running)))), rng)
        if step % LOOK_EVERY == LOOK_EVERY - 1:
            look(out, opt, probes, len(situation.arguments.get("directions", [0])))
        out.mark()
    return out.marks


def _spread(space: Any) -> np.ndarray:
    """Points (p, d) that are looked at."""
    if space.explicit:
        return np.asarray(space.grid()[:PROBES])
    return np.asarray(space.snap(np.random.default_rng(2).random((PROBES, space.d))))


def _finish(opt: Any, situation: Situation, point: Any, rng: np.random.Generator) -> None:
    """Tell the optimizer what comes of a point; half of its reports come while it runs."""
    told = situation.program(opt.space.encode(point), point, rng)
    reports = dict(told.reports or {})
    pending = any(point == one for one in opt.pending)
    for step in [step for step in reports if step % 2 and pending]:
        opt.report(point, step, reports.pop(step))
    named = {"std": told.std, "constraints": told.constraints}
    given: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if told.reports is not None:
        given |= {"reports": reports, "partial": told.stopped}
    opt.tell(point, told.value, **given)


def _interrupt(opt: Any) -> None:
    """Interrupt a call for the next point as it begins."""
    before = _hooks._first

    def strike(algorithm: type) -> None:
        raise KeyboardInterrupt

    _hooks.do_before_ask(strike)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            opt.ask()
    finally:
        _hooks._first = before


# -- Optuna ------------------------------------------------------------------------------------------------------------


def by_optuna(sampler: Any, situation: Situation, steps: int) -> list[str]:
    """Marks of a study whose program asks for its parameters one by one; half-way another sampler goes on."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(7)
    out = Fingerprint()
    space = Space(situation.space)
    names = situation.arguments.get("constraints", ())
    settings: dict[str, Any] = {"seed": SEED, "warn_independent_sampling": False}
    if names:
        settings["constraints_func"] = _limits
    directions = list(situation.arguments.get("directions", ["minimize"]))
    asked: Any = sampler(**settings)
    study = optuna.create_study(sampler=asked, directions=directions)
    running: list[tuple[optuna.Trial, Told]] = []
    for step in range(steps):
        if step == steps // 2 | 1:
            asked = study.sampler = pickle.loads(pickle.dumps(asked))
        if situation.fixed is not None and step % 5 == 4:
            study.enqueue_trial(dict(situation.fixed))
        trial = study.ask()
        params = _asked(trial, space)
        out.add(params)
        running.append((trial, situation.program(space.encode(params), params, rng)))
        if len(running) >= situation.workers:
            _end(study, names, *running.pop(int(rng.integers(len(running)))))
        if step % LOOK_EVERY == LOOK_EVERY - 1:
            shown = [trial.params for trial in study.get_trials(states=[TrialState.COMPLETE])[:PROBES]]
            out.add(*asked.predict(shown, study))
            if len(directions) > 1:
                out.add([(one.number, values) for one, values in asked.front(study)])
            else:
                out.add(asked.best_predicted(study))
        out.mark()
    return out.marks


def _asked(trial: optuna.Trial, space: Space) -> dict[str, Any]:
    """The parameters that a program over ``space`` asks for."""
    params: dict[str, Any] = {}
    for name in space.names:
        condition = space.conditions.get(name)
        if condition is None or condition.met(params):
            params[name] = _suggested(trial, name, space[name])
    return params


def _suggested(trial: optuna.Trial, name: str, dimension: Any) -> Any:
    if isinstance(dimension, Categorical):
        return trial.suggest_categorical(name, dimension.choices)
    ask = trial.suggest_int if isinstance(dimension, Int) else trial.suggest_float
    return ask(name, dimension.low, dimension.high, log=dimension.log)


def _limits(trial: optuna.trial.FrozenTrial) -> list[float]:
    return list(trial.user_attrs["limits"])


def _end(study: optuna.Study, names: Sequence[str], trial: optuna.Trial, told: Told) -> None:
    trial.set_user_attr("limits", [(told.constraints or {}).get(name, -1.0) for name in names])
    for step, reported in (told.reports or {}).items():
        trial.report(reported, step)
    if told.value is None:
        study.tell(trial, state=TrialState.FAIL)
    elif told.stopped:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, told.value)


# -- Ray Tune ----------------------------------------------------------------------------------------------------------


def by_ray(searcher: Any, situation: Situation, steps: int) -> list[str]:
    """Marks of a searcher that Tune would ask; half-way it is saved and restored."""
    rng = np.random.default_rng(7)
    out = Fingerprint()
    space = Space(situation.space)
    domains = {name: _domain(space[name]) for name in space.names}
    modes = [direction[:3] for direction in situation.arguments.get("directions", ["minimize"])]
    metrics = [f"y{j}" for j in range(len(modes))]
    goal: dict[str, Any] = {"metric": metrics[0], "mode": modes[0]}
    if len(modes) > 1:
        goal = {"metric": metrics, "mode": modes}
    limits = dict.fromkeys(situation.arguments.get("constraints", ()), ("<=", 0.0))
    more: dict[str, Any] = {"constraints": limits} if limits else {}
    search = searcher(domains, **goal, seed=SEED, **more)
    running: list[tuple[str, Mapping[str, Any]]] = []
    for step in range(steps):
        if step == steps // 2 | 1:
            with tempfile.TemporaryDirectory() as folder:
                search.save(f"{folder}/state.pkl")
                search = searcher(**goal, seed=SEED + 1, **more)
                search.restore(f"{folder}/state.pkl")
        config = search.suggest(f"t{step}")
        out.add(config)
        running.append((f"t{step}", config))
        if len(running) >= situation.workers:
            name, done = running.pop(int(rng.integers(len(running))))
            _complete(search, metrics, name, situation.program(space.encode(done), done, rng))
        if step % LOOK_EVERY == LOOK_EVERY - 1:
            out.add(*search.predict([config for _, config in running] or [config]))
            out.add(search.front() if len(modes) > 1 else search.best_predicted())
        out.mark()
    return out.marks


def _domain(dimension: Any) -> Any:
    if isinstance(dimension, Categorical):
        return tune.choice(list(dimension.choices))
    if isinstance(dimension, Float):
        return (tune.loguniform if dimension.log else tune.uniform)(dimension.low, dimension.high)
    return (tune.lograndint if dimension.log else tune.randint)(dimension.low, dimension.high + 1)


def _complete(search: Any, metrics: list[str], name: str, told: Told) -> None:
    values = told.value if isinstance(told.value, list) else [told.value]
    for step, reported in (told.reports or {}).items():
        search.on_trial_result(name, {metrics[0]: reported, "training_iteration": step})
    result = dict(zip(metrics, values, strict=True)) | dict(told.constraints or {})
    if told.reports:
        result["training_iteration"] = max(told.reports)
    search.on_trial_complete(name, None if told.value is None else result, error=told.value is None)

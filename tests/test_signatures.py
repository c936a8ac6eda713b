"""Everyday settings stand in the signature, all in a dataclass, and both are described."""

from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import numbo
from numbo import (
    BBKB,
    BKB,
    GPUCB,
    GSSBO,
    SBPE,
    BBKBSettings,
    BKBSettings,
    Float,
    GPUCBSettings,
    GSSBOSettings,
    SBPESettings,
)
from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler
from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch

OPTIMIZERS = [GSSBO, GPUCB, BKB, BBKB, SBPE]
SAMPLERS = [GSSBOSampler, GPUCBSampler, BKBSampler, BBKBSampler, SBPESampler]
SEARCHERS = [GSSBOSearch, BKBSearch, BBKBSearch, SBPESearch]
SETTINGS = [GSSBOSettings, GPUCBSettings, BKBSettings, BBKBSettings, SBPESettings]
OF = dict(zip(OPTIMIZERS, SETTINGS, strict=True)) | {
    cls: getattr(numbo, f"{cls._optimizer.__name__}Settings") for cls in (*SAMPLERS, *SEARCHERS)
}
ALL = [*OPTIMIZERS, *SAMPLERS, *SEARCHERS]
#: Arguments that are no settings.
DOMAIN = {"space", "arms", "direction", "directions", "constraints", "seed", "settings", "preset"}
OF_SAMPLERS = {"seed", "n_startup_trials", "independent_sampler", "warn_independent_sampling", "search_space"}
OF_SEARCHERS = {"space", "metric", "mode", "points_to_evaluate", "evaluated_rewards", "seed"}
CONSTRAINED = {"constraints", "constraints_func"}
EARLIER = {"earlier"}
COSTS = {"cost", "budget", "timeout"}
KNOWN = {"allowed", "prior", "default"}


def signature(cls):
    return {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}


def described(cls):
    arguments = cls.__doc__.split("Args:")[1].split("Raises:")[0]
    return re.findall(r"^    (\w+): ", arguments, flags=re.MULTILINE)


def make(cls, **settings):
    return cls({"x": Float(0, 1)}, **settings) if cls in OPTIMIZERS else cls(**settings)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_signatures_are_short_and_spelled_out(cls):
    kinds = {p.kind for p in signature(cls).values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert len(signature(cls).keys() - COSTS - KNOWN) <= (13 if OF[cls] is GSSBOSettings else 11)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_argument_is_a_setting_or_concerns_the_domain(cls):
    others = DOMAIN | OF_SAMPLERS | OF_SEARCHERS | CONSTRAINED | EARLIER | COSTS | KNOWN
    assert set(signature(cls)) - others <= set(OF[cls].names())


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
def test_capabilities_are_those_of_the_arguments(cls):
    able = cls.capabilities
    assert ("constraints" in signature(cls)) == able.constraints
    assert ("directions" in signature(cls)) == (able.objectives > 1)
    assert ("budget" in signature(cls)) == able.costs
    opt = cls({"x": Float(0, 1)})
    if able.std:
        opt.tell({"x": 0.5}, 1.0, std=0.1)
    else:
        with pytest.raises(ValueError, match=rf"^std is not supported by {cls.__name__}: "):
            opt.tell({"x": 0.5}, 1.0, std=0.1)


@pytest.mark.parametrize("cls", [*ALL, *SETTINGS], ids=lambda cls: cls.__name__)
def test_docstrings_describe_every_argument(cls):
    names = cls.names() if cls in SETTINGS else list(signature(cls))
    assert described(cls) == names
    assert "\nRaises:\n    ValueError: " in cls.__doc__


@pytest.mark.parametrize("cls", [*ALL, *SETTINGS], ids=lambda cls: cls.__name__)
def test_the_size_of_the_initial_design_that_is_described_is_the_usual_one(cls):
    (name,) = {"n_initial", "n_startup_trials"} & set(described(cls))
    text = " ".join(re.search(rf"^    {name}: (.*?)^    \w+: ", cls.__doc__, flags=re.MULTILINE | re.DOTALL)[1].split())
    settings = cls() if cls in SETTINGS else OF[cls]()
    assert int(re.findall(r"\d+", text)[-1]) == settings.initial(2)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_a_misspelt_setting_names_the_users_class(cls):
    users = type("Users", (cls,), {})
    initial = "n_startup_trials" if cls in SAMPLERS else "n_initial"
    other = "n_initial" if cls in SAMPLERS else "n_startup_trials"
    domain = ({"x": Float(0, 1)},) if cls in OPTIMIZERS else ()
    for wrong, right in (("kernle", "kernel"), (other, initial), ("deterministic_objective", "avoid_repeats")):
        meant = rf"did you mean '{right}'" + (r"\?" if right in signature(cls) else r" in settings\?")
        with pytest.raises(TypeError, match=rf"^Users has no setting '{wrong}' \({meant}\)") as error:
            users(*domain, **{wrong: 3})
        assert "\n" not in str(error.value)
    if name := {"constraints", "constraints_func"} & set(signature(cls)):
        (name,) = name
        (wrong,) = {"constraints", "constraints_func"} - {name}
        with pytest.raises(TypeError, match=rf"^Users has no setting '{wrong}' \(did you mean '{name}'\?\)"):
            users(*domain, **{wrong: len})
        return
    able = "GSSBO" if cls in OPTIMIZERS else "GSSBOSampler" if cls in SAMPLERS else "GSSBOSearch"
    for wrong in ("constraints", "constraints_func"):
        with pytest.raises(
            TypeError,
            match=rf"^{cls.__name__} does not support constraints, and has no setting '{wrong}': {able} does\.$",
        ):
            cls(*domain, **{wrong: len})
        with pytest.raises(TypeError, match=rf"^Users does not support constraints, and has no setting '{wrong}': "):
            users(*domain, **{wrong: len})


@pytest.mark.parametrize("cls", SAMPLERS, ids=lambda cls: cls.__name__)
def test_a_study_has_the_directions_not_its_sampler(cls):
    several = cls.__name__.startswith(("GSSBO", "GPUCB"))
    said = "has no setting 'directions'; it takes " if several else "has one objective, .*: GSSBOSampler takes several"
    with pytest.raises(TypeError, match=f"^{cls.__name__} {said}"):
        cls(directions=["minimize"] * 2)


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
def test_arguments_of_the_wrong_type_are_refused(cls):
    for space in ([1], "x", 3):
        with pytest.raises(ValueError, match=r'space must be a mapping such as \{"x": Float\(0, 1\)\}, got '):
            cls(space)
    with pytest.raises(ValueError, match=r"^seed must be .*got True"):
        make(cls, seed=True)
    with pytest.raises(ValueError, match=r"^direction must be one of .*got \['a'\]"):
        make(cls, direction=["a"])


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_settings_of_another_algorithm_are_refused(cls):
    for wrong in (*({*SETTINGS} - {OF[cls]}), dict):
        with pytest.raises(ValueError, match=rf"^settings must be a numbo\.{OF[cls].__name__}, got "):
            make(cls, settings=wrong())


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_what_is_given_by_name_goes_before_the_settings(cls):
    initial = "n_startup_trials" if cls in SAMPLERS else "n_initial"
    settings = OF[cls](n_initial=7, kernel="rbf")
    for given, expected in (({}, 7), ({initial: 3}, 3)):
        made = make(cls, settings=settings, **given)
        kept = made.settings if cls in OPTIMIZERS else made._settings
        assert kept == replace(settings, n_initial=expected)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_a_setting_that_is_no_argument_is_refused_and_told_where_it_goes(cls):
    assert "kernel" not in signature(cls)
    said = rf"^{cls.__name__} takes kernel, learn_failures in its settings: pass settings={OF[cls].__name__}"
    with pytest.raises(TypeError, match=said + r"\(kernel='rbf', learn_failures=False\)\.$"):
        make(cls, kernel="rbf", learn_failures=False)


def test_a_preset_is_in_place_of_settings():
    with pytest.raises(
        ValueError, match=r"^preset and settings exclude each other: pass GSSBOSettings\.of_preset\('paper', "
    ):
        GSSBO({"x": Float(0, 1)}, preset="paper", settings=GSSBOSettings(kernel="rbf"))
    with pytest.raises(ValueError, match=r"^preset must be one of 'default', 'paper', got 'other'"):
        GSSBO({"x": Float(0, 1)}, preset="other")
    assert GSSBOSettings.of_preset("default") == GSSBOSettings()


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("learn", ["auto", True, False])
def test_a_state_holds_every_setting(cls, learn):
    settings = {"learn_failures": learn, "n_initial": 3, "kernel": "rbf", "beta": 1.5, "avoid_repeats": False}
    opt = cls({"x": Float(0, 1)}, direction="maximize", settings=OF[cls](**settings))
    state = opt.state_dict()
    assert state["settings"].keys() == set(OF[cls].names())
    assert state["settings"].items() >= settings.items()
    restored = type(opt).from_state_dict(state)
    assert restored.settings == opt.settings
    assert restored.direction == "maximize"
    assert restored.state_dict()["settings"] == state["settings"]


def test_a_state_holds_the_arguments_that_a_subclass_adds():
    class Users(BBKB):
        def __init__(self, space=None, *, extra=1, **arguments):
            self.extra = extra
            super().__init__(space, **arguments)

        def _arguments(self):
            return super()._arguments() | {"extra": self.extra}

    settings = BBKBSettings(stopping="global-local")
    clone = Users.from_state_dict(Users(arms=np.eye(3), extra=5, settings=settings).state_dict())
    assert (clone.extra, clone.settings, clone.direction) == (5, settings, "maximize")


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
def test_settings_are_final(cls):
    opt = cls({"x": Float(0, 1)}, n_initial=2, seed=0)
    for name in {"direction", "directions", "constraints", "settings", *OF[cls].names()} & {
        *signature(cls),
        *OF[cls].names(),
    }:
        with pytest.raises(
            AttributeError, match=f"^{name} is a setting of {cls.__name__}, which cannot be changed later"
        ):
            setattr(opt, name, 3)
    with pytest.raises(FrozenInstanceError):
        opt.settings.kernel = "rbf"
    opt.mine = 3
    for _ in range(5):
        opt.tell(opt.ask(), 1.0)
    assert opt.mine == 3

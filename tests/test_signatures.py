"""Every setting stands in the signature and the docstring, and adapters have those of their optimizer."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from numbo.optuna import BBKBSampler, BKBSampler, GPUCBSampler, GSSBOSampler, SBPESampler
from numbo.ray import BBKBSearch, BKBSearch, GSSBOSearch, SBPESearch

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Float

OPTIMIZERS = [GSSBO, GPUCB, BKB, BBKB, SBPE]
SAMPLERS = [GSSBOSampler, GPUCBSampler, BKBSampler, BBKBSampler, SBPESampler]
SEARCHERS = [GSSBOSearch, BKBSearch, BBKBSearch, SBPESearch]
#: What an adapter decides itself, or has a default of its own for.
DOMAIN = {"space", "arms", "direction", "directions"}
OF_SAMPLERS = {"seed", "n_startup_trials", "independent_sampler", "warn_independent_sampling", "search_space"}
OF_SEARCHERS = {"space", "metric", "mode", "points_to_evaluate", "evaluated_rewards", "seed", "n_initial"}
CONSTRAINED = {"constraints", "constraints_func"}
FROM_THE_BUDGET = {"delta", "horizon"}


def signature(cls):
    return {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}


@pytest.mark.parametrize("cls", [*OPTIMIZERS, *SAMPLERS, *SEARCHERS], ids=lambda cls: cls.__name__)
def test_settings_are_spelled_out(cls):
    kinds = {p.kind for p in signature(cls).values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


@pytest.mark.parametrize("cls", [*SAMPLERS, *SEARCHERS], ids=lambda cls: cls.__name__)
def test_adapters_take_the_settings_of_their_optimizer(cls):
    sampler = cls in SAMPLERS
    own = (OF_SAMPLERS if sampler else OF_SEARCHERS) | (CONSTRAINED & set(signature(cls)))
    adapted = {n: (p.default, p.annotation) for n, p in signature(cls).items() if n not in own}
    settings = {
        n: (p.default, p.annotation)
        for n, p in signature(cls._optimizer).items()
        if n not in DOMAIN | {"seed", "n_initial"} | CONSTRAINED
    }
    if not sampler and cls is not GSSBOSearch:
        (name,) = FROM_THE_BUDGET & {n for n in settings if adapted[n] != settings[n]}
        default, annotation = settings[name]
        assert adapted.pop(name) == (None, f"{annotation} | None")
        del settings[name]
        assert default is not None
    assert adapted == settings
    assert set(signature(cls)) >= own


@pytest.mark.parametrize("cls", [*OPTIMIZERS, *SAMPLERS, *SEARCHERS], ids=lambda cls: cls.__name__)
def test_docstrings_describe_every_setting(cls):
    arguments = cls.__doc__.split("Args:")[1].split("Raises:")[0]
    described = re.findall(r"^        (\w+): ", arguments, flags=re.MULTILINE)
    if cls in OPTIMIZERS:
        assert set(described) == set(signature(cls))
    else:
        own = (OF_SAMPLERS if cls in SAMPLERS else OF_SEARCHERS) | {"learn_failures"}
        own |= CONSTRAINED & set(signature(cls))
        assert own <= set(described) <= own | FROM_THE_BUDGET
        assert f"`numbo.{cls._optimizer.__name__}`" in cls.__doc__


@pytest.mark.parametrize("cls", [*OPTIMIZERS, *SAMPLERS, *SEARCHERS], ids=lambda cls: cls.__name__)
def test_a_misspelt_setting_names_the_users_class(cls):
    users = type("Users", (cls,), {})
    domain = ({"x": Float(0, 1)},) if cls in OPTIMIZERS else ()
    initial = "n_startup_trials" if cls in SAMPLERS else "n_initial"
    other = "n_initial" if cls in SAMPLERS else "n_startup_trials"
    for wrong, right in (("kernle", "kernel"), (other, initial), ("deterministic_objective", "avoid_repeats")):
        with pytest.raises(TypeError, match=rf"^Users has no setting '{wrong}' \(did you mean '{right}'\?\)") as error:
            users(*domain, **{wrong: 3})
        assert "\n" not in str(error.value)
    if name := {"constraints", "constraints_func"} & set(signature(cls)):
        (name,) = name
        (wrong,) = {"constraints", "constraints_func"} - {name}
        with pytest.raises(TypeError, match=rf"^Users has no setting '{wrong}' \(did you mean '{name}'\?\)"):
            users(*domain, **{wrong: len})
        return
    for wrong in ("constraints", "constraints_func"):
        with pytest.raises(
            TypeError, match=rf"^Users does not support constraints, and has no setting '{wrong}': GSSBO"
        ):
            users(*domain, **{wrong: len})


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
def test_settings_of_the_wrong_type_are_refused(cls):
    names = signature(cls)
    flags = (
        "avoid_repeats",
        "trend",
        "winsorize",
        "warp",
        "all_data",
        "coordinate_lines",
        "cover_categories",
        "avoid_ties",
        "additive",
        "trust_region",
        "learn_failures",
    )
    for name in flags:
        if name in names:
            with pytest.raises(ValueError, match=rf"{name} must be one of .*True, False, got 'no'"):
                cls({"x": Float(0, 1)}, **{name: "no"})
    for name in ("n_initial", "buffer_size", "horizon", "min_batch", "max_dictionary", "seed", "beta", "qbar", "delta"):
        if name in names:
            with pytest.raises(ValueError, match=f"{name} must be .*got True"):
                cls({"x": Float(0, 1)}, **{name: True})
    for name in ("kernel", "preset", "criterion", "acquisition", "stopping", "initial_dictionary", "direction"):
        if name in names:
            with pytest.raises(ValueError, match=rf"{name} must be one of .*got \['a'\]"):
                cls({"x": Float(0, 1)}, **{name: ["a"]})
    for space in ([1], "x", 3):
        with pytest.raises(ValueError, match=r'space must be a mapping such as \{"x": Float\(0, 1\)\}, got '):
            cls(space)


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("learn", ["auto", True, False])
def test_a_state_holds_every_setting(cls, learn):
    settings = {"learn_failures": learn, "n_initial": 3, "kernel": "rbf", "beta": 1.5, "avoid_repeats": False}
    opt = cls({"x": Float(0, 1)}, direction="maximize", **settings)
    state = opt.state_dict()
    assert state["settings"].keys() == signature(cls).keys() - {"space", "arms", "seed"}
    assert state["settings"].items() >= settings.items()
    assert type(opt).from_state_dict(state).state_dict()["settings"] == state["settings"]


def test_a_state_holds_the_settings_of_a_subclass_and_of_its_base():
    class Users(BBKB):
        def __init__(self, space=None, *, extra=1, **settings):
            super().__init__(space, **settings)
            self.extra = extra

    clone = Users.from_state_dict(Users(arms=np.eye(3), extra=5, stopping="global-local").state_dict())
    assert (clone.extra, clone.stopping, clone.direction) == (5, "global-local", "maximize")


@pytest.mark.parametrize("cls", OPTIMIZERS, ids=lambda cls: cls.__name__)
def test_settings_are_final(cls):
    opt = cls({"x": Float(0, 1)}, n_initial=2, seed=0)
    for name in signature(cls).keys() - {"space", "arms", "seed"}:
        with pytest.raises(
            AttributeError, match=f"^{name} is a setting of {cls.__name__}, which cannot be changed later"
        ):
            setattr(opt, name, getattr(opt, name))
    opt.mine = 3
    for _ in range(5):
        opt.tell(opt.ask(), 1.0)
    assert opt.mine == 3


@pytest.mark.parametrize("cls", [GSSBO, GPUCB])
def test_a_default_that_does_not_depend_on_the_domain_is_no_none(cls):
    with pytest.raises(ValueError, match=r"avoid_repeats must be one of .*got None"):
        cls({"x": Float(0, 1)}, avoid_repeats=None)

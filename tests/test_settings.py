"""Settings of algorithms: frozen values that check themselves, and constructors that take them by name."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest

from numbo import (
    BBKBSettings,
    BKBSettings,
    GPUCBSettings,
    GSSBOSettings,
    SBPESettings,
    _checks,
)
from numbo._settings import INITIAL, Settings, checked, handed_on, names_checked

SETTINGS = [GSSBOSettings, GPUCBSettings, BKBSettings, BBKBSettings, SBPESettings]
every = pytest.mark.parametrize("cls", SETTINGS, ids=lambda cls: cls.__name__)


@dataclass(frozen=True, kw_only=True)
class Knobs(Settings):
    """A number from 1 on, a share and a limit."""

    size: int = checked(3, _checks.integer, 1)
    share: float | None = checked(None, _checks.number, 0.0, 1.0, above=True)
    limit: int | None = checked(None, _checks.integer, 0)


class Machine:
    """What takes ``size`` by itself."""

    @names_checked(Knobs)
    def __init__(self, space=None, *, size=None, settings=None):
        self.space = space
        self.settings = Knobs.of(settings, size=size)


def test_values_are_checked_and_kept_in_their_type():
    found = Knobs(size=np.int64(4), share=np.float32(0.5))
    assert (found.size, found.share, found.limit) == (4, 0.5, None)
    assert (type(found.size), type(found.share)) == (int, float)
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 1, got 0\.$"):
        Knobs(size=0)
    with pytest.raises(ValueError, match=r"^share must be a number above 0 and below 1, got 0\.0\.$"):
        Knobs(share=0.0)


def test_none_is_a_value_only_where_it_is_the_default():
    assert Knobs(share=None) == Knobs()
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 1, got None\.$"):
        Knobs(size=None)


def test_settings_are_those_given_in_place_of_others_and_none_says_nothing():
    base = Knobs(size=7, share=0.5, limit=2)
    assert Knobs.of(None) == Knobs()
    assert Knobs.of(base) == base
    assert Knobs.of(base, size=9, share=None) == Knobs(size=9, share=0.5, limit=2)
    with pytest.raises(ValueError, match=r"^settings must be a numbo\.Knobs, got Settings\("):
        Knobs.of(Settings())
    with pytest.raises(ValueError, match=r"^size must be"):
        Knobs.of(base, size=0)


def test_a_state_is_plain_data_that_makes_the_settings_again():
    base = Knobs(size=7, limit=0, n_initial=2)
    assert set(base.state_dict()) == set(Knobs.names())
    assert Knobs(**base.state_dict()) == base
    assert Knobs.names() == [*Settings.names(), "size", "share", "limit"]


def test_what_is_not_set_is_decided_later():
    assert Settings().initial(3) == INITIAL
    assert Settings(n_initial=4).initial(3) == 4
    for explicit in (True, False):
        assert Settings().avoiding(explicit) == "auto"
        assert [Settings(avoid_repeats=kind).avoiding(explicit) for kind in (True, False)] == [True, False]
    assert Settings().dimensions == 1


def test_a_constructor_takes_its_own_arguments_and_is_told_where_other_settings_go():
    assert Machine("here", size=5, settings=Knobs(share=0.5)).settings == Knobs(size=5, share=0.5)
    assert Machine().settings == Knobs()
    assert Machine.__init__.__name__ == "__init__"
    with pytest.raises(
        TypeError,
        match=r"^Machine takes share, limit in its settings: pass settings=Knobs\(share=0\.5, limit=None\)\.$",
    ):
        Machine("here", share=0.5, limit=None, size=5)


def test_an_unknown_setting_is_an_error_that_names_the_class_that_was_called():
    class Engine(Machine):
        pass

    for make, name in ((Engine, "Engine"), (Knobs, "Knobs")):
        with pytest.raises(TypeError, match=rf"^{name} has no setting 'sice' \(did you mean 'size'\?\); it takes"):
            make(sice=3)
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 1, got 0"):
        Machine(size=0)


@every
def test_a_misspelt_field_gets_one_clear_sentence(cls):
    with pytest.raises(
        TypeError, match=rf"^{cls.__name__} has no setting 'kernle' \(did you mean 'kernel'\?\); it takes"
    ):
        cls(kernle="rbf")


@every
def test_settings_of_the_wrong_type_are_refused(cls):
    flags = {one.name for one in fields(cls) if one.init and one.type == "bool"} | {"avoid_repeats", "learn_failures"}
    for name in flags:
        with pytest.raises(ValueError, match=rf"^{name} must be one of .*True, False, got 'no'"):
            cls(**{name: "no"})
    for name in {"n_initial", "buffer_size", "horizon", "min_batch", "max_dictionary", "beta", "qbar", "delta"} & {
        *cls.names()
    }:
        with pytest.raises(ValueError, match=rf"^{name} must be .*got True"):
            cls(**{name: True})
    for name in {"kernel", "criterion", "acquisition", "stopping", "initial_dictionary"} & {*cls.names()}:
        with pytest.raises(ValueError, match=rf"^{name} must be one of .*got \['a'\]"):
            cls(**{name: ["a"]})


@every
def test_settings_are_values(cls):
    one = cls(n_initial=4)
    assert one == cls(n_initial=np.int64(4))
    assert hash(one) == hash(cls(n_initial=4))
    assert pickle.loads(pickle.dumps(one)) == one
    assert cls(**one.state_dict()) == one
    with pytest.raises(FrozenInstanceError):
        one.kernel = "rbf"


class Above:
    """The constructor that is called in the end."""

    settings_class = Knobs

    def __init__(self, space=None, *, seed=0, settings):
        self.given = space, seed
        self.settings = settings


class Signature(Above):
    """What is a signature only."""

    @handed_on(Knobs)
    def __init__(self, space=None, *, seed=0, size=None, settings=None): ...


class Further(Signature):
    """A class of a user, with a constructor of its own."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.further = True


@pytest.mark.parametrize("cls", [Signature, Further])
def test_what_a_signature_takes_is_handed_on_and_all_else_are_settings(cls):
    made = cls("here", seed=3, size=7, settings=Knobs(share=0.5))
    assert (made.given, made.settings) == (("here", 3), Knobs(size=7, share=0.5))
    assert (cls().given, cls().settings) == ((None, 0), Knobs())
    with pytest.raises(TypeError, match=rf"^{cls.__name__} takes limit in its settings: "):
        cls(limit=4)
    with pytest.raises(TypeError, match=r"takes from 1 to 2 positional arguments but 3 were given$"):
        cls("here", 3)

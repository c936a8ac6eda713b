"""What a user says of parameters before any trial."""

import numpy as np
import pytest

from numbo import Float, Guess, Linear, Space
from numbo.spaces.known import NOTHING, Known

SAID = {
    "allowed": Linear({"a": 1.0, "b": 1.0}, most=1.0),
    "prior": {"a": Guess(0.2)},
    "default": {"b": 0.5},
}


def test_it_is_false_if_nothing_is_said():
    assert not NOTHING
    assert not Known.of((), {}, {})
    for name, said in SAID.items():
        assert Known.of(**({"allowed": (), "prior": {}, "default": {}} | {name: said}))


def test_it_is_what_a_space_takes():
    dimensions = {name: Float(0.0, 1.0) for name in "ab"}
    known = Known.of(**SAID)
    a, b = Space(dimensions, **SAID), Space(dimensions, **known._asdict())
    assert a.allowed.constraints == b.allowed.constraints
    np.testing.assert_array_equal(a.beliefs.mode, b.beliefs.mode)
    assert a.decode(a.usual) == b.decode(b.usual)


def test_what_is_said_of_some_parameters():
    known = Known.of(**SAID)
    assert known.names == {"a", "b"}
    assert known.only(["a", "c"]) == Known((), {"a": Guess(0.2)}, {})
    assert known.only(["b"]) == Known((), {}, {"b": 0.5})
    assert known.only([]) == NOTHING


@pytest.mark.parametrize("name", list(SAID))
def test_arguments_are_checked(name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Known.of(**(SAID | {name: 3}))

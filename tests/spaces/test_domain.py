"""That spaces, arms and tables are what the search takes them for."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from numbo import Arms, Float, Int, Space, Table
from numbo.spaces import Corners, Domain, SearchSpace, named_space

DOMAINS = {
    "space": Space({"n": Int(1, 3), "x": Float(0.0, 1.0, when={"n": [2, 3]})}),
    "arms": Arms([[0.0, 1.0], [2.0, 1.0], [0.0, 3.0]]),
    "table": Table({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}),
}


def members(protocol):
    """What a protocol and its bases ask for."""
    names = {name for base in protocol.__mro__ for name in [*vars(base), *vars(base).get("__annotations__", {})]}
    return sorted(name for name in names if not name.startswith("_")) + ["__getitem__"] * (protocol is SearchSpace)


@pytest.mark.parametrize(("name", "protocol"), [*((name, Domain) for name in DOMAINS), ("space", SearchSpace)])
def test_a_domain_has_what_its_protocol_says(name, protocol):
    asked = members(protocol)
    assert {"d", "explicit", "encode"} <= set(asked)
    for member in asked:
        has = getattr(DOMAINS[name], member)
        if inspect.isfunction(method := getattr(protocol, member, None)):
            inspect.signature(has).bind(*list(inspect.signature(method).parameters)[1:])  # as it may be called


@pytest.mark.parametrize("name", DOMAINS)
def test_shapes(name):
    domain = DOMAINS[name]
    X = domain.snap(np.random.default_rng(0).random((5, domain.d)))
    assert X.shape == (5, domain.d)
    for column in (domain.categorical, domain.conditional, domain.continuous, domain.relaxed, domain.discrete):
        assert column.shape == (domain.d,)
        assert column.dtype == bool
    assert len(domain.names) == domain.d
    assert set(domain.conditions) <= set(domain.names)
    points, owners = domain.neighbours(X, None)
    assert points.shape == (len(owners), domain.d)
    lower, upper = domain.limits(X, Corners.of_cube(domain.d))
    assert lower.shape == upper.shape
    for x in X:
        np.testing.assert_allclose(domain.encode(domain.decode(domain.representable(x))), x)


@pytest.mark.parametrize("name", DOMAINS)
def test_points_of_a_domain_wake_to_themselves(name):
    domain = DOMAINS[name]
    X = domain.snap(np.random.default_rng(1).random((6, domain.d)))
    points, rows = domain.wake(X, None)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_array_equal(rows, np.arange(6))


def test_arms_and_tables_have_no_parameters():
    assert named_space(DOMAINS["space"]) is DOMAINS["space"]
    assert named_space(DOMAINS["arms"]) is None
    assert named_space(DOMAINS["table"]) is None

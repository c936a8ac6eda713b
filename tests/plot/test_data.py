"""What is drawn of a space that branches: each parameter within its branch."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from tests.plot.shown import NAMES

import numbo.plot
import numbo.plot.matplotlib
from numbo.plot._data import Subject


def test_a_conditional_parameter_is_drawn_within_its_branch(branching):
    subject = Subject(branching)
    shown = {one.axis.name: one for one in subject.slices(None)}
    assert list(shown) == ["kind", "rate", "slope", "width"]
    X, _ = branching.observations
    assert len(shown["width"].x) == np.sum(X[:, 3] >= 0.0) < 40
    for k, mean in zip(shown["width"].axis.values, shown["width"].mean, strict=True):
        best = branching.snapshot().best_predicted(["width"])[0]
        assert branching.predict(best | {"width": k})[0] == pytest.approx(mean)
    assert shown["slope"].mean[30] < shown["slope"].mean[-1]
    # the other branch is entered with the values that are known to be good there
    a, b = shown["kind"].mean
    assert a == pytest.approx(branching.best_predicted()[1], abs=0.2)
    assert b > 0.9


def test_a_contour_of_a_parameter_and_its_parent_has_no_value_where_it_is_inactive(branching):
    plane = Subject(branching).contour(["kind", "slope"])
    np.testing.assert_array_equal(np.isnan(plane.mean), np.tile([False, True], (len(plane.second.values), 1)))
    assert numbo.plot.plot_contour(branching).data
    with pytest.raises(
        ValueError, match="some observation has, got \\['slope', 'width'\\]; slope is used where kind is a"
    ):
        numbo.plot.plot_contour(branching, ["slope", "width"])
    with pytest.raises(ValueError, match="never is used where width is 9 and kind is a"):
        numbo.plot.plot_posterior(branching, ["never"])


@pytest.mark.parametrize("name", NAMES)
def test_every_plot_of_a_space_that_branches(name, branching):
    if name != "plot_ask_times":
        assert getattr(numbo.plot, name)(branching).data
        getattr(numbo.plot.matplotlib, name)(branching)
        plt.close("all")

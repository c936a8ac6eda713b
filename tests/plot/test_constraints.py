"""Plots where there are constraints: what is feasible, and what violates them."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from tests.plot.shown import NAMES

import numbo.plot
import numbo.plot.matplotlib
from numbo import GSSBO, Float
from numbo.optuna import GSSBOSampler
from numbo.plot._data import Subject


def limited(p):
    """A feasible region with a curved border, which the optimum is outside of."""
    return (p["x"] - 0.25) ** 2 + 1.4 * (p["y"] - 0.3) ** 2 - 0.13


def under_a_limit(trials, shift=0.0, **settings):
    opt = GSSBO({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0, constraints=("c",), **settings)
    for _ in range(trials):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.8) ** 2 + (p["y"] - 0.7) ** 2, constraints={"c": limited(p) + shift})
    return opt


@pytest.fixture(scope="module")
def constrained():
    return under_a_limit(40, buffer_size=20)


@pytest.fixture(scope="module")
def infeasible():
    return under_a_limit(20, shift=1.0)


@pytest.mark.parametrize("source", ["constrained", "infeasible"])
@pytest.mark.parametrize("name", NAMES)
def test_every_plot_under_constraints(name, source, request):
    source = request.getfixturevalue(source)
    figure = getattr(numbo.plot, name)(source)
    assert figure.to_json()
    axes = getattr(numbo.plot.matplotlib, name)(source)
    axes[0].figure.canvas.draw()
    assert axes[0].figure.get_suptitle() == figure.layout.title.text


def test_a_contour_shows_where_constraints_hold(constrained):
    figure = numbo.plot.plot_contour(constrained, ["x", "y"])
    borders = [trace for trace in figure.data if trace.name == "infeasible: the pale side"]
    assert [trace.showlegend for trace in borders] == [True, False]
    border = borders[0]
    assert (border.contours.operation, border.contours.value) == (">", 0.5)  # Plotly shades what does not meet it
    for i, j in ((0, 0), (40, 40), (12, 10), (20, 30)):
        probability = constrained.predict_feasible({"x": float(border.x[j]), "y": float(border.y[i])})
        assert border.z[i][j] == pytest.approx(probability)
    assert border.z[12][10] > 0.5 > border.z[40][40]
    ax = numbo.plot.matplotlib.plot_contour(constrained, ["x", "y"])[0]
    dashed = [
        path.vertices
        for collection in ax.collections
        if collection.get_linestyle()[0][1] is not None
        for path in collection.get_paths()
    ]
    (line,) = [vertices for vertices in dashed if len(vertices)]
    found = constrained.predict_feasible([{"x": float(x), "y": float(y)} for x, y in line])
    assert np.median(np.abs(found - 0.5)) < 0.25  # between the points of the grid it is steep
    assert "infeasible: the pale side" in [text.get_text() for text in ax.figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", ["plot_contour", "plot_posterior", "plot_subset"])
def test_what_violates_a_constraint_is_a_cross(name, constrained):
    X, y = constrained.observations
    violated = np.array([limited({"x": x, "y": y}) > 0.0 for x, y in X])
    np.testing.assert_array_equal(constrained.snapshot().met, ~violated)
    kept = np.isin(np.arange(40), constrained.explain().members)
    figure = getattr(numbo.plot, name)(constrained)
    for label, rows in (
        ("observations", ~kept & ~violated),
        ("observations, infeasible", ~kept & violated),
        ("in the model", kept & ~violated),
        ("in the model, infeasible", kept & violated),
    ):
        trace = next(trace for trace in figure.data if trace.name == label)
        assert trace.marker.symbol == ("x" if "infeasible" in label else "circle")
        shown = X[rows, 1] if name == "plot_contour" and figure.layout.yaxis.title.text == "y" else y[rows]
        if name != "plot_contour" or figure.layout.yaxis.title.text == "y":
            np.testing.assert_allclose(trace.y, shown)
    ax = getattr(numbo.plot.matplotlib, name)(constrained)[0]
    sizes = {one.get_label(): len(one.get_offsets()) for one in ax.collections if one.get_label() in GROUPED}
    assert sizes == {label: len(next(t for t in figure.data if t.name == label).x) for label in GROUPED}


GROUPED = ("observations", "observations, infeasible", "in the model", "in the model, infeasible")


def test_as_long_as_nothing_is_feasible_slices_go_through_the_least_violation(infeasible):
    snapshot = infeasible.snapshot()
    assert snapshot.best_predicted() is None
    nearest = snapshot.least_violated()
    points = [infeasible.space.decode(x) for x in infeasible.observations[0]]
    assert limited(nearest) == min(map(limited, points))
    for name, what in (("plot_posterior", "Posterior"), ("plot_acquisition", "Acquisition function")):
        figure = getattr(numbo.plot, name)(infeasible)
        assert figure.layout.title.text == f"{what} through the point of least violation: none is feasible"
        assert [line.x0 for line in figure.layout.shapes] == [nearest["x"], nearest["y"]]
    figure = numbo.plot.plot_contour(infeasible, ["y", "x"])
    assert figure.layout.title.text == "Posterior through the point of least violation: none is feasible"
    border = next(trace for trace in figure.data if trace.name == "infeasible: the pale side")
    assert np.max(border.z) < 0.5  # all of it is pale


def test_a_branch_where_nothing_is_feasible(branching):
    opt = GSSBO(branching.space, seed=0, constraints=("c",))
    for x, value in zip(*branching.observations, strict=True):
        p = opt.space.decode(x)
        opt.tell(p, value, constraints={"c": p["slope"] - 0.5 if p["kind"] == "a" else p["width"]})
    snapshot = opt.snapshot()
    assert snapshot.best_predicted(["width"]) is None
    assert snapshot.least_violated(["width"])["kind"] == "b"
    assert snapshot.least_violated(["never"]) is None
    point = "best predicted point of each branch"
    expected = f"Posterior through the {point}, or, where none is feasible, the least violation"
    assert numbo.plot.plot_posterior(opt).layout.title.text == expected
    plane = Subject(opt).contour(["kind", "slope"])
    np.testing.assert_array_equal(np.isnan(plane.probability), np.isnan(plane.mean))
    assert numbo.plot.plot_contour(opt, ["kind", "slope"]).to_json()
    numbo.plot.matplotlib.plot_contour(opt, ["kind", "slope"])[0].figure.canvas.draw()
    with pytest.raises(ValueError, match="never is used where width is 9 and kind is a"):
        numbo.plot.plot_posterior(opt, ["never"])


def kinds_of_points(source):
    return {trace.name for trace in numbo.plot.plot_contour(source).data}


def test_constraints_of_a_study_are_drawn():
    study = optuna.create_study(sampler=GSSBOSampler(seed=0, constraints_func=lambda t: [0.5 - t.params["x"]]))
    study.optimize(lambda t: t.suggest_float("x", 0.0, 1.0) + t.suggest_float("y", 0.0, 1.0), n_trials=20)
    assert {"infeasible: the pale side", "in the model, infeasible"} <= kinds_of_points(study)


def test_constraints_of_a_searcher_are_drawn():
    tune = pytest.importorskip("ray.tune", reason="Ray Tune is not installed: pip install 'numbo[ray]'")
    from numbo.ray import GSSBOSearch

    space = {"x": tune.uniform(0.0, 1.0), "y": tune.uniform(0.0, 1.0)}
    searcher = GSSBOSearch(space, "loss", "min", seed=0, constraints={"loss": (">=", 0.5)})
    for i in range(20):
        config = searcher.suggest(str(i))
        searcher.on_trial_complete(str(i), {"loss": config["x"] + config["y"]})
    assert {"infeasible: the pale side", "in the model, infeasible"} <= kinds_of_points(searcher)


def test_without_constraints_nothing_is_said_of_them(optimizer):
    figure = numbo.plot.plot_contour(optimizer)
    assert not [trace for trace in figure.data if trace.name and "infeasible" in trace.name]
    assert optimizer.snapshot().constraints == ()
    assert optimizer.snapshot().met.all()

"""What earlier studies predict, against what came."""

from __future__ import annotations

import numpy as np
import pytest

import numbo.plot
import numbo.plot.matplotlib
from numbo import GSSBO, EarlierStudy, Float
from numbo.plot._studies import MOST

SPACE = {"x": Float(0, 1), "y": Float(0, 1)}


def bowl(p, shift=0.0):
    return (p["x"] - 0.3 - shift) ** 2 + (p["y"] - 0.6) ** 2


def searched(count=3, trials=12, **settings):
    rng = np.random.default_rng(0)
    points = [{"x": a, "y": b} for a, b in rng.random((40, 2))]
    names = ["<old>", "$new$", *(f"study {i}" for i in range(count))][:count]
    earlier = [EarlierStudy(points, [bowl(p, 0.05 * i) for p in points], name=name) for i, name in enumerate(names)]
    opt = GSSBO(SPACE, seed=0, earlier=earlier, **settings)
    for t in range(trials):
        p = opt.ask()
        opt.tell(p, None if t == 5 else bowl(p))
    return opt


def test_predictions_are_those_of_the_model():
    opt = searched()
    X, y = opt.observations
    found = opt.snapshot().study_predictions
    sources = opt._search.surrogate.gp.sources
    np.testing.assert_allclose(np.array(list(found.values())).T, sources.predicted(X), rtol=1e-9)
    assert set(found) == set(opt.explain().studies)
    figure = numbo.plot.plot_studies(opt)
    weights = opt.explain().studies
    names = sorted(weights, key=lambda name: -abs(weights[name]))
    told = np.isfinite(y)
    assert len(figure.data) == 3
    for name, trace in zip(names, figure.data, strict=True):
        np.testing.assert_allclose(trace.x, found[name][told], rtol=1e-9)
        np.testing.assert_allclose(trace.y, y[told])


def test_both_libraries_draw_the_same():
    opt = searched(count=5)
    figure = numbo.plot.plot_studies(opt)
    axes = [ax for ax in numbo.plot.matplotlib.plot_studies(opt) if ax.get_visible()]
    assert len(axes) == len(figure.data) == 5
    for ax, trace, title in zip(axes, figure.data, figure.layout.annotations, strict=True):
        np.testing.assert_allclose(ax.lines[0].get_xdata(), trace.x)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), trace.y)
        assert title.text == ax.get_title().replace("<", "&lt;").replace(">", "&gt;")


def test_the_studies_that_count_most_are_shown():
    opt = searched(count=MOST + 3)
    assert len(numbo.plot.plot_studies(opt).data) == MOST


def test_an_objective_of_several():
    rng = np.random.default_rng(0)
    points = [{"x": a, "y": b} for a, b in rng.random((40, 2))]
    earlier = [(points, [(bowl(p), p["x"]) for p in points])]
    opt = GSSBO(SPACE, seed=0, directions=["minimize", "minimize"], earlier=earlier)
    for _ in range(8):
        p = opt.ask()
        opt.tell(p, (bowl(p), p["x"]))
    np.testing.assert_allclose(numbo.plot.plot_studies(opt, objective=1).data[0].y, opt.observations[1][:, 1])


def test_without_a_study_there_is_nothing_to_see():
    opt = GSSBO(SPACE, seed=0)
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(ValueError, match="No earlier study has an influence"):
        numbo.plot.plot_studies(opt)

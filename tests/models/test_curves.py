"""Where learning curves end."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import MOSTLY, configured, history_of, over_seeds, pending_of, seeded

from numbo import BKB, GPUCB, GSSBO, Float, GSSBOSettings, Space
from numbo.models.curves import Chain
from numbo.trials import SCOUT, Curve
from numbo.trials.effort import effort

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
LAST = 27


def curves(n, seed, noise=0.02):
    """Curves that decay at different rates to different ends, larger values being better: (n, LAST)."""
    rng = np.random.default_rng(seed)
    ends, rates = rng.gamma(2.0, 0.2, n), np.exp(rng.normal(-2.0, 0.5, n))
    steps = np.arange(1, LAST + 1)
    decay = np.exp(-rates[:, None] * steps)
    return -(ends[:, None] + (2.0 - ends[:, None]) * decay + noise * rng.normal(size=(n, LAST)))


def curve(values, count=None):
    count = len(values) if count is None else count
    return Curve(np.arange(1.0, count + 1.0), np.asarray(values[:count]))


@pytest.mark.parametrize("count", [2, 4, 9, 19])
def test_intervals_hold_their_share_of_ends(count):
    """Of curves that the chain has not seen, where half of those that it has seen were stopped by the median rule."""
    inside, errors = [], []
    for seed in range(6):
        known, others = curves(80, seed), curves(200, seed + 100)
        stopped = (known[:, 5] < np.median(known[:, 5])) & (np.arange(80) >= 10)
        seen = [curve(v, 6 if stop else LAST) for v, stop in zip(known, stopped, strict=True)]
        chain = Chain(seen, np.where(stopped, np.nan, known[:, -1]))
        samples = chain.ends([curve(v, count) for v in others], 512)
        low, high = np.quantile(samples, (0.05, 0.95), axis=1)
        truth = chain.transformed(others[:, -1])
        inside.append(np.mean((low <= truth) & (truth <= high)))
        errors.append(np.std(truth - samples.mean(axis=1)) / np.std(truth))
    assert np.mean(inside) > 0.82
    assert np.mean(errors) < 0.9


def test_the_mean_of_all_ends_is_not_biased_by_what_was_stopped():
    """Those that were stopped would have ended worse; the mean of those that were not is far above that of all."""
    errors, naive = [], []
    for seed in range(10):
        values = curves(120, seed)
        stopped = (values[:, 3] < np.median(values[:, 3])) & (np.arange(120) >= 10)
        seen = [curve(v, 4 if stop else LAST) for v, stop in zip(values, stopped, strict=True)]
        chain = Chain(seen, np.where(stopped, np.nan, values[:, -1]))
        found = chain.ends([c for c, stop in zip(seen, stopped, strict=True) if stop]).mean()
        truth = chain.transformed(values[:, -1])
        errors.append(found - truth[stopped].mean())
        naive.append(truth[~stopped].mean() - truth[stopped].mean())
    assert abs(np.mean(errors)) < 0.35 * np.mean(naive)


@pytest.mark.parametrize("longer", [LAST + 1, 2 * LAST, 20 * LAST])
def test_one_curve_that_is_longer_than_all_others_changes_little(longer):
    """Those that end before its last step have ended, as well."""
    values = curves(60, 3)
    seen = [curve(v, LAST if k % 3 == 0 else 6) for k, v in enumerate(values)]
    ends = np.where(np.arange(60) % 3 == 0, values[:, -1], np.nan)
    stopped = [c for c in seen if len(c.steps) == 6]
    expected = Chain(seen, ends).ends(stopped)
    seen[0] = Curve(np.append(seen[0].steps, longer), np.append(seen[0].values, seen[0].last))
    found = Chain(seen, ends).ends(stopped)
    assert np.abs(found.mean(axis=1) - expected.mean(axis=1)).mean() < 0.2 * expected.mean(axis=1).std()
    assert (found.std(axis=1) > 0.5 * expected.std(axis=1)).all()


@pytest.mark.parametrize("count", [11, 13, 17, 20])
def test_curves_that_stop_between_rungs_are_not_biased(count):
    known, others = curves(100, 0), curves(100, 1)
    chain = Chain([curve(v) for v in known], known[:, -1])
    assert count not in chain.rungs
    truth = chain.transformed(others[:, -1])
    found = chain.ends([curve(v, count) for v in others]).mean(axis=1)
    assert abs(np.mean(truth - found)) < 0.12 * np.std(truth)


def test_one_trial_that_ended_does_not_say_where_all_others_end():
    values = curves(20, 0)
    seen = [curve(v, LAST if k == 0 else 4) for k, v in enumerate(values)]
    found = Chain(seen, np.where(np.arange(20) == 0, values[:, -1], np.nan)).ends(seen[1:])
    assert (found.std(axis=1) > 0.1).all()
    assert np.corrcoef(found.mean(axis=1), values[1:, 3])[0, 1] > 0.9


def test_a_curve_at_its_last_step_has_ended():
    values = curves(40, 0)
    chain = Chain([curve(v) for v in values], values[:, -1])
    samples = chain.ends([curve(v) for v in values[:10]], 256)
    truth = chain.transformed(values[:10, -1])
    assert np.abs(samples.mean(axis=1) - truth).max() < 0.35
    assert np.corrcoef(samples.mean(axis=1), truth)[0, 1] > 0.98


def test_the_better_of_two_curves_at_one_step_is_expected_to_end_better():
    values = curves(60, 1)
    chain = Chain([curve(v) for v in values], values[:, -1])
    for count in (1, 5, 12):
        order = np.argsort(values[:, count - 1])
        means = chain.ends([curve(v, count) for v in values[order]], 512).mean(axis=1)
        assert np.corrcoef(np.arange(60), means)[0, 1] > 0.85


def told(opt, n, seed=0, stopped=3):
    """Tell ``n`` points with their curves, of which all but every ``stopped``-th are stopped after 4 steps."""
    for i, values in enumerate(-curves(n, seed)):
        p = opt.ask()
        stop = i % stopped != 0
        reports = dict(enumerate(values[: 4 if stop else LAST].tolist(), start=1))
        opt.tell(p, reports[len(reports)], partial=stop, reports=reports)


@pytest.mark.parametrize("make", [GSSBO, GPUCB])
def test_reports_of_trials_that_end_change_nothing(make):
    one, other = make(SPACE, seed=0), make(SPACE, seed=0)
    for values in -curves(30, 0):
        p = one.ask()
        assert other.ask() == p
        one.tell(p, values[-1])
        other.tell(p, values[-1], reports=dict(enumerate(values.tolist())))


@pytest.mark.parametrize("make", [GSSBO, GPUCB])
def test_without_curves_the_last_value_of_a_trial_that_was_stopped_is_its_value(make):
    one, other = configured(make, SPACE, seed=0, use_curves=False), make(SPACE, seed=0)
    for i, values in enumerate(-curves(30, 0)):
        p = one.ask()
        assert other.ask() == p
        count = 4 if i % 3 else LAST
        one.tell(p, values[count - 1], partial=count < LAST, reports=dict(enumerate(values[:count].tolist())))
        other.tell(p, values[count - 1], partial=count < LAST)


@pytest.mark.parametrize("make", [GSSBO, GPUCB])
def test_a_restored_and_a_rebuilt_optimizer_go_on_in_the_same_way(make):
    opt = make(SPACE, seed=0)
    told(opt, 40)
    twin = make.from_state_dict(opt.state_dict())
    rebuilt = history_of(opt)
    stopped = [i for i in range(40) if rebuilt.stopped[i]]
    known = [curve for curve in opt.snapshot().curves() if curve.kind == "pruned"]
    np.testing.assert_array_equal([-curve.end for curve in known], rebuilt.y[stopped])
    np.testing.assert_array_equal([curve.std for curve in known], np.sqrt(rebuilt.variance[stopped]))
    for values in -curves(15, 9):
        p = opt.ask()
        assert twin.ask() == p
        reports = dict(enumerate(values[:3].tolist(), start=1))
        opt.tell(p, values[2], partial=True, reports=reports)
        twin.tell(p, values[2], partial=True, reports=reports)


def test_the_best_trial_is_one_that_ended():
    opt = GSSBO(SPACE, seed=0)
    told(opt, 20)
    p = opt.ask()
    opt.tell(p, -1e3, partial=True, reports={1: -1e3})
    assert opt.best[1] > -1e3


@over_seeds()
def test_the_end_of_a_trial_is_predicted_in_the_units_of_the_objective():
    opt = GSSBO(SPACE, seed=seeded(0))
    told(opt, 60)
    others = -curves(60, 8)
    found = np.array([opt.predict_end(dict(enumerate(v[:9].tolist(), start=1))) for v in others])
    assert np.corrcoef(found[:, 0], others[:, -1])[0, 1] > 0.8, MOSTLY
    assert np.mean(np.abs(found[:, 0] - others[:, -1]) < 1.645 * found[:, 1]) > 0.8, MOSTLY
    most = GSSBO(SPACE, direction="maximize", seed=seeded(0))
    for values in curves(20, 0):
        most.tell(most.ask(), values[-1], reports=dict(enumerate(values.tolist(), start=1)))
    assert -3.0 < most.predict_end({1: -1.9})[0] < 0.0, MOSTLY


def test_an_end_that_nothing_is_known_of_is_not_predicted():
    opt = GSSBO(SPACE, seed=0)
    with pytest.raises(ValueError, match="needs a trial that has ended and reported something"):
        opt.predict_end({1: 1.0})
    told(opt, 3)
    with pytest.raises(ValueError, match=r"reports must hold at least one number, got \{1: nan\}"):
        opt.predict_end({1: np.nan})
    with pytest.raises(ValueError, match="which this GSSBO does not use"):
        GSSBO(SPACE, settings=GSSBOSettings(use_curves=False)).predict_end({1: 1.0})
    with pytest.raises(ValueError, match="which this BKB does not use"):
        BKB(SPACE).predict_end({1: 1.0})
    with pytest.raises(ValueError, match=r"^A step of reports must be a finite number, got inf\.$"):
        opt.predict_end({np.inf: 1.0})
    with pytest.raises(ValueError, match=r"^A step of reports must be a finite number, got 'a'\.$"):
        BKB(SPACE).tell({"x": 0.5, "y": 0.5}, 1.0, reports={"a": 1.0})


def test_reports_of_several_points_or_of_no_steps_are_refused_and_change_nothing():
    opt, twin = GSSBO(SPACE, seed=0), GSSBO(SPACE, seed=0)
    told(opt, 20)
    told(twin, 20)
    p, q = opt.ask(), twin.ask()
    assert p == q
    with pytest.raises(ValueError, match="reports are those of one point"):
        opt.tell([p, p], [1.0, 2.0], reports={1: 1.0})
    with pytest.raises(ValueError, match=r"reports must be a mapping .*got \[1, 2\]"):
        opt.tell(p, 1.0, reports=[1, 2])
    with pytest.raises(ValueError, match=r"^A step of reports must be a finite number, got 'a'\.$"):
        opt.tell(p, 1.0, reports={"a": 1.0})
    with pytest.raises(ValueError, match=r"^partial must be one of True, False, got 'yes'\.$"):
        opt.tell(p, 1.0, partial="yes", reports={1: 2.0})
    opt.tell(p, 1.0)
    twin.tell(p, 1.0)
    assert opt.ask() == twin.ask()


@pytest.mark.parametrize("seed", range(6))
def test_a_trial_that_was_stopped_counts_for_a_local_search_as_far_as_it_is_certain(seed):
    """Values that do not depend on the parameters are taken for noise, for some of the seeds."""
    opt = GSSBO(SPACE, seed=seed)
    for _ in range(6):
        told(opt, 10, seed)
        history, region = history_of(opt), opt.explain().region
        if region.center >= 0 and history.stopped[region.center] and not opt.explain().noisy:
            final = [i for i in range(history.n) if not history.stopped[i]]
            assert history.y[region.center] >= history.y[final].max() - 1e-12 or region.number > 0


@pytest.mark.parametrize("seed", range(3))
@over_seeds()
def test_where_few_trials_run_to_their_end_the_search_does_not_stay_at_these(seed):
    """What is told at the end is worse than the last report by the same in all."""
    opt, last = GSSBO({"x": Float(0.0, 1.0)}, seed=seeded(seed)), []
    for i in range(60):
        p = opt.ask()
        value = (p["x"] - 0.3) ** 2
        reports = {k: value + 1.0 / (k + 1) for k in range(5)}
        whole = i % 30 == 0
        opt.tell(p, value + 0.2 if whole else reports[4], partial=not whole, reports=reports)
        last.append(p["x"])
    assert np.median(np.abs(np.array(last[-20:]) - 0.3)) < 0.1, MOSTLY


@pytest.mark.parametrize("steps", [1, 5])
@over_seeds()
def test_where_none_runs_to_its_end_the_last_step_is_the_end(steps):
    distances = []
    for seed in range(3):
        opt = GSSBO(Space({"x": Float(-1.0, 1.0), "y": Float(-1.0, 1.0)}), seed=seeded(seed))
        for _ in range(60):
            p = opt.ask()
            end = 0.1 + (p["x"] - 0.3) ** 2 + (p["y"] + 0.2) ** 2
            reports = {k: end + 2.0 * np.exp(-k / 6) for k in range(steps)}
            opt.tell(p, reports[steps - 1], partial=True, reports=reports)
            distances.append(np.hypot(p["x"] - 0.3, p["y"] + 0.2))
    assert np.median(np.array(distances).reshape(3, 60)[:, -20:]) < 0.05, MOSTLY


@over_seeds()
def test_values_of_trials_without_reports_say_nothing_of_curves():
    """They may be close together, and logarithms of their distances would reach far."""
    opt = GSSBO({"x": Float(0.0, 1.0)}, seed=seeded(0))
    for _ in range(40):
        p = opt.ask()
        opt.tell(p, (p["x"] - 0.3) ** 2)
    opt.tell({"x": 0.9}, 0.5, partial=True, reports={0: 5.0, 1: 3.0})
    assert opt.predict_end({0: 4.0})[1] < 5.0, MOSTLY
    opt.tell({"x": 0.8}, 0.25, reports={0: 4.0, 1: 2.0, 2: 0.25})
    assert opt.predict_end({0: 5.0, 1: 3.0})[1] < 5.0, MOSTLY


@over_seeds()
def test_a_running_trial_far_better_than_all_is_expected_to_stay_better():
    opt = GSSBO(SPACE, seed=seeded(0))
    for _ in range(30):
        p = opt.ask()
        e = (p["x"] - 0.3) ** 2 + (p["y"] - 0.3) ** 2
        opt.tell(p, e, reports={t: e + 2.0 * np.exp(-t / 4) for t in range(1, 21)})
    value, std = opt.predict_end({t: -5.0 + 2.0 * np.exp(-t / 4) for t in range(1, 20)})
    assert -5.0 < value < -1.0, MOSTLY
    assert 0.5 < std < 5.0, MOSTLY


def test_nothing_is_fitted_as_long_as_nothing_is_stopped(monkeypatch):
    fitted = []

    class Counted(Chain):
        def __init__(self, *args):
            fitted.append(args)
            super().__init__(*args)

    monkeypatch.setattr("numbo.models.curves.Chain", Counted)
    opt = GSSBO(SPACE, seed=0)
    told(opt, 30, stopped=1)
    assert not fitted
    told(opt, 2, stopped=2)
    assert fitted


def test_a_share_of_the_reports_fills_the_space_as_stopping_saves():
    opt = GSSBO(SPACE, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(120):
        p = opt.ask()
        (pending,) = pending_of(opt).values()
        scout = pending.origin == SCOUT
        count = 3 if scout else LAST
        values = rng.random() + 1.0 / np.arange(1, count + 1)
        opt.tell(p, values[-1], partial=scout, reports=dict(enumerate(values.tolist(), start=1)))
        if opt.n_told == 5:  # the first one that is stopped
            opt.tell({"x": 0.5, "y": 0.5}, 1.0, partial=True, reports={1: 1.0})
    known = history_of(opt).fact(effort)
    saved = 1.0 - known.spent / (known.trials * LAST)
    assert saved > 0.5
    due = 0.5 * saved * known.spent
    assert 0.9 * due < known.scouted <= due + LAST
    none = GSSBO(SPACE, seed=0, settings=GSSBOSettings(scouting=0.0))
    told(none, 40)
    assert history_of(none).fact(effort).scouts == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308, 5e-324, 0.0])
def test_curves_of_any_values_leave_finite_expectations(value):
    opt = GSSBO(SPACE, seed=0)
    told(opt, 12)
    for k in range(6):
        reports = {1: value, 2: -value if k % 2 else value, 3: 1.0}
        opt.tell(opt.ask(), 1.0, partial=True, reports=reports)
        opt.tell(opt.ask(), value, reports=reports)
    known = [curve for curve in opt.snapshot().curves() if curve.kind == "pruned"]
    assert np.isfinite([curve.end for curve in known[-6:]]).all()
    assert not np.isnan([curve.std for curve in known]).any()
    assert np.isfinite(history_of(opt).values()).all()
    opt.ask()


def test_curves_may_start_anywhere_grow_longer_and_have_other_steps():
    opt = GSSBO(SPACE, seed=0)
    rng = np.random.default_rng(0)
    for i in range(40):
        steps = np.sort(rng.choice(np.arange(1, 10 + 5 * i), size=rng.integers(1, 10), replace=False)) * 0.5
        reports = {float(s): float(rng.normal()) for s in steps}
        opt.tell(opt.ask(), reports[max(reports)], partial=bool(i % 3), reports=reports)
    ends = [(curve.end, curve.std) for curve in opt.snapshot().curves() if curve.kind == "pruned"]
    assert np.isfinite(ends).all()


@pytest.mark.parametrize("value", [1e300, -1e300, 5e-324])
@pytest.mark.parametrize("last", [1e300, -1e300, 0.0])
def test_leads_of_any_size_leave_finite_expectations(value, last):
    """Values that nearly tie set a scale on which others are farther away than any double."""
    opt = GSSBO(SPACE, seed=0)
    for i in range(8):
        opt.tell(opt.ask(), 1.0 + 1e-13 * i, reports={1: 1.0 + 1e-14 * i, 2: 1.0})
    opt.tell(opt.ask(), value, partial=True, reports={1: value})
    opt.tell(opt.ask(), last, partial=True, reports={1: last, 2: value})
    ends = [(curve.end, curve.std) for curve in opt.snapshot().curves() if curve.kind == "pruned"]
    assert len(ends) == 2
    assert np.isfinite(ends).all()
    opt.ask()

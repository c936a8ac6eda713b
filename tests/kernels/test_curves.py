"""Kernels of learning curves, against interpolation."""

from __future__ import annotations

import numpy as np

from numbo.kernels.curves import carry, of_equal_rank, scores_of


def test_normal_scores_of_a_sample_are_quantiles_and_ties_share_theirs():
    values = np.array([0.0, 1.0, 1.0, 1.0, 5.0])
    scores = np.array([-1.28, -0.52, 0.0, 0.52, 1.28])
    found = scores_of(values, scores, np.array([0.0, 1.0, 5.0, 0.5, -1e9, 1e9]))
    np.testing.assert_allclose(found[:3], [-1.28, 0.0, 1.28], atol=1e-12)
    assert -1.28 < found[3] < 0.0
    assert found[4] == -1.28 - 3.0  # what lies beyond is farther out, but not without end
    assert found[5] == 1.28 + 3.0


def naive_carry(samples, scores, counts, coefficients, spreads, noise, z, before, first, E):
    """`carry` by interpolation, for values inside of the samples."""
    out = np.empty((len(z), len(E)))
    for i in range(len(z)):
        for j, e in enumerate(E):
            now, last = z[i], before[i]
            for k in range(first[i], len(counts)):
                if n := counts[k]:
                    s = scores[k, :n]
                    score = np.interp(now, samples[k, 1, :n], s)
                    rise = score - np.interp(last, samples[k, 0, :n], s) if k > 0 and not np.isnan(last) else 0.0
                    f = np.array([score, rise])
                    beyond = 0.5 * max(abs(score) - s[-1], 0.0)
                    variance = noise[k] ** 2 * (1.0 + f @ spreads[k] @ f) + beyond**2 + np.pi / (2 * n)
                    score = coefficients[k] @ f + np.sqrt(variance) * e[k]
                    last, now = now, np.interp(score, s, samples[k, 2, :n])
            out[i, j] = now
    return out


def test_carry_is_interpolation_step_by_step():
    rng = np.random.default_rng(0)
    r, n, m = 4, 30, 7
    samples = np.sort(rng.normal(size=(r, 3, n)), axis=2)
    samples[:, :, 0], samples[:, :, -1] = -9.0, 9.0
    scores = np.sort(rng.normal(size=(r, n)), axis=1)
    counts = np.array([n, n, 0, n])
    coefficients, noise = rng.uniform(0.1, 0.5, (r, 2)), np.full(r, 0.1)
    z, before, first = rng.normal(size=m), rng.normal(size=m), rng.integers(0, r, m)
    before[0] = np.nan
    roots = rng.normal(size=(r, 2, 2))
    spreads = 0.1 * roots @ roots.transpose(0, 2, 1)
    E = 0.5 * rng.normal(size=(20, r))
    given = samples, scores, counts, coefficients, spreads, noise, z, before, first, E
    np.testing.assert_allclose(carry(*given), naive_carry(*given), atol=1e-12)


def test_a_sample_of_one_value_keeps_others_apart():
    """As far as they are: a spread of 1 is all that is known."""
    found = scores_of(np.array([2.0]), np.array([0.0]), np.array([1.0, 2.0, 3.5]))
    np.testing.assert_allclose(found, [-1.0, 0.0, 1.5])
    assert scores_of(np.empty(0), np.empty(0), np.array([1.0])).tolist() == [0.0]


def test_values_of_equal_rank():
    values, others, scores = np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0, 9.0]), np.array([-1.0, 0.0, 1.0])
    found = of_equal_rank(values, others, scores, np.array([0.0, 1.0, 2.0, 0.5]))
    np.testing.assert_allclose(found, [5.0, 6.0, 9.0, 5.5])


def test_values_beyond_a_sample_go_on_as_its_tails_do():
    """A straight line of values by scores, kept whole: a value beyond either end stays where it is."""
    n = 11
    scores = np.linspace(-1.5, 1.5, n)
    values = 2.0 * scores
    samples = np.array([[values, values, values]])
    z = np.array([-4.0, -3.0, 0.5, 3.0, 4.0])
    kept, none = np.array([[1.0, 0.0]]), np.zeros((1, 2, 2))
    E = np.zeros((1, 1))
    given = samples, scores[None], np.array([n]), kept, none, np.zeros(1), z, z, np.zeros(5, dtype=np.int64), E
    np.testing.assert_allclose(carry(*given)[:, 0], z, atol=1e-12)


def test_a_lead_beyond_all_ranks_may_be_kept_or_lost():
    """The end then lies anywhere between where the best ones went and where the lead would take it."""
    n = 11
    scores = np.linspace(-1.5, 1.5, n)
    values = 2.0 * scores
    samples = np.array([[values, values, values]])
    lead = 1000.0
    z = np.array([9.0, 9.0 + lead, -9.0 - lead])  # scores end at 3 beyond those of the sample, which is at 9
    kept, none = np.array([[1.0, 0.0]]), np.zeros((1, 2, 2))
    E = np.zeros((50, 1))
    given = samples, scores[None], np.array([n]), kept, none, np.zeros(1), z, z, np.zeros(3, dtype=np.int64), E
    found = carry(*given)
    np.testing.assert_allclose(found[0], 9.0, atol=1e-9)
    np.testing.assert_allclose(found[1:].mean(axis=1), [9.0 + lead / 2, -9.0 - lead / 2], rtol=1e-9)
    assert found[1].min() > 9.0
    assert found[1].max() < 9.0 + lead
    assert found[1].std() > 0.28 * lead

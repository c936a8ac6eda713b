"""Space-filling points: a Sobol sequence without what is taken."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import qmc

from numbo import Arms, Categorical, Float, Int, Space
from numbo.models.noise import Noise
from numbo.run.availability import Availability, Places
from numbo.run.candidates import Candidates
from numbo.run.design import ANYWHERE, BLOCK, WINDOW, Design
from numbo.trials import History

CUBE = Space({name: Float(0.0, 1.0) for name in "wxyz"})
MIXED = Space({"x": Float(0.0, 1.0), "k": Int(1, 9), "act": Categorical(["a", "b"])})


def design(space=CUBE, seed=3):
    history = History(space.d)
    available = Availability(Places.of(space), history, SimpleNamespace(patience=1, learn=True), [Noise(history)], True)
    return Design(available, Candidates(space, seed)), available, history


@pytest.mark.parametrize("space", [CUBE, MIXED], ids=["cube", "mixed"])
def test_points_are_those_of_a_scrambled_sobol_sequence_however_far_one_goes(space):
    sequence, _, _ = design(space)
    expected = space.snap(qmc.Sobol(space.d, scramble=True, rng=3).random(2**11))
    for position in (0, 1, 17, WINDOW, 3 * WINDOW, 1900, 5):
        np.testing.assert_array_equal(sequence.point(position), expected[position])


def test_the_usual_point_has_middles_and_first_categories():
    space = Space({"rate": Float(1e-4, 1.0, log=True), "k": Int(1, 9), "act": Categorical(["relu", "tanh", "elu"])})
    sequence, available, history = design(space)
    first = space.decode(sequence.usual())
    assert first["rate"] == pytest.approx(1e-2)
    assert (first["k"], first["act"]) == (5, "relu")
    kept = replace(sequence, available=replace(available, fixed=space.partial({"act": "elu"})))
    assert space.decode(kept.usual()) == first | {"act": "elu"}
    history.exclude(sequence.usual())
    assert sequence.usual() is None
    assert design(Arms(np.eye(3)))[0].usual() is None


def test_what_is_taken_is_passed_over():
    sequence, _, history = design()
    first, second, third = (sequence.point(k) for k in range(3))
    history.exclude(first)
    history.exclude(second)
    np.testing.assert_array_equal(sequence.point(0), third)


def test_where_the_sequence_shows_no_free_point_the_grid_does():
    space = Space({"k": Int(0, 999)})
    sequence, _, history = design(space)
    for row in (row for row in range(1000) if row not in (123, 877)):
        history.add(space.grid()[row], 1.0, {}, -1)
    assert {space.decode(sequence.point(position))["k"] for position in range(20)} == {123, 877}
    for row in (123, 877):
        history.add(space.grid()[row], 1.0, {}, -1)
    assert sequence.point(7) in space.grid()  # a repeat, as there is nothing else


def test_once_all_was_tried_successes_are_measured_again_and_not_failures():
    space = Space({"k": Int(0, 9)})
    sequence, _, history = design(space)
    for k in range(10):
        history.add(space.grid()[k], None if k % 2 else 1.0, {}, -1)
    assert {space.decode(sequence.point(position))["k"] for position in range(20)} == {0, 2, 4, 6, 8}


def test_positions_are_shuffled_within_blocks_and_no_stride_stays_in_one_half():
    sequence, _, _ = design()
    shuffled = [sequence.shuffled(position) for position in range(8 * BLOCK)]
    for block in range(8):
        part = shuffled[block * BLOCK : (block + 1) * BLOCK]
        assert sorted(part) == list(range(block * BLOCK, (block + 1) * BLOCK))
    for stride in (2, 3, 4, 8):
        above = np.array([sequence.point(position) for position in shuffled[::stride]]) > 0.5
        assert ((above.mean(axis=0) > 0.1) & (above.mean(axis=0) < 0.9)).all()
    plain = np.array([sequence.point(position) for position in range(0, 8 * BLOCK, 4)]) > 0.5
    assert (plain == plain[0]).all(axis=0).any()  # as it would be otherwise


def test_points_have_the_values_that_are_fixed():
    sequence, available, _ = design(MIXED)
    kept = replace(sequence, available=replace(available, fixed=MIXED.partial({"k": 4})))
    assert {MIXED.decode(kept.point(position))["k"] for position in range(10)} == {4}


def test_points_anywhere_are_points_of_the_sequence_by_their_seed():
    sequence, _, _ = design()
    known = {tuple(x) for x in CUBE.snap(qmc.Sobol(4, scramble=True, rng=3).random(2 * ANYWHERE))}
    found = [tuple(sequence.anywhere((5, k))) for k in range(30)]
    assert set(found) <= known
    assert len(set(found)) > 25
    assert found[3] == tuple(sequence.anywhere((5, 3)))


def test_the_same_design_where_other_points_may_be_suggested():
    sequence, _, history = design()
    first = sequence.point(0)
    history.exclude(first)
    _, available, _ = design()
    twin = replace(sequence, available=available)
    np.testing.assert_array_equal(twin.point(0), first)
    assert not np.array_equal(sequence.point(0), first)

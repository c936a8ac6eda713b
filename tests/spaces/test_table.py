"""A table of candidates as a search space."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.helpers import MOSTLY, configured, over_seeds, seeded

from numbo import BBKB, BKB, GPUCB, GSSBO, SBPE, Table


def frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "rate": 10.0 ** rng.uniform(-5, -1, n),
            "layers": rng.integers(1, 6, n),
            "act": rng.choice(["relu", "tanh", "gelu"], n),
            "bias": rng.random(n) < 0.5,
            "same": 3,
        },
        index=np.arange(1000, 1000 + n),
    )


def loss(row):
    return (np.log10(row["rate"]) + 3.0) ** 2 + 0.3 * row["layers"] + (row["act"] != "gelu") - 0.2 * row["bias"]


def test_columns_become_features():
    data = frame()
    table = Table(data, log=["rate"])
    assert table.names == ["rate", "layers", *(f"act={t}" for t in dict.fromkeys(data["act"])), "bias"]
    X, logs = table.grid(), np.log(data["rate"].to_numpy())
    np.testing.assert_allclose(X[:, 0], (logs - logs.min()) / np.ptp(logs))
    np.testing.assert_array_equal(X[:, table.names.index("act=tanh")], data["act"] == "tanh")
    assert len(table) == 400


def test_a_row_has_the_values_of_all_columns():
    data = frame()
    table = Table(data, columns=["rate"])
    row = table.row(7)
    assert table.names == ["rate"]
    assert row == data.iloc[7].to_dict()
    assert {name: type(value) for name, value in row.items()} == {
        "rate": float,
        "layers": int,
        "act": str,
        "bias": bool,
        "same": int,
    }


def test_a_mapping_of_columns_is_the_same():
    data = frame()
    a, b = Table(data), Table({name: list(data[name]) for name in data})
    np.testing.assert_array_equal(a.grid(), b.grid())
    assert a.names == b.names


def test_points_name_their_row():
    table = Table(frame())
    for row in (0, 17, 399):
        assert table.decode(table.encode({"row": row})) == {"row": row}
    assert table["row"].contains(399)
    assert not table["row"].contains(400)
    assert list(table) == ["row"]


@pytest.mark.parametrize("optimizer", [GSSBO, BBKB])
@over_seeds()
def test_the_best_row_is_found(optimizer):
    data = frame(3000)
    losses = np.array([loss(row) for row in data.to_dict("records")])
    table = Table(data, log=["rate"])
    opt = configured(optimizer, table, direction="minimize", avoid_repeats="auto", seed=seeded(0))
    for _ in range(60):
        p = opt.ask()
        opt.tell(p, loss(table.row(p["row"])))
    assert np.sum(losses < opt.best[1]) <= 5, MOSTLY
    clone = optimizer.from_state_dict(pickle.loads(pickle.dumps(opt.state_dict())))
    assert clone.ask() == opt.ask()


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (3, {}, "data must be a DataFrame or a mapping of names to columns, got int"),
        (np.ones((3, 2)), {}, "data must be a DataFrame or a mapping of names to columns, got ndarray"),
        ({}, {}, "data must be a DataFrame or a mapping of names to columns, got dict"),
        ({"a": []}, {}, r"columns of equal length and at least one row, got \{'a': 0\}"),
        ({"a": [1, 2], "b": [1]}, {}, r"columns of equal length and at least one row, got \{'a': 2, 'b': 1\}"),
        ({"a": 3}, {}, "Column 'a' must be a sequence, got 3"),
        ({"a": [1.0, np.nan]}, {}, "Column 'a' lacks a value in row 1"),
        ({"a": ["x", None]}, {}, "Column 'a' lacks a value in row 1"),
        ({"a": [1.0, np.inf]}, {}, "Column 'a' must be finite, got inf"),
        ({"a": [1.0, "x"]}, {}, "Column 'a' must hold numbers, booleans or texts, of one kind, got 1.0"),
        ({"a": [[1], [2]]}, {}, r"Column 'a' must hold numbers, booleans or texts, of one kind, got \[1\]"),
        ({"a": [1.0, 0.0]}, {"log": ["a"]}, "Column 'a' must be positive for log, got 0.0"),
        ({"a": ["x", "y"]}, {"log": ["a"]}, "Column 'a' must hold positive numbers for log, got 'x'"),
        ({"a": [1.0, 2.0]}, {"log": ["b"]}, "log must be a list of names of columns of data, got 'b'"),
        ({"a": [1.0, 2.0]}, {"columns": "a"}, "columns must be a list of names of columns of data, got 'a'"),
        ({"a": [str(i) for i in range(300)]}, {}, "Column 'a' has 300 different texts, and at most 256"),
    ],
)
def test_bad_tables_get_one_clear_sentence(data, options, words):
    with pytest.raises(ValueError, match=words) as error:
        Table(data, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("point", [3, {"row": 400}, {"row": -1}, {"row": 0.5}, {"line": 3}, {"row": 1, "x": 2}, None])
def test_what_is_no_row_is_refused(point):
    with pytest.raises(ValueError, match=r"must be"):
        Table(frame()).encode(point)


@pytest.mark.parametrize("data", [{"a": [5, 5, 5]}, {"a": [1], "b": ["x"]}, {"a": [True, False]}])
def test_tables_with_hardly_anything_in_them_work(data):
    table = Table(data)
    opt = GSSBO(table, seed=0, n_initial=2)
    for _ in range(15):
        p = opt.ask()
        assert table.row(p["row"]).keys() == data.keys()
        opt.tell(p, float(p["row"]))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_value_is_named(missing):
    with pytest.raises(ValueError, match="Column 'a' lacks a value in row 1"):
        Table({"a": [1, missing, 2]})


def test_iterators_name_columns_and_names_must_differ():
    data = {"a": [1.0, 10.0, 1000.0], "b": [1, 2, 3], "c": ["x", "y", "x"]}
    table = Table(data, columns=(name for name in "ab"), log=(name for name in "a"))
    assert table.names == ["a", "b"]
    np.testing.assert_allclose(table.grid()[:, 0], [0.0, 1.0 / 3.0, 1.0])
    with pytest.raises(ValueError, match="different names, got 'c' twice"):
        Table(pd.DataFrame([[1, 2, 3]], columns=["a", "c", "c"]))
    for wrong in (True, None, "a"):
        with pytest.raises(ValueError, match="log must be a list of names of columns"):
            Table(data, log=wrong)


def test_large_integers_are_told_apart():
    for base in (10**18, 2**63):
        assert Table({"a": [base + i for i in range(6)]}).grid()[:, 0].tolist() == pytest.approx(
            [0, 0.2, 0.4, 0.6, 0.8, 1]
        )


@pytest.mark.parametrize(("outlier", "log"), [(1e4, False), (1e4, True), (1.0, False)])
def test_a_column_with_an_outlier_gets_a_warning(outlier, log):
    values = np.append(np.random.default_rng(0).uniform(0.1, 1.0, 500), outlier)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Table({"a": values, "rare": np.arange(501) == 7}, log=["a"] * log)
    told = [str(w.message) for w in caught]
    assert len(told) == (outlier > 1.0 and not log)
    assert all("Column 'a' has outliers" in message for message in told)
    assert all(w.filename == __file__ for w in caught)


@pytest.mark.parametrize("optimizer", [GSSBO, GPUCB, BKB, BBKB, SBPE])
def test_equal_rows_are_one_candidate(optimizer):
    """Twice the same rows are suggested as if they were there once, until all were."""
    rows = {"a": [i // 5 for i in range(20)], "b": [i % 5 for i in range(20)]}
    opt = configured(optimizer, Table({name: 2 * column for name, column in rows.items()}), avoid_repeats=True, seed=0)
    seen = []
    for _ in range(20):
        assert not opt.exhausted
        p = opt.ask()
        seen.append(p["row"])
        opt.tell(p, -((rows["a"][p["row"] % 20] - 1) ** 2) - rows["b"][p["row"] % 20])
    assert sorted(seen) == list(range(20))
    assert opt.exhausted


def test_a_mask_is_no_arm():
    with pytest.raises(ValueError, match="An arm must be an integer from 0 to 1, got"):
        GSSBO(arms=np.eye(2)).tell(np.array([True, False]), [1.0, 2.0])

"""Docstrings of classes, completed by what their bases and others describe."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from numbo._descriptions import as_in, completed


class Ground:
    """What all have.

    Args:
        a: as everywhere, in two
            lines.
        b: of the ground.

    Raises:
        ValueError: always.
    """


class Other:
    """Elsewhere.

    Args:
        b: of the other.
        c: of the other.
    """


Ground.__module__ = Other.__module__ = "numbo.made.up"


class Upper(Ground):
    """The first line.

    More of it.

    Args:
        b: its own: with a colon.

    Attributes:
        d: an attribute.
    """


def test_own_descriptions_come_before_those_of_bases_and_these_before_others():
    assert (
        completed(Upper, ["c", "a", "b", "unknown"], [Other])
        == inspect.cleandoc(
            """The first line.

        More of it.

        Args:
            c: of the other.
            a: as everywhere, in two
                lines.
            b: its own: with a colon.

        Attributes:
            d: an attribute.

        Raises:
            ValueError: always.
        """
        )
        + "\n"
    )


def test_it_changes_nothing_where_it_is_applied_again():
    Upper.__doc__ = first = completed(Upper, ["a", "b", "c"], [Other])
    assert completed(Upper, ["a", "b", "c"], [Other]) == first


def test_methods_are_described_as_those_of_another_class_and_as_those_before():
    class Answers:
        def one(self, a, b):
            """Answers.

            Args:
                a: of the answers.
                b: of the answers.

            Raises:
                ValueError: never.
            """

    @as_in(Answers)
    class Asked:
        def one(self, a, b, c):
            """Asks.

            Args:
                a: its own.
                c: its own, too.
            """

        def two(self, c):
            """Another."""

        def three(self):
            return 3

    arguments = "\nArgs:\n    a: its own.\n    b: of the answers.\n    c: its own, too.\n"
    assert Asked.one.__doc__ == f"Asks.\n{arguments}\nRaises:\n    ValueError: never.\n"
    assert Asked.two.__doc__ == "Another.\n\nArgs:\n    c: its own, too.\n"
    assert Asked.three.__doc__ is None


def test_a_class_without_a_docstring_gets_none():
    class Silent(Upper):
        pass

    assert completed(Silent, ["a"]) is None


@pytest.mark.parametrize("flag", ["-O", "-OO"])
def test_python_may_drop_docstrings(flag):
    code = "from numbo.optuna import GSSBOSampler; GSSBOSampler(seed=0); print(bool(GSSBOSampler.__doc__))"
    done = subprocess.run([sys.executable, flag, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(flag == "-O")]

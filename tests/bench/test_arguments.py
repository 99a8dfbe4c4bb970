"""What flags of benches may be given, and what is said to the rest."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import pytest

from bench.arguments import some_of, within


def test_number_within_bounds_is_taken() -> None:
    assert (within(int, 1, 9)("9"), within(float, 0.5, 10)("0.5")) == (9, 0.5)
    assert isinstance(within(float, 1, 9)("2"), float)


def test_names_are_taken_in_their_order_each_once() -> None:
    assert some_of(["cpu", "gpu", "memory"])("memory,cpu,memory") == ["memory", "cpu"]


@pytest.mark.parametrize(
    ("parse", "text", "allowed"),
    [
        (within(int, 1, 9), "0", "1 to 9"),
        (within(int, 1, 9), "1.5", "1 to 9"),
        (within(float, 0.5, math.inf), "nan", "0.5 to inf"),
        (within(float, 1, 9, ", or none"), "all", "1 to 9, or none"),
        (some_of(["cpu", "gpu"]), "gpu,", "cpu, gpu"),
    ],
)
def test_anything_else_is_told_what_is_allowed(parse: Callable[[str], object], text: str, allowed: str) -> None:
    wrong = text.rpartition(",")[2]
    with pytest.raises(argparse.ArgumentTypeError, match=f"^'{wrong}' is not allowed; allowed: {allowed}$"):
        parse(text)

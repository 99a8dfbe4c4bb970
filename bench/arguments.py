"""What flags may be given: numbers within bounds, names of what there is.

Each function makes a type for argparse, whose complaint names the flag: https://docs.python.org/3/library/argparse.html.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Collection
from typing import TypeVar

DAY_S = 86400
MOST_SEED = 2**32 - 1

Number = TypeVar("Number", bound=float)


def within(kind: Callable[[str], Number], least: float, most: float, others: str = "") -> Callable[[str], Number]:
    """A number of a kind, from ``least`` to ``most``; ``others`` tells what else the flag allows."""

    def parse(text: str) -> Number:
        with contextlib.suppress(ValueError):
            value = kind(text)
            if least <= value <= most:  # NaN is not
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; allowed: {least} to {most}{others}")

    return parse


def some_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Names by comma, each once."""

    def parse(text: str) -> list[str]:
        names = list(dict.fromkeys(text.split(",")))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not allowed; allowed: {', '.join(known)}")
        return names

    return parse

"""The examples in the detector's docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import detector

MODULES = [
    module.name
    for module in pkgutil.walk_packages(detector.__path__, "detector.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_several_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 8

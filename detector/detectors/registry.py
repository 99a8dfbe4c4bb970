"""Finds the detectors: one module each in this package, one ``Detector`` in each module."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from detector import detectors
from detector.detectors.protocol import Detector


@cache
def registered() -> dict[str, type[Detector]]:
    """All detectors by name, in the order of their names."""
    found: dict[str, type[Detector]] = {}
    for module in pkgutil.iter_modules(detectors.__path__, "detector.detectors."):
        for _, value in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(value, Detector) and value.__module__ == module.name and not inspect.isabstract(value):
                assert value.name not in found, f"two detectors are called {value.name}"
                found[value.name] = value
    return dict(sorted(found.items()))

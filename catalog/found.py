"""What is found by its folder: one module for each, so that adding one touches no list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC
from collections.abc import Iterable
from typing import ClassVar, Self


class Found(ABC):
    """What all of one folder are; ``name`` tells them apart."""

    name: ClassVar[str]

    @classmethod
    def found(cls, path: Iterable[str], package: str) -> dict[str, type[Self]]:
        """Those that the modules of the package at ``path`` define, by name."""
        kinds: dict[str, type[Self]] = {}
        for module in pkgutil.iter_modules(path, f"{package}."):
            for _, value in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if issubclass(value, cls) and not inspect.isabstract(value) and value.__module__ == module.name:
                    assert value.name not in kinds, f"two of {package} are called {value.name}"
                    kinds[value.name] = value
        return kinds

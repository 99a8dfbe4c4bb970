"""Every metric of hostpulse, declared once. Standard library only.

``FAMILIES`` and ``SIGNALS`` map names to objects; nothing else lists metrics.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from catalog import families as _families
from catalog import signals as _signals
from catalog.family import Family
from catalog.signal import Signal


def _families_by_name() -> Mapping[str, Family]:
    found: dict[str, Family] = {}
    for module in pkgutil.iter_modules(_families.__path__, "catalog.families."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Family):
                assert found.setdefault(value.name, value) is value, f"{value.name} is declared twice"
    return MappingProxyType(found)


def _signals_by_name() -> Mapping[str, Signal]:
    found: dict[str, Signal] = {}
    for module in pkgutil.iter_modules(_signals.__path__, "catalog.signals."):
        for signal in importlib.import_module(module.name).SIGNALS:
            assert signal.name not in found, f"{signal.name} is declared twice"
            found[signal.name] = signal
    return MappingProxyType(found)


FAMILIES: Mapping[str, Family] = _families_by_name()
SIGNALS: Mapping[str, Signal] = _signals_by_name()

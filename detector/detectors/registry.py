"""Finds the detectors: one module each in this package, one ``Detector`` in each module."""

from __future__ import annotations

from functools import cache

from detector import detectors
from detector.detectors.protocol import Detector


@cache
def registered() -> dict[str, type[Detector]]:
    """All detectors by name, in the order of their names."""
    return dict(sorted(Detector.found(detectors.__path__, detectors.__name__).items()))

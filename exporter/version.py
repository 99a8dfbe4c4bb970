"""Which hostpulse this is."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PYTHON = platform.python_version()


def installed() -> str:
    """The version of the installed distribution, ``unknown`` where the packages were only copied."""
    try:
        return version("hostpulse")
    except PackageNotFoundError:
        return "unknown"

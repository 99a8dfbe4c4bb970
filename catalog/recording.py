"""What things are called in a recording, for who writes one and who reads it; docs/recording.md describes the files."""

from __future__ import annotations

FORMAT = "hostpulse recording"
VERSION = 1
ABOUT = "recording.json"
SUFFIX = ".parquet"
TIME = "time_s"
VERSION_KEY = "hostpulse.version"
EXTRA = "hostpulse[recording]"
"""What to install where the package that reads and writes Parquet is missing."""
PACKAGE = "pyarrow"


def file_name(tier: str, number: int) -> str:
    """The name of a tier's file; names of one tier sort by age.

    >>> file_name("fast", 12)
    'fast-000012.parquet'
    """
    return f"{tier}-{number:06d}{SUFFIX}"


def tier_of(name: str) -> str:
    """The tier of a file's name.

    >>> tier_of("fast-000012.parquet")
    'fast'
    """
    return name.rpartition("-")[0]

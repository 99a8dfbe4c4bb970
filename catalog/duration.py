"""How both programs write lengths of time."""

from __future__ import annotations

import re

_FACTORS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse_duration(text: str) -> float:
    """Seconds of text with units; a bare number is seconds. Raises ValueError that says what is allowed.

    >>> parse_duration("1m30s"), parse_duration("500ms"), parse_duration("5")
    (90.0, 0.5, 5.0)
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if _DURATION.fullmatch(text):
        return sum(float(number) * _FACTORS_S[unit] for number, unit in _PART.findall(text))
    raise ValueError("must be a duration such as 500ms, 3s, 10m or 1h30m")


def format_duration(seconds: float) -> str:
    """The shortest text of one unit that ``parse_duration`` reads back.

    >>> format_duration(600.0), format_duration(0.25), format_duration(90)
    ('10m', '250ms', '90s')
    """
    unit = next((unit for unit in ("d", "h", "m", "s") if seconds and seconds % _FACTORS_S[unit] == 0), "ms")
    return f"{seconds / _FACTORS_S[unit]:.3f}".rstrip("0").rstrip(".") + unit

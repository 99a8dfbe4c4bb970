"""Numbers as people read them."""

from __future__ import annotations

import math

_THOUSANDS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
_BLOCKS = "▁▂▃▄▅▆▇█"


def quantity(value: float, unit: str) -> str:
    """A value with its unit; ratios become percent.

    >>> quantity(0.031, "ratio"), quantity(2.5e8, "B/s"), quantity(0.0004, "s"), quantity(12.0, "1/s")
    ('3.1 %', '250 MB/s', '400 µs', '12 /s')
    """
    if not math.isfinite(value):
        return "–"
    if unit == "ratio":
        return f"{_digits(value * 100)} %"
    if unit == "s" and 0 < abs(value) < 1:
        factor, prefix = (1e3, "m") if abs(value) >= 1e-3 else (1e6, "µ")
        return f"{_digits(value * factor)} {prefix}s"
    prefix, factor = next(((p, f) for p, f in _THOUSANDS if abs(value) >= f), ("", 1.0))
    return f"{_digits(value / factor)} {prefix}{unit.removeprefix('1') if unit.startswith('1/') else unit}".rstrip()


def _digits(value: float) -> str:
    """Three significant digits, without a power of ten."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(decimals, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float) -> str:
    """Rounded seconds, minutes or hours.

    >>> duration(7.2), duration(95), duration(7260)
    ('7 s', '1 min 35 s', '2 h 1 min')
    """
    if not math.isfinite(seconds):
        return "–"
    total = max(0, round(seconds))
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600} h {total % 3600 // 60} min"


def sparkline(values: list[float], top: float) -> str:
    """One character a value on a scale from 0 to ``top``; a blank where there is none.

    >>> sparkline([0.0, 1.0, float("nan"), 2.0], 2.0)
    '▁▅ █'
    """
    steps = len(_BLOCKS) - 1
    return "".join(
        " " if math.isnan(value) else _BLOCKS[round(min(max(value / top, 0.0), 1.0) * steps)] for value in values
    )


def bar(value: float, top: float, width: int, mark: float | None = None) -> str:
    """A bar of ``width`` cells for ``value`` on a scale from 0 to ``top``, with a line at ``mark``.

    >>> bar(0.5, 1.0, 4), bar(0.5, 2.0, 4, mark=1.0)
    ('██░░', '█░│░░')
    """
    full = 0 if math.isnan(value) else round(min(max(value / top, 0.0), 1.0) * width)
    cells = "█" * full + "░" * (width - full)
    if mark is None:
        return cells
    place = round(mark / top * width)
    return f"{cells[:place]}│{cells[place:]}"

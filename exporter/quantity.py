"""The kinds of value that a setting can have: how each is written, parsed and bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from catalog.duration import format_duration, parse_duration

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T", bound=str)

_BYTES = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Kind(Protocol[T_co]):
    """Parses text; ``allowed`` tells people what may stand there."""

    @property
    def allowed(self) -> str:
        """What may stand there, in words."""

    def parse(self, text: str) -> T_co:
        """The value; raises ValueError, with or without a reason, for anything that is not allowed."""


def _spelled(number: int) -> str:
    """Bytes in their largest whole unit.

    >>> _spelled(1 << 20), _spelled(1000)
    ('1MiB', '1000')
    """
    unit = max((unit for unit, size in _BYTES.items() if number % size == 0), key=lambda unit: _BYTES[unit])
    return f"{number // _BYTES[unit]}{unit}"


class Duration:
    """Seconds, written as ``100ms``, ``1s``, ``1h30m`` or a bare number."""

    def __init__(self, least_s: float, most_s: float) -> None:
        self._least_s, self._most_s = least_s, most_s
        self.allowed = (
            f"a duration such as 100ms, 1s or 1h30m, from {format_duration(least_s)} to {format_duration(most_s)}"
        )

    def parse(self, text: str) -> float:
        """Seconds."""
        try:
            value_s = parse_duration(text)
        except ValueError:
            raise ValueError from None  # what is allowed is said anyway
        if not self._least_s <= value_s <= self._most_s:
            raise ValueError("out of range")
        return value_s


class OrNothing:
    """A duration that may be left out, which is 0."""

    def __init__(self, kind: Duration) -> None:
        self._kind = kind
        self.allowed = f"nothing, or {kind.allowed}"

    def parse(self, text: str) -> float:
        """Seconds."""
        return self._kind.parse(text) if text else 0.0


class Size:
    """Bytes, written as a whole number with or without ``KiB``, ``MiB`` or ``GiB``."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most
        self.allowed = f"bytes such as 1048576 or 32MiB, from {_spelled(least)} to {_spelled(most)}"

    def parse(self, text: str) -> int:
        """Bytes."""
        match = re.fullmatch(r"(\d{1,15})(KiB|MiB|GiB|)", text)
        if match is None:
            raise ValueError
        value = int(match[1]) * _BYTES[match[2]]
        if not self._least <= value <= self._most:
            raise ValueError("out of range")
        return value


class Whole:
    """A whole number within bounds."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most
        self.allowed = f"a whole number from {least} to {most}"

    def parse(self, text: str) -> int:
        """The number."""
        if re.fullmatch(r"\d{1,9}", text) is None or not self._least <= int(text) <= self._most:
            raise ValueError
        return int(text)


class Choice(Generic[T]):
    """One of a few words."""

    def __init__(self, words: Iterable[T]) -> None:
        self._words = {str(word): word for word in words}
        self.allowed = "|".join(self._words)

    def parse(self, text: str) -> T:
        """The word."""
        if text not in self._words:
            raise ValueError
        return self._words[text]


class Names:
    """Names separated by commas."""

    allowed = "names separated by commas"

    def parse(self, text: str) -> frozenset[str]:
        """The names, as a set."""
        return frozenset(name for part in text.split(",") if (name := part.strip()))


class Path:
    """An absolute path."""

    allowed = "an absolute path"

    def parse(self, text: str) -> str:
        """The path as given."""
        if not text.startswith("/"):
            raise ValueError
        return text


class Address:
    """``host:port``, ``[v6]:port`` or ``:port``."""

    allowed = "host:port, [IPv6]:port or :port, port from 0 to 65535"

    def parse(self, text: str) -> tuple[str, int]:
        """Host (empty for all interfaces) and port.

        >>> Address().parse("[::1]:9100")
        ('::1', 9100)
        """
        match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:/\s]*)):(\d{1,5})", text)
        if match is None or int(match[3]) > 65535:
            raise ValueError
        return match[1] or match[2] or "", int(match[3])

"""A series: a metric name with label values, and its text form in the Prometheus exposition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

Labels = tuple[tuple[str, str], ...]

_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')
_UNESCAPE = re.compile(r"\\(.)")


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _unescape(value: str) -> str:
    return _UNESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], value)


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """A metric name with label pairs, ``str()`` of which is ``name{label="value",…}``."""

    name: str
    labels: Labels = ()

    def __str__(self) -> str:
        if not self.labels:
            return self.name
        return self.name + "{" + ",".join(f'{label}="{_escape(value)}"' for label, value in self.labels) + "}"

    def label(self, name: str) -> str:
        """The value of one label, "" where it has none."""
        return next((value for label, value in self.labels if label == name), "")


@lru_cache(maxsize=65536)
def parse_series(text: str) -> Series:
    """The inverse of ``str(series)``; raises ValueError that quotes the text when it is not a series.

    >>> parse_series('up{job="a"}').label("job")
    'a'
    """
    name, brace, rest = text.partition("{")
    if not brace:
        return Series(name)
    if not rest.endswith("}"):
        raise ValueError(f"not a series: {text!r}")
    body, labels, position = rest[:-1], [], 0
    while position < len(body):
        match = _PAIR.match(body, position)
        if match is None:
            raise ValueError(f"not a series: {text!r}")
        labels.append((match[1], _unescape(match[2])))
        position = match.end()
    return Series(name, tuple(labels))

"""A period of maintenance: which hosts, from when until when.

Matchers are those of Alertmanager: https://prometheus.io/docs/alerting/latest/configuration/#matcher.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from detector.source import Host


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on one label; expressions hold for the whole value, a label that is not there is empty."""

    name: str
    value: str
    is_regex: bool = False
    is_equal: bool = True

    def __str__(self) -> str:
        operator = ("=" if self.is_equal else "!") + ("~" if self.is_regex else "=")
        return f'{self.name}{"=" if operator == "==" else operator}"{self.value}"'

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels fulfil it; an expression that Python cannot read is never fulfilled."""
        found = labels.get(self.name, "")
        if not self.is_regex:
            return (found == self.value) == self.is_equal
        try:
            return (re.fullmatch(self.value, found) is not None) == self.is_equal
        except re.error:
            return False


@dataclass(frozen=True, slots=True)
class Period:
    """Hosts that fulfil all ``matchers``, in [start_s, end_s), seconds since the epoch."""

    id: str
    matchers: tuple[Matcher, ...]
    start_s: float
    end_s: float
    comment: str = ""

    def covers(self, host: Host, at_s: float) -> bool:
        """Whether the host is worked on at that time."""
        labels = {"instance": host.instance, "job": host.job}
        return self.start_s <= at_s < self.end_s and all(matcher.holds(labels) for matcher in self.matchers)

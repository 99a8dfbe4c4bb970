"""The recording rules, from ``catalog.capacity``: the means of a minute, and what is kept of an hour.

https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/. Rules of a group are evaluated in turn,
so that one may read what those before it wrote.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from catalog.capacity import RECORDS, SUMMARIES, VERDICTS, summary_hours, summary_minute
from catalog.signal import Role

_HEAD = """\
# Rendered from catalog/capacity.py by `python -m deploy.render`; do not edit. docs/operating.md says what it costs.
groups:
"""
_MINUTE, _HOUR = "1m", "2m"  # of the latter: an instant query looks back on five minutes, a late evaluation included


def recording_rules() -> str:
    """The text of ``deploy/prometheus/rules/capacity.yml``."""
    minute = [*_minutes(), *_summaries(), *_verdicts("1m")]
    hour = [*_hours(), *_verdicts("1h")]
    return _HEAD + _group("minute", _MINUTE, minute) + _group("hour", _HOUR, hour)


def _group(name: str, interval: str, rules: list[str]) -> str:
    return f"  - name: hostpulse-capacity-{name}\n    interval: {interval}\n    rules:\n" + "".join(rules)


def _rule(name: str, expression: str, comment: str = "", subsystem: str = "") -> str:
    lines = [f"# {comment}"] * bool(comment)
    lines += [f"- record: {name}", "  expr: |-", f"    {expression}"]
    lines += ["  labels:", f"    subsystem: {subsystem}"] if subsystem else []
    return textwrap.indent("\n".join(lines) + "\n", " " * 6)


def _minutes() -> Iterator[str]:
    for record in RECORDS.values():
        yield _rule(record.minute, record.promql(), f"{record.help} ({record.unit or 'count'})")


def _summaries() -> Iterator[str]:
    """One series a subsystem of shares; errors are whatever of them a host has."""
    for role in SUMMARIES:
        leading: dict[str, list[str]] = {}
        for record in RECORDS.values():
            if record.leads and record.role is role:
                leading.setdefault(str(record.subsystem), []).append(record.minute)
        for subsystem, names in leading.items():
            yield _rule(summary_minute(role), _together(role, names), subsystem=subsystem)


def _together(role: Role, names: list[str]) -> str:
    if role is not Role.ERROR:
        (name,) = names
        return name
    return f'sum without () ({{__name__=~"{"|".join(names)}"}})'


def _hours() -> Iterator[str]:
    for record in RECORDS.values():
        yield from (_rule(name, expression) for name, expression in record.hours.items())
    for role in SUMMARIES:
        yield from (_rule(name, expression) for name, expression in summary_hours(role).items())


def _verdicts(level: str) -> Iterator[str]:
    yield from (_rule(name, expression) for name, expression in VERDICTS.items() if name.endswith(level))

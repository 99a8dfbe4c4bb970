"""What was found in a recording, as text for people and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from detector.readable import duration, quantity
from detector.replay import Findings, Found
from detector.verdict import Cause

_TELLING_S = 3600.0  # what happened in less says nothing of a day


def as_text(findings: Findings) -> str:
    """A line for each episode with what led it, and a line about all of them."""
    return "".join(f"{line}\n" for line in _lines(findings))


def as_json(findings: Findings) -> dict[str, Any]:
    """All of it as JSON can hold it; times are seconds since the epoch."""
    return {
        "recording": findings.name,
        "from_s": findings.span_s[0],
        "until_s": findings.span_s[1],
        "window_s": findings.window_s,
        "stride_s": findings.stride_s,
        "windows": findings.windows,
        "judged": findings.judged,
        "alarms_per_day": findings.alarms_per_day,
        "episodes": [
            {
                "start_s": one.start_s,
                "end_s": None if math.isnan(one.end_s) else one.end_s,
                "peak": one.peak,
                "page": one.page,
                "subsystem": one.subsystem,
                "causes": [asdict(cause) for cause in one.causes],
            }
            for one in findings.episodes
        ],
    }


def _lines(findings: Findings) -> Iterator[str]:
    first_s, last_s = findings.span_s
    yield f"{findings.name}: {_time(first_s)} to {_time(last_s)} UTC"
    if findings.episodes:
        yield ""
        yield f"{'began (UTC)':<19}  {'lasted':<12}  {'peak':>5}  {'blamed on':<9}  first causes"
        for one in findings.episodes:
            yield from _episode(one)
        yield ""
    count, pages = len(findings.episodes), sum(one.page for one in findings.episodes)
    told = f"{count} episode{'s' * (count != 1)}, {pages} worth a page"
    judged_s = findings.judged * findings.stride_s
    rate = f": {findings.alarms_per_day:.3g} a day" if count and judged_s >= _TELLING_S else ""
    yield f"{told}, in {duration(judged_s)} judged of {duration(last_s - first_s)}{rate}"


def _episode(one: Found) -> Iterator[str]:
    lasted = "to the end" if math.isnan(one.end_s) else duration(one.end_s - one.start_s)
    head = f"{_time(one.start_s):<19}  {lasted:<12}  {one.peak:>5.2f}  {one.subsystem:<9}  "
    causes = [_cause(cause) for cause in one.causes] or ["-"]
    yield head + causes[0]
    yield from (" " * len(head) + cause for cause in causes[1:])


def _cause(cause: Cause) -> str:
    actual, typical = quantity(cause.actual, cause.unit), quantity(cause.typical, cause.unit)
    return f"{cause.channel} ({cause.statistic}) {actual}, usually {typical}, {cause.deviation:+.1f} σ"


def _time(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")

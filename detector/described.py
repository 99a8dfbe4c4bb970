"""What ``discover`` found, as text for people and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from catalog.duration import format_duration
from catalog.exporters import OWN
from catalog.signal import Signal
from detector.discovery import Coverage, Described, alike, showers, tellers, without_hardware
from detector.source import Origin

_WIDTH = 110
_SHOWN = 5


def as_text(address: str, hosts: Sequence[Described]) -> str:
    """Hosts, alike ones together: exporters and their metrics, coverage by subsystem, what is missing."""
    return "".join(f"{line}\n" for line in _lines(address, hosts))


def as_json(address: str, hosts: Sequence[Described]) -> dict[str, Any]:
    """All of it as JSON can hold it."""
    return {"source": address, "hosts": [_host(one) for one in hosts]}


def names(hosts: Sequence[Described]) -> str:
    """The names of some hosts in a line."""
    shown = ", ".join(one.host.instance for one in hosts[:_SHOWN])
    return f"{shown} and {len(hosts) - _SHOWN} more" if len(hosts) > _SHOWN else shown


def _lines(address: str, hosts: Sequence[Described]) -> Iterator[str]:
    yield f"{len(hosts)} host{'s' * (len(hosts) != 1)} at {address}"
    for group in alike(hosts).values():
        first = group[0]
        yield ""
        yield names(group)
        if first.trouble:
            yield f"  cannot be judged: {first.trouble}"
            continue
        sampled, window, stride = (
            format_duration(round(span_s, 1)) for span_s in (first.interval_s, first.window_s, first.stride_s)
        )
        yield f"  sampled every {sampled}, judged in windows of {window}, a new one every {stride}"
        for origin in first.origins:
            yield from _origin(origin)
        yield f"  coverage: {first.series} series make {first.channels} channels"
        for coverage in first.coverage:
            yield from _coverage(coverage)
        yield from _unnamed(first)


def _origin(origin: Origin) -> Iterator[str]:
    every = "" if math.isnan(origin.interval_s) else f", every {format_duration(round(origin.interval_s, 1))}"
    told = f"  {origin.exporter} (job {origin.job or '-'}{every}) tells"
    if not origin.families:
        yield f"{told} nothing more"
        return
    yield f"{told} {len(origin.families)} metrics, by our names:"
    yield from _wrapped(", ".join(sorted(origin.families)), "    ")


def _coverage(coverage: Coverage) -> Iterator[str]:
    signals = len(coverage.told) + len(coverage.missing)
    yield f"    {coverage.subsystem:<8} {len(coverage.told):>3} of {signals} signals"
    if without_hardware(coverage):
        yield "      no GPU is told of; where there are some, hostpulse-exporter or dcgm-exporter shows their faults"
        return
    by_teller: dict[tuple[str, ...], list[Signal]] = {}
    for signal in coverage.specific:
        by_teller.setdefault(tellers(signal), []).append(signal)
    for exporters, signals_of in by_teller.items():
        unseen = "; ".join(signal.help.rstrip(".") for signal in signals_of)
        yield from _wrapped(f"not seen (told by {_either(exporters)}): {unseen}", "      ")
    load = len(coverage.missing) - len(coverage.specific)
    if load:
        yield f"      and {load} signals of load, without which less shows what else changed"


def _unnamed(one: Described) -> Iterator[str]:
    if not one.unnamed:
        return
    yield "  causes that could not be named (hostpulse-detector explain NAME says what each is):"
    by_shower: dict[tuple[str, ...], list[str]] = {}
    for cause in one.unnamed:
        by_shower.setdefault(showers(cause), []).append(cause.name)
    for exporters, causes in by_shower.items():
        yield from _wrapped(f"shown by {_either(exporters)}: {', '.join(causes)}", "    ")


def _either(exporters: Sequence[str]) -> str:
    """Who can tell, where the hardware has it.

    >>> _either([OWN.name])
    'hostpulse-exporter alone'
    """
    return f"{OWN.name} alone" if len(exporters) == 1 else " or ".join(exporters) + " where the host has it"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _host(one: Described) -> dict[str, Any]:
    return {
        "instance": one.host.instance,
        "job": one.host.job,
        "trouble": one.trouble,
        "interval_s": _finite(one.interval_s),
        "window_s": _finite(one.window_s),
        "stride_s": _finite(one.stride_s),
        "series": one.series,
        "channels": one.channels,
        "exporters": [
            {
                "exporter": origin.exporter,
                "job": origin.job,
                "instance": origin.instance,
                "interval_s": _finite(origin.interval_s),
                "metrics": sorted(origin.families),
            }
            for origin in one.origins
        ],
        "coverage": {
            coverage.subsystem: {
                "told": [signal.name for signal in coverage.told],
                "missing": [_missing(signal) for signal in coverage.missing],
            }
            for coverage in one.coverage
        },
        "causes_not_named": [{"cause": cause.name, "shown_by": list(showers(cause))} for cause in one.unnamed],
    }


def _missing(signal: Signal) -> dict[str, Any]:
    return {"signal": signal.name, "meaning": signal.help, "role": str(signal.role), "told_by": list(tellers(signal))}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

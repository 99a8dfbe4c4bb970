"""Which number an event has on a host: generic ones first, then those that its kind of CPU or its kernel names.

Generic: https://man7.org/linux/man-pages/man2/perf_event_open.2.html; named:
https://docs.kernel.org/ABI/testing/sysfs-bus-event_source-devices-events.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from exporter.host import Host
from exporter.perf import Event

SOURCES = "/sys/bus/event_source/devices"
ARM = "armv8_*"
_HARDWARE, _SOFTWARE, _CACHE, _RAW = 0, 1, 3, 4
_BITS = re.compile(r"config:(\d+)(?:-(\d+))?")
_OF_CPU = re.compile(r"^(vendor_id|cpu family|model)\s*: (.*)$", re.MULTILINE)


class Candidate(Protocol):
    """A way to count something."""

    def on(self, host: Host) -> Event | None:
        """The event on this host; None where it does not have it. The kernel may refuse it all the same."""


@dataclass(frozen=True, slots=True)
class _Generic:
    event: Event

    def on(self, host: Host) -> Event:
        del host
        return self.event


def hardware(config: int) -> Candidate:
    """PERF_TYPE_HARDWARE."""
    return _Generic(Event(_HARDWARE, config))


def software(config: int) -> Candidate:
    """PERF_TYPE_SOFTWARE."""
    return _Generic(Event(_SOFTWARE, config))


def cache(which: int, operation: int, result: int) -> Candidate:
    """PERF_TYPE_HW_CACHE: which cache, 0 for reads or 1 for writes, 0 for accesses or 1 for misses."""
    return _Generic(Event(_CACHE, which | operation << 8 | result << 16))


@dataclass(frozen=True, slots=True)
class Named:
    """An event that the kernel lists in sysfs below the source's name, which may be a pattern."""

    source: str
    name: str

    def on(self, host: Host) -> Event | None:
        """Its number, put together from the terms ``event=0x36,umask=0x1`` by the source's formats."""
        for path in host.glob(f"{SOURCES}/{self.source}/events/{self.name}"):
            source = path.rpartition("/events/")[0]
            number, terms = host.text(f"{source}/type", ""), host.text(path, "")
            config = _config(host, source, terms)
            if number.isdigit() and config is not None:
                return Event(int(number), config)
        return None


def files_of(source: str) -> tuple[str, ...]:
    """What is read of a source, which may be a pattern, to number its named events."""
    return tuple(f"{SOURCES}/{source}/{file}" for file in ("type", "format/event", "events/*"))


def _config(host: Host, source: str, terms: str) -> int | None:
    config = 0
    for term in terms.split(","):
        key, _, value = term.partition("=")
        bits = _BITS.fullmatch(host.text(f"{source}/format/{key}", ""))
        try:
            number = int(value or "1", 0)
        except ValueError:
            return None
        if bits is None or number >> int(bits[2] or bits[1]) - int(bits[1]) + 1:
            return None
        config |= number << int(bits[1])
    return config


@dataclass(frozen=True, slots=True)
class IntelRaw:
    """A raw event of the Intel CPUs of these models (family 6): others would count something else by its number."""

    config: int
    models: frozenset[str]

    def on(self, host: Host) -> Event | None:
        """Its number, where the CPU is one of them."""
        about = dict(_OF_CPU.findall(host.text("/proc/cpuinfo", "").partition("\n\n")[0]))
        known = (about.get("vendor_id"), about.get("cpu family")) == ("GenuineIntel", "6")
        return Event(_RAW, self.config) if known and about.get("model") in self.models else None

"""What CPU and memory limits do to the top-level control groups, of either version of the interface.

https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/scheduler/sched-bwc.html and
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from catalog.families import cgroup
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.controlgroups import ROOT, is_named
from exporter.host import Host

_UNIFIED = f"{ROOT}/cgroup.controllers"
_MICROSECOND, _NANOSECOND = 1e-6, 1e-9
# Where groups lie, a file of each, its key, what it is read into and the kernel's unit. Version 2 first.
_THROTTLES, _THROTTLED, _EVENTS = cgroup.CGROUP_THROTTLES, cgroup.CGROUP_THROTTLED_SECONDS, cgroup.CGROUP_EVENTS
_SECOND = (
    (ROOT, "cpu.stat", b"nr_throttled", _THROTTLES, (), 1.0),
    (ROOT, "cpu.stat", b"throttled_usec", _THROTTLED, (), _MICROSECOND),
    *((ROOT, "memory.events", event.encode(), _EVENTS, (event,), 1.0) for event in ("high", "max", "oom", "oom_kill")),
)
_FIRST = (
    (f"{ROOT}/cpu", "cpu.stat", b"nr_throttled", _THROTTLES, (), 1.0),
    (f"{ROOT}/cpu", "cpu.stat", b"throttled_time", _THROTTLED, (), _NANOSECOND),
    (f"{ROOT}/memory", "memory.failcnt", b"", _EVENTS, ("max",), 1.0),
    (f"{ROOT}/memory", "memory.oom_control", b"oom_kill", _EVENTS, ("oom_kill",), 1.0),
)
_LOOKS_EVERY = 10


class CgroupCollector(AttributeCollector):
    """Only the top level, as what lies below changes with every job, and no groups that random numbers name."""

    name = "cgroup"
    tier = Tier.MEDIUM
    families = (_THROTTLED, _THROTTLES, _EVENTS)
    sources = (
        _UNIFIED,
        *dict.fromkeys(f"{directory}/*/{file}" for directory, file, *_ in (*_SECOND, *_FIRST)),
    )
    absent = "no control groups with a CPU or memory controller"
    watches = tuple(dict.fromkeys(directory for directory, *_ in (*_SECOND, *_FIRST)))

    def __init__(self, context: Context) -> None:
        self._looks, self._seen = 0, object()
        super().__init__(context)

    def _look(self) -> object:
        # These directories list a hundred files beside the groups: to look costs more than to read.
        if self._looks % _LOOKS_EVERY == 0:
            self._seen = super()._look()
        self._looks += 1
        return self._seen

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """The keys that a group has: which there are depends on its controllers and on the kernel."""
        host = context.host
        for directory, file, key, family, labels, factor in _SECOND if host.exists(_UNIFIED) else _FIRST:
            if not context.wants(family):
                continue
            for path in host.glob(f"{directory}/*/{file}"):
                group = path.split("/")[-2]
                pick = partial(_number, key)
                if is_named(group) and (not key or _has(host, path, key)):
                    yield Attribute(path, family(group, *labels), factor, pick)


def _has(host: Host, path: str, key: bytes) -> bool:
    """Whether a file has a key; a group may go at any time."""
    try:
        return key in host.read(path).split()
    except OSError:
        return False


def _number(key: bytes, data: bytes) -> float:
    """The number behind a key, or the whole file; ValueError where there is none."""
    words = data.split()
    at = words.index(key) + 1 if key else 0
    if at >= len(words):
        raise ValueError(f"{key.decode()} has no number")
    return float(words[at])

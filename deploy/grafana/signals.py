"""Signals of the catalog as panels: what a panel shows follows from the names of its signals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from grafana_foundation_sdk.builders import timeseries

from catalog import FAMILIES, SIGNALS
from catalog.signal import Role, Signal
from deploy.grafana.chosen import HOST, WINDOW
from deploy.grafana.elsewhere import anywhere
from deploy.grafana.panels import Query, lines

UNITS = {  # unit of a signal -> what Grafana calls it
    "": "short",
    "1/s": "cps",
    "B": "bytes",
    "B/s": "Bps",
    "W": "watt",
    "pages": "short",
    "ratio": "percentunit",
    "s": "s",
    "°C": "celsius",
    "Hz": "hertz",
}
_WRITTEN = {
    **{word: word.upper() for word in ("dram", "ecc", "irq", "llc", "numa", "oom", "rcu", "rdma", "sm", "tcp", "thp")},
    **{word: word.upper() for word in ("udp", "xid", "bar1")},
    "dtlb": "dTLB",
    "hw": "hardware",
    "nvlink": "NVLink",
    "nvme": "NVMe",
    "pcie": "PCIe",
    "sw": "software",
}
_UNIT_OF_NAME = re.compile(r"_(ratio|per_second|bytes|seconds|celsius|watts|hertz)$")


def chart(title: str, names: Iterable[str]) -> timeseries.Panel:
    """A panel of the signals of these names, which have one unit."""
    told = [SIGNALS[name] for name in names]
    (unit,) = {signal.unit for signal in told}
    queries = [Query(anywhere(signal.expression, WINDOW, HOST), legend(signal)) for signal in told]
    meanings = "\n".join(f"- {short(signal)}: {signal.help}" for signal in told)
    return lines(title, queries, UNITS[unit], meanings)


def others(subsystem: str, shown: Iterable[str]) -> Iterator[timeseries.Panel]:
    """Panels of the subsystem's signals that are not among ``shown``: by unit, trouble apart from load."""
    left = {name: signal for name, signal in SIGNALS.items() if signal.subsystem == subsystem}
    for name in shown:
        left.pop(name, None)
    for (load, unit), group in groupby(sorted(left.values(), key=_kind), key=_kind):
        yield chart(f"{'Load' if load else 'Trouble'}{f', {unit}' if unit else ''}", (one.name for one in group))


def short(signal: Signal) -> str:
    """The signal's name without its subsystem and its unit, in words."""
    return in_words(signal.name, signal.subsystem)


def in_words(name: str, subsystem: str) -> str:
    """The name of a signal or a record as people write it."""
    words = _UNIT_OF_NAME.sub("", name.removeprefix(f"{subsystem}_")).split("_")
    return " ".join(_WRITTEN.get(word, word) for word in words)


def headed(text: str) -> str:
    """The text with a capital at its start, as the title of a panel or a row."""
    return text.upper() if text in {"cpu", "gpu"} else text[0].upper() + text[1:]


def legend(signal: Signal) -> str:
    """The signal's short name with the labels that its expression leaves."""
    return " ".join([short(signal), *(f"{{{{{label}}}}}" for label in sorted(labels(signal)))])


def labels(signal: Signal) -> set[str]:
    """The labels that tell the signal's series apart on one host."""
    expression = signal.promql(WINDOW)
    found = {label for family in signal.expression.families() for label in FAMILIES[family].labels}
    for gone in re.findall(r"(?:without|ignoring) \(([^)]*)\)", expression):
        found -= {label.strip() for label in gone.split(",")}
    return found - set(re.findall(r'(\w+)="', expression))


def _kind(signal: Signal) -> tuple[bool, str]:
    return signal.role is Role.UTILISATION, signal.unit

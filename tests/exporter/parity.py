"""What node_exporter tells of a host in the catalog's names, next to what we tell of it."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from catalog import FAMILIES
from catalog.families import memory
from catalog.family import Alias, Family
from catalog.series import Labels, Series
from tests.servers import start_node_exporter
from tests.tree import ROOT

Values = Mapping[Series, float]
Where = Literal["live", "recorded", "written", "any"]
_ALONE = "alone"
_ROUNDING = 1e-9  # of decimal text and of factors such as a thousandth


@dataclass(frozen=True)
class Difference:
    """Series, by a pattern of their text, in which the two differ on purpose, and why ours is right.

    ``where`` is the host that it is for: this one, the recorded tree, written ones, or any. With ``alone`` one of the
    two has no such series; what both have must be equal.
    """

    series: str
    why: str
    where: Where = "any"
    alone: bool = False

    def explains(self, series: Series, difference: str, where: Where) -> bool:
        """Whether it is about that series and difference on that host."""
        fits = self.where in (where, "any") and (not self.alone or difference.endswith(_ALONE))
        return fits and re.fullmatch(self.series, str(series)) is not None


# docs/exporter.md tells these to users, in the section about node_exporter.
DIFFERENCES = (
    Difference(
        r'hostpulse_storage_\w+\{device="(zram\d+|(mmcblk|nbd|pmem)\d+p\d+|(h|s|v|xv)d[a-z]{2,}\d+)"\}',
        "memory that poses as a disk wears no disk out, and a partition is counted by its disk already",
        alone=True,
    ),
    Difference(
        r"hostpulse_storage_filesystem_\w+\{.*\}",
        "each is told once, and none of containers or of those in memory that the system itself fills",
        alone=True,
    ),
    Difference(
        r'hostpulse_network_\w+\{device="veth\w*"\}',
        "the host's ends of containers' links have random names, and their traffic passes elsewhere as well",
        alone=True,
    ),
    Difference(
        r'hostpulse_host_hwmon_temperature_celsius\{chip="nvme\w*",.*\}',
        "temperatures of NVMe drives are storage's, in a family of their own",
        alone=True,
    ),
    Difference(
        r'hostpulse_cpu_frequency_limit_hertz\{cpu="\d+",limit="base"\}',
        "the frequency that a CPU is sold with is told by Intel's driver alone, and not by node_exporter",
        alone=True,
    ),
    Difference(
        r'hostpulse_cpu_frequency_hertz\{cpu="\d+"\}',
        "what the driver measured is told where it tells it, and else what it asked for as node_exporter does",
    ),
    Difference(
        r'hostpulse_host_pressure_stalled_seconds_total\{resource="irq"\}',
        "this version of node_exporter does not know the file",
        alone=True,
    ),
    Difference(
        r'hostpulse_host_hwmon_temperature_celsius\{chip="ieee80211_phy0(_mt7996_phy0_\d)?",.*\}',
        "of several chips of one device this version of node_exporter tells one, we tell them apart by their names",
        "recorded",
        alone=True,
    ),
    Difference(
        r'hostpulse_memory_hugepages\{node="all",size="default",state="\w+"\}',
        "the tree has their sum in /proc/meminfo, but not the pools of its nodes, which ours are read from",
        "recorded",
        alone=True,
    ),
    Difference(
        r'hostpulse_memory_hugepages\{node="all",size="default",state="\w+"\}',
        "the sum in the trees' /proc/meminfo is another machine's than the pools of their nodes",
        "written",
    ),
    Difference(
        r'hostpulse_network_(up|speed_bytes_per_second)\{device="(bond0|eth\d|ifb\d|lo)"\}',
        "a file without text or none at all says neither down nor a speed of zero",
        "written",
        alone=True,
    ),
)
# What they do by default otherwise than here, and can be told to do alike.
ALIKE = (
    "--collector.vmstat.fields=.*",
    "--collector.netstat.fields=.*",
    "--collector.meminfo_numa",
    "--collector.netdev.device-exclude=^$",
    "--no-collector.netdev.netlink",  # which tells of the interfaces of another namespace than --path.procfs
    "--collector.netclass.ignore-invalid-speed",  # of a link that has none
    "--collector.filesystem.mount-points-exclude=^/(mnt|proc|run|sys|var/lib/docker)($|/)",  # but not /dev/shm
)
STILL = ("--collector.buddyinfo",)  # and what no two looks at a living host can agree on
_HUGEPAGE_BYTES = "node_memory_Hugepagesize_bytes"


@dataclass(frozen=True)
class Told:
    """What both tell of a tree of files, which stand still."""

    theirs: Values
    ours: Values

    @property
    def wrong(self) -> dict[Series, str]:
        """Where the two differ."""
        return differences(self.theirs, self.ours, self.ours)


def tell(folder: Path, paths: Sequence[str]) -> Told:
    """What both say when started with these flags, which point them at a tree of files."""
    with start_node_exporter(folder, *ALIKE, *STILL, *paths) as server:
        samples = samples_of(server.get("/metrics").text)
    return Told(told(samples, FAMILIES.values()), comparable(_once(paths), samples))


def _once(paths: Sequence[str]) -> dict[Series, float]:
    """What the exporter's command says, each CPU for itself."""
    command = [sys.executable, "-m", "exporter", "once", "--profile=full", "--cpu.granularity=core", *paths]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return {Series(sample.name, tuple(sample.labels.items())): sample.value for sample in samples_of(run.stdout)}


def samples_of(text: str) -> list[Sample]:
    """The samples of an exposition."""
    return [sample for exposed in text_string_to_metric_families(text) for sample in exposed.samples]


def told(samples: Iterable[Sample], families: Iterable[Family]) -> dict[Series, float]:
    """Their samples as ours, through the aliases; where a family has several for one series the first alias counts.

    AssertionError where an alias lacks a label of ours, or leaves out one of theirs that tells samples apart.
    """
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    found: dict[Series, float] = {}
    for family in families:
        for alias in family.aliases:
            of_alias: dict[Series, float] = {}
            for sample in by_name.get(alias.name, ()):
                if all(sample.labels.get(label) == value for label, value in alias.match.items()):
                    series, value = _ours(family, alias, sample), sample.value * alias.factor
                    assert of_alias.setdefault(series, value) == value, f"{alias.name}: two samples for {series}"
            found = of_alias | found
    return found


def _ours(family: Family, alias: Alias, sample: Sample) -> Series:
    labels = [alias.adds.get(label, sample.labels.get(alias.renames.get(label, label))) for label in family.labels]
    assert None not in labels, f"{alias.name}{sample.labels} lacks a label of {family.name}"
    return family(*labels)


def comparable(ours: Values, samples: Iterable[Sample]) -> dict[Series, float]:
    """Ours, less what theirs does not tell: labels that their aliases leave empty, and huge pages by node and size."""
    found = {}
    for series, value in ours.items():
        aliases = FAMILIES[series.name].aliases
        empty = {label for label, _ in series.labels if aliases and all(a.adds.get(label) == "" for a in aliases)}
        labels = ((label, "" if label in empty else value) for label, value in series.labels)
        if series.name != memory.HUGEPAGES.name:
            found[Series(series.name, tuple(labels))] = value
    for kib in (sample.value / 1024 for sample in samples if sample.name == _HUGEPAGE_BYTES):
        for state in ("total", "free", "surplus"):
            pools = {series: value for series, value in ours.items() if series.name == memory.HUGEPAGES.name}
            told = [value for series, value in pools.items() if series.labels[1:] == _pool(kib, state)]
            found |= {memory.HUGEPAGES("all", "default", state): sum(told)} if told else {}
    return found


def _pool(kib: float, state: str) -> Labels:
    return (("size", f"{kib:.0f}kB"), ("state", state))


def differences(
    theirs: Values, before: Values, after: Values, tolerances: Mapping[str, float] = MappingProxyType({})
) -> dict[Series, str]:
    """Where theirs does not lie between ours from before and after, or only one of the two has a series at all.

    ``tolerances`` says for families how far beyond it may lie.
    """
    found = {
        series: _difference(value, before.get(series), after.get(series), tolerances.get(series.name, 0.0))
        for series, value in theirs.items()
    }
    names = {series.name for series in theirs}
    for series, value in before.items():
        if series.name in names and series not in theirs and not math.isnan(value):
            found[series] = f"{value} is told by us {_ALONE}"
    return {series: difference for series, difference in found.items() if difference}


def _difference(theirs: float, before: float | None, after: float | None, tolerance: float) -> str:
    if before is None or after is None or math.isnan(before) or math.isnan(after):
        return f"{theirs} is told by node_exporter {_ALONE}"
    low, high = sorted((before, after))
    slack = tolerance + _ROUNDING * max(abs(low), abs(high))
    return "" if low - slack <= theirs <= high + slack else f"{theirs}, ours is {low} to {high}"


def unexplained(found: Mapping[Series, str], where: Where) -> dict[str, str]:
    """The differences on a host that none of ``DIFFERENCES`` tells of."""
    return {
        str(series): text
        for series, text in found.items()
        if not any(known.explains(series, text, where) for known in DIFFERENCES)
    }

"""Power zones of CPU packages and their parts: https://docs.kernel.org/power/powercap/powercap.html."""

from __future__ import annotations

import re
from collections.abc import Iterator

from exporter.host import Host

DIRECTORY = "/sys/class/powercap"
ZONES = f"{DIRECTORY}/intel-rapl:*"
ABSENT = "no energy counters, as in most virtual machines"
MICRO = 1e-6
_ZONE = re.compile(r"(?P<zone>.*?)(-(?P<package>\d.*))?", re.DOTALL)


def zones(host: Host) -> Iterator[tuple[str, str, str]]:
    """The path of each zone, its name and its package; the parts of a package (core, dram) have its number."""
    for path in host.glob(ZONES):
        directory = path.rpartition("/")[2]
        match = _ZONE.fullmatch(host.text(f"{path}/name", directory))
        assert match is not None, "the pattern matches any name"
        yield path, match["zone"], match["package"] or directory.split(":")[1]

"""Time lost to a lack of CPU, memory or I/O, from /proc/pressure.

https://docs.kernel.org/accounting/psi.html
"""

from __future__ import annotations

from catalog.families import host
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context, PartedCollector, Unavailable
from exporter.host import HeldFile, Host, Vanished
from exporter.parsing import filled, numbers

_DIRECTORY = "/proc/pressure"
# By resource: whether the file has lines "some" and "full". What the kernel prints as "full" for the CPU of a whole
# host is a constant zero, as a host whose every task waits for a CPU runs one of them.
_RESOURCES = {"cpu": (True, False), "io": (True, True), "memory": (True, True), "irq": (False, True)}
_MICROSECONDS = 1e6
_TOTAL = b"total="


def totals(data: bytes, path: str) -> dict[bytes, float]:
    """Seconds by line, from a file of pressure; ValueError for another format.

    >>> totals(b"some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\\n", "/proc/pressure/cpu")
    {b'some': 2.5}
    """
    found = {}
    for line in filled(data, path).splitlines():
        kind, _, rest = line.partition(b" ")
        _, key, total = rest.rpartition(_TOTAL)
        if not key:
            raise ValueError(f"{path}: has a line without a total")
        (microseconds,) = numbers((total,), path)
        found[kind] = microseconds / _MICROSECONDS
    return found


def _readable(host: Host, path: str) -> HeldFile:
    """The file, if it can be read: a kernel booted without pressure accounting has files that only give an error."""
    file = host.hold(path)
    try:
        file.read()
    except OSError:
        file.close()
        raise
    return file


class PressureCollector(PartedCollector):
    """One file a resource; a kernel without interrupt time accounting has none for ``irq``."""

    name = "pressure"
    tier = Tier.FAST
    families = (host.PRESSURE_WAITING_SECONDS, host.PRESSURE_STALLED_SECONDS)
    sources = tuple(f"{_DIRECTORY}/{resource}" for resource in _RESOURCES)

    def __init__(self, context: Context) -> None:
        self._files: list[tuple[HeldFile, tuple[bytes, ...]]] = []
        series: list[Series] = []
        reasons: list[str] = []
        for resource, (some, full) in _RESOURCES.items():
            try:
                file = _readable(context.host, f"{_DIRECTORY}/{resource}")
            except Vanished:
                continue
            except OSError as error:
                reasons.append(f"{error.filename}: {error.strerror}")
                continue
            lines = (b"some",) * some + (b"full",) * full
            self._files.append((file, lines))
            series += [host.PRESSURE_WAITING_SECONDS(resource)] * some + [
                host.PRESSURE_STALLED_SECONDS(resource)
            ] * full
        if not self._files:
            raise Unavailable(
                f"{'; '.join(reasons) or f'{_DIRECTORY}: not there'}; the kernel was built or booted without it "
                "(boot option psi=1)"
            )
        self.series, self.note = tuple(series), "; ".join(reasons)

    def take(self) -> list[bytes]:
        """The file of each resource."""
        return [file.read() for file, _ in self._files]

    @staticmethod
    def glance(taken: list[bytes]) -> list[float]:
        """The first line of each file: of what some tasks wait for."""
        return [float(data[data.index(_TOTAL) + len(_TOTAL) : data.index(b"\n")]) for data in taken]

    def parse(self, taken: list[bytes]) -> list[float]:
        """Seconds lost so far."""
        values: list[float] = []
        for (file, lines), data in zip(self._files, taken, strict=True):
            found = totals(data, file.path)
            if not found.keys() >= set(lines):
                raise ValueError(f"{file.path}: has no line {[line.decode() for line in lines]}")
            values += [found[line] for line in lines]
        return values

    def close(self) -> None:
        """Close all files."""
        for file, _ in self._files:
            file.close()

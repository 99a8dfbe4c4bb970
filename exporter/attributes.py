"""Collectors of files that hold one number each, as sysfs does: https://docs.kernel.org/filesystems/sysfs.html."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable
from exporter.host import HeldFile, Vanished
from exporter.parsing import plausible

ABSOLUTE_ZERO_CELSIUS = -273.15


@dataclass(frozen=True, slots=True)
class Attribute:
    """A file, the series that it is read into, how its text becomes a number, and that number's unit."""

    path: str
    series: Series
    factor: float = 1.0
    convert: Callable[[bytes], float] = float


class AttributeCollector(Collector):
    """A subclass says which attributes there are. They are looked for again when a device comes or goes.

    A file whose device has nothing to say (EINVAL of a link that is down, ``N/A`` of a virtual port) gives NaN.
    """

    watches: ClassVar[tuple[str, ...]] = ()
    """Directories whose entries, or files whose contents, change when a device comes or goes."""

    absent: ClassVar[str] = ""
    """Why there may be nothing, for people."""

    least: ClassVar[float] = 0.0
    """The least value that is possible."""

    def __init__(self, context: Context) -> None:
        self.series = ()
        self._context = context
        self._files: list[tuple[HeldFile, float, Callable[[bytes], float]]] = []
        self._refused: OSError | None = None
        self._watched: object = None
        self._scan()
        if self._refused is not None and not self.series:
            raise Unavailable(f"{self._refused.filename}: {self._refused.strerror}")
        if not self.series:
            raise Unavailable(f"nothing at {self.sources[0]}" + (f": {self.absent}" if self.absent else ""))

    @abstractmethod
    def attributes(self, context: Context) -> Iterable[Attribute]:
        """The attributes that the host has now; of those with equal series the first one counts."""

    def read(self) -> list[float]:
        """The numbers, NaN for what a device does not say."""
        if self._look() != self._watched:
            self._scan()
        try:
            return self._read(looks_again=True)
        except Vanished:
            self._scan()
        return self._read()

    def close(self) -> None:
        """Close all files."""
        for file, _, _ in self._files:
            file.close()
        self._files = []

    def _look(self) -> object:
        host = self._context.host
        return [host.names(path) or host.text(path, "") for path in self.watches]

    def _scan(self) -> None:
        self.close()
        self._watched, watched = None, self._look()  # until all is well: what cannot be opened is tried at each read
        found: dict[Series, tuple[HeldFile, float, Callable[[bytes], float]]] = {}
        for attribute in self.attributes(self._context):
            if attribute.series not in found:
                try:
                    file = self._context.host.hold(attribute.path)
                except Vanished:
                    continue
                except PermissionError as error:
                    self._refused = error
                    continue
                found[attribute.series] = (file, attribute.factor, attribute.convert)
        self._files, self._watched = list(found.values()), watched
        if tuple(found) != self.series:
            self.series = tuple(found)

    def _read(self, *, looks_again: bool = False) -> list[float]:
        values, fault = [], None
        for file, factor, convert in self._files:
            try:
                values.append(convert(file.read()) * factor)
            except BlockingIOError:
                values.append(math.nan)  # nothing to tell now, as the frequency of a CPU that is idle: no fault
            except (OSError, ValueError) as error:
                if looks_again and isinstance(error, Vanished):
                    raise
                values.append(math.nan)  # one that opens and is gone is a chip that does not answer
                fault = error
        if fault is not None and all(map(math.isnan, values)):
            raise fault
        return plausible(values, self.least)

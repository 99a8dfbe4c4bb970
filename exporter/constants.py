"""Collectors of what changes with a device alone: series of constant 1 whose labels tell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable, or_unavailable


class ConstantCollector(Collector):
    """A subclass says which series there are. It is asked at each reading: a device may have come or gone."""

    def __init__(self, context: Context) -> None:
        self.series = ()
        self._context = context
        with or_unavailable():
            self.read()
        if not self.series:
            raise Unavailable(f"nothing at {self.sources[0]}")

    @abstractmethod
    def constants(self, context: Context) -> Iterable[Series]:
        """The series; of equal ones the first counts."""

    def read(self) -> list[float]:
        """The constant 1 for each."""
        series = tuple(dict.fromkeys(self.constants(self._context)))
        if series != self.series:
            self.series = series
        return [1.0] * len(series)

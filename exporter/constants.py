"""Collectors of what does not change while the host runs: series of constant 1 whose labels tell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable, or_unavailable


class ConstantCollector(Collector):
    """A subclass says which series there are."""

    def __init__(self, context: Context) -> None:
        with or_unavailable():
            self.series = tuple(dict.fromkeys(self.constants(context)))
        if not self.series:
            raise Unavailable(f"nothing at {self.sources[0]}")

    @abstractmethod
    def constants(self, context: Context) -> Iterable[Series]:
        """The series; of equal ones the first counts."""

    def read(self) -> list[float]:
        """The constant 1 for each."""
        return [1.0] * len(self.series)

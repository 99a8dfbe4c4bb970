"""Writes scores of a past to a file: OpenMetrics for ``promtool tsdb create-blocks-from openmetrics``, CSV or Parquet.

https://prometheus.io/docs/prometheus/latest/storage/#backfilling-from-openmetrics-format. CSV and Parquet have a row
for each window with a score.
"""

from __future__ import annotations

import csv
import io
import math
import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from catalog import outputs, recording
from catalog.outputs import Output
from catalog.series import Series
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.detectors.registry import registered
from detector.incidents.ask import AskError
from detector.sink import Judged
from detector.sinks.metrics import values

_OF_THE_PAST = (
    outputs.SCORE,
    outputs.SUBSYSTEM_SHARE,
    outputs.ACTIVE,
    outputs.PAGE,
    outputs.PROVISIONAL,
    outputs.AGREEMENT,
    outputs.COVERAGE,
    outputs.FROZEN,
)
"""What is true of a window whenever it was judged: not how late it was judged, nor how many there were before."""


class ScoreError(Exception):
    """Scores cannot be written; the message names the file and what is allowed."""


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What the system refuses while a file of scores is written becomes a ScoreError."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)  # pyarrow's own words are many
        raise ScoreError(f"--out: {path}: cannot be written: {reason}") from None


class ScoreFile(ABC):
    """Scores are added window by window, host after host; ``close`` writes what is left. All raise ScoreError.

    A file that cannot be written is known at the start, before an hour of judging.
    """

    suffixes: ClassVar[tuple[str, ...]]

    def __init__(self, path: Path) -> None:
        self._path = path
        with _writing(path):
            self._stream = path.open("wb")

    def add(self, judged: Judged) -> None:
        """One window."""
        with _writing(self._path):
            self._add(judged)

    def close(self) -> None:
        """Finish the file."""
        with _writing(self._path), self._stream:
            self._finish()

    @abstractmethod
    def _add(self, judged: Judged) -> None:
        """Write or keep one window."""

    @abstractmethod
    def _finish(self) -> None:
        """Write what was kept."""


class OpenMetrics(ScoreFile):
    """All series of a family stand together, as the format wants it: they are kept until the end."""

    suffixes: ClassVar[tuple[str, ...]] = (".om", ".openmetrics")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._kept: dict[Output, dict[Series, tuple[array[float], array[float]]]] = {one: {} for one in _OF_THE_PAST}

    def _add(self, judged: Judged) -> None:
        found = values(judged)
        for output in _OF_THE_PAST:
            for labels, value in found.get(output, ()):
                pairs = zip(output.labels, (judged.host.instance, judged.host.job, *labels), strict=True)
                series = Series(output.name, tuple(pair for pair in pairs if pair[1]))
                times_s, kept = self._kept[output].setdefault(series, (array("d"), array("d")))
                times_s.append(judged.verdict.end_s)
                kept.append(value)

    def _finish(self) -> None:
        self._stream.writelines(line.encode() for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for output, series in self._kept.items():
            if series:
                yield f"# HELP {output.name} {output.help}\n# TYPE {output.name} {output.kind}\n"
            for one, (times_s, kept) in series.items():
                yield from (f"{one} {value!r} {time_s:.3f}\n" for time_s, value in zip(times_s, kept, strict=True))
        yield "# EOF\n"


class Csv(ScoreFile):
    """Rows are written as they come."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._text = io.TextIOWrapper(self._stream, encoding="utf-8", newline="")
        self._writer: csv.DictWriter[str] | None = None

    def _add(self, judged: Judged) -> None:
        row = _row(judged)
        if self._writer is None:
            self._writer = csv.DictWriter(self._text, list(row))
            self._writer.writeheader()
        self._writer.writerow(row)

    def _finish(self) -> None:
        self._text.close()


class Parquet(ScoreFile):
    """Rows are kept until the end, by column."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow  # noqa: F401 - before an hour of judging, not after it
        except ModuleNotFoundError:
            raise ScoreError(f"{path}: needs {recording.PACKAGE}: install {recording.EXTRA}") from None
        super().__init__(path)
        self._columns: dict[str, list[Any]] = {}

    def _add(self, judged: Judged) -> None:
        for name, value in _row(judged).items():
            self._columns.setdefault(name, []).append(value)

    def _finish(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(self._columns), self._stream)


def _row(judged: Judged) -> Mapping[str, Any]:
    verdict = judged.verdict
    return {
        "time_s": verdict.end_s,
        "instance": judged.host.instance,
        "job": judged.host.job,
        "phase": str(verdict.phase),
        "score": verdict.score,
        "p_value": verdict.p_value,
        **{name: verdict.detectors.get(name, math.nan) for name in registered()},
        "agreement": verdict.agreement,
        "active": verdict.active,
        "page": verdict.page,
        "subsystem": verdict.subsystem,
        **{f"share_{name}": verdict.shares.get(name, math.nan) for name in JUDGED_SUBSYSTEMS},
        "coverage": verdict.coverage,
    }


def kind_of(path: Path) -> type[ScoreFile]:
    """The kind of file that a name says. Raises AskError where it says none."""
    kinds: list[type[ScoreFile]] = [OpenMetrics, Csv, Parquet]
    for kind in kinds:
        if path.suffix in kind.suffixes:
            return kind
    allowed = ", ".join(suffix for kind in kinds for suffix in kind.suffixes)
    raise AskError(f"--out: {path}: its name must end in one of {allowed}")

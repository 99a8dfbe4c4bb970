"""Made-up hosts as text that ``promtool tsdb create-blocks-from openmetrics`` takes, and as blocks of Prometheus."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from catalog import FAMILIES
from catalog.families.exporter import BUILD_INFO
from catalog.family import Family, Kind
from catalog.series import Series
from detector.frame import Frame
from tests.servers import binary


def with_labels(series: Series, **labels: str) -> str:
    """The series with labels that a scrape adds."""
    return str(Series(series.name, (*labels.items(), *series.labels)))


def as_openmetrics(frames: Iterable[Frame], path: Path, job: str = "hostpulse") -> Path:
    """A file with all samples of hosts that are scraped whenever they are sampled."""
    lines: dict[Family, list[str]] = {}
    for frame in frames:
        always = BUILD_INFO("1", "r", "p"), np.ones(len(frame.times_s))
        for series, values in (*zip(frame.columns, frame.values.T, strict=True), always):
            name = with_labels(series, instance=frame.instance, job=job)
            samples = zip(frame.times_s, values, strict=True)
            of_family = lines.setdefault(FAMILIES[series.name], [])
            of_family += [f"{name} {float(value)!r} {time_s:.3f}\n" for time_s, value in samples]
    with path.open("w") as stream:
        for family, of_family in lines.items():
            kind = "gauge" if family.kind is Kind.INFO else family.kind
            stream.write(f"# TYPE {family.name.removesuffix('_total')} {kind}\n")
            stream.writelines(of_family)
        stream.write("# EOF\n")
    return path


def make_blocks(text: Path, data: Path) -> None:
    """Blocks of a Prometheus' database from a file of OpenMetrics."""
    command: list[str | Path] = [binary("promtool"), "tsdb", "create-blocks-from", "openmetrics", text, data]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

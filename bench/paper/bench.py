"""What the parts of the bench share: how long they may take, where their files are, and the recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp

from bench.paper.hosts import Shown, written
from bench.paper.recorded import Past
from bench.paper.row import Row
from bench.workloads import recorded
from bench.workloads.registry import WORKLOADS


@dataclass(frozen=True, slots=True)
class Length:
    """Seconds under load, in ``rounds``; ``windows`` that are watched live; ``times`` that each workload runs, for
    ``run_s``; ``choices`` of a permutation test; ``names`` of the workloads."""

    load_s: float
    rounds: int
    storage_s: float
    windows: int
    times: int
    run_s: float
    choices: int
    names: tuple[str, ...]


FULL = Length(60.0, 6, 300.0, 60, 10, 12.0, 9999, tuple(WORKLOADS))
QUICK = Length(6.0, 1, 20.0, 5, 4, 8.0, 999, ("perceptron", "clusters", "forest_requests"))


@dataclass(frozen=True)
class Bench:
    """One run of the bench. What is costly and used by several parts is made when the first one asks."""

    folder: Path
    length: Length
    runs_at: Path | None = None

    def new(self, name: str) -> Path:
        """An empty folder for a part, another one each time: what failed for one part is tried anew for the next."""
        return Path(mkdtemp(prefix=f"{name}-", dir=self.folder))

    @cached_property
    def past(self) -> Past:
        """The runs that ``runs_at`` holds, else recorded now, and kept there where that is given."""
        place = self.runs_at or self.new("runs")
        if (place / recorded.TOLD).exists():
            return Past(recorded.load(place))
        place.mkdir(parents=True, exist_ok=True)
        return Past(recorded.record(self.length.names, self.length.times, self.length.run_s, place))

    @cached_property
    def written(self) -> dict[str, Shown]:
        """What is shown of the written hosts."""
        return written(self.new("hosts"))


Part = Callable[[Bench], Sequence[Row]]

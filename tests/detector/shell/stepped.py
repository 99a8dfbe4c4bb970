"""A clock that tests step, a source whose samples they make, and judging whose verdicts they choose."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from catalog.families import cpu
from detector.frame import Frame
from detector.judge import Judge
from detector.loop import Loop
from detector.section import Section
from detector.settings import TABLE, Settings
from detector.sink import Context, Judged, Sink
from detector.source import Host, Source, SourceError
from detector.state import HostState
from detector.store import Store
from detector.telemetry import Telemetry
from detector.trainer import Judging
from detector.verdict import Phase, Verdict
from tests.servers import wait_until

START_S = 1_800_000_000.0
HOST = Host("a:1", "hostpulse")
OTHER = Host("b:1", "hostpulse")
SERIES = cpu.SECONDS(0, "user")


class SteppedClock:
    """Time that passes when somebody waits, and then at once."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.stopped = False
        self.started_s = -math.inf  # as a program that has been there for long

    def wall_s(self) -> float:
        return START_S + self.now_s

    def elapsed_s(self) -> float:
        return self.now_s

    def age_s(self) -> float:
        return self.now_s - self.started_s

    def wait(self, duration_s: float) -> bool:
        self.now_s += duration_s
        return self.stopped


class MadeSource(Source):
    """Hosts sampled every ``interval`` from ``began_s`` on, up to the clock's present. Attributes set what happens."""

    name: ClassVar[str] = "made"
    settings: ClassVar[type[Section]] = Section
    grace_s: ClassVar[float] = 0.05

    def __init__(self, clock: SteppedClock, *hosts: Host) -> None:
        self.clock = clock
        self.present: Sequence[Host] = hosts
        self.interval = 0.1
        self.began_s = START_S
        self.failing: dict[Host, str] = {}
        self.down = ""
        self.hung: dict[Host, threading.Event] = {}
        self.shift_s = 0.0
        self.closed = False

    @property
    def address(self) -> str:
        return "nowhere"

    def hosts(self) -> Sequence[Host]:
        if self.down:
            raise SourceError(self.down)
        return self.present

    def newest_s(self, host: Host) -> float:
        if host in self.hung:
            assert self.hung[host].wait(30), "the test let go"
        if host in self.failing:
            raise SourceError(self.failing[host])
        return self.now_s(host)

    def oldest_s(self, host: Host) -> float:
        return self.began_s

    def interval_s(self, host: Host) -> float:
        return self.interval

    def now_s(self, host: Host) -> float:
        return self.clock.wall_s() + self.shift_s

    def read(self, host: Host, start_s: float, end_s: float) -> Frame:
        first, last = np.floor(np.array([start_s, end_s]) / self.interval + 1e-6)
        times_s = np.arange(first + 1, last + 1) * self.interval
        return Frame(host.instance, times_s, np.arange(len(times_s), dtype=float)[:, None], (SERIES,))

    def close(self) -> None:
        self.closed = True


class FrameSource(MadeSource):
    """A host whose samples are those of a frame."""

    def __init__(self, clock: SteppedClock, frame: Frame) -> None:
        super().__init__(clock, HOST)
        self._frame = frame

    def read(self, host: Host, start_s: float, end_s: float) -> Frame:
        first, last = self._frame.times_s.searchsorted((start_s, end_s), side="right")
        return Frame(
            host.instance, self._frame.times_s[first:last], self._frame.values[first:last], self._frame.columns
        )


class Notebook(Sink):
    """Writes down what it is told."""

    name: ClassVar[str] = "notebook"

    def __init__(self) -> None:
        self.judged: list[Judged] = []
        self.troubles: list[tuple[Host, str]] = []
        self.left: list[Host] = []

    @classmethod
    def build(cls, setting: Any, context: Context) -> Notebook:
        return cls()

    def publish(self, judged: Judged) -> None:
        self.judged.append(judged)

    def trouble(self, host: Host, reason: str) -> None:
        self.troubles.append((host, reason))

    def leave(self, host: Host) -> None:
        self.left.append(host)

    def ends_s(self, host: Host = HOST) -> list[float]:
        """Ends of that host's windows since the start, in the order they came."""
        return [judged.verdict.end_s - START_S for judged in self.judged if judged.host == host]


def scoring_step(frame: Frame, state: HostState, end_s: float, judge: Judge) -> tuple[HostState, Verdict]:
    """Keeps the contract of the real one: each window once and in order, the frame within the lookback."""
    assert frame.instance == state.instance
    assert not end_s <= state.last_end_s, "judged twice or out of order"
    assert len(frame.times_s) == 0 or frame.times_s[-1] <= end_s
    assert len(frame.times_s) == 0 or frame.times_s[0] > end_s - judge.lookback_s
    phase = Phase.PROVISIONAL if state.fits else Phase.LEARNING
    verdict = Verdict(state.instance, end_s, phase, score=0.5 if state.fits else float("nan"), progress=1.0)
    return replace(state, last_end_s=end_s), verdict


def never_due(state: HostState, end_s: float, judge: Judge) -> bool:
    return False


def counting_fit(state: HostState, judge: Judge) -> HostState:
    return replace(state, fits=state.fits + 1)


def due_from(first_s: float) -> Judging:
    """A fit is due once, from that time on."""
    return Judging(scoring_step, lambda state, end_s, _: not state.fits and end_s - START_S >= first_s, counting_fit)


SCORING = Judging(scoring_step, never_due, counting_fit)


def settings(**sections: Any) -> Settings:
    """Settings with the given sections, the rest as by default."""
    return TABLE.model_validate(sections)


@dataclass
class Bench:
    """A loop with everything around it made for the test."""

    judging: Judging = SCORING
    hosts: Sequence[Host] = (HOST,)
    sections: dict[str, Any] = field(default_factory=dict)
    directory: Path | None = None

    def __post_init__(self) -> None:
        self.clock = SteppedClock()
        self.source = MadeSource(self.clock, *self.hosts)
        self.notebook = Notebook()
        self.telemetry = Telemetry()
        self.store = Store(self.directory, 3) if self.directory else None
        self.loop = self.new_loop()

    def new_loop(self) -> Loop:
        """A loop as after a restart: it knows only what was saved."""
        self.settings = settings(**self.sections)
        parts = self.settings, self.source, [self.notebook], self.store, self.telemetry, self.clock, self.judging
        self.loop = Loop(*parts)
        return self.loop

    def go(self, duration_s: float, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass, each round as soon as it is due."""
        end_s = self.clock.now_s + duration_s
        while (pause_s := self.loop.pause_s()) + self.clock.now_s <= end_s:
            self.clock.wait(max(pause_s, 1e-3))
            self.loop.round()
            each()
        self.clock.wait(end_s - self.clock.now_s)

    def sample(self, name: str, **labels: str) -> float:
        """The value of a metric about the detector itself."""
        value = self.telemetry.registry.get_sample_value(name, labels)
        assert value is not None, f"no metric {name} {labels}"
        return value


def wait_for_fit(bench: Bench) -> None:
    """Until every fit that is under way is done."""
    fits = [watch.fit for watch in bench.loop._watches.values() if watch.fit]
    wait_until(lambda: all(fit.future.done() for fit in fits), 60, "the fit is done")

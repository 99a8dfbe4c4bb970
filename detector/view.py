"""What the terminal shows of the newest verdicts: a live picture, or a line when something changes.

https://rich.readthedocs.io/en/stable/live.html. Everything here is text made from verdicts; ``sinks/view.py`` shows it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from catalog.families.exporter import PROCESS_CPU_SECONDS
from detector.frame import Frame
from detector.readable import bar, duration, quantity, sparkline
from detector.sink import Judged
from detector.verdict import Cause, Phase, Verdict

HISTORY_S = 60.0
BOUND = 1.0
TOP = 2 * BOUND  # scale of bars and sparklines: the bound is in the middle
MOST_HOSTS = 20
_MOST_CAUSES = 6
_LEAST_DEVIATION = 0.05  # what would be shown as 0.0 has not moved
_WIDTH = 30
_COST_S = 30.0


@dataclass(slots=True)
class Alarm:
    """The newest episode of a host: when it began and was last seen open, and its highest score."""

    subsystem: str
    onset_s: float
    until_s: float
    peak: float

    @classmethod
    def of(cls, verdict: Verdict, before: Alarm | None) -> Alarm | None:
        """The episode after one more verdict."""
        if not verdict.active:
            return before
        highest = before.peak if before is not None and before.onset_s == verdict.onset_s else 0.0
        return cls(verdict.subsystem, verdict.onset_s, verdict.end_s, max(highest, _or(verdict.score, 0.0)))


@dataclass(slots=True)
class HostView:
    """What is remembered of one host for showing it."""

    judged: Judged
    scores: deque[tuple[float, float]] = field(default_factory=deque)
    cpu: deque[tuple[float, float]] = field(default_factory=deque)
    began_s: float = math.nan
    trouble: str = ""
    alarm: Alarm | None = None

    def update(self, judged: Judged) -> None:
        """Take the next verdict."""
        self.judged, self.trouble = judged.without_samples(), ""
        verdict = judged.verdict
        if math.isnan(self.began_s):
            self.began_s = verdict.end_s
        self.scores.append((verdict.end_s, verdict.score))
        while self.scores[0][0] <= verdict.end_s - HISTORY_S:
            self.scores.popleft()
        self.alarm = Alarm.of(verdict, self.alarm)
        self._follow_cost(judged.frame)

    def _follow_cost(self, frame: Frame) -> None:
        series = PROCESS_CPU_SECONDS()
        if series not in frame.columns:
            return
        values = frame.values[:, frame.columns.index(series)]
        known = [
            (float(time_s), float(value)) for time_s, value in zip(frame.times_s, values, strict=True) if value >= 0
        ]
        newest_s = self.cpu[-1][0] if self.cpu else -math.inf
        for time_s, value in known:
            if time_s > newest_s:
                if self.cpu and value < self.cpu[-1][1]:
                    self.cpu.clear()  # the exporter was restarted
                self.cpu.append((time_s, value))
        while self.cpu and self.cpu[0][0] < self.cpu[-1][0] - _COST_S:
            self.cpu.popleft()

    @property
    def cost(self) -> float:
        """Part of one core that sampling took in the last half minute; NaN while unknown."""
        if len(self.cpu) < 2:
            return math.nan
        (first_s, before), (last_s, after) = self.cpu[0], self.cpu[-1]
        return (after - before) / (last_s - first_s)

    @property
    def left_s(self) -> float:
        """How long the first baseline still takes; NaN while unknown."""
        verdict = self.judged.verdict
        elapsed_s = verdict.end_s - self.began_s
        return elapsed_s * (1 / verdict.progress - 1) if verdict.progress > 0 and elapsed_s > 0 else math.nan


def state_of(verdict: Verdict) -> str:
    """The state of a host in a few words."""
    if verdict.phase is Phase.LEARNING:
        return "learning"
    if verdict.active:
        return f"{'PAGE' if verdict.page else 'ALARM'}: {verdict.subsystem}"
    if verdict.maintained:
        return "maintenance"
    if math.isnan(verdict.score):
        return "no score"
    return "quiet" if verdict.score <= BOUND else "over the bound"


def line(view: HostView) -> str:
    """A host in one line of plain text."""
    verdict, name = view.judged.verdict, view.judged.host.instance
    if view.trouble:
        return f"{name}: not judged: {view.trouble}"
    if verdict.phase is Phase.LEARNING:
        return f"{name}: learning, {verdict.progress:.0%}{_left(view)}"
    score = "" if math.isnan(verdict.score) else f", score {_score(verdict.score)} (bound 1.00)"
    text = f"{name}: {state_of(verdict)}{score}, {verdict.phase}"
    if not verdict.active:
        return text
    causes = "; ".join(
        f"{_feature(cause)} {quantity(cause.actual, cause.unit)}, usually {quantity(cause.typical, cause.unit)}"
        for cause in _moved(verdict)[:3]
    )
    since = f"{text}, since {duration(verdict.end_s - verdict.onset_s)}"
    return f"{since}: {causes}" if causes else since


def picture(views: Sequence[HostView], addresses: Mapping[str, str], own_cost: float) -> RenderableType:
    """The live picture: all hosts, and the one with the highest score in detail."""
    parts: list[RenderableType] = [_head(addresses)]
    if not views:
        return Group(*parts, Text("waiting for the first samples …", style="dim"))
    ordered = sorted(views, key=lambda view: -_or(view.judged.verdict.score, -1.0))
    if len(ordered) > 1:
        parts += [_hosts(ordered[:MOST_HOSTS]), Text()]
    return Group(*parts, *_detail(ordered[0], own_cost))


def _head(addresses: Mapping[str, str]) -> Text:
    text = Text("hostpulse", style="bold")
    for name, address in addresses.items():
        text.append(f"   {name} ", style="dim").append(address, style="none")
    return text


def _hosts(views: Sequence[HostView]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("host", "score", "last minute", "state"):
        table.add_column(column)
    for view in views:
        verdict = view.judged.verdict
        table.add_row(view.judged.host.instance, _score(verdict.score), _history(view), _state(view))
    return table


def _detail(view: HostView, own_cost: float) -> list[RenderableType]:
    verdict = view.judged.verdict
    title = Text(view.judged.host.instance, style="bold").append("  ").append_text(_state(view))
    cost = Text(
        f"cost     sampling {quantity(view.cost, 'ratio')} of a core, judging {quantity(own_cost, 'ratio')}",
        style="dim",
    )
    if verdict.phase is Phase.LEARNING:
        progress = Text("baseline ").append(bar(verdict.progress, 1.0, _WIDTH), style="cyan")
        return [title, progress.append(f" {verdict.progress:.0%}{_left(view)}"), cost]
    past = Text("last minute  ", style="dim").append(_history(view), style="none")
    if view.alarm is not None and not verdict.active:
        past.append(f"\nlast alarm   {_told(view.alarm, verdict.end_s)}", style="dim")
    if math.isnan(verdict.score):
        return [title, past, cost]
    score = Text("score    ").append(bar(verdict.score, TOP, _WIDTH, BOUND), style=_colour(verdict.score))
    score.append(f" {_score(verdict.score)} (bound 1.00)")
    shares = [Text("what it would be blamed on", style="dim"), *_shares(verdict)]
    # The causes stand last: a low terminal cuts what is below its edge.
    return [title, score, past, *_detectors(verdict), cost, Text(), *shares, Text(), _causes(verdict)]


def _told(alarm: Alarm, now_s: float) -> str:
    lasted, ago = duration(alarm.until_s - alarm.onset_s), duration(now_s - alarm.until_s)
    return f"{alarm.subsystem}, lasted {lasted} until {ago} ago, highest score {alarm.peak:.2f}"


def _detectors(verdict: Verdict) -> list[RenderableType]:
    rows: list[RenderableType] = []
    for name, score in verdict.detectors.items():
        row = Text(f"  {name:<10} ", style="dim").append(bar(score, TOP, _WIDTH // 2, BOUND), style=_colour(score))
        rows.append(row.append(f" {_score(score)}"))
    rows.append(Text(f"  {verdict.agreement} of {len(verdict.detectors)} exceed their own bound", style="dim"))
    return rows


def _shares(verdict: Verdict) -> list[RenderableType]:
    return [
        Text(f"  {subsystem:<10} ").append(bar(share, 1.0, _WIDTH // 2), style="blue").append(f" {share:.0%}")
        for subsystem, share in sorted(verdict.shares.items(), key=lambda item: -item[1])
    ]


def _causes(verdict: Verdict) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, expand=True)
    table.add_column("what moved most", overflow="ellipsis", no_wrap=True, ratio=1)  # what the numbers leave
    for column in ("typical", "now", "σ"):
        table.add_column(column, justify="right", no_wrap=True)
    for cause in _moved(verdict)[:_MOST_CAUSES]:
        table.add_row(
            _feature(cause),
            quantity(cause.typical, cause.unit),
            quantity(cause.actual, cause.unit),
            f"{cause.deviation:+.1f}",
        )
    return table


def _feature(cause: Cause) -> str:
    return f"{cause.channel} ({cause.statistic})"


def _moved(verdict: Verdict) -> list[Cause]:
    """Causes that are away from what is typical now: one may have led a window ago and be back."""
    return [cause for cause in verdict.causes if not abs(cause.deviation) < _LEAST_DEVIATION]


def _state(view: HostView) -> Text:
    if view.trouble:
        return Text(f"not judged: {view.trouble}", style="yellow")
    verdict = view.judged.verdict
    text = state_of(verdict)
    if verdict.active:
        return Text(f"{text}, since {duration(verdict.end_s - verdict.onset_s)}", style="bold red")
    provisional = " (provisional bound)" if verdict.phase is Phase.PROVISIONAL else ""
    return Text(text + provisional, style="green" if text == "quiet" else "dim")


def _history(view: HostView) -> str:
    return sparkline([score for _, score in view.scores], TOP)


def _left(view: HostView) -> str:
    return "" if math.isnan(view.left_s) else f", {duration(view.left_s)} left"


def _score(score: float) -> str:
    return "–" if math.isnan(score) else f"{score:.2f}"


def _colour(score: float) -> str:
    return "red" if score > BOUND else "yellow" if score > 0.7 else "green"


def _or(value: float, other: float) -> float:
    return other if math.isnan(value) else value

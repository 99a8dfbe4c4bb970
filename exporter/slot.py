"""A bulkhead: one collector with its health, so that whatever it does stays its own affair."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from math import inf, isfinite, isinf, nan
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Collector, Context, PartedCollector, Unavailable
from exporter.folding import Fold, unfolded
from exporter.tally import Health, State

_RETRY_S = 30.0
_STRIKES = 5
_QUICK = 0.5  # of its share of the budget: a read within that is no reason to stay in a slower tier
_QUICK_READS, _LONGEST_BACK_OFF = 30, 64
_FAST_READS_MEASURED = 10
_LOG = logging.getLogger("exporter")


class Reading(NamedTuple):
    """Values, and the series that they are of."""

    series: tuple[Series, ...]
    values: Sequence[float]


class Slot:
    """A collector as the sampler sees it: what it returns always has one value for each of ``series``.

    ``gap`` is the reading of one that fails: NaN for every series.

    One that has failed for ``retry_s`` is built anew, and as often again until that works.
    """

    def __init__(
        self,
        kind: type[Collector],
        context: Context,
        *,
        disabled: bool = False,
        retry_s: float = _RETRY_S,
        fold: Fold = unfolded,
    ) -> None:
        self.name = kind.name
        self.kind = kind
        self.health = context.tally.collectors[kind.name] = Health(kind.tier)
        self._context = context
        self._collector: Collector | None = None
        self._take: Callable[[], Any] | None = None  # of one that works and reads in two parts
        self._parse_part: Callable[[Any], Sequence[float]] | None = None
        self._glance = kind.glance if issubclass(kind, PartedCollector) else None
        self.take_s = 0.0
        self._takes = self._parses = 0
        self._parsed: tuple[Any, Sequence[float]] = (None, ())
        self.gap = Reading((), ())
        # What is read once is read again when something came or went, and may just have come itself.
        self._retry_s, self._fold = 0.0 if kind.tier is Tier.STATIC else retry_s, fold
        self._rebuild_at_s = -inf
        self._cpu_every = _FAST_READS_MEASURED if kind.tier is Tier.FAST else 1
        self._strikes = self._quick_reads = self._reads_judged = self._reads_weighed = 0
        self._reads_to_return = _QUICK_READS
        self._moved = ""
        reason = "switched off by --collector.disable" if disabled else self._unwanted()
        self.wanted = not reason
        if reason:
            self.health.state, self.health.reason = State.OFF, reason

    def _unwanted(self) -> str:
        if any(map(self._context.wants, self.kind.families)):
            return ""
        first = min((family.profile for family in self.kind.families), key=lambda profile: profile.rank)
        return f"belongs to profile {first}"

    @property
    def series(self) -> tuple[Series, ...]:
        """The layout as of the last read."""
        return self.gap.series

    @property
    def tier(self) -> Tier:
        """The tier that it is read in."""
        return self.health.tier

    @property
    def off(self) -> bool:
        """Whether there is nothing to read."""
        return self.health.state is State.OFF

    def start(self) -> None:
        """Open the collector. ``Unavailable`` turns it off; any other failure is a failed read."""
        if self.wanted:
            self.health.state = State.OFF  # until it has been built, so that Unavailable leaves it there
            self._guard(self._open, perf_counter())

    def _open(self, now_s: float) -> Sequence[float]:
        self._build(now_s)
        return self.gap.values

    def take(self, wall_s: float) -> Any:
        """What a tick has to do: a whole ``Reading``, or what ``finish`` makes one of later where a read has two parts.

        One that does not work is read whole, so that it is known at once when it works again. Whoever calls it keeps
        the time that it took in ``take_s``: all that is done here is done cold, a few times a second.
        """
        take = self._take
        if take is None:
            return self.sample(wall_s)
        self._takes += 1
        if self._takes % self._cpu_every == 0:
            return self._measured(take)
        try:
            return take()
        except Exception as error:  # noqa: BLE001 - the bulkhead: a collector that breaks must not break the tick
            return Reading(self.series, self._fail(error, perf_counter()))

    def _measured(self, take: Callable[[], Any]) -> Any:
        """What is taken, the CPU of it counted for all that were taken since the last time."""
        started_cpu_s = thread_time()
        try:
            return take()
        except Exception as error:  # noqa: BLE001 - the bulkhead
            return Reading(self.series, self._fail(error, perf_counter()))
        finally:
            self.health.cpu_s += (thread_time() - started_cpu_s) * self._cpu_every

    def glance(self, taken: Any) -> Sequence[float]:
        """What of ``taken`` shows early that the host is unsettled; nothing where that is not of a known format."""
        if self._glance is None or type(taken) is Reading:
            return ()
        try:
            return self._glance(taken)
        except Exception:  # noqa: BLE001 - the bulkhead; parsing will tell what is wrong
            return ()

    def late(self) -> Reading:
        """The reading of a tick that came to it too late: its values would not be of the tick's time."""
        if not self.off:
            self.health.errors["late"] += 1
        return self.gap

    def finish(self, taken: Any, wall_s: float) -> Reading:
        """The reading of what was taken at ``wall_s``."""
        if type(taken) is Reading:
            return taken
        started_s, health = perf_counter(), self.health
        health.reads += 1
        self._parses += 1
        measured = self._parses % self._cpu_every == 0
        started_cpu_s = thread_time() if measured else 0.0
        try:
            values = self._parse(taken)
        except Exception as error:  # noqa: BLE001 - the bulkhead
            values = self._fail(error, started_s)
        else:
            health.succeeded_at_s = wall_s
        health.duration_s = self.take_s + perf_counter() - started_s
        if measured:
            health.cpu_s += (thread_time() - started_cpu_s) * self._cpu_every
        return Reading(self.gap.series, values)

    def _parse(self, taken: Any) -> Sequence[float]:
        collector, parse = self._collector, self._parse_part
        if collector is None or parse is None:
            return self.gap.values  # it has been closed since
        before, values = self._parsed
        if taken != before:  # on a quiet host most files say for many ticks what they said before
            self._parsed = None, ()
            values = self._checked(collector, parse(taken))
            self._parsed = taken, values
        return values

    def sample(self, wall_s: float) -> Reading:
        """Read the collector at ``wall_s``, all at once; NaN for every series where that fails.

        One that is off tries again at times: a driver may have been loaded since.
        """
        started_s = perf_counter()
        if self._collector is None and started_s < self._rebuild_at_s:
            return self.gap
        health, started_cpu_s = self.health, thread_time()
        values = self._guard(self._read, started_s)
        if values is not self.gap.values:
            health.succeeded_at_s = wall_s
        health.reads += 1
        health.duration_s = perf_counter() - started_s
        health.cpu_s += thread_time() - started_cpu_s
        return Reading(self.series, values)

    def _guard(self, step: Callable[[float], Sequence[float]], now_s: float) -> Sequence[float]:
        try:
            values = step(now_s)
        except Exception as error:  # noqa: BLE001 - the bulkhead
            return self._fail(error, now_s)
        if self.health.state is not State.ON:
            self._recover()
        return values

    def _read(self, now_s: float) -> Sequence[float]:
        collector = self._collector
        if collector is None or now_s >= self._rebuild_at_s:
            collector = self._build(now_s)
        self._parsed = None, ()  # this read may change the layout
        return self._checked(collector, collector.read())

    def _checked(self, collector: Collector, values: Sequence[float]) -> Sequence[float]:
        if collector.series is not self.gap.series:
            self._lay_out(collector)
        if len(values) != len(self.gap.values):
            raise ValueError(f"read {len(values)} values for {len(self.series)} series")
        if not isfinite(sum(values)):
            return self._without_impossible(values)
        return values

    def _build(self, now_s: float) -> Collector:
        self.close()
        self._rebuild_at_s = now_s + self._retry_s
        self._collector = collector = self._fold(self.kind(self._context))
        self._parse_part = collector.parse if isinstance(collector, PartedCollector) else None
        self._rebuild_at_s = inf
        self._lay_out(collector)
        return collector

    def _lay_out(self, collector: Collector) -> None:
        # An equal layout keeps the old tuple, so that a collector that was built anew does not start a new segment.
        if collector.series == self.series:
            collector.series = self.series
        else:
            self.gap = Reading(collector.series, (nan,) * len(collector.series))

    def _without_impossible(self, values: Sequence[float]) -> Sequence[float]:
        infinite = sum(map(isinf, values))
        if infinite:
            self.health.errors["impossible_value"] += infinite
            return [nan if isinf(value) else value for value in values]
        return values

    def _fail(self, error: Exception, now_s: float) -> Sequence[float]:
        health = self.health
        health.reason = str(error) or type(error).__name__
        if isinstance(error, Unavailable) and (self.off or not self.series):
            health.state = State.OFF  # whatever was tried before: there is nothing, and nothing is lost
            return self.gap.values
        health.errors[_kind_of(error)] += 1
        self._take = None
        if health.state is not State.FAILING:
            health.state = State.FAILING
            _LOG.warning("collector %s fails: %s", self.name, health.reason)
        if self._rebuild_at_s == inf:
            self._rebuild_at_s = now_s + self._retry_s
        return self.gap.values

    def _recover(self) -> None:
        if self.health.reads:
            _LOG.info("collector %s works again", self.name)
        collector = self._collector
        self._take = collector.take if isinstance(collector, PartedCollector) else None
        self.health.state, self.health.reason = State.ON, self._reason()
        self._rebuild_at_s = inf

    def over_budget(self, budget_s: float) -> bool:
        """Whether reads keep taking longer than its share of the budget: strikes for those, undone by quicker ones.

        A thread that loses its CPU now and then while it reads is not at fault, so one long read proves nothing. It is
        asked more often than some are read: those that are off are tried every half minute.
        """
        read, self._reads_weighed = self.health.reads > self._reads_weighed, self.health.reads
        if not read:
            return False
        if self.health.duration_s > budget_s * self.kind.budget_share:
            self._strikes += 1
        elif self._strikes:
            self._strikes -= 1
        return self._strikes >= _STRIKES

    def demote(self, tier: Tier, budget_s: float) -> None:
        """Have it read in a slower tier from now on. Each time it has to be quick for twice as long to come back."""
        if self.health.returns:
            self._reads_to_return = min(2 * self._reads_to_return, _LONGEST_BACK_OFF * _QUICK_READS)
        self.health.errors["over_budget"] += 1
        self._move(tier, f"moved from {self.tier} to {tier}: reads took more than {self._allowed(budget_s)}")
        _LOG.warning("collector %s %s", self.name, self._moved)

    def fits_again(self, budget_s: float) -> bool:
        """Whether reads in a slower tier have been well within its share of the budget for so long that it may return.

        A read over its share takes back as many quick ones as there are strikes; one in between proves nothing.
        """
        if self.tier is self.kind.tier:
            return False
        reads, self._reads_judged = self.health.reads - self._reads_judged, self.health.reads
        if self.health.state is not State.ON:
            return False
        share_s = budget_s * self.kind.budget_share
        if self.health.duration_s <= _QUICK * share_s:
            self._quick_reads += reads
        elif reads and self.health.duration_s > share_s:
            self._quick_reads = max(0, self._quick_reads - _STRIKES)
        return self._quick_reads >= self._reads_to_return

    def take_back(self, tier: Tier, budget_s: float) -> None:
        """Have it read in a faster tier again."""
        self.health.returns += 1
        self._move(
            tier, f"moved back from {self.tier} to {tier}: reads took less than {self._allowed(budget_s, _QUICK)}"
        )
        _LOG.info("collector %s %s", self.name, self._moved)

    def _move(self, tier: Tier, why: str) -> None:
        self._strikes = self._quick_reads = 0
        self._reads_judged = self.health.reads
        self._moved = why
        self.health.tier = tier
        if self.health.state is State.ON:  # else the reason says why it is not
            self.health.reason = self._reason()

    def _allowed(self, budget_s: float, part: float = 1.0) -> str:
        return f"{part * budget_s * self.kind.budget_share * 1000:g} ms"

    def _reason(self) -> str:
        """What people should know of one that works."""
        note = self._collector.note if self._collector is not None else ""
        return "; ".join(filter(None, (self._moved, note)))

    def hang(self, deadline_s: float) -> None:
        """Note that a read did not come back in time."""
        self.health.state = State.HUNG
        self.health.reason = f"a read has not returned after {deadline_s:g} s"
        self.health.errors["deadline"] += 1
        _LOG.warning("collector %s hangs: %s", self.name, self.health.reason)

    def unhang(self) -> None:
        """Note that the read that hung has returned; what it returned was noted by ``sample``."""
        if self.health.state is State.HUNG:
            self._recover()

    def close(self) -> None:
        """Give back what the collector holds."""
        if self._collector is not None:
            self._collector.close()
            self._collector = self._take = self._parse_part = None


def _kind_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, str(error.errno))
    return type(error).__name__

"""Reads raw samples from a Prometheus, or what speaks its API, with range selectors on ``/api/v1/query``.

https://prometheus.io/docs/prometheus/latest/querying/api/. ``query_range`` would repeat a value for five minutes and so
hide gaps. A range selector includes its left end up to Prometheus 2 and not from 3 on: more than needed is asked for
and cut here.

A host is read from all exporters that the catalog knows: our own, node_exporter, dcgm-exporter. What several tell, the
first one tells; the rest joins in under the catalog's names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from catalog import FAMILIES
from catalog.series import Series
from detector.access import Access, AccessSettings
from detector.buffer import Buffer
from detector.clock import Clock
from detector.facts import CONSTANTS
from detector.fetch import Fetcher
from detector.frame import Frame
from detector.query import QueryApi, matching, one_of
from detector.scrapes import Scrapes
from detector.section import Duration, Section, Texts, Url
from detector.source import Host, Origin, Source, SourceError
from detector.tables import Table, by_replica, table
from detector.targets import Target, answered, by_host, question
from detector.translation import name_matchers

_LARGEST_BYTES = 1 << 30
_LEAST_MARGIN = 0.1  # of the interval: jitter of scrapes
_LEAST_MARGIN_S = 0.15  # how far the age of samples at a scrape varies where they are taken every 100 ms


class PrometheusSettings(Section):
    """A Prometheus, or a database that has its query API, which scrapes the exporters."""

    url: Url = Field(
        default="http://127.0.0.1:9090", description="Where `/api/v1/query` is found, a path prefix included."
    )
    job: Texts = Field(default=(), description="Scrape jobs of the exporters; empty for all jobs.")
    host_label: str = Field(
        default="",
        pattern="[a-zA-Z_][a-zA-Z0-9_]*|",
        description="Label that names the host: targets that share it are judged as one host. Empty, and of "
        "targets without it: `instance` without its port.",
    )
    replica_labels: Texts = Field(
        default=("prometheus_replica", "replica"),
        description="Labels that tell apart two databases that scrape the same targets. Their samples are merged.",
    )
    peer_label: str = Field(
        default="",
        pattern="[a-zA-Z_][a-zA-Z0-9_]*|",
        description="Label of the targets that names the workload group of a host, whose hosts are compared with each "
        "other; empty for no groups. `job` is the scrape job, not that.",
    )
    timeout_s: Duration = Field(default=2.0, ge=0.05, le=60.0, description="Longest wait for an answer.")
    latency_offset_s: Duration = Field(
        default=0.0,
        ge=0.0,
        le=600.0,
        description="How late samples may come into the database, as those do that are sent on by agents. Windows are "
        "judged so much later.",
    )
    access: AccessSettings = AccessSettings()


class _Record:
    """What is known of one host: its targets, the one that names it first, and its recent samples."""

    def __init__(self, keep_s: float) -> None:
        self.buffer = Buffer(keep_s)
        self.scrapes: dict[Target, Scrapes] = {}

    @property
    def main(self) -> Scrapes:
        """Of the target that says how often the host is sampled."""
        return next(iter(self.scrapes.values()))

    def follow(self, targets: Sequence[Target]) -> None:
        """Take over which targets there are."""
        self.scrapes = {target: self.scrapes.get(target) or Scrapes(target) for target in targets}


class PrometheusSource(Source):
    """See the module."""

    name: ClassVar[str] = "prometheus"
    settings: ClassVar[type[Section]] = PrometheusSettings
    address_key: ClassVar[str] = "url"
    grace_s: ClassVar[float] = 0.1

    def __init__(self, settings: PrometheusSettings, horizon_s: float, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._horizon_s = horizon_s
        self.late_s = settings.latency_offset_s
        fetcher = Fetcher(settings.timeout_s, _LARGEST_BYTES, Access(settings.access))
        self._api = QueryApi(settings.url, fetcher, settings.timeout_s, clock)
        self._records: dict[Host, _Record] = {}

    @property
    def address(self) -> str:
        """See ``Source``."""
        return self._api.address

    def hosts(self) -> Sequence[Host]:
        """See ``Source``: whoever has a recent sample of what every exporter has."""
        return self._follow(self._targets(0))

    def past_hosts(self, start_s: float, end_s: float) -> Sequence[Host]:
        """See ``Source``: whoever has a sample then of what every exporter has."""
        found = self._targets(math.ceil(end_s - start_s), time=f"{end_s:.3f}")
        hosts = self._follow(dict.fromkeys(found, end_s))  # databases differ in what time they tell of such a query
        every = [scrapes for record in self._records.values() for scrapes in record.scrapes.values()]
        for back_s in (min(end_s - start_s, self._horizon_s), end_s - start_s):  # of who left early nothing is recent
            for scrapes in every:
                if math.isnan(scrapes.interval_s):
                    self._measure(scrapes, back_s, time=f"{end_s:.3f}")
        return hosts

    def _targets(self, back_s: int, **parameters: str) -> dict[Target, float]:
        """Targets and their newest samples' times; see ``question``."""
        labels = self._settings.host_label, self._settings.peer_label
        return answered(self._api.instant(question(self._settings.job, *labels, back_s), **parameters), *labels)

    def _follow(self, newest_s: Mapping[Target, float]) -> Sequence[Host]:
        """Take over who is there."""
        found = by_host(newest_s)
        for gone in self._records.keys() - found.keys():
            del self._records[gone]
        for host, targets in found.items():
            record = self._records.setdefault(host, _Record(self._horizon_s))
            record.follow(targets)
            for target, scrapes in record.scrapes.items():
                scrapes.newest_s = newest_s[target]
        return list(found)

    def newest_s(self, host: Host) -> float:
        """See ``Source``; as of the last call of ``hosts``."""
        main = self._record(host).main
        if math.isnan(main.interval_s):
            self._measure(main, self._horizon_s)
            if math.isnan(main.interval_s):
                return math.nan
        # A time is complete once the next scrape's samples must lie behind it.
        margin_s = max(_LEAST_MARGIN * main.interval_s, _LEAST_MARGIN_S)
        complete_s = main.newest_s + max(main.interval_s - margin_s, 0.0)
        # Any series may be late: that the newest sample is there says nothing of the others.
        return min(complete_s, self.now_s(host) - self.late_s) if self.late_s else complete_s

    def oldest_s(self, host: Host) -> float:
        """See ``Source``."""
        return self._record(host).main.oldest_s

    def interval_s(self, host: Host) -> float:
        """See ``Source``: median time between scrapes."""
        return self._record(host).main.interval_s

    def now_s(self, host: Host) -> float:  # noqa: ARG002 - one clock for all hosts
        """See ``Source``."""
        ahead_s = self._api.ahead_s
        return self._clock.wall_s() if math.isnan(ahead_s) else self._clock.elapsed_s() + ahead_s

    def read(self, host: Host, start_s: float, end_s: float) -> Frame:
        """See ``Source``; only what was not read before is asked for."""
        record = self._record(host)
        told: set[str] = set()
        for scrapes in record.scrapes.values():
            if math.isnan(scrapes.interval_s):
                self._measure(scrapes, self._horizon_s)
            span_s = scrapes.missing(start_s, end_s, self.late_s)
            if span_s is not None:
                found = self._table(scrapes, *span_s)
                if found[2]:
                    scrapes.add_to(record.buffer, found, told)
            scrapes.cover(start_s, span_s[1] if span_s else -math.inf)
            told |= scrapes.families
        record.buffer.forget(record.main.covered_s[0])
        return record.buffer.frame(host.instance, start_s, end_s)

    def origins(self, host: Host) -> Sequence[Origin]:
        """See ``Source``."""
        return [
            Origin(
                scrapes.target.exporter.name,
                scrapes.target.job,
                scrapes.target.instance,
                scrapes.interval_s,
                frozenset(scrapes.families),
            )
            for scrapes in self._record(host).scrapes.values()
        ]

    def constants(self, host: Host) -> Sequence[Series]:
        """See ``Source``; of our own exporter, whose labels are known."""
        main = self._record(host).main.target
        entries = self._api.instant(_selector(main, [matching("__name__", one_of(CONSTANTS))]))
        return [
            Series(family.name, tuple((label, entry["metric"].get(label, "")) for label in family.labels))
            for entry in entries
            if (family := FAMILIES.get(entry["metric"].get("__name__", ""))) is not None
        ]

    def close(self) -> None:
        """See ``Source``."""
        self._api.close()

    def _record(self, host: Host) -> _Record:
        try:
            return self._records[host]
        except KeyError:
            raise SourceError(f"{self.address} has no recent samples of {host.instance}") from None

    def _measure(self, scrapes: Scrapes, back_s: float, **parameters: str) -> None:
        """How often a target is scraped, and since when."""
        selector = _selector(scrapes.target, [f'__name__="{scrapes.target.exporter.marker}"'])
        entries = self._api.instant(f"{selector}[{math.ceil(back_s)}s]", **parameters)
        databases = by_replica(entries, self._settings.replica_labels)
        scrapes.measure([{float(time_s) for one in of_one for time_s, _ in one["values"]} for of_one in databases])

    def _table(self, scrapes: Scrapes, start_s: float, end_s: float) -> Table:
        """The scrapes from ``start_s`` to ``end_s``."""
        target = scrapes.target
        entries = self._api.samples(_selector(target, name_matchers(target.exporter)), start_s, end_s)
        interval_s = 0.0 if math.isnan(scrapes.interval_s) else scrapes.interval_s
        return table(entries, scrapes.translation, self._settings.replica_labels, interval_s)


def _selector(target: Target, names: Sequence[str]) -> str:
    return "{" + ",".join([*names, *target.matchers]) + "}"

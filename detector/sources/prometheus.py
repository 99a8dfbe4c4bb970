"""Reads raw samples from a Prometheus, or what speaks its API, with range selectors on ``/api/v1/query``.

https://prometheus.io/docs/prometheus/latest/querying/api/. ``query_range`` would repeat a value for five minutes and so
hide gaps. A range selector includes its left end up to Prometheus 2 and not from 3 on: more than needed is asked for
and cut here.

A scrape repeats the value of a tier that is slower than it, and a value is older than its scrape. Rows therefore lie
where the exporter says that each tier was sampled, moved by the usual age at a scrape, which is also how much the two
machines' clocks differ: repeats fall together, and rates have the right clock.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import orjson
from pydantic import Field

from catalog import FAMILIES
from catalog.families.exporter import BUILD_INFO, SAMPLE_TIMESTAMP_SECONDS
from catalog.family import Tier
from catalog.series import Series
from detector.buffer import Buffer, Columns
from detector.clock import Clock
from detector.fetch import Fetcher, FetchError, without_password
from detector.frame import Floats, Frame
from detector.section import Duration, Section, Url
from detector.source import KEPT_S, Host, Source, SourceError

_PATH = "/api/v1/query"
_LARGEST_BYTES = 1 << 30
_LEAST_MARGIN = 0.1  # of the interval: jitter of scrapes
_LEAST_MARGIN_S = 0.15  # how far the age of samples at a scrape varies where they are taken every 100 ms
_SPARE_INTERVALS = 2.0
_SCRAPES_KEPT = 20
_LARGEST_DRIFT_S = 1.0
_NOTABLE_SKEW_S = 2.0
_MOST_NAMES = 50_000
_NAMES = '__name__=~"hostpulse_.+|process_.+",__name__!~"hostpulse_(anomaly|detector)_.+"'

_LOG = logging.getLogger(__name__)


class PrometheusSettings(Section):
    """A Prometheus, or a database that has its query API, which scrapes the exporters."""

    url: Url = Field(
        default="http://127.0.0.1:9090", description="Where `/api/v1/query` is found, a path prefix included."
    )
    job: str = Field(default="", description="Scrape job of the exporters; empty for all jobs.")
    timeout_s: Duration = Field(default=2.0, ge=0.05, le=60.0, description="Longest wait for an answer.")


class _Record:
    """What is known of one host: its scrapes, its clock, its recent samples."""

    def __init__(self, keep_s: float) -> None:
        self.buffer = Buffer(keep_s)
        self.newest_s = math.nan
        self.oldest_s = math.nan
        self.interval_s = math.nan
        self.covered_s = (math.nan, math.nan)
        self.skew_s = math.nan
        self.scrapes_s: Floats = np.empty(0)
        self.series: dict[tuple[tuple[str, str], ...], Series | None] = {}
        self.columns: dict[Tier, Columns] = {}

    def saw(self, scrapes_s: Floats) -> None:
        """Follow the scrape interval: the median over the newest scrapes, so that a missed one does not show."""
        self.scrapes_s = np.union1d(self.scrapes_s, scrapes_s)[-_SCRAPES_KEPT:]
        if len(self.scrapes_s) > 1:
            self.interval_s = float(np.median(np.diff(self.scrapes_s)))

    def follow_clock(self, ages_s: Floats) -> bool:
        """Take over how much later scrapes are than samples (NaN = unknown); True where that is a change."""
        known_s = ages_s[~np.isnan(ages_s)]
        if not len(known_s) or abs(np.median(known_s) - self.skew_s) <= _LARGEST_DRIFT_S:
            return False
        self.skew_s = round(float(np.median(known_s)), 1)
        return True


class PrometheusSource(Source):
    """See the module."""

    name: ClassVar[str] = "prometheus"
    settings: ClassVar[type[Section]] = PrometheusSettings
    grace_s: ClassVar[float] = 0.1

    def __init__(self, settings: PrometheusSettings, horizon_s: float, clock: Clock) -> None:
        self._clock = clock
        self._url = settings.url + _PATH
        self._job = settings.job
        self._horizon_s = horizon_s
        self._fetcher = Fetcher(settings.timeout_s, _LARGEST_BYTES)
        self._records: dict[Host, _Record] = {}
        self._ahead_s = math.nan

    @property
    def address(self) -> str:
        """See ``Source``."""
        return without_password(self._url.removesuffix(_PATH))

    def hosts(self) -> Sequence[Host]:
        """See ``Source``: whoever has a recent sample of the family that every exporter has."""
        found: dict[Host, float] = {}
        for entry in self._query(f"timestamp({BUILD_INFO.name}{_matchers(job=self._job)})"):
            labels = entry["metric"]
            host = Host(labels.get("instance", ""), labels.get("job", ""))
            found[host] = max(float(entry["value"][1]), found.get(host, -math.inf))
        for host, newest_s in found.items():
            if host.instance:
                self._records.setdefault(host, _Record(self._horizon_s)).newest_s = newest_s
        for gone in self._records.keys() - found.keys():
            del self._records[gone]
        return list(self._records)

    def newest_s(self, host: Host) -> float:
        """See ``Source``; as of the last call of ``hosts``."""
        record = self._record(host)
        if math.isnan(record.interval_s):
            self._measure(host, record)
            if math.isnan(record.interval_s):
                return math.nan
        # A time is complete once the next scrape's samples must lie behind it.
        margin_s = max(_LEAST_MARGIN * record.interval_s, _LEAST_MARGIN_S)
        return record.newest_s + max(record.interval_s - margin_s, 0.0)

    def oldest_s(self, host: Host) -> float:
        """See ``Source``."""
        return self._record(host).oldest_s

    def interval_s(self, host: Host) -> float:
        """See ``Source``: median time between scrapes."""
        return self._record(host).interval_s

    def now_s(self, host: Host) -> float:  # noqa: ARG002 - one clock for all hosts
        """See ``Source``."""
        return self._clock.wall_s() if math.isnan(self._ahead_s) else self._clock.elapsed_s() + self._ahead_s

    def read(self, host: Host, start_s: float, end_s: float) -> Frame:
        """See ``Source``; only what was not read before is asked for."""
        record = self._record(host)
        spare_s = _SPARE_INTERVALS * (0.0 if math.isnan(record.interval_s) else record.interval_s)
        first_s, last_s = record.covered_s
        until_s = min(end_s + spare_s, record.newest_s)
        if not first_s <= start_s - spare_s <= last_s:
            first_s = last_s = start_s - spare_s
        if until_s > last_s:
            self._extend(host, record, last_s - spare_s, until_s)
            last_s = until_s
        first_s = max(first_s, start_s - spare_s - KEPT_S)
        record.covered_s = (first_s, last_s)
        record.buffer.forget(first_s)
        return record.buffer.frame(host.instance, start_s, end_s)

    def close(self) -> None:
        """See ``Source``."""
        self._fetcher.close()

    def _record(self, host: Host) -> _Record:
        try:
            return self._records[host]
        except KeyError:
            raise SourceError(f"{without_password(self._url)} has no recent samples of {host.instance}") from None

    def _measure(self, host: Host, record: _Record) -> None:
        """How often a host is scraped, and since when."""
        selector = BUILD_INFO.name + _matchers(job=host.job, instance=host.instance)
        entries = self._query(f"{selector}[{math.ceil(self._horizon_s)}s]")
        times_s = np.unique([float(time_s) for entry in entries for time_s, _ in entry["values"]])
        if len(times_s):
            record.oldest_s = float(times_s[0])
        record.saw(times_s)

    def _extend(self, host: Host, record: _Record, start_s: float, end_s: float) -> None:
        """Read the scrapes from ``start_s`` to ``end_s`` into the record."""
        selector = "{" + _NAMES + "," + _matchers(job=host.job, instance=host.instance)[1:]
        entries = self._query(f"{selector}[{math.ceil(end_s - start_s)}s]", time=f"{end_s:.3f}")
        times_s, values, series = _table(entries, record.series)
        if not series:
            return
        if len(record.series) > _MOST_NAMES:
            record.series.clear()
        record.saw(times_s)
        by_tier: dict[Tier, list[int]] = {}
        for index, one in enumerate(series):
            by_tier.setdefault(FAMILIES[one.name].tier, []).append(index)
        stamps = {
            one.label("tier"): values[:, index]
            for index, one in enumerate(series)
            if one.name == SAMPLE_TIMESTAMP_SECONDS.name
        }
        fast_s = stamps.get(Tier.FAST)
        moved = fast_s is not None and record.follow_clock(times_s - fast_s)
        if moved and abs(record.skew_s) > _NOTABLE_SKEW_S:
            _LOG.warning("the clock of %s is %.1f s behind the database's", host.instance, record.skew_s)
        for tier, indices in by_tier.items():
            columns = tuple(series[index] for index in indices)
            if columns != record.columns.get(tier):
                record.columns[tier] = columns
            sampled_s = times_s if tier not in stamps else np.round(stamps[tier] + np.nan_to_num(record.skew_s), 3)
            rows = _advancing(sampled_s)
            record.buffer.add(tier, record.columns[tier], sampled_s[rows], values[rows][:, indices])

    def _query(self, query: str, **parameters: str) -> list[Any]:
        """The ``result`` of an instant query; keeps the server's clock when no time was given.

        Raises:
            SourceError: names the address and the query.
        """
        asked = f"{without_password(self._url)}: {query}"
        begun_s = self._clock.elapsed_s()
        try:
            status, body = self._fetcher.get(self._url, {"query": query, **parameters})
        except FetchError as error:
            raise SourceError(f"{error} (asked {query})") from error
        try:
            answer = orjson.loads(body)
            if status != 200 or answer["status"] != "success":
                raise SourceError(f"{asked}: status {status}: {answer.get('error') or answer}")
            if answer.get("warnings"):
                raise SourceError(f"{asked}: incomplete: {'; '.join(answer['warnings'])}")
            result: list[Any] = answer["data"]["result"]
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise SourceError(f"{asked}: status {status}, not an answer of the query API: {body[:100]!r}") from None
        if result and "value" in result[0]:
            self._ahead_s = float(result[0]["value"][0]) - (begun_s + self._clock.elapsed_s()) / 2
        return result


def _matchers(**labels: str) -> str:
    """``{job="a"}`` of the labels that are not empty."""
    return str(Series("", tuple((name, value) for name, value in labels.items() if value)))


def _advancing(times_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows are later than all before: not a repeat, and not after a clock that was set back."""
    known = np.where(np.isnan(times_s), -np.inf, times_s)
    before = np.concatenate([[-np.inf], np.maximum.accumulate(known)[:-1]])
    return known > before


def _table(
    entries: Sequence[Mapping[str, Any]], names: dict[tuple[tuple[str, str], ...], Series | None]
) -> tuple[Floats, Floats, list[Series]]:
    """Scrape times float64[T], values float64[T, S] and S series of a range selector's result.

    ``names`` caches how labels translate.
    """
    kept: dict[Series, Sequence[tuple[float, str]]] = {}
    for entry in entries:
        key = tuple(entry["metric"].items())
        if key not in names:
            names[key] = _series(entry["metric"])
        series = names[key]
        if series is not None:
            kept.setdefault(series, entry["values"])
    times = sorted({time_s for values in kept.values() for time_s, _ in values})
    rows = {time_s: row for row, time_s in enumerate(times)}
    table = np.full((len(times), len(kept)), np.nan)
    for column, values in enumerate(kept.values()):
        for time_s, text in values:
            table[rows[time_s], column] = float(text)
    return np.array(times, dtype=np.float64), table, list(kept)


def _series(metric: Mapping[str, str]) -> Series | None:
    """The catalog's series of a label set; labels that the database or the scrape added are dropped.

    None for what the catalog does not know, and for what is no sample in time because it is read only once.
    """
    family = FAMILIES.get(metric["__name__"])
    if family is None or family.tier is Tier.STATIC:
        return None
    return family(*(metric.get(label, "") for label in family.labels))

"""Reads the rings of exporters over ``/api/v1/samples``: 100 ms data, no database needed."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from catalog.exporters import OWN
from catalog.series import Series, parse_series
from detector.buffer import Buffer, Columns
from detector.clock import Clock
from detector.facts import constants_in
from detector.fetch import Fetcher, FetchError, without_password
from detector.frame import Floats, Frame
from detector.samples import Header, SamplesError, decode
from detector.section import Duration, Section, Texts, Url, check_url
from detector.source import KEPT_S, Host, Origin, Source, SourceError
from detector.thinning import far_apart

_TARGET = re.compile(r"(?:(?P<instance>[^=/@\s]*)(?:@(?P<peer>[^=/@\s]+))?=)?(?P<url>\S+)")
_LARGEST_BYTES = 256 << 20
_SCHEMAS_KEPT = 16
_SHOWN = 3
_LONGEST_QUOTE = 200
_COMPLETE = 0.9  # a time is complete once the next sample, an interval after the newest, must lie behind it

_LOG = logging.getLogger(__name__)


def _split_target(target: str) -> tuple[str, str, str]:
    """Instance, URL and workload group of a target.

    >>> _split_target("web01:9100@job7=http://10.0.0.1:17720"), _split_target("http://10.0.0.1:17720")
    (('web01:9100', 'http://10.0.0.1:17720', 'job7'), ('10.0.0.1:17720', 'http://10.0.0.1:17720', ''))
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        raise ValueError(
            "must be a URL such as http://127.0.0.1:17720, INSTANCE=URL or INSTANCE@GROUP=URL, without blanks"
        )
    url = check_url(match["url"])
    return match["instance"] or urlsplit(url).netloc.rpartition("@")[2], url, match["peer"] or ""


def _check_targets(targets: tuple[str, ...]) -> tuple[str, ...]:
    instances = [_split_target(target)[0] for target in targets]
    twice = {instance for instance in instances if instances.count(instance) > 1}
    if twice:
        raise ValueError(f"instance {min(twice)} stands twice")
    if not targets:
        raise ValueError("at least one target is needed")
    return targets


class ExporterSettings(Section):
    """Exporters that are read directly."""

    targets: Annotated[Texts, AfterValidator(_check_targets)] = Field(
        default=("http://127.0.0.1:17720",),
        description="URLs of exporters. The instance of a host is its host:port, or what stands before a = sign. "
        "Hosts that stand before it as INSTANCE@GROUP are compared with the others of that workload group.",
        examples=["web01:17720=http://10.0.0.1:17720"],
    )
    job: str = Field(default="hostpulse", description="The label `job` on all outputs.")
    timeout_s: Duration = Field(default=2.0, ge=0.05, le=60.0, description="Longest wait for an answer.")


class _Target:
    """One exporter: what is known of it, and its recent samples."""

    def __init__(self, url: str, keep_s: float) -> None:
        self.url: Url = url
        self.buffer = Buffer(keep_s)
        self.keep_s = keep_s
        self.boot = ""
        self.ahead_s = math.nan
        self.columns: dict[str, Columns] = {}
        self.intervals_s: dict[str, float] = {}

    def since_s(self) -> float:
        """Where to read on: rows of one tick are published together, so nothing older than the newest comes later."""
        newest_s = self.buffer.newest_s()
        return 0.0 if math.isnan(newest_s) else newest_s

    def interval_s(self) -> float:
        """Of the fastest tier; NaN before the first answer."""
        return min(self.intervals_s.values(), default=math.nan)

    def complete_s(self) -> float:
        """Up to when nothing will come of the fastest tier any more: its next row that counts is an interval away."""
        if not self.intervals_s:
            return math.nan
        fastest = min(self.intervals_s, key=self.intervals_s.__getitem__)
        fastest_s = self.buffer.newest_s(fastest) + _COMPLETE * self.intervals_s[fastest]
        return max(fastest_s, self.buffer.newest_s())

    def start_over(self, boot: str) -> None:
        """Forget the samples of a process that is gone; schemas are hashes of contents and stay good."""
        self.buffer = Buffer(self.keep_s)
        self.intervals_s.clear()
        self.boot = boot


class ExporterSource(Source):
    """See the module."""

    name: ClassVar[str] = "exporter"
    settings: ClassVar[type[Section]] = ExporterSettings
    address_key: ClassVar[str] = "targets"
    grace_s: ClassVar[float] = 0.03

    def __init__(self, settings: ExporterSettings, horizon_s: float, clock: Clock) -> None:
        self._clock = clock
        self._fetcher = Fetcher(settings.timeout_s, _LARGEST_BYTES)
        self._targets = {
            Host(instance, settings.job, peer): _Target(url, horizon_s)
            for instance, url, peer in map(_split_target, settings.targets)
        }

    @property
    def address(self) -> str:
        """See ``Source``."""
        urls = [without_password(target.url) for target in self._targets.values()]
        return ", ".join(urls[:_SHOWN]) + (f" and {len(urls) - _SHOWN} more" if len(urls) > _SHOWN else "")

    def hosts(self) -> Sequence[Host]:
        """See ``Source``."""
        return list(self._targets)

    def newest_s(self, host: Host) -> float:
        """See ``Source``; polls the exporter."""
        target = self._targets[host]
        self._poll(target)
        return target.complete_s()

    def oldest_s(self, host: Host) -> float:
        """See ``Source``."""
        return self._targets[host].buffer.oldest_s()

    def interval_s(self, host: Host) -> float:
        """See ``Source``."""
        return self._targets[host].interval_s()

    def now_s(self, host: Host) -> float:
        """See ``Source``."""
        ahead_s = self._targets[host].ahead_s
        return self._clock.wall_s() if math.isnan(ahead_s) else self._clock.elapsed_s() + ahead_s

    def read(self, host: Host, start_s: float, end_s: float) -> Frame:
        """See ``Source``; from what was polled last."""
        buffer = self._targets[host].buffer
        buffer.forget(start_s - KEPT_S)
        return buffer.frame(host.instance, start_s, end_s)

    def origins(self, host: Host) -> Sequence[Origin]:
        """See ``Source``."""
        target = self._targets[host]
        families = frozenset(series.name for columns in target.columns.values() for series in columns)
        return [Origin(OWN.name, host.job, host.instance, target.interval_s(), families)]

    def constants(self, host: Host) -> Sequence[Series]:
        """See ``Source``; they are on ``/metrics`` alone."""
        url = f"{self._targets[host].url}/metrics"
        try:
            status, body = self._fetcher.get(url, {})
        except FetchError as error:
            raise SourceError(str(error)) from error
        if status != 200:
            raise SourceError(f"{without_password(url)}: status {status}")
        return constants_in(body.decode(errors="replace"))

    def close(self) -> None:
        """See ``Source``."""
        self._fetcher.close()

    def _poll(self, target: _Target) -> None:
        header, body = self._ask(target)
        if header.boot != target.boot and target.boot:
            _LOG.info("exporter %s was restarted: its samples start over", without_password(target.url))
            target.start_over(header.boot)
            header, body = self._ask(target)
        target.boot = header.boot
        for segment, (times_s, values) in zip(header.segments, body, strict=True):
            target.intervals_s[segment.tier] = segment.interval_s
            kept = far_apart(times_s, segment.interval_s, segment.finest_s, target.buffer.newest_s(segment.tier))
            target.buffer.add(segment.tier, target.columns[segment.schema_hash], times_s[kept], values[kept])
        for old in list(target.columns)[:-_SCHEMAS_KEPT]:
            del target.columns[old]

    def _ask(self, target: _Target) -> tuple[Header, list[tuple[Floats, Floats]]]:
        """Header and tables since the newest sample; keeps the schemas that came along."""
        url = f"{target.url}/api/v1/samples"
        shown = without_password(url)
        parameters = {"since": repr(target.since_s()), "schemas": ",".join(target.columns)}
        try:
            asked_s = self._clock.elapsed_s()
            status, body = self._fetcher.get(url, parameters)
            if status != 200:
                raise SourceError(f"{shown}: status {status}: {self._fetcher.quoted(body, _LONGEST_QUOTE)}")
            header, tables = decode(body, {name: len(columns) for name, columns in target.columns.items()})
            for segment in header.segments:
                if segment.columns is not None:
                    target.columns[segment.schema_hash] = tuple(map(parse_series, segment.columns))
        except FetchError as error:
            raise SourceError(str(error)) from error
        except (SamplesError, ValueError) as error:
            raise SourceError(f"{shown}: {error}") from error
        target.ahead_s = header.now_s - (asked_s + self._clock.elapsed_s()) / 2
        return header, tables

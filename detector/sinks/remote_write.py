"""Verdicts into a store by remote write: each at its window's end, once, and ended where nothing follows.

The same series as on the detector's own ``/metrics``. There a scrape gives them the time of the scrape.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Self

from pydantic import Field

from catalog import outputs
from catalog.outputs import Output
from detector.access import Access, AccessSettings
from detector.fetch import Fetcher
from detector.section import Duration, OptionalUrl, Section
from detector.sink import Context, Judged, Sink
from detector.sinks.metrics import values
from detector.source import Host
from detector.wire import STALE, Sample, encode_labels, encode_value
from detector.writing import Writer

_LARGEST_ANSWER_BYTES = 1 << 20
_LAST_WRITES_S = 2.0
_FUTURE_S = 60.0  # a sample from the future keeps Prometheus from taking those of the present

_LOG = logging.getLogger(__name__)


class RemoteWriteSettings(Section):
    """Writes scores to a store that takes Prometheus' remote write 1.0, each at the end of its window."""

    url: OptionalUrl = Field(
        default="",
        description="Where to, such as `http://127.0.0.1:9090/api/v1/write`; empty: scores are scraped instead. A "
        "Prometheus must be started with `--web.enable-remote-write-receiver`.",
    )
    timeout_s: Duration = Field(default=5.0, ge=0.1, le=60.0, description="Longest wait for an answer.")
    max_age_s: Duration = Field(
        default=3600.0, ge=1, le=30 * 86400, description="Scores of windows that ended longer ago are not written."
    )
    queue_samples: int = Field(
        default=100_000, ge=1000, le=10_000_000, description="Samples that may wait; the oldest give way."
    )
    replica: str = Field(
        default="",
        description="Value of a label `replica`, to keep two detectors that judge the same hosts apart; empty: none.",
    )
    access: AccessSettings = AccessSettings()


class RemoteWriteSink(Sink):
    """See the module."""

    name: ClassVar[str] = "remote_write"
    setting: ClassVar[tuple[Any, Any] | None] = (
        RemoteWriteSettings,
        Field(default=RemoteWriteSettings(), description=RemoteWriteSettings.__doc__),
    )

    def __init__(self, writer: Writer, replica: str, context: Context) -> None:
        self._writer, self._replica = writer, replica
        self._clock, self._telemetry, self._address = context.clock, context.telemetry, context.address
        self._set_wrong: set[Host] = set()
        self._newest_ms: dict[Host, int] = {}
        self._open: dict[Host, set[bytes]] = {}
        self._labels: dict[Host, dict[tuple[str, tuple[str, ...]], bytes]] = {}

    @classmethod
    def build(cls, setting: Any, context: Context) -> Self | None:
        """See ``Sink``."""
        if not setting.url:
            return None
        fetcher = Fetcher(setting.timeout_s, _LARGEST_ANSWER_BYTES, Access(setting.access))
        bounds = setting.max_age_s, setting.queue_samples
        writer = Writer(setting.url, fetcher, *bounds, context.clock, context.telemetry)
        return cls(writer, setting.replica, context)

    def publish(self, judged: Judged) -> None:
        """See ``Sink``; a window of a host is written once, and none from before its newest or from the future."""
        host, time_ms = judged.host, round(judged.verdict.end_s * 1000)
        newest_ms = self._newest_ms.get(host, 0)
        if time_ms == newest_ms:
            return
        found = {
            self._series(output, host, labels): encode_value(value)
            for output, measured in values(judged, self._address).items()
            for labels, value in measured
        }
        is_future = judged.verdict.end_s > self._clock.wall_s() + _FUTURE_S
        is_past = "was set back, or its past is judged anew" if time_ms < newest_ms else ""
        self._note_clock(host, "is ahead" if is_future else is_past)
        if host in self._set_wrong:
            self._telemetry.count(outputs.WRITTEN_SAMPLES, "clock", by=len(found))
            return
        ended = self._open.get(host, set()) - found.keys()
        if ended:  # causes come and go, and each has labels of its own
            self._labels[host] = {key: labels for key, labels in self._labels[host].items() if labels in found}
        unit = [Sample(labels, time_ms, value) for labels, value in found.items()]
        self._writer.put([*unit, *(Sample(labels, time_ms, STALE) for labels in sorted(ended))])
        self._newest_ms[host], self._open[host] = time_ms, set(found)

    def trouble(self, host: Host, reason: str) -> None:  # noqa: ARG002 - that nothing follows is enough
        """See ``Sink``."""
        self._end(host)

    def leave(self, host: Host) -> None:
        """See ``Sink``."""
        self._end(host)
        self._set_wrong.discard(host)
        self._labels.pop(host, None)

    def close(self) -> None:
        """See ``Sink``."""
        for host in list(self._open):
            self._end(host)
        self._writer.close(_LAST_WRITES_S)

    def _note_clock(self, host: Host, fault: str) -> None:
        """Log the beginning of a host's trouble with clocks, and its end."""
        if fault and host not in self._set_wrong:
            self._set_wrong.add(host)
            _LOG.warning("scores of %s are not written for now: its clock or ours %s", host.instance, fault)
        elif not fault and host in self._set_wrong:
            self._set_wrong.remove(host)
            _LOG.info("scores of %s are written again", host.instance)

    def _end(self, host: Host) -> None:
        """Mark a host's series as stale, right after its last window: the next one cannot be as early."""
        series = self._open.pop(host, set())
        if series:
            self._newest_ms[host] += 1
            self._writer.put([Sample(labels, self._newest_ms[host], STALE) for labels in sorted(series)])

    def _series(self, output: Output, host: Host, labels: tuple[str, ...]) -> bytes:
        key, known = (output.name, labels), self._labels.setdefault(host, {})
        if key not in known:
            pairs = dict(zip(output.labels, (host.instance, host.job, *labels), strict=True))
            known[key] = encode_labels(output.name, pairs | {"replica": self._replica})
        return known[key]

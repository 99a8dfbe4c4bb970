"""The newest verdicts as metrics, for the detector's own ``/metrics``, and as JSON.

A verdict that is not followed by another one disappears: an outage is no data, not an anomaly and not calm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from catalog import outputs
from catalog.outputs import Output, OutputKind
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.attribution import UNKNOWN
from detector.clock import Clock
from detector.model import FUSED
from detector.sink import Context, Judged, Sink
from detector.source import Host
from detector.verdict import Cause, Phase, Verdict

BLAMABLE = (*JUDGED_SUBSYSTEMS, UNKNOWN)
_LEAST_KEEP_S = 10.0
_KEEP_STRIDES = 5
_CAUSES_TOLD = 3  # an alert has room for few, and each is a series

Value = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class _Kept:
    judged: Judged
    until_s: float


class MetricsSink(Sink, Collector):
    """Holds the newest verdict of each host; read by the web server's thread."""

    name: ClassVar[str] = "metrics"

    def __init__(self, clock: Clock, address: str) -> None:
        self._clock, self._address = clock, address
        self._kept: dict[Host, _Kept] = {}

    @classmethod
    def build(cls, setting: Any, context: Context) -> Self:  # noqa: ARG003 - always on
        """See ``Sink``; registers itself with the telemetry's registry."""
        sink = cls(context.clock, context.address)
        context.telemetry.registry.register(sink)
        return sink

    def publish(self, judged: Judged) -> None:
        """See ``Sink``."""
        keep_s = max(_LEAST_KEEP_S, _KEEP_STRIDES * judged.stride_s)
        self._kept[judged.host] = _Kept(judged.without_samples(), self._clock.elapsed_s() + keep_s)

    def leave(self, host: Host) -> None:
        """See ``Sink``."""
        self._kept.pop(host, None)

    def newest(self) -> list[Judged]:
        """The newest verdicts that still count, by host."""
        now_s = self._clock.elapsed_s()
        kept = sorted(self._kept.copy().items())
        return [entry.judged for _, entry in kept if entry.until_s > now_s]

    def describe(self) -> Iterable[Metric]:
        """See ``prometheus_client``: names without values."""
        return [_family(output) for output in outputs.OUTPUTS.values() if "instance" in output.labels]

    def collect(self) -> Iterable[Metric]:
        """See ``prometheus_client``."""
        families = {metric.name: metric for metric in self.describe()}
        for judged in self.newest():
            identity = (judged.host.instance, judged.host.job)
            for output, found in values(judged, self._address).items():
                family = families[output.name.removesuffix("_total")]
                for labels, value in found:
                    family.add_metric((*identity, *labels), value)  # type: ignore[attr-defined]
        return [family for family in families.values() if family.samples]


def _family(output: Output) -> Metric:
    kind = CounterMetricFamily if output.kind is OutputKind.COUNTER else GaugeMetricFamily
    return kind(output.name, output.help, labels=output.labels)


def values(judged: Judged, address: str = "") -> dict[Output, list[Value]]:
    """All metrics of one host: label values besides its identity, and the value. What is not known is not there.

    ``address`` is where people find the detector: hosts of one store may be judged by several.
    """
    return {
        output: [(labels, value) for labels, value in found if not math.isnan(value)]
        for output, found in _values(judged, address).items()
    }


def _values(judged: Judged, address: str) -> Mapping[Output, Iterable[Value]]:
    verdict = judged.verdict
    always: dict[Output, Iterable[Value]] = {
        outputs.ADDRESS_INFO: [((address,), 1.0)] if address else [],
        outputs.WINDOW_END: [((), verdict.end_s)],
        outputs.LEARNING_PROGRESS: [((), verdict.progress)],
        outputs.REBASELINES: [((), verdict.rebaselines)],
        outputs.WINDOW: [((), judged.window_s)],
        outputs.STRIDE: [((), judged.stride_s)],
        outputs.WINDOW_LAG: [((), judged.lag_s)],
        outputs.MAINTENANCE: [((), float(verdict.maintained))],
    }
    if verdict.phase is Phase.LEARNING:
        return always
    return always | {
        outputs.SCORE: [((name,), score) for name, score in (*verdict.detectors.items(), (FUSED, verdict.score))],
        outputs.SUBSYSTEM_SHARE: [((subsystem,), share) for subsystem, share in verdict.shares.items()],
        outputs.ACTIVE: _blamed(verdict, verdict.active),
        outputs.PAGE: _blamed(verdict, verdict.page),
        outputs.PROVISIONAL: [((), float(verdict.phase is Phase.PROVISIONAL))],
        outputs.AGREEMENT: [((), verdict.agreement)],
        outputs.COVERAGE: [((), verdict.coverage)],
        outputs.EPISODES: [(("warning",), verdict.episodes), (("page",), verdict.pages)],
        outputs.PAPER_FLAG: [((name,), float(flag)) for name, flag in verdict.paper.items()],
        outputs.COMMON_CAUSE: [((), float(verdict.common))] if judged.host.peer else [],
        outputs.FROZEN: [((), float(verdict.frozen))],
        outputs.ONSET: [((), verdict.onset_s)],
        outputs.FITTED: [((), verdict.fitted_s)],
        outputs.CAUSE_TYPICAL: _of_causes(verdict, lambda cause: cause.typical),
        outputs.CAUSE_ACTUAL: _of_causes(verdict, lambda cause: cause.actual),
    }


def _of_causes(verdict: Verdict, figure: Callable[[Cause], float]) -> list[Value]:
    """Only while an episode is open, so that what alerts tell of causes is all that is stored of them."""
    told = verdict.causes[:_CAUSES_TOLD] if verdict.active else ()
    return [((str(rank), c.channel, c.statistic, c.unit), figure(c)) for rank, c in enumerate(told, 1)]


def _blamed(verdict: Verdict, holds: bool) -> list[Value]:
    blamed = verdict.subsystem or UNKNOWN
    return [((subsystem,), float(holds and subsystem == blamed)) for subsystem in BLAMABLE]


def as_json(judged: Judged) -> dict[str, Any]:
    """A verdict as what JSON can hold; NaN becomes null."""
    verdict = judged.verdict
    return {
        "instance": judged.host.instance,
        "job": judged.host.job,
        "window_s": judged.window_s,
        "stride_s": judged.stride_s,
        "lag_s": judged.lag_s,
        "end_s": verdict.end_s,
        "phase": str(verdict.phase),
        "score": _finite(verdict.score),
        "p_value": _finite(verdict.p_value),
        "detectors": {name: _finite(score) for name, score in verdict.detectors.items()},
        "agreement": verdict.agreement,
        "active": verdict.active,
        "page": verdict.page,
        "subsystem": verdict.subsystem,
        "shares": {subsystem: _finite(share) for subsystem, share in verdict.shares.items()},
        "causes": [_finite_values(asdict(cause)) for cause in verdict.causes],
        "coverage": verdict.coverage,
        "frozen": verdict.frozen,
        "progress": verdict.progress,
        "rebaselines": verdict.rebaselines,
        "onset_s": _finite(verdict.onset_s),
        "fitted_s": _finite(verdict.fitted_s),
        "maintained": verdict.maintained,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _finite_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _finite(value) if isinstance(value, float) else value for name, value in fields.items()}

"""The detector's metrics about itself, as ``catalog.outputs`` declares them.

https://prometheus.github.io/client_python/. Metrics of a host come from its verdict instead (``sinks/metrics.py``).
"""

from __future__ import annotations

import platform
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from catalog import outputs
from catalog.outputs import OUTPUTS, Output, OutputKind


class Telemetry:
    """Counts, levels and durations under declared names, in ``registry``."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        own = [output for output in OUTPUTS.values() if "instance" not in output.labels]
        self._counters = {output.name: _counter(output, self.registry) for output in own if _is(output, "counter")}
        self._gauges = {
            output.name: Gauge(output.name, output.help, output.labels, registry=self.registry)
            for output in own
            if _is(output, "gauge") or _is(output, "info")
        }
        self._histograms = {
            output.name: Histogram(
                output.name, output.help, output.labels, buckets=output.buckets, registry=self.registry
            )
            for output in own
            if _is(output, "histogram")
        }
        ProcessCollector(registry=self.registry)
        self.set(outputs.BUILD_INFO, 1, version("hostpulse"), platform.python_version())

    def count(self, output: Output, *labels: str, by: float = 1.0) -> None:
        """Raise a counter."""
        counter = self._counters[output.name]
        (counter.labels(*labels) if labels else counter).inc(by)

    def set(self, output: Output, value: float, *labels: str) -> None:
        """Set a gauge."""
        gauge = self._gauges[output.name]
        (gauge.labels(*labels) if labels else gauge).set(value)

    def observe(self, output: Output, value: float, *labels: str) -> None:
        """Put a value into a histogram."""
        histogram = self._histograms[output.name]
        (histogram.labels(*labels) if labels else histogram).observe(value)


def _is(output: Output, kind: str) -> bool:
    return output.kind is OutputKind(kind)


def _counter(output: Output, registry: CollectorRegistry) -> Counter:
    return Counter(output.name, output.help, output.labels, registry=registry)

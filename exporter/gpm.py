"""Counters of a GPU's performance monitors: the mean of each between two samples (Hopper and later).

https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import nan
from time import monotonic_ns
from typing import Any

from catalog.family import Family
from exporter.nvml import SESSION

_PERCENT = 100.0
_LEAST_US = 100_000  # as often as the driver itself looks


class Monitor:
    """Of a GPU or of one of its instances: ``take`` fills a sample. ``metrics`` are NVML_GPM_METRIC_… by family."""

    def __init__(self, nvml: Any, metrics: Mapping[Family, str], take: Callable[[Any], Any]) -> None:
        self._generation = SESSION.generation
        self._take = take
        self._metrics = tuple(getattr(nvml, f"NVML_GPM_METRIC_{name}") for name in metrics.values())
        self._samples = [nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()]  # the newer one first
        self._taken_us = 0
        self._values: tuple[float, ...] = ()

    @property
    def outdated(self) -> bool:
        """Whether NVML was opened anew, so that nothing of it is good any more."""
        return self._generation != SESSION.generation

    def values(self, nvml: Any) -> tuple[float, ...]:
        """One for each metric, NaN before there are two samples; none at all where there are no such counters."""
        now_us = monotonic_ns() // 1000
        if self._samples and (not self._taken_us or now_us - self._taken_us >= _LEAST_US):
            self._sample(nvml, now_us)
        return self._values

    def _sample(self, nvml: Any, now_us: int) -> None:
        newer, older = self._samples
        try:
            self._take(older)
        except nvml.NVMLError as error:
            if not SESSION.absent(error.value):
                raise
            self.close(nvml)
            return
        self._samples = [older, newer]
        self._values = tuple(self._means(nvml, newer, older)) if self._taken_us else (nan,) * len(self._metrics)
        self._taken_us = now_us

    def _means(self, nvml: Any, before: Any, after: Any) -> Iterator[float]:
        asked = nvml.c_nvmlGpmMetricsGet_t()
        asked.version, asked.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, len(self._metrics)
        asked.sample1, asked.sample2 = before, after
        for metric, number in zip(asked.metrics, self._metrics, strict=False):
            metric.metricId = number
        nvml.nvmlGpmMetricsGet(asked)
        for metric in asked.metrics[: len(self._metrics)]:
            yield nan if metric.nvmlReturn else metric.value / _PERCENT

    def close(self, nvml: Any) -> None:
        """Give the samples back, unless NVML was closed and did so itself."""
        if not self.outdated:
            for sample in self._samples:
                nvml.nvmlGpmSampleFree(sample)
        self._samples, self._values = [], ()

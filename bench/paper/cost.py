"""What it costs, by the benches of that: CPU of the collector, bytes stored, time to a score."""

from __future__ import annotations

from bench import latency, overhead, storage
from bench.paper.bench import Bench
from bench.paper.row import Row, percent
from catalog.family import Profile

_INTERVALS = {f"{tenths}00ms": "" for tenths in range(1, 7)} | {"100ms": "1.2 to 1.4 %", "600ms": "0.6 %"}
_PAPER_FEATURES, _PAPER_END_TO_END = "1.46 s", "2.26 ± 0.17 s"


def collector_cpu(bench: Bench) -> list[Row]:
    """Share of a core at each sampling interval."""
    length, folder = bench.length, bench.new("cpu")
    found = overhead.curve(list(_INTERVALS), length.load_s, Profile.CORE, length.rounds, folder)
    return [
        Row(f"collector_core_percent_{every}", f"collector CPU at {every}", paper, share, "% of a core")
        for (every, paper), share in zip(_INTERVALS.items(), found.values(), strict=True)
    ]


def stored(bench: Bench) -> list[Row]:
    """Bytes a second in a Prometheus at 100 ms, of all and of what is kept."""
    found = storage.measure(bench.length.storage_s, 60.0, bench.new("storage"))
    rates = {name: found[name]["bytes_per_s"] / 1000 for name in storage.PAPER}
    rows = [
        Row(
            f"stored_kb_per_s_{name}",
            f"stored at 100 ms, {name.partition('_')[0]}",
            paper,
            round(rates[name], 2),
            "kB/s",
        )
        for name, paper in storage.PAPER.items()
    ]
    left = percent(rates["kept_100ms"] / rates["all_100ms"])
    return [*rows, Row("stored_share_percent", "bytes left after the filter", "33 to 52 %", left, "%")]


def time_to_a_score(bench: Bench) -> list[Row]:
    """Making features, judging a window, and from the last sample to its score on ``/metrics``."""
    found = latency.measure(bench.length.windows, bench.new("latency"))
    cpu = "CPU, one window of 700 series"
    return [
        Row("features_s", "feature extraction", _PAPER_FEATURES, round(found["features_cpu_ms"] / 1000, 4), "s", cpu),
        Row("step_s", "features, three detectors, attribution", "", round(found["step_cpu_ms"] / 1000, 4), "s", cpu),
        Row(
            "end_to_end_s_p50",
            "end to end, median",
            _PAPER_END_TO_END,
            round(found["end_to_end_s_p50"], 3),
            "s",
            "live",
        ),
        Row("end_to_end_s_p99", "end to end, 99th percentile", "", round(found["end_to_end_s_p99"], 3), "s", "live"),
    ]

from __future__ import annotations

import numpy as np

from bench.faults.latency import INTERVALS, LINKS, Row, firing, first_moved, middle, table


def test_a_counter_moves_where_it_rises_twice_as_far_as_before() -> None:
    times_s = np.arange(10.0)
    values = np.array([0, 1, 2, 4, 5, 6, 7, 12, 13, 14.0])
    assert first_moved(times_s, values, 4.5) == 7.0
    assert first_moved(times_s[:7], values[:7], 4.5) is None
    assert first_moved(times_s, np.repeat([3.0, 4.0], 5), 2.0) == 5.0, "of one that never moved"


def test_table_has_a_line_for_each_interval_and_a_dash_for_what_came_too_late() -> None:
    early: Row = dict(zip(LINKS, (0.2, 1.5, 5.0, 6.0, 7.0), strict=True))
    late: Row = {**early, "score_s": 2.5, "webhook_s": None}
    rows = {name: [early, late] for name in INTERVALS}
    assert middle(rows["1s"], "score_s") == 2.0
    assert middle(rows["1s"], "webhook_s") == 7.0
    assert middle([late], "webhook_s") is None
    lines = table({**rows, "15s": [late]}).splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(INTERVALS)
    assert lines[-1].split() == ["15s", "0.2", "2.5", "5.0", "6.0", "-", "1"]


def test_only_what_tells_of_an_anomaly_that_begins_is_timed() -> None:
    told = [("GpuXid", "firing"), ("HostAnomaly", "resolved"), ("HostAnomaly", "firing")]
    alerts = [{"status": status, "labels": {"alertname": name, "job": "15s"}} for name, status in told]
    assert firing(alerts) == alerts[2:]

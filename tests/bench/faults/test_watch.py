from __future__ import annotations

import subprocess
from pathlib import Path

from bench.faults.watch import Watcher
from tests.servers import Server


def _verdict(
    end_s: float, score: float | None, *, active: bool = False, phase: str = "provisional"
) -> dict[str, object]:
    return {"end_s": end_s, "score": score, "active": active, "phase": phase, "subsystem": "network" if active else ""}


def _watcher() -> Watcher:
    return Watcher(Server("detector", subprocess.Popen(["true"]), Path("log")))


def test_each_window_is_noted_once_with_the_time_it_was_seen() -> None:
    watcher = _watcher()
    for seen_s, end_s in ((10.1, 10.0), (10.4, 10.0), (11.2, 11.0)):
        watcher.take(_verdict(end_s, 0.5), seen_s)
    assert watcher.scores == [(10.1, 0.5), (11.2, 0.5)]
    watcher.detector.process.wait()


def test_an_alarm_lasts_while_verdicts_are_active_and_takes_the_diagnosis_of_its_incident() -> None:
    watcher = _watcher()
    watcher.take(_verdict(9.0, None, phase="learning"), 9.1)
    for end_s in (10.0, 11.0, 12.0, 13.0):
        watcher.take(_verdict(end_s, 1.5, active=11.0 <= end_s <= 12.0), end_s + 0.1)
    incidents = [
        {"opened": 300.0, "signatures": [{"name": "other"}]},
        {"opened": 11.0, "signatures": [{"name": "packet-loss"}, {"name": "nic-drops"}]},
    ]
    (alarm,) = watcher.track(10.0, incidents).alarms
    assert (alarm.start_s, alarm.end_s) == (11.1 - 10.0, 12.1 - 10.0)
    assert (alarm.subsystem, alarm.signature) == ("network", "packet-loss")
    assert watcher.track(10.0).alarms[0].signature == "", "without incidents there is no diagnosis"
    watcher.detector.process.wait()

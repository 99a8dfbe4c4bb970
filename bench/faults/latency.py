"""How a fault becomes a page: when the counter moves, the score passes its bound, the alarm is raised, Prometheus fires
and the webhook is called, at 100 ms embedded and through scrapes every second and every 15 s.

    python -m bench.faults.latency --faults packet_loss,swap --json

All three detectors watch the same exporter at the same time, through one Prometheus, with the shipped rules and an
Alertmanager that waits for 1 s. Needs root, as bench.faults does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.arguments import some_of
from bench.faults.__main__ import CANNOT, baseline_s
from bench.faults.stage import MERGE_S, Ground, ground, start_host_exporter
from bench.faults.suite import FAULTS, Fault
from bench.faults.watch import Watcher, await_calm
from deploy.debian import UnavailableError
from detector.frame import Floats
from detector.samples import decode
from tests.servers import (
    Alert,
    Server,
    Webhook,
    scrape_job,
    start_alertmanager,
    start_detector,
    start_prometheus,
    wait_until,
)

INTERVALS = {"100ms": None, "1s": "1s", "15s": "15s"}  # name, which is the label job too -> scrape interval
LINKS = ("counter_s", "score_s", "active_s", "alert_s", "webhook_s")
RULES = Path(__file__).resolve().parents[2] / "deploy" / "prometheus" / "rules"
_BASELINE_S, _ALERT_LIMIT_S, _CALM_LIMIT_S = 900.0, 300.0, 600.0
_SEEN_S = 5.0  # after that the counter has moved and is still in the ring
_ALERT = "HostAnomaly"
_LOG = logging.getLogger(__name__)

Row = Mapping[str, float | None]


@dataclass
class Chain:
    """Everything between the exporter and the webhook."""

    ground: Ground
    exporter: Server
    webhook: Webhook
    watchers: Mapping[str, Watcher]


@contextlib.contextmanager
def running_chain(folder: Path, faults: Sequence[str], baseline_s: float) -> Iterator[Chain]:
    """The servers, and a watcher for each detector."""
    with ground(folder, faults) as made, contextlib.ExitStack() as stack:

        def started(server: Server) -> Server:
            made.place.journal.ends(server.pid)
            return stack.enter_context(server)

        webhook = stack.enter_context(Webhook())
        exporter = started(start_host_exporter(made, folder / "exporter"))
        receiver = {"name": "hook", "webhook_configs": [{"url": webhook.url, "send_resolved": True}]}
        route = {"receiver": "hook", "group_by": ["..."], "group_wait": "1s", "group_interval": "1s"}
        alertmanager = started(start_alertmanager(folder / "alertmanager", {"route": route, "receivers": [receiver]}))
        scrapes = [
            scrape_job(name, exporter.address, interval=interval) for name, interval in INTERVALS.items() if interval
        ]
        prometheus = start_prometheus(folder / "prometheus", scrapes, sorted(RULES.glob("*.yml")), alertmanager)
        started(prometheus)
        flags = (f"--baseline.duration={baseline_s:g}s", f"--episode.merge={MERGE_S}s", "--state.directory=")
        detectors = {}
        for name, interval in INTERVALS.items():
            source = (
                (f"--source.prometheus.url={prometheus.url}", f"--source.prometheus.job={name}")
                if interval
                else (f"--source.exporter.targets={exporter.url}", f"--source.exporter.job={name}")
            )
            detectors[name] = started(start_detector(folder / name, *source, *flags))
        addresses = [detector.address for detector in detectors.values()]
        prometheus.scrape("hostpulse-detector", *addresses, honor_labels=True)
        watchers = {name: stack.enter_context(Watcher(detector)) for name, detector in detectors.items()}
        yield Chain(made, exporter, webhook, watchers)


def measure(folder: Path, faults: Sequence[str], baseline_s: float) -> dict[str, list[Row]]:
    """Seconds from the injection to each link of the chain, by interval a row for each fault; None for too late."""
    with running_chain(folder, faults, baseline_s) as chain:
        learned = lambda: all(watcher.learned for watcher in chain.watchers.values())  # noqa: E731
        wait_until(learned, 2 * baseline_s + _CALM_LIMIT_S, "all have a model")
        rows: dict[str, list[Row]] = {name: [] for name in INTERVALS}
        for fault in faults:
            await_calm(list(chain.watchers.values()))
            _LOG.info("fault %s", fault)
            for name, row in _put_in(chain, fault).items():
                rows[name].append(row)
        return rows


def _put_in(chain: Chain, name: str) -> dict[str, Row]:
    switch, told = chain.ground.faults[name], dict.fromkeys(INTERVALS, 0.0)
    known = len(chain.webhook.received)
    start_s = time.time()
    switch.on()
    try:
        wait_until(lambda: time.time() > start_s + _SEEN_S, 2 * _SEEN_S, "the counter has moved")
        counter_s = _counter_s(chain.exporter, FAULTS[name], start_s)
        _await_alerts(chain.webhook, known, told)
    finally:
        switch.off()
    alerts = firing(chain.webhook.received[known:])
    return {
        interval: _row(watcher, interval, alerts, start_s, counter_s, told[interval])
        for interval, watcher in chain.watchers.items()
    }


def firing(alerts: Sequence[Alert]) -> list[Alert]:
    """Those that tell of an anomaly: the rules for hardware know some faults at once, and are not what is timed."""
    return [alert for alert in alerts if alert["labels"].get("alertname") == _ALERT and alert["status"] == "firing"]


def _await_alerts(webhook: Webhook, known: int, told: dict[str, float]) -> None:
    """Note when the webhook was called for each interval, for at most so long."""

    def all_told() -> bool:
        for alert in firing(webhook.received[known:]):
            job = alert["labels"].get("job")
            if told.get(job) == 0.0:
                told[job] = time.time()
        return all(told.values())

    with contextlib.suppress(AssertionError):
        wait_until(all_told, _ALERT_LIMIT_S, "a webhook for each interval")


def _row(
    watcher: Watcher,
    interval: str,
    alerts: Sequence[Mapping[str, Any]],
    start_s: float,
    counter_s: float | None,
    told_s: float,
) -> Row:
    since = [(at_s, score) for at_s, score in watcher.scores.copy() if at_s > start_s]
    fired = [
        datetime.fromisoformat(alert["startsAt"]).timestamp()
        for alert in alerts
        if alert["labels"].get("job") == interval
    ]
    times = {
        "counter_s": counter_s,
        "score_s": next((at_s for at_s, score in since if score > 1), None),
        "active_s": next((alarm.start_s for alarm in watcher.alarms.copy() if alarm.start_s > start_s), None),
        "alert_s": min(fired, default=None),
        "webhook_s": told_s or None,
    }
    return {link: None if at_s is None else round(at_s - start_s, 2) for link, at_s in times.items()}


def _counter_s(exporter: Server, fault: Fault, start_s: float) -> float | None:
    """When the first sample was taken that shows the fault, on the wall clock."""
    header, tables = decode(exporter.get("/api/v1/samples", since="0.0").content, {})
    for segment, (times_s, values) in zip(header.segments, tables, strict=True):
        columns = [
            number
            for number, column in enumerate(segment.columns or ())
            if column.partition("{")[0] == fault.moves.name and f'"{fault.label}' in column + '"'
        ]
        if columns:
            return first_moved(times_s + header.wall_offset_s, values[:, columns].sum(axis=1), start_s)
    return None


def first_moved(times_s: Floats, values: Floats, start_s: float) -> float | None:
    """The time of the first sample after ``start_s`` that rises twice as far as any of the samples before.

    >>> first_moved(np.arange(6.0), np.array([0.0, 1, 2, 3, 4, 9]), 3.5)
    5.0
    """
    rises = np.diff(values, prepend=values[:1])
    usual = rises[times_s <= start_s].max(initial=0.0)
    moved = times_s[(times_s > start_s) & (rises > 2 * usual)]
    return float(moved[0]) if len(moved) else None


def table(rows: Mapping[str, Sequence[Row]]) -> str:
    """A line for each interval: the median of each link, and of how many faults."""
    lines = [f"{'':<8}" + "".join(f"{link:>12}" for link in LINKS) + f"{'faults':>8}"]
    for name, told in rows.items():
        cells = "".join(f"{'-' if (value := middle(told, link)) is None else value:>12}" for link in LINKS)
        lines.append(f"{name:<8}{cells}{len(told):>8}")
    return "\n".join(lines)


def middle(rows: Sequence[Row], link: str) -> float | None:
    """The median of those that got so far."""
    known = [value for row in rows if (value := row[link]) is not None]
    return round(median(known), 2) if known else None


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a table and, where asked to, one line of JSON. 2 where that cannot be done, with the reason."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults.latency", description="From a fault to the webhook.")
    parser.add_argument(
        "--faults", type=some_of(FAULTS), default=["packet_loss", "swap"], help=f"some of {','.join(FAULTS)}"
    )
    parser.add_argument("--baseline-seconds", type=baseline_s, default=_BASELINE_S, help="what is learned from")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    given = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        with tempfile.TemporaryDirectory(prefix="hostpulse-faults-") as folder:
            rows = measure(Path(folder), given.faults, given.baseline_seconds)
    except UnavailableError as error:
        print(f"bench.faults.latency: {error}", file=sys.stderr)
        return CANNOT
    print(table(rows))
    if given.json:
        print(json.dumps({name: {link: middle(told, link) for link in LINKS} for name, told in rows.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

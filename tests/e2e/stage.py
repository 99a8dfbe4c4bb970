"""The stage of the end-to-end tests: hostpulse three times over, learning at the same time.

*embedded* reads an exporter's ring; *stored* reads a Prometheus that scrapes an exporter and the detector itself, with
rules, Alertmanager and a webhook behind it; *lossy* lives with its exporter inside a network namespace.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.faults import Link
from tests.servers import (
    Prometheus,
    Server,
    UnavailableError,
    Webhook,
    scrape_job,
    start_alertmanager,
    start_detector,
    start_exporter,
    start_prometheus,
    wait_until,
)
from tests.servers.namespace import allowed

RULES = Path(__file__).resolve().parents[2] / "deploy" / "prometheus" / "rules"
BASELINE_S, MERGE_S, WINDOWS_THAT_VOTE = 100, 10, 10
LEARN_LIMIT_S, ALARM_LIMIT_S, CALM_LIMIT_S = 300.0, 60.0, 180.0
_JOB = "hostpulse"
_FLAGS = (f"--baseline.duration={BASELINE_S}s", f"--episode.merge={MERGE_S}s", "--state.directory=")

Verdict = dict[str, Any]


@dataclass
class Judged:
    """A detector of one host. ``ask`` gives its newest verdicts."""

    name: str
    detector: Server
    ask: Callable[[], list[Verdict]]
    latest: list[Verdict] = field(default_factory=list)
    asked_s: float = -math.inf

    def verdict(self) -> Verdict:
        """The newest verdict; {} before the first. Asked once a second: asking is traffic that is judged too."""
        if time.monotonic() - self.asked_s >= 1.0:
            self.latest, self.asked_s = self.ask(), time.monotonic()
        return self.latest[0] if self.latest else {}

    def await_verdict(self, wanted: Callable[[Verdict], bool], limit_s: float, what: str) -> Verdict:
        """The first newest verdict of that kind."""

        def found() -> Verdict | None:
            verdict = self.verdict()
            return verdict if verdict and wanted(verdict) else None

        return wait_until(found, limit_s, lambda: f"{self.name}: {what}; newest verdict {self.verdict()}")

    def await_model(self) -> None:
        """Until the first baseline is learned."""
        self.await_verdict(lambda verdict: verdict["phase"] != "learning", LEARN_LIMIT_S, "a model")

    def await_alarm(self) -> Verdict:
        """The first verdict of an open episode, or the newest one where none opened within ``ALARM_LIMIT_S``."""
        try:
            return self.await_verdict(lambda verdict: verdict["active"], ALARM_LIMIT_S, "an alarm")
        except AssertionError:
            return self.verdict()

    def watch(self, windows: int) -> list[Verdict]:
        """The verdicts on that many windows, starting with the newest."""
        seen = {}

        def enough() -> bool:
            verdict = self.verdict()
            if verdict:
                seen[verdict["end_s"]] = verdict
            return len(seen) >= windows

        wait_until(enough, 3.0 * windows, f"{self.name}: {windows} windows")
        return list(seen.values())

    def await_calm(self) -> None:
        """Until it has been quiet for so long that another alarm is an episode of its own."""
        quiet_from_s = float("inf")

        def calm(verdict: Verdict) -> bool:
            nonlocal quiet_from_s
            quiet_from_s = float("inf") if verdict["active"] else min(quiet_from_s, verdict["end_s"])
            return bool(verdict["end_s"] - quiet_from_s > MERGE_S + WINDOWS_THAT_VOTE)

        self.await_verdict(calm, CALM_LIMIT_S, "calm")


def story(verdict: Verdict) -> str:
    """A verdict in a line, for who reads why a test failed."""
    shares = {name: round(share, 2) for name, share in verdict.get("shares", {}).items() if share > 0.05}
    causes = [
        f"{cause['channel']}:{cause['statistic']} {cause['deviation']:.1f}" for cause in verdict.get("causes", [])
    ]
    scored = f"{verdict.get('subsystem') or 'nothing'} at {verdict.get('end_s')}, score {verdict.get('score')}"
    return f"{scored}, onset {verdict.get('onset_s')}, shares {shares}, causes {'; '.join(causes)}"


@dataclass
class Stage:
    """Everything that runs."""

    embedded: Judged
    stored: Judged
    prometheus: Prometheus
    webhook: Webhook
    exporter: Server
    lossy: Judged | None = None
    link: Link | None = None

    @property
    def of_the_host(self) -> tuple[Judged, ...]:
        """The two that see what happens on the host."""
        return self.embedded, self.stored

    @property
    def judged(self) -> tuple[Judged, ...]:
        """All that run."""
        return (*self.of_the_host, self.lossy) if self.lossy else self.of_the_host

    def needed_link(self) -> tuple[Judged, Link]:
        """The one in the namespace, and its link; raises UnavailableError where there are none."""
        if self.lossy is None or self.link is None:
            raise UnavailableError("network namespaces need root")
        return self.lossy, self.link


@contextlib.contextmanager
def running_stage(folder: Path) -> Iterator[Stage]:
    """The whole stage; without root there is no network namespace, and the other two run by themselves.

    The detectors start last and together: what it costs to start one must not be in the baseline of another.
    """
    with contextlib.ExitStack() as stack:
        webhook = stack.enter_context(Webhook())
        exporter = stack.enter_context(start_exporter(folder / "exporter"))
        alertmanager = stack.enter_context(start_alertmanager(folder / "alertmanager", _route(webhook)))
        scrapes, rules = [scrape_job(_JOB, exporter.address)], sorted(RULES.glob("*.yml"))
        prometheus = stack.enter_context(start_prometheus(folder / "prometheus", scrapes, rules, alertmanager))
        sources = {
            "embedded": f"--source.exporter.targets={exporter.url}",
            "stored": f"--source.prometheus.url={prometheus.url}",
        }
        link = stack.enter_context(Link()) if allowed() else None
        if link is not None:
            prefix = link.inner.prefix
            inside = stack.enter_context(start_exporter(folder / "inside", prefix=prefix, ready=None))
            sources["lossy"] = f"--source.exporter.targets={inside.url}"
        judged = dict(zip(sources, _start_together(stack, folder, sources, link), strict=True))
        prometheus.scrape("hostpulse-detector", judged["stored"].detector.address, honor_labels=True)
        yield Stage(judged["embedded"], judged["stored"], prometheus, webhook, exporter, judged.get("lossy"), link)


def _route(webhook: Webhook) -> dict[str, Any]:
    receiver = {"name": "hook", "webhook_configs": [{"url": webhook.url, "send_resolved": True}]}
    route = {"receiver": "hook", "group_by": ["..."], "group_wait": "1s", "group_interval": "1s"}
    return {"route": route, "receivers": [receiver]}


def _start_together(
    stack: contextlib.ExitStack, folder: Path, sources: dict[str, str], link: Link | None
) -> list[Judged]:
    def begin(name: str) -> Server:
        prefix = link.inner.prefix if link is not None and name == "lossy" else ()
        return start_detector(folder / name, sources[name], *_FLAGS, prefix=prefix, ready=None)

    with ThreadPoolExecutor(len(sources)) as pool:
        detectors = [stack.enter_context(detector) for detector in pool.map(begin, sources)]
    return [
        Judged(name, detector, _asking(stack, name, detector, link))
        for name, detector in zip(sources, detectors, strict=True)
    ]


def _asking(stack: contextlib.ExitStack, name: str, detector: Server, link: Link | None) -> Callable[[], list[Verdict]]:
    def ask() -> list[Verdict]:
        verdicts: list[Verdict] = detector.get("/api/v1/verdicts").json()
        return verdicts

    if link is None or name != "lossy":
        return ask
    inside = stack.enter_context(link.thread_inside())
    return lambda: inside.submit(ask).result()

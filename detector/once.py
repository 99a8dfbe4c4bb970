"""``once``: learn from what the source has and will have, then one verdict a host."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

from detector.clock import Clock
from detector.loop import Loop
from detector.service import build_source
from detector.settings import Settings
from detector.sink import Context, Judged, Sink
from detector.source import Host
from detector.telemetry import Telemetry
from detector.verdict import Phase

_PATIENCE_S = 5.0  # how long no host at all may be judged
_SPARE_S = 120.0  # beyond the time that the baseline takes
_PROGRESS = 0.1

_LOG = logging.getLogger(__name__)


class GaveUpError(Exception):
    """There is no verdict; the message says why."""


class _Newest(Sink):
    """Keeps the newest verdict of each host, and says how learning goes."""

    name = "newest"

    def __init__(self) -> None:
        self.judged: dict[Host, Judged] = {}
        self._said: dict[Host, float] = {}

    @classmethod
    def build(cls, setting: Any, context: Context) -> None:
        """See ``Sink``."""

    def publish(self, judged: Judged) -> None:
        """See ``Sink``."""
        host, verdict = judged.host, judged.verdict
        self.judged[host] = judged
        if verdict.phase is Phase.LEARNING and verdict.progress >= self._said.get(host, 0.0) + _PROGRESS:
            self._said[host] = verdict.progress
            _LOG.info("%s: learning, %.0f %%", host.instance, 100 * verdict.progress)

    def leave(self, host: Host) -> None:
        """See ``Sink``."""
        self.judged.pop(host, None)


def judge_once(settings: Settings, clock: Clock) -> Sequence[Judged]:
    """A verdict on the present of each host; nothing is saved.

    Raises:
        GaveUpError: no host can be judged, or not all of them in time.
    """
    newest = _Newest()
    loop = Loop(settings, build_source(settings, clock), [newest], None, Telemetry(), clock)
    begun_s = clock.elapsed_s()
    limit_s = settings.baseline.duration_s + settings.baseline.history_s + _SPARE_S
    try:
        while not clock.wait(loop.pause_s()):
            loop.round()
            elapsed_s = clock.elapsed_s() - begun_s
            waiting = [host for host in loop.hosts if not _is_present(newest.judged.get(host))]
            if loop.hosts and not waiting:
                return [newest.judged[host] for host in sorted(loop.hosts)]
            if not newest.judged and elapsed_s > _PATIENCE_S:
                raise GaveUpError(f"no host could be judged for {_PATIENCE_S:g} s: {loop.unready()}")
            if elapsed_s > limit_s:
                raise GaveUpError(f"no verdict on {waiting[0].instance} within {limit_s:g} s: {loop.unready()}")
        raise GaveUpError("stopped before there was a verdict")
    finally:
        loop.close()


def _is_present(judged: Judged | None) -> bool:
    """Whether a verdict has a score, which windows that show the fit have not, and is on the newest window."""
    if judged is None or math.isnan(judged.verdict.score):
        return False
    return judged.complete_s - judged.verdict.end_s < 2 * judged.stride_s

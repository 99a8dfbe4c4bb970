"""The newest verdicts on standard output: a live picture on a terminal, else a line when something changes."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections import deque
from typing import Any, ClassVar, Literal, Self, TextIO

from pydantic import Field
from rich.console import Console
from rich.live import Live

from detector.clock import Clock
from detector.sink import Context, Judged, Sink
from detector.source import Host
from detector.view import HostView, line, picture, state_of

_PLAIN_S = 10.0
_LEAST_REFRESH_S = 0.2
_SHOWN_BEHIND = 5  # strides; windows that are caught up are not worth a line each


class ViewSink(Sink):
    """See the module."""

    name: ClassVar[str] = "view"
    setting: ClassVar[tuple[Any, Any] | None] = (
        Literal["auto", "live", "plain", "off"],
        Field(
            default="auto",
            description="What is shown on standard output: a live picture, plain lines or nothing. `auto` is live on a "
            "terminal, else plain.",
        ),
    )

    def __init__(self, context: Context, stream: TextIO, *, live: bool) -> None:
        self._clock: Clock = context.clock
        self._addresses = context.addresses
        self._stream = stream
        self._views: dict[Host, HostView] = {}
        self._said: dict[Host, tuple[str, float]] = {}
        self._own = deque([(self._clock.elapsed_s(), time.process_time())], maxlen=30)
        self._refreshed_s = -math.inf
        self._live: Live | None = None
        if live:
            console = Console(file=stream, force_terminal=True)
            self._live = Live(self._picture(), console=console, auto_refresh=False, vertical_overflow="crop")
            try:
                self._live.start(refresh=True)
            except OSError:  # the first line will say so
                self._end_picture()

    @classmethod
    def build(cls, setting: Any, context: Context) -> Self | None:
        """See ``Sink``."""
        stream: TextIO | None = sys.stdout  # None where it was closed before the program began
        if setting == "off" or stream is None:
            return None
        live = setting == "live" or (setting == "auto" and stream.isatty() and os.environ.get("TERM") != "dumb")
        return cls(context, stream, live=live)

    def publish(self, judged: Judged) -> None:
        """See ``Sink``."""
        view = self._views.get(judged.host)
        if view is None:
            view = self._views[judged.host] = HostView(judged)
        view.update(judged)
        behind_s = judged.complete_s - judged.verdict.end_s
        if behind_s <= _SHOWN_BEHIND * judged.stride_s:
            self._own.append((self._clock.elapsed_s(), time.process_time()))
            self._show(judged.host, view)
        else:
            self._refresh()

    def trouble(self, host: Host, reason: str) -> None:
        """See ``Sink``."""
        view = self._views.get(host)
        if view is not None:
            view.trouble = reason
            self._show(host, view)

    def leave(self, host: Host) -> None:
        """See ``Sink``."""
        self._views.pop(host, None)
        self._said.pop(host, None)
        self._refresh()

    def close(self) -> None:
        """See ``Sink``; leaves the last picture on the screen."""
        self._end_picture()

    def _show(self, host: Host, view: HostView) -> None:
        if self._live is not None:
            self._refresh()
            return
        state, now_s = view.trouble or state_of(view.judged.verdict), self._clock.elapsed_s()
        before = self._said.get(host)
        if before is None or before[0] != state or now_s - before[1] >= _PLAIN_S:
            self._said[host] = state, now_s
            self._stream.write(line(view) + "\n")
            self._stream.flush()

    def _refresh(self) -> None:
        now_s = self._clock.elapsed_s()
        if self._live is not None and now_s - self._refreshed_s >= _LEAST_REFRESH_S:
            self._refreshed_s = now_s
            try:
                self._live.update(self._picture(), refresh=True)
            except OSError:  # the console would keep for ever what it could not draw
                self._end_picture()
                raise

    def _end_picture(self) -> None:
        """From now on there are lines, if anything."""
        live, self._live = self._live, None
        if live is not None:
            with contextlib.suppress(OSError):
                live.stop()

    def _picture(self) -> Any:
        return picture(list(self._views.values()), self._addresses, self._own_cost())

    def _own_cost(self) -> float:
        """Part of one core that this process took lately."""
        (first_s, before), (last_s, after) = self._own[0], self._own[-1]
        return (after - before) / (last_s - first_s) if last_s > first_s else float("nan")

"""Time as the shell sees it: injected everywhere, so that tests step it."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time, elapsed time, and a wait that can be ended."""

    def wall_s(self) -> float:
        """Seconds since the epoch; may be stepped."""

    def elapsed_s(self) -> float:
        """Seconds that never run backwards, from an arbitrary origin."""

    def wait(self, duration_s: float) -> bool:
        """Wait; True as soon as the program is to stop."""


class SystemClock:
    """The machine's clock. ``stop`` ends every wait."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def wall_s(self) -> float:
        """See ``Clock``."""
        return time.time()

    def elapsed_s(self) -> float:
        """See ``Clock``."""
        return time.monotonic()

    def wait(self, duration_s: float) -> bool:
        """See ``Clock``."""
        return self._stopped.wait(max(duration_s, 0.0))

    def stop(self) -> None:
        """End the current wait and all later ones; safe in a signal handler."""
        self._stopped.set()

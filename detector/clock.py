"""Time as the shell sees it: injected everywhere, so that tests step it."""

from __future__ import annotations

import threading
import time
from typing import Protocol

import psutil


class Clock(Protocol):
    """Wall time, elapsed time, the program's age, and a wait that can be ended."""

    def wall_s(self) -> float:
        """Seconds since the epoch; may be stepped."""

    def elapsed_s(self) -> float:
        """Seconds that never run backwards, from an arbitrary origin."""

    def age_s(self) -> float:
        """Seconds since this program was started, what it took to load it included."""

    def wait(self, duration_s: float) -> bool:
        """Wait; True as soon as the program is to stop."""


class SystemClock:
    """The machine's clock. ``stop`` ends every wait."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        age_s = time.time() - psutil.Process().create_time()
        self._begun_s = time.monotonic() - max(age_s, 0.0)  # the kernel's tick and a clock's step may differ

    def wall_s(self) -> float:
        """See ``Clock``."""
        return time.time()

    def elapsed_s(self) -> float:
        """See ``Clock``."""
        return time.monotonic()

    def age_s(self) -> float:
        """See ``Clock``."""
        return time.monotonic() - self._begun_s

    def wait(self, duration_s: float) -> bool:
        """See ``Clock``."""
        return self._stopped.wait(max(duration_s, 0.0))

    def stop(self) -> None:
        """End the current wait and all later ones; safe in a signal handler."""
        self._stopped.set()

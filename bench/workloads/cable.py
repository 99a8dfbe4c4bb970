"""A network namespace joined to this one by a virtual cable: the two ranks of a job send over it, not over loopback."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tests.servers.namespace import HERE, End, join, namespace

_HERE, _THERE = "198.51.100.1/24", "198.51.100.2/24"  # a range kept for documentation: nothing else has these addresses


@contextlib.contextmanager
def cable() -> Iterator[tuple[End, End]]:
    """Its end here and the one in the namespace, for as long as the block runs."""
    with namespace(f"hostpulse-work-{os.getpid()}") as far:
        ends = End(HERE, f"hw{os.getpid()}", _HERE), End(far, "eth0", _THERE)
        join(*ends)
        yield ends

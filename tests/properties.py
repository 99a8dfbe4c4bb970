"""How property tests run: the same examples each time, and no limit on a slow machine's time for one."""

from __future__ import annotations

from hypothesis import settings

PROPERTY = settings(deadline=None, derandomize=True, database=None, max_examples=60)

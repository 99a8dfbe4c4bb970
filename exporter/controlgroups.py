"""Control groups: which are told of. https://docs.kernel.org/admin-guide/cgroup-v2.html."""

from __future__ import annotations

import re

ROOT = "/sys/fs/cgroup"
_NAMELESS = re.compile(r"[0-9a-f]{12,}(\.scope|\.slice)?")


def is_named(group: str) -> bool:
    """Whether a group has a name that lasts, and not one of random numbers.

    >>> is_named("system.slice"), is_named("0123456789abcdef")
    (True, False)
    """
    return not _NAMELESS.fullmatch(group)

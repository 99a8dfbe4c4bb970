"""States of NVMe controllers.

The kernel's names of them are in nvme_sysfs_show_state in
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/nvme/host/sysfs.c
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from catalog.families import storage
from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context

_DIRECTORY = "/sys/class/nvme"
_STATES = {
    b"new": "new",
    b"live": "live",
    b"resetting": "resetting",
    b"connecting": "connecting",
    b"deleting": "deleting",
    b"deleting (no IO)": "deleting",
    b"dead": "dead",
}


def _is_in(state: str, data: bytes) -> float:
    """Whether a controller is in a state; ValueError for a text that names none.

    >>> _is_in("deleting", b"deleting (no IO)\\n"), _is_in("live", b"dead\\n")
    (1.0, 0.0)
    """
    if data.strip() not in _STATES:
        raise ValueError(f"{data[:40]!r} is no state of an NVMe controller")
    return float(_STATES[data.strip()] == state)


class NvmestateCollector(AttributeCollector):
    """One file a controller, told as one series for each state it may be in."""

    name = "nvmestate"
    tier = Tier.SLOW
    families = (storage.NVME_STATE,)
    sources = (f"{_DIRECTORY}/*/state",)
    absent = "no NVMe drive"
    watches = (_DIRECTORY,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        """All states of each controller."""
        for path in context.host.glob(f"{_DIRECTORY}/*/state"):
            device = path.split("/")[-2]
            for state in dict.fromkeys(_STATES.values()):
                yield Attribute(path, storage.NVME_STATE(device, state), convert=partial(_is_in, state))

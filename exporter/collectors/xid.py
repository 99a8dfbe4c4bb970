"""XID errors: what NVIDIA's driver reports of GPUs that misbehave, by its events and in the kernel's log.

https://docs.nvidia.com/deploy/xid-errors/. Both sources tell of the same errors, so that of two counts the larger one
is right.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from catalog.families import gpuhealth
from catalog.family import Tier
from exporter.collector import Collector, Context, Unavailable
from exporter.kmsg import KernelLog
from exporter.nvml import SESSION, nvidia_gpus, sysfs_address
from exporter.xid import XidEvents

_LOGGED = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (\d+)")
# Of the hardware, and there from the start.
_EXPECTED = (48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140)

Key = tuple[str, int]


class XidCollector(Collector):
    """Counts since the exporter started. Either source will do; without both there is nothing to read."""

    name = "xid"
    tier = Tier.GPU
    families = (gpuhealth.XID_ERRORS, gpuhealth.XID_LAST_TIMESTAMP_SECONDS)
    sources = ()

    def __init__(self, context: Context) -> None:
        if not context.host.live:
            raise Unavailable("errors are reported by the running machine: no capture holds them")
        self.series = ()
        self._host = context.host
        self._by_event, self._by_log = Counter[Key](), Counter[Key]()
        self._last_s: dict[Key, float] = {}
        self._layout: list[Key] | None = None
        self._begun: set[Key] = set()
        self._events: XidEvents | None = None
        self._log: KernelLog | None = None
        reasons = [*self._open_events(), *self._open_log(context.kmsg)]
        if len(reasons) == 2 or not self._gpus():
            self.close()
            raise Unavailable("; ".join(reasons) or "no GPU")
        self.note = "; ".join(reasons)

    def _open_events(self) -> Iterable[str]:
        try:
            SESSION.open()
        except (Unavailable, OSError) as error:
            yield str(error)
        else:
            self._events = XidEvents(self._note_event)

    def _open_log(self, path: str) -> Iterable[str]:
        try:
            self._log = KernelLog(path)
        except OSError as error:
            yield f"{path}, given by --path.kmsg: {error.strerror} (needs CAP_SYSLOG)"

    def _gpus(self) -> dict[str, str]:
        """The label of each GPU by its PCI address, without the function; NVML numbers GPUs in the order of these."""
        if self._events is not None:
            addresses = {device.label: sysfs_address(device.address) for device in SESSION.devices}
        else:
            addresses = {str(number): address for number, address in enumerate(nvidia_gpus(self._host))}
        return {address.rpartition(".")[0]: label for label, address in addresses.items()}

    def _note_event(self, label: str, xid: int, wall_s: float) -> None:
        self._by_event[label, xid] += 1
        self._last_s[label, xid] = wall_s

    def _read_log(self, gpus: dict[str, str]) -> None:
        for message in self._log.messages() if self._log is not None else ():
            if found := _LOGGED.match(message):
                address = sysfs_address(found[1])
                key = gpus.get(address, address), int(found[2])
                self._by_log[key] += 1
                self._last_s.setdefault(key, time.time())
                if self._by_log[key] > self._by_event[key]:
                    self._last_s[key] = time.time()

    def read(self) -> Sequence[float]:
        """Counts of all errors that are expected or were seen, and the time of those that were."""
        gpus = self._gpus()
        self._read_log(gpus)
        keys = list(dict.fromkeys([(label, xid) for label in gpus.values() for xid in _EXPECTED] + list(self._last_s)))
        seen = [key for key in keys if key in self._last_s]
        if (layout := keys + seen) != self._layout:
            self._layout = layout
            self.series = (
                *(gpuhealth.XID_ERRORS(*key) for key in keys),
                *(gpuhealth.XID_LAST_TIMESTAMP_SECONDS(*key) for key in seen),
            )
        # A series begins with 0, so that its first error shows as an increase one reading later.
        counts = [float(max(self._by_event[key], self._by_log[key])) if self._has_begun(key) else 0.0 for key in keys]
        self._begun.update(keys)
        return counts + [self._last_s[key] for key in seen]

    def _has_begun(self, key: Key) -> bool:
        return key in self._begun or key[1] in _EXPECTED

    def close(self) -> None:
        """End the waiting and close the log."""
        if self._events is not None:
            self._events.close()
            SESSION.close()
            self._events = None
        if self._log is not None:
            self._log.close()
            self._log = None

"""XID errors as they come, from NVML's events: https://docs.nvidia.com/deploy/nvml-api/group__nvmlEvents.html."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from exporter.nvml import SESSION, NvmlFailed

_WAIT_MS = 500
_PAUSE_S = 1.0

Note = Callable[[str, int, float], None]


class XidEvents:
    """Calls ``note(gpu, xid, wall_s)`` for each event, from a thread of its own, until it is closed."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._over = Event()
        self._generation = -1
        self._events: Any = None
        self._created = -1
        Thread(target=self._run, name="xid", daemon=True).start()

    def close(self) -> None:
        """End within one wait; no event is noted afterwards."""
        self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                event = self._await()
            except (SESSION.nvml.NVMLError, NvmlFailed):
                self._generation = -1
                self._over.wait(_PAUSE_S)
                continue
            if event is not None and not self._over.is_set():
                self._note(_label(event.device), int(event.eventData), time.time())

    def _await(self) -> Any:
        """The next event, None when there has been none for a while or NVML was opened anew."""
        if self._generation != SESSION.generation:
            self._subscribe()
        with SESSION.waiting:
            if self._generation != SESSION.generation:
                return None
            try:
                return SESSION.nvml.nvmlEventSetWait_v2(self._events, _WAIT_MS)
            except SESSION.nvml.NVMLError as error:
                if error.value == SESSION.nvml.NVML_ERROR_TIMEOUT:
                    return None
                raise

    def _subscribe(self) -> None:
        """Ask for the events of all GPUs that have any."""
        with SESSION.calling() as nvml:
            if self._created == SESSION.generation:
                nvml.nvmlEventSetFree(self._events)
            self._events, self._created = nvml.nvmlEventSetCreate(), SESSION.generation
            for device in SESSION.devices:
                if device.handle is not None:
                    with suppress(nvml.NVMLError):
                        nvml.nvmlDeviceRegisterEvents(device.handle, nvml.nvmlEventTypeXidCriticalError, self._events)
            self._generation = SESSION.generation


def _label(handle: Any) -> str:
    """The GPU that an event is of; a GPU that is lost tells its handle and nothing else."""
    address = ctypes.cast(handle, ctypes.c_void_p).value
    for device in SESSION.devices:
        if device.handle is not None and ctypes.cast(device.handle, ctypes.c_void_p).value == address:
            return device.label
    return ""

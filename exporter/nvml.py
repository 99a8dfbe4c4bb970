"""NVML for all collectors of GPUs: opened once, called by one thread at a time, opened anew when a GPU was lost.

https://docs.nvidia.com/deploy/nvml-api/. Its Python binding takes 14 MB of memory, so it is imported only where the
driver's library is installed.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from threading import Lock, RLock
from typing import Any

from exporter.collector import Unavailable
from exporter.host import Host
from exporter.patience import Patience

LIBRARY = "libnvidia-ml.so.1"
RENEW_S = 60.0
_PATIENCE_S = 4.0
_PATIENCE_LEFT_S = 0.05
_VENDOR = "0x10de"
_DISPLAYS = ("0x0300", "0x0302")  # VGA and 3D controllers
# What NVML_ERROR_… a call gives of a GPU that is gone, and of what this GPU or this driver does not have.
_LOST = ("GPU_IS_LOST", "TIMEOUT", "RESET_REQUIRED", "UNINITIALIZED", "GPU_NOT_FOUND", "DRIVER_NOT_LOADED")
_ABSENT = (
    *("NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "INVALID_ARGUMENT", "NO_PERMISSION", "NOT_FOUND", "DEPRECATED"),
    *("ARGUMENT_VERSION_MISMATCH", "VGPU_ECC_NOT_SUPPORTED", "FREQ_NOT_SUPPORTED", "INSUFFICIENT_SIZE"),
)


class NvmlFailed(OSError):  # noqa: N818 - reads as what happened
    """The driver is there and does not work; the message is NVML's."""


class Lost(OSError):  # noqa: N818 - what happened to the GPU
    """A GPU does not answer any more."""


@dataclass(slots=True)
class Device:
    """A GPU by its label, which it keeps as long as the exporter runs; no handle while it does not answer."""

    label: str
    handle: Any = None
    uuid: str = ""
    address: str = ""


class Session:
    """NVML as a process has it. Handles are good for one ``generation``.

    ``waiting`` is held by who waits for events, which takes long and needs no other lock.
    """

    def __init__(self) -> None:
        self.waiting = Lock()
        self.generation = 0
        self.devices: tuple[Device, ...] = ()
        self.nvml: Any = None
        self._lock = RLock()
        self._stuck = False
        self._users = 0
        self._renewed_s = -inf
        self._patience = Patience[Any](_PATIENCE_S)

    @contextmanager
    def calling(self) -> Iterator[Any]:
        """The binding, for calls to it by this thread alone; NvmlFailed where another one's call does not return."""
        # Once one has waited in vain the others hardly do: what hangs must not delay reads of anything else for long.
        if not self._lock.acquire(timeout=_PATIENCE_LEFT_S if self._stuck else _PATIENCE_S):
            self._stuck = True
            raise NvmlFailed(f"{LIBRARY}: an earlier call has not returned")
        self._stuck = False
        try:
            yield self.nvml
        finally:
            self._lock.release()

    def open(self) -> None:
        """Take part in the session.

        Raises:
            Unavailable: there is no driver; says which library is missing.
            NvmlFailed: the driver does not work.
            TimeoutError: the driver has not answered yet.
        """
        with self.calling():
            if self._users == 0:
                if self.nvml is None:
                    self.nvml = _binding()
                error = self._patience.call("NVML", self._init)
                if error is not None:
                    raise error
                self._renewed_s = time.monotonic()
            self._users += 1

    def close(self) -> None:
        """Leave the session; the last one to leave closes NVML."""
        with self.calling():
            self._users -= 1
            if self._users == 0:
                with self.waiting:
                    self._shut_down()

    def renew(self) -> None:
        """Close and open NVML, at most once in ``RENEW_S``: a GPU that was reset is not found otherwise."""
        if time.monotonic() - self._renewed_s >= RENEW_S:
            self._renewed_s = time.monotonic()
            with self.waiting:
                self._shut_down()
                self._init()

    def patiently(self, key: str, call: Callable[[], Any]) -> Any:
        """What a first look at all GPUs gives; TimeoutError where one of them hangs."""

        def locked() -> Any:
            with self.calling():
                return call()

        return self._patience.call(key, locked)

    def lost(self, code: int) -> bool:
        """Whether an answer says that the GPU is gone."""
        return code in self._codes(_LOST)

    def absent(self, code: int) -> bool:
        """Whether an answer says that this GPU, or this driver, has no such thing."""
        return code in self._codes(_ABSENT)

    def _codes(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset(getattr(self.nvml, f"NVML_ERROR_{name}") for name in names)

    def _init(self) -> BaseException | None:
        """Open NVML and look which GPUs there are; the error, where that fails."""
        try:
            self.nvml.nvmlInit()
            found = [self._found(index) for index in range(self.nvml.nvmlDeviceGetCount())]
        except self.nvml.NVMLError as error:
            self.devices = tuple(Device(device.label) for device in self.devices)
            self.generation += 1
            if error.value in (self.nvml.NVML_ERROR_DRIVER_NOT_LOADED, self.nvml.NVML_ERROR_LIBRARY_NOT_FOUND):
                return Unavailable(f"{LIBRARY} is installed, but NVIDIA's driver is not loaded: {error}")
            return NvmlFailed(f"{LIBRARY}: {error}")
        self.devices = labelled(found, self.devices)
        self.generation += 1
        return None

    def _found(self, index: int) -> Device:
        nvml = self.nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            return Device(str(index), handle, nvml.nvmlDeviceGetUUID(handle), nvml.nvmlDeviceGetPciInfo(handle).busId)
        except nvml.NVMLError:
            return Device(str(index))

    def _shut_down(self) -> None:
        with suppress(self.nvml.NVMLError):
            self.nvml.nvmlShutdown()


def labelled(found: Iterable[Device], before: Iterable[Device]) -> tuple[Device, ...]:
    """The GPUs that were found, under the labels that they had; those that are known and gone without a handle.

    >>> [(d.label, d.uuid) for d in labelled([Device("0", 1, "b")], [Device("0", 1, "a"), Device("1", 2, "b")])]
    [('0', 'a'), ('1', 'b')]
    """
    known = {device.label: device for device in before}
    labels = {device.uuid: device.label for device in known.values() if device.uuid}
    taken: dict[str, Device] = {}

    def known_as(label: str) -> str:
        return known[label].uuid if label in known else ""

    for device in sorted(found, key=lambda device: device.uuid not in labels):
        free = (str(number) for number in range(len(known) + len(taken) + 1) if str(number) not in taken)
        # One that does not tell its UUID may be any of those that are known, and is not one that was found.
        unclaimed = [label for label in free if device.handle is None or not known_as(label)]
        wished = device.label if device.label in unclaimed else unclaimed[0]
        taken[labels.get(device.uuid, wished)] = device
    for label, device in known.items():
        taken.setdefault(label, Device(label, None, device.uuid, device.address))
    for label, device in taken.items():
        device.label = label
        if label in known and device.handle is None:
            device.uuid, device.address = known[label].uuid, known[label].address
    return tuple(sorted(taken.values(), key=lambda device: int(device.label)))


def _binding() -> Any:
    """The module ``pynvml``."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise Unavailable(f"no NVIDIA driver: the library {LIBRARY} cannot be loaded ({error})") from None
    import pynvml

    return pynvml


def sysfs_address(bus_id: str) -> str:
    """A PCI address as sysfs writes it.

    >>> sysfs_address("00000000:3B:00.0")
    '0000:3b:00.0'
    """
    domain, _, rest = bus_id.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}" if rest else ""


def nvidia_gpus(host: Host) -> list[str]:
    """The PCI addresses of NVIDIA's GPUs, in the order in which NVML numbers them."""
    found = []
    for path in host.glob("/sys/bus/pci/devices/*/class"):
        device = path.removesuffix("/class")
        if host.text(path, "").startswith(_DISPLAYS) and host.text(f"{device}/vendor", "") == _VENDOR:
            found.append(device.rpartition("/")[2])
    return sorted(found)


SESSION = Session()

"""Wear, spare blocks, warnings and errors of NVMe drives, as they say it themselves.

"SMART / Health Information" in the NVM Express Base Specification: https://nvmexpress.org/specifications/
"""

from __future__ import annotations

from functools import partial
from math import nan

from catalog.families import storage
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable
from exporter.nvmehealth import Health, ask, health_in
from exporter.patience import Patience

_DIRECTORY = "/sys/class/nvme"
_PATIENCE_S = 1.0  # a drive that is dying keeps a command for a minute, as long as the kernel waits for it


class NvmehealthCollector(Collector):
    """One command a controller, of those that only the administrator of the whole machine may send."""

    name = "nvmehealth"
    tier = Tier.SLOW
    families = (
        storage.NVME_USED_RATIO,
        storage.NVME_SPARE_RATIO,
        storage.NVME_WARNING,
        storage.NVME_MEDIA_ERRORS,
        storage.NVME_UNSAFE_SHUTDOWNS,
    )
    sources = ()

    def __init__(self, context: Context) -> None:
        self._host = context.host
        self._patience = Patience[Health](_PATIENCE_S)
        self.series = ()
        if not self._host.names(_DIRECTORY):
            raise Unavailable(f"nothing at {_DIRECTORY}/*: no NVMe drive")
        if not self._host.live:
            raise Unavailable(f"{_DIRECTORY}: these are not the controllers of this machine")
        try:
            self.read()
        except (PermissionError, FileNotFoundError) as error:
            raise Unavailable(f"{error.filename}: {error.strerror}") from None

    def read(self) -> list[float]:
        """What each controller says; NaN for one that does not answer any more. OSError where none does."""
        devices = self._host.names(_DIRECTORY)
        answers = self._patience.together({device: partial(self._asked, f"/dev/{device}") for device in devices})
        readings, refusals = dict[Series, float](), list[OSError]()
        for device, answer in answers.items():
            if isinstance(answer, OSError):
                refusals.append(answer)
                readings |= {series: nan for series in self.series if series.label("device") == device}
            else:
                readings |= _of(device, answer)
        if refusals and len(refusals) == len(answers):
            raise refusals[-1]
        if tuple(readings) != self.series:
            self.series = tuple(readings)
        return list(readings.values())

    def _asked(self, path: str) -> Health:
        try:
            return health_in(ask(self._host.locate(path)))
        except OSError as error:
            refused = isinstance(error, PermissionError)
            reason = "permission denied; needs root and the capability CAP_SYS_ADMIN" if refused else error.strerror
            raise OSError(error.errno, reason, path) from None


def _of(device: str, health: Health) -> dict[Series, float]:
    return {
        storage.NVME_USED_RATIO(device): health.used_ratio,
        storage.NVME_SPARE_RATIO(device): health.spare_ratio,
        storage.NVME_MEDIA_ERRORS(device): float(health.media_errors),
        storage.NVME_UNSAFE_SHUTDOWNS(device): float(health.unsafe_shutdowns),
        **{storage.NVME_WARNING(device, name): float(raised) for name, raised in health.warnings.items()},
    }

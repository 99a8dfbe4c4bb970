"""Size and use of each mounted filesystem: statvfs(3) on what mountinfo lists.

https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from catalog.devices import wanted_mountpoint
from catalog.families import storage
from catalog.family import Family, Tier
from exporter.collector import Collector, Context, or_unavailable
from exporter.host import FilesystemUse
from exporter.parsing import unescaped
from exporter.patience import Patience

_MOUNTS = "/proc/1/mountinfo"
_OWN_MOUNTS = "/proc/self/mountinfo"  # for those who may not look at process 1
# Filesystems that hold no data, or images whose size never changes.
_PSEUDO = frozenset(
    (
        *("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs"),
        *("fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "ramfs", "resctrl", "rpc_pipefs", "securityfs"),
        *("selinuxfs", "sysfs", "tracefs", "erofs", "iso9660", "squashfs"),
    )
)
# Of filesystems in memory only those that programs fill: most others are a few pages of the system's own.
_TMPFS_KEPT = frozenset(("/dev/shm", "/tmp"))  # noqa: S108 - looked at, not written
# A look at these is answered from memory. Others may ask a server, or a program, that is away: it hangs for that long.
_LOCAL = frozenset(
    ("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "ntfs3", "overlay", "tmpfs", "vfat", "xfs")
)
_PATIENCE_S = 0.5


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo: ``number`` is the device's, equal for all mounts of one filesystem."""

    number: str
    mountpoint: str
    fstype: str
    device: str
    readonly: bool

    @property
    def labels(self) -> tuple[str, str, str]:
        """In the order of the families' labels."""
        return self.device, self.mountpoint, self.fstype

    @property
    def wanted(self) -> bool:
        """Whether it holds data of this host."""
        if self.fstype == "tmpfs":
            return self.mountpoint in _TMPFS_KEPT
        if self.fstype == "overlay":  # a layer on top of a filesystem that is listed itself, save inside a container
            return self.mountpoint == "/"
        return self.fstype not in _PSEUDO and wanted_mountpoint(self.mountpoint)


def mounts(text: str) -> list[Mount]:
    """What is worth its series, each filesystem once, at its shortest mount point.

    >>> mounts("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\\n")
    [Mount(number='254:0', mountpoint='/', fstype='ext4', device='/dev/vda', readonly=False)]
    """
    top: dict[str, Mount] = {}  # a mount hides what is mounted at the same place before it
    for line in text.removesuffix("\n").split("\n"):  # names may hold what else Unicode takes for the end of a line
        left, _, right = line.partition(" - ")
        words, told = left.split(" "), right.split(" ")
        if len(words) < 6 or len(told) < 3:
            raise ValueError(f"{_MOUNTS}: has a line of another format")
        fstype, device, options = told[:3]  # the device is empty where whoever mounted it gave none
        # Of the mount or of the filesystem, as the host sees it: our own view of it may be read-only on purpose.
        readonly = "ro" in (*words[5].split(","), *options.split(","))
        mount = Mount(words[2], unescaped(words[4]), fstype, unescaped(device), readonly)
        top[mount.mountpoint] = mount
    found: dict[str, Mount] = {}
    for mount in sorted(filter(lambda mount: mount.wanted, top.values()), key=lambda mount: len(mount.mountpoint)):
        found.setdefault(mount.number, mount)
    return list(found.values())


class FilesystemCollector(Collector):
    """A filesystem that cannot be looked at, or not in time, has ``device_error`` 1 and no other value."""

    name = "filesystem"
    tier = Tier.SLOW
    families = (
        storage.FILESYSTEM_SIZE_BYTES,
        storage.FILESYSTEM_FREE_BYTES,
        storage.FILESYSTEM_AVAIL_BYTES,
        storage.FILESYSTEM_FILES,
        storage.FILESYSTEM_FILES_FREE,
        storage.FILESYSTEM_READONLY,
        storage.FILESYSTEM_DEVICE_ERROR,
    )
    sources = (_MOUNTS, _OWN_MOUNTS)

    def __init__(self, context: Context) -> None:
        self._host = context.host
        self._patience = Patience[FilesystemUse | OSError](_PATIENCE_S)
        self._families = tuple(filter(context.wants, self.families))
        with or_unavailable():
            self._file = self._host.hold_mounts(*self.sources)
        self._listed: bytes | None = None
        self._mounts: list[Mount] = []
        self.series = ()
        self.read()

    def read(self) -> list[float]:
        """Bytes, inodes and flags."""
        listed = self._file.read()
        if listed != self._listed:
            self._mounts = mounts(os.fsdecode(listed))
            self._listed = listed
            self.series = tuple(family(*mount.labels) for family in self._families for mount in self._mounts)
        answers = self._looks()
        uses = [dict(_values(mount, answers[mount.mountpoint])) for mount in self._mounts]
        return [use.get(family.name, math.nan) for family in self._families for use in uses]

    def _looks(self) -> dict[str, FilesystemUse | OSError]:
        """What each filesystem has, or why that is not known; all that may hang are waited for together."""
        looks = {mount.mountpoint: partial(self._look, mount.mountpoint) for mount in self._mounts}
        answers = {mount.mountpoint: looks.pop(mount.mountpoint)() for mount in self._mounts if mount.fstype in _LOCAL}
        return answers | self._patience.together(looks)

    def _look(self, mountpoint: str) -> FilesystemUse | OSError:
        try:
            return self._host.statvfs(mountpoint)
        except OSError as error:
            return error

    def close(self) -> None:
        """Close the list of mounts."""
        self._file.close()


def _values(mount: Mount, use: FilesystemUse | OSError) -> Iterator[tuple[str, float]]:
    def value(family: Family, number: float) -> tuple[str, float]:
        return family.name, float(number)

    if isinstance(use, OSError):
        yield value(storage.FILESYSTEM_DEVICE_ERROR, 1)
        return
    yield value(storage.FILESYSTEM_SIZE_BYTES, use.size_bytes)
    yield value(storage.FILESYSTEM_FREE_BYTES, use.free_bytes)
    yield value(storage.FILESYSTEM_AVAIL_BYTES, use.avail_bytes)
    yield value(storage.FILESYSTEM_FILES, use.files)
    yield value(storage.FILESYSTEM_FILES_FREE, use.files_free)
    yield value(storage.FILESYSTEM_READONLY, mount.readonly)
    yield value(storage.FILESYSTEM_DEVICE_ERROR, 0)

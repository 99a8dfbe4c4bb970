"""The only opener of host files, rooted: paths are written as on a host, and read below the roots it was given.

Files stay open between samples and are read again from offset 0 with ``pread``, which saves the path walk:
https://docs.kernel.org/filesystems/seq_file.html says what a short read means.
"""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path

_GONE = frozenset((errno.ENOENT, errno.ENODEV, errno.ESRCH, errno.ENXIO, errno.ENOTDIR, errno.ESTALE))
_WHY = {
    errno.EACCES: "permission denied; needs root or the capability CAP_DAC_READ_SEARCH",
    errno.EPERM: "not permitted; the kernel, a container profile or a missing capability (CAP_SYS_ADMIN) forbids it",
    errno.EMFILE: "too many open files; raise the limit (ulimit -n, LimitNOFILE=)",
}
# A seq_file returns less than asked when its next record does not fit its buffer (at least one page). While no record
# is longer than half of that such a read is longer, so that a shorter one has reached the end of the file and needs no
# second call to know it. Records of a list of mounts have any length: those of NFS, of layers, take more than a page.
_SURELY_WHOLE_BYTES = 2048
_LARGEST_BYTES = 64 << 20
_DIGITS = re.compile(r"(\d+)")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""A file with another text after each boot, the same in all containers."""


class Vanished(OSError):  # noqa: N818 - what happened to the file, not a fault of ours
    """A file that was open is no longer there: its device, task or module went away."""


def _explained(error: OSError, path: str) -> OSError:
    """The same error with the path and, for refusals, with what is missing."""
    code = error.errno or 0
    kind = Vanished if code in _GONE else type(error)
    return kind(code, _WHY.get(code, os.strerror(code)), path)


@dataclass(frozen=True, slots=True)
class FilesystemUse:
    """What statvfs(3) says of a filesystem."""

    size_bytes: int
    free_bytes: int
    avail_bytes: int
    files: int
    files_free: int


class HeldFile:
    """A file held open and read again and again; ``to_end`` where a record may be longer than half a page."""

    __slots__ = ("_descriptor", "_ending", "_location", "_size_bytes", "_to_end", "path")

    def __init__(self, path: str, location: str, *, to_end: bool = False) -> None:
        self.path = path
        self._location, self._to_end = location, to_end
        self._size_bytes = 2 * _SURELY_WHOLE_BYTES
        self._descriptor = -1
        self._ending = b""
        self._open()

    def _open(self) -> None:
        self._ending = b""
        try:
            self._descriptor = os.open(self._location, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _explained(error, self.path) from None

    def read(self) -> bytes:
        """The whole file as it is now.

        Raises ``Vanished`` when it is gone and cannot be opened again, another OSError when the kernel refuses or the
        file has more than 64 MiB. A file that ended with a newline and no longer does is cut, and an error as well: its
        last number would be another one.
        """
        try:
            data = os.pread(self._descriptor, self._size_bytes, 0)
        except OSError as error:
            data = self._read_again(error)
        if self._to_end or len(data) >= _SURELY_WHOLE_BYTES:
            data = self._rest(data)
        if data[-1:] != self._ending and data:
            self._end_with(data[-1:])
        return data

    def _end_with(self, ending: bytes) -> None:
        if self._ending == b"\n":
            raise OSError(errno.EBADMSG, "is cut off: its last line does not end", self.path)
        self._ending = ending

    def _read_again(self, error: OSError) -> bytes:
        """A device that came back under the same name has a new file: open it once more."""
        if error.errno not in _GONE and error.errno != errno.EBADF:
            raise _explained(error, self.path) from None
        self.close()
        self._open()
        return self._part(0)

    def _part(self, offset: int) -> bytes:
        try:
            return os.pread(self._descriptor, self._size_bytes, offset)
        except OSError as error:
            raise _explained(error, self.path) from None

    def _rest(self, data: bytes) -> bytes:
        parts, length = [data], len(data)
        while part := self._part(length):
            parts.append(part)
            length += len(part)
            if length > _LARGEST_BYTES:
                raise OSError(errno.EFBIG, f"more than {_LARGEST_BYTES >> 20} MiB", self.path)
        if length > self._size_bytes:
            self._size_bytes = 1 << length.bit_length()
        return b"".join(parts)

    def close(self) -> None:
        """Give the descriptor back; reading afterwards opens the file anew."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        # Nothing stays open of a collector that could not be built, however often that is tried.
        self.close()


def _numbers_in_order(path: str) -> list[tuple[int, int | str]]:
    """Sort key that puts cpu2 before cpu10."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(path) if part]


def _statvfs(location: str) -> FilesystemUse:
    use = os.statvfs(location)
    return FilesystemUse(
        size_bytes=use.f_blocks * use.f_frsize,
        free_bytes=use.f_bfree * use.f_frsize,
        avail_bytes=use.f_bavail * use.f_frsize,
        files=use.f_files,
        files_free=use.f_ffree,
    )


class Host:
    """The files of one host.

    All methods take paths as they are on a host whose root is ``/``; what is below ``/proc`` and ``/sys`` is read
    below ``procfs`` and ``sysfs``, the rest below ``rootfs``. ``page_bytes`` and ``ticks_per_second`` are the kernel's.
    """

    def __init__(
        self,
        procfs: str | Path = "/proc",
        sysfs: str | Path = "/sys",
        rootfs: str | Path = "/",
        *,
        page_bytes: int | None = None,
        statvfs: Callable[[str], FilesystemUse] | None = None,
    ) -> None:
        self._roots = {"/proc": str(procfs).rstrip("/"), "/sys": str(sysfs).rstrip("/")}
        self._rootfs = str(rootfs).rstrip("/")
        self.page_bytes = page_bytes or os.sysconf("SC_PAGE_SIZE")
        self.ticks_per_second = os.sysconf("SC_CLK_TCK")
        self._statvfs = statvfs
        # Another host's /proc, as containers mount it: /proc/net there leads to the reader's own network namespace,
        # so the network is that of the host's process 1. With our own /proc the network is the one we live in.
        foreign = self._roots["/proc"] != "/proc"
        self._net = "/proc/1/net" if foreign and Path(self._roots["/proc"], "1", "net").is_dir() else "/proc/net"

    @property
    def live(self) -> bool:
        """Whether this is the machine that we run on, and not a capture: system calls ask the running kernel alone."""
        running, told = Host().text(BOOT_ID, ""), self.text(BOOT_ID, "")
        return self._roots["/proc"] == "/proc" or (told == running != "")

    def locate(self, path: str) -> str:
        """Where a path of the host is on this machine."""
        assert path.startswith("/"), f"{path}: paths of a host start at its root"
        if path.startswith("/proc/net/"):
            path = self._net + path.removeprefix("/proc/net")
        mount, root = self._mount_of(path)
        return root + path.removeprefix(mount)

    def _mount_of(self, path: str) -> tuple[str, str]:
        """The mount that a path is below, and where that is on this machine."""
        for mount, root in self._roots.items():
            if path == mount or path.startswith(mount + "/"):
                return mount, root
        return "", self._rootfs

    def hold(self, path: str, *, to_end: bool = False) -> HeldFile:
        """A file opened for repeated reading; OSError names the path and what is missing."""
        return HeldFile(path, self.locate(path), to_end=to_end)

    def hold_mounts(self, *paths: str) -> HeldFile:
        """The first of these lists that is there and that we may read; OSError of the last one where none is."""
        *others, last = paths
        for path in others:
            try:
                file = self.hold(path, to_end=True)
                file.read()
            except (Vanished, PermissionError):
                continue
            return file
        return self.hold(last, to_end=True)

    def read(self, path: str) -> bytes:
        """The contents of a file, once; errors as of ``HeldFile``."""
        file = self.hold(path, to_end=True)
        try:
            return file.read()
        finally:
            file.close()

    def text(self, path: str, default: str | None = None) -> str:
        """The contents as text without surrounding blanks; ``default``, when given, for what cannot be read."""
        try:
            return self.read(path).decode("utf-8", "replace").strip("\0 \t\n")
        except OSError:
            if default is None:
                raise
            return default

    def glob(self, pattern: str) -> list[str]:
        """The paths that match a shell pattern, cpu2 before cpu10."""
        if not glob.has_magic(pattern):
            return [pattern] if self.exists(pattern) else []
        mount, root = self._mount_of(pattern)
        found = glob.iglob(glob.escape(root) + pattern.removeprefix(mount))
        return sorted((mount + path.removeprefix(root) for path in found), key=_numbers_in_order)

    def names(self, directory: str) -> tuple[str, ...]:
        """The sorted names in a directory, none when it is not there."""
        try:
            return tuple(sorted(os.listdir(self.locate(directory)), key=_numbers_in_order))
        except OSError:
            return ()

    def exists(self, path: str) -> bool:
        """Whether there is anything at a path."""
        return os.path.lexists(self.locate(path))

    def is_directory(self, path: str) -> bool:
        """Whether a path leads to a directory."""
        return os.path.isdir(self.locate(path))

    def resolve(self, path: str) -> tuple[str, list[tuple[str, str]]]:
        """The path with all links followed, and the links that it passes, each with where it leads to."""
        links: list[tuple[str, str]] = []
        current = ""
        for part in path.removeprefix("/").split("/"):
            current = f"{current}/{part}"
            if os.path.islink(self.locate(current)) and (real := self.real_path(current)) != current:
                links.append((current, real))
                current = real
        return current, links

    def real_path(self, path: str) -> str:
        """The path with all links followed, again as on the host; links out of the host's roots stay as they are."""
        real = os.path.realpath(self.locate(path))
        for mount, root in (*self._roots.items(), ("", self._rootfs)):
            resolved = os.path.realpath(root or "/").rstrip("/")
            if real == resolved or real.startswith(resolved + "/"):
                return mount + real.removeprefix(resolved)
        return path

    def measuring(self, statvfs: Callable[[str], FilesystemUse]) -> Host:
        """The same host with another way to look at filesystems."""
        other = copy(self)
        other._statvfs = statvfs
        return other

    def statvfs(self, mountpoint: str) -> FilesystemUse:
        """Size and use of the filesystem mounted there. May block for as long as its server is away."""
        try:
            return self._statvfs(mountpoint) if self._statvfs else _statvfs(self.locate(mountpoint) or "/")
        except OSError as error:
            raise _explained(error, mountpoint) from None

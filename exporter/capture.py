"""One text file with all that the collectors read on a host, and a host made from such a file again.

A capture begins with a line that says its version, then has one line or block for each thing on the host:

    page_bytes 4096
    statvfs SIZE FREE AVAIL FILES FILES_FREE MOUNTPOINT
    link PATH -> TARGET
    directory PATH
    file PATH           followed by its lines, each behind "|", the last one behind "~" where no newline ends it
    left out PATH: REASON

Bytes that are not printable UTF-8 are written as ``\\xNN``, a backslash as two.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, replace
from itertools import chain
from pathlib import Path

from exporter.anonymous import HOST_NAME, Anonymous
from exporter.collector import Collector, Context, Unavailable, discover
from exporter.host import FilesystemUse, Host

_HEADING = "# hostpulse capture 1"
_FILE_LIMIT_BYTES = 8 << 20
_TOTAL_LIMIT_BYTES = 64 << 20
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]")
_ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2})")


def _escaped(data: bytes) -> str:
    text = data.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode()), text)


def _unescaped(text: str) -> bytes:
    return _ESCAPE.sub(lambda match: b"\\" if match[1] == b"\\" else bytes((int(match[1][1:], 16),)), text.encode())


def _name(path: str) -> str:
    return _escaped(os.fsencode(path)).replace("\n", "\\x0a")


def capture(context: Context) -> str:
    """All that the collectors of ``context`` read, as they would find it now.

    Serial numbers, UUIDs, MAC and IP addresses, names of the host and of file servers, and options of mounts that are
    no numbers are replaced. Files beyond 8 MiB, and whatever comes after 64 MiB in all, are left out and named.
    """
    kinds = [kind for kind in discover().values() if any(map(context.wants, kind.families))]
    uses = sorted(_filesystems(context, kinds).items())
    patterns = dict.fromkeys(chain.from_iterable(kind.sources for kind in kinds))
    paths = dict.fromkeys(chain.from_iterable(map(context.host.glob, patterns)))
    lines = chain(
        (_HEADING, f"page_bytes {context.host.page_bytes}"),
        (f"statvfs {' '.join(str(int(number)) for number in astuple(use))} {_name(path)}" for path, use in uses),
        _entries(context.host, list(paths)),
    )
    return "".join(line + "\n" for line in lines)


def _filesystems(context: Context, kinds: list[type[Collector]]) -> dict[str, FilesystemUse]:
    """What the collectors learn of filesystems when they look once."""
    uses: dict[str, FilesystemUse] = {}

    def remember(mountpoint: str) -> FilesystemUse:
        uses[mountpoint] = context.host.statvfs(mountpoint)
        return uses[mountpoint]

    for kind in kinds:
        try:
            kind(replace(context, host=context.host.measuring(remember))).close()
        except (Unavailable, OSError, ValueError):
            continue  # the files of a collector that fails are what a capture is wanted for
    return uses


def _entries(host: Host, paths: list[str]) -> Iterator[str]:
    """Links first, as what lies behind them is written where they lead to."""
    links: dict[str, str] = {}
    real: set[str] = set()
    for path in paths:
        # Links of /proc lead through "self" to numbers that differ from one reading to the next.
        end, passed = (path, []) if path.startswith("/proc/") else host.resolve(path)
        links.update(passed)
        real.add(end)
    yield from (f"link {_name(path)} -> {_name(target)}" for path, target in sorted(links.items()))
    anonymous, total_bytes = Anonymous(host.text(HOST_NAME, "")), 0
    for path in sorted(real):
        if host.is_directory(path):
            yield f"directory {_name(path)}"
            continue
        try:
            data = anonymous.contents(path, host.read(path))
        except PermissionError as error:
            yield f"left out {_name(path)}: {error.strerror}"
            continue
        except OSError:
            data = b""  # the device is there and has nothing to say, such as the speed of a link that is down
        if len(data) > _FILE_LIMIT_BYTES or total_bytes + len(data) > _TOTAL_LIMIT_BYTES:
            yield f"left out {_name(path)}: {len(data)} bytes are too many"
            continue
        total_bytes += len(data)
        yield f"file {_name(path)}"
        *lines, rest = _escaped(data).split("\n")
        yield from (f"|{line}" for line in lines)
        if rest:
            yield f"~{rest}"


class _Unpacked:
    """What the lines of a capture make, below a directory."""

    def __init__(self, directory: Path) -> None:
        self.page_bytes: int | None = None
        self.uses: dict[str, FilesystemUse] = {}
        self._directory = directory
        self._file: Path | None = None
        self._links: set[Path] = set()
        self._kinds: Mapping[str, Callable[[str], None]] = {
            "page_bytes": self._set_page_bytes,
            "statvfs": self._add_use,
            "link": self._add_link,
            "directory": lambda rest: self._place(rest).mkdir(parents=True, exist_ok=True),
            "file": self._begin_file,
            "left": lambda _: None,
        }

    def add(self, line: str) -> None:
        """Take one line; ValueError for one that is of no known kind."""
        if line[:1] in ("|", "~"):
            if self._file is None:
                raise ValueError("belongs to no file")
            with self._file.open("ab") as file:
                file.write(_unescaped(line[1:]) + b"\n" * (line[0] == "|"))
            return
        kind, _, rest = line.partition(" ")
        if kind not in self._kinds:
            raise ValueError(f"is none of {', '.join(self._kinds)}")
        self._kinds[kind](rest)

    def _place(self, name: str) -> Path:
        """Where a path of the host is unpacked: never outside of the directory."""
        path = os.fsdecode(_unescaped(name))
        if not path.startswith("/") or ".." in path.split("/"):
            raise ValueError(f"{path!r} is not a path from the root")
        place = self._directory / path.lstrip("/")  # what begins with a slash would replace the directory
        # A link made behind another one would start from elsewhere than its name says, and could lead out.
        if not self._links.isdisjoint(place.parents):
            raise ValueError(f"{path!r} lies behind a link")
        return place

    def _set_page_bytes(self, rest: str) -> None:
        self.page_bytes = int(rest)

    def _add_use(self, rest: str) -> None:
        *figures, mountpoint = rest.split(" ", 5)
        size, free, avail, files, files_free = map(int, figures)
        path = os.fsdecode(_unescaped(mountpoint))
        self.uses[path] = FilesystemUse(size, free, avail, files, files_free)

    def _add_link(self, rest: str) -> None:
        name, arrow, target = rest.partition(" -> ")
        link, end = self._place(name), self._place(target)
        if not arrow:
            raise ValueError("leads nowhere")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(end, link.parent))
        self._links.add(link)

    def _begin_file(self, rest: str) -> None:
        self._file = self._place(rest)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.touch(exist_ok=False)


def replay(text: str, directory: Path) -> Host:
    """The host of a capture, unpacked below an empty directory; ValueError names the line that is wrong."""
    heading, *lines = text.removesuffix("\n").split("\n")
    if heading != _HEADING:
        raise ValueError(f"not a capture that this version can read: its first line is not {_HEADING!r}")
    unpacked = _Unpacked(directory)
    for number, line in enumerate(lines, 2):
        try:
            unpacked.add(line)
        except (ValueError, OSError) as error:
            raise ValueError(f"line {number} of the capture, {line[:60]!r}: {error}") from error

    def recorded(mountpoint: str) -> FilesystemUse:
        if mountpoint not in unpacked.uses:
            raise FileNotFoundError(errno.ENOENT, "not in the capture", mountpoint)
        return unpacked.uses[mountpoint]

    roots = (directory / "proc", directory / "sys", directory)
    return Host(*roots, page_bytes=unpacked.page_bytes, statvfs=recorded)

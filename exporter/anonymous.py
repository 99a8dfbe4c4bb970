"""Replaces what tells one host from another in the text of its files: serial numbers, UUIDs, addresses, names."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from catalog.series import Series

_SERIAL_FILE = re.compile(r".*/([a-z]+_)*(serial|uuid|wwid|eui|nguid|guid)")
HOST_NAME = "/proc/sys/kernel/hostname"
"""The file that has the host's name."""
_MOUNTS = ("/mountinfo", "/mountstats")
_NAME_LABEL = "nodename"
_SOURCE_LABEL = "device"
# Of the lines about mounts: what is mounted, which may name a server, a user or the host, and options that name people.
_MOUNTED = re.compile(r"^(.* - \S+ )(\S*)( \S*)$|^(device )(.*)( mounted on .*)$", re.MULTILINE)
_OPTION = re.compile(r"(?<==)(?!\d+(?:\.\d+)?[A-Za-z%]?(?:,|$))[^,]*")
_WORD = re.compile(r"[\w.-]*[A-Za-z][\w.-]*")
_FABRIC = re.compile(r"(tcp|o2ib|kfi)\d*")  # how a server of Lustre is reached
_LEAST_NAME = 4  # a shorter name of a host is a part of too much else
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_HARDWARE = re.compile(r"(?<![0-9a-fA-F:])[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5,19}(?![0-9a-fA-F:])")
_INTERNET = re.compile(r"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])|(?<![\w:.])[0-9a-fA-F:]{3,39}(?![\w:.])")


class Anonymous:
    """Equal things are replaced by equal ones, different things by different ones, in the order they come in.

    ``name`` is the host's: volumes are called after it at times.
    """

    def __init__(self, name: str = "") -> None:
        self._seen: dict[tuple[str, str], int] = {}
        names = {name.strip(), name.strip().partition(".")[0]} - {""}
        words = (re.escape(one.replace("-", dash)) for one in names if len(one) >= _LEAST_NAME for dash in ("-", "--"))
        either = "|".join(sorted(words, key=len, reverse=True))
        self._own = re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])") if either else None

    def contents(self, path: str, data: bytes) -> bytes:
        """What to show of a file.

        >>> Anonymous().contents("/sys/class/net/eth0/address", b"52:54:00:12:34:56\\n")
        b'02:00:00:00:00:01\\n'
        """
        end = b"\n" if data.endswith(b"\n") else b""
        if path == HOST_NAME:
            return b"host" + end
        if _SERIAL_FILE.fullmatch(path):
            return b"serial-%d" % self._number("serial", data.decode("latin-1").strip()) + end if data.strip() else data
        text = data.decode("utf-8", "surrogateescape")
        if path.endswith(_MOUNTS):
            text = _MOUNTED.sub(self._mounted, text)
        return self.text(text).encode("utf-8", "surrogateescape")

    def _mounted(self, line: re.Match[str]) -> str:
        before, source, after = (part for part in line.groups() if part is not None)
        return before + self._source(source) + (_OPTION.sub("", after) if line[1] else after)

    def _source(self, source: str) -> str:
        """What is mounted, without the name of a server or of this host.

        >>> Anonymous()._source("filer.example:/export"), Anonymous()._source("//filer/share")
        ('server-1:/export', '//server-1/share')
        """
        servers, colon, rest = source.partition(":/")
        if source.startswith("//"):
            servers, colon, rest = source.removeprefix("//").partition("/")
            return f"//{self._server(servers)}{colon}{rest}"
        if colon and "[" not in servers:
            return _WORD.sub(lambda word: self._server(word[0]), servers) + colon + rest
        return self._own.sub("host", source) if self._own is not None else source

    def _server(self, word: str) -> str:
        return word if _FABRIC.fullmatch(word) else f"server-{self._number('server', word)}"

    def series(self, series: Series) -> Series:
        """The same series with labels that tell no host from another."""
        return Series(series.name, tuple((label, self._label(label, value)) for label, value in series.labels))

    def _label(self, label: str, value: str) -> str:
        path = HOST_NAME if label == _NAME_LABEL else f"/{label}"
        if label == _SOURCE_LABEL:
            value = self._source(value)
        return self.contents(path, value.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def text(self, text: str) -> str:
        """Text without what tells hosts from one another, wherever it stands."""
        replacements: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
            (_UUID, self._uuid),
            (_HARDWARE, self._hardware),
            (_INTERNET, self._internet),
        )
        for pattern, replace in replacements:
            text = pattern.sub(lambda match, replace=replace: replace(match[0]), text)  # type: ignore[misc]
        return text

    def _number(self, kind: str, thing: str) -> int:
        of_kind = sum(1 for seen, _ in self._seen if seen == kind)
        return self._seen.setdefault((kind, thing), of_kind + 1)

    def _uuid(self, uuid: str) -> str:
        return f"00000000-0000-4000-8000-{self._number('uuid', uuid.lower()):012x}"

    def _hardware(self, address: str) -> str:
        octets = address.lower().split(":")
        if len({*octets}) == 1:  # all zeros is none, all ones is everybody
            return address
        number = self._number("hardware", address.lower())
        octets = ["02", *["00"] * (len(octets) - 3), f"{number >> 8 & 255:02x}", f"{number & 255:02x}"]
        return ":".join(octets)

    def _internet(self, word: str) -> str:
        try:
            address = ipaddress.ip_address(word)
        except ValueError:
            return word
        if address.is_loopback or address.is_unspecified:
            return word
        number = self._number(f"ip{address.version}", str(address))
        # 198.18.0.0/15 is for benchmarks, 2001:db8::/32 for documentation: nobody's host has them
        return (
            str(ipaddress.ip_address((198 << 24) + (18 << 16) + number))
            if address.version == 4
            else f"2001:db8::{number:x}"
        )

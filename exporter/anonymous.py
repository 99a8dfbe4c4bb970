"""Replaces what tells one host from another in the text of its files: serial numbers, UUIDs, addresses, its name."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from catalog.series import Series

_SERIAL_FILE = re.compile(r".*/([a-z]+_)*(serial|uuid|wwid|eui|nguid|guid)")
_NAME_FILE = "/proc/sys/kernel/hostname"
_NAME_LABEL = "nodename"
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_HARDWARE = re.compile(r"(?<![0-9a-fA-F:])[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5,19}(?![0-9a-fA-F:])")
_INTERNET = re.compile(r"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])|(?<![\w:.])[0-9a-fA-F:]{3,39}(?![\w:.])")


class Anonymous:
    """Equal things are replaced by equal ones, different things by different ones, in the order they come in."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}

    def contents(self, path: str, data: bytes) -> bytes:
        """What to show of a file.

        >>> Anonymous().contents("/sys/class/net/eth0/address", b"52:54:00:12:34:56\\n")
        b'02:00:00:00:00:01\\n'
        """
        end = b"\n" if data.endswith(b"\n") else b""
        if path == _NAME_FILE:
            return b"host" + end
        if _SERIAL_FILE.fullmatch(path):
            return b"serial-%d" % self._number("serial", data.decode("latin-1").strip()) + end if data.strip() else data
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def series(self, series: Series) -> Series:
        """The same series with labels that tell no host from another."""
        return Series(series.name, tuple((label, self._label(label, value)) for label, value in series.labels))

    def _label(self, label: str, value: str) -> str:
        path = _NAME_FILE if label == _NAME_LABEL else f"/{label}"
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

"""Prometheus remote write 1.0: a protobuf of series and samples, compressed with snappy's block format.

https://prometheus.io/docs/specs/prw/remote_write_spec/, https://protobuf.dev/programming-guides/encoding/. Four
messages of two fields are written here: generated code would need the protobuf package for as much.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import cramjam

_DOUBLE = struct.Struct("<d")
STALE = struct.pack("<Q", 0x7FF0000000000002)
"""The bits of the NaN that ends a series: no arithmetic may touch them."""
HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: the labels of its series as ``encode_labels`` gives them, eight bytes of a float."""

    labels: bytes
    time_ms: int
    value: bytes


def encode_labels(name: str, labels: Mapping[str, str]) -> bytes:
    """A series' name and labels, sorted as the receiver wants them; a label without a value is none."""
    pairs = {"__name__": name, **{label: value for label, value in labels.items() if value}}
    return b"".join(
        _field(1, _field(1, label.encode()) + _field(2, value.encode())) for label, value in sorted(pairs.items())
    )


def encode_value(value: float) -> bytes:
    """The eight bytes of a value."""
    return _DOUBLE.pack(value)


def write_request(samples: Iterable[Sample]) -> bytes:
    """The body of a request; samples of one series stay in their order, which must be that of time."""
    series: dict[bytes, list[bytes]] = {}
    for sample in samples:
        encoded = b"\x09" + sample.value + b"\x10" + _varint(sample.time_ms)
        series.setdefault(sample.labels, []).append(_field(2, encoded))
    body = b"".join(_field(1, labels + b"".join(encoded)) for labels, encoded in series.items())
    return bytes(cramjam.snappy.compress_raw(body))


def _field(number: int, content: bytes) -> bytes:
    """A field that has a length."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    assert number >= 0, "neither lengths nor times since the epoch are negative"
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)

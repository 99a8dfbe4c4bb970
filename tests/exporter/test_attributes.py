"""Files of one number each: what one of them cannot tell costs no other."""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.family import Tier
from exporter.attributes import Attribute, AttributeCollector
from exporter.collector import Context
from exporter.host import Vanished
from tests.exporter.tiny import family
from tests.hosts import context, written

FOLDER = "/sys/sensors"
FAMILY = family("hostpulse_test_sensors", Tier.SLOW)


def _number(data: bytes) -> float:
    if data == b"silent\n":  # as the kernel says of a chip on a bus that does not acknowledge its address
        raise Vanished(errno.ENXIO, "No such device or address", FOLDER)
    if data == b"asleep\n":
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable", FOLDER)
    return float(data)


class _Sensors(AttributeCollector):
    name = "sensors"
    tier = Tier.SLOW
    families = (FAMILY,)
    sources = (f"{FOLDER}/*",)
    watches = (FOLDER,)

    def attributes(self, context: Context) -> Iterator[Attribute]:
        for path in context.host.glob(self.sources[0]):
            yield Attribute(path, FAMILY(path.rpartition("/")[2]), convert=_number)


def test_file_that_opens_and_is_gone_when_it_is_read_costs_its_own_value_alone(tmp_path: Path) -> None:
    host = written(tmp_path, {f"{FOLDER}/a": "1\n", f"{FOLDER}/b": "2\n"})
    collector = _Sensors(context(host))
    written(tmp_path, {f"{FOLDER}/b": "silent\n"})
    first, second = collector.read()
    assert first == 1.0
    assert math.isnan(second)
    written(tmp_path, {f"{FOLDER}/b": "3\n"})
    assert collector.read() == [1.0, 3.0]
    written(tmp_path, {f"{FOLDER}/a": "silent\n", f"{FOLDER}/b": "silent\n"})
    with pytest.raises(Vanished, match="No such device"):
        collector.read()
    collector.close()


def test_file_that_has_nothing_to_tell_now_is_no_fault(tmp_path: Path) -> None:
    host = written(tmp_path, {f"{FOLDER}/a": "asleep\n", f"{FOLDER}/b": "asleep\n"})
    collector = _Sensors(context(host))
    assert all(map(math.isnan, collector.read()))
    collector.close()


def test_file_that_cannot_be_opened_is_named_until_it_can(tmp_path: Path) -> None:
    host = written(tmp_path, {f"{FOLDER}/a": "1\n"})
    collector = _Sensors(context(host))
    loop = tmp_path / f"{FOLDER[1:]}/b"
    loop.symlink_to(loop)
    for _ in range(3):
        with pytest.raises(OSError, match=f"symbolic links: '{FOLDER}/b'"):
            collector.read()
    loop.unlink()
    assert collector.read() == [1.0]
    collector.close()

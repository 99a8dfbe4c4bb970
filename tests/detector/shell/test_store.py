"""The store: a whole file or none, damage set aside, and no trouble of the disk that costs a saved model."""

from __future__ import annotations

import logging
import math
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detector.source import Host
from detector.state import SCHEMA_VERSION, HostState
from detector.store import Arrays, Header, Store
from tests.detector.conftest import make_read_only

HOST = Host("10.0.0.1:17720", "hostpulse")
ARRAYS: Arrays = {"x": np.arange(1000.0), "deep/name": np.arange(12, dtype=np.float32).reshape(3, 4)}
HEADER: Header = {"names": ["a", "b"], "nothing": None, "nan": float("nan")}


def restore(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    return header, arrays


def fill(
    store: Store,
    end_s: float = 1000.0,
    host: Host = HOST,
    size: float = 1.0,
    config: str = "c",
    told_s: float = -math.inf,
) -> None:
    store.save(host, config, HEADER, {name: array * size for name, array in ARRAYS.items()}, end_s, told_s)


def size_of(store: Store, host: Host = HOST, config: str = "c") -> float | None:
    """What ``fill`` was given for the newest state there is."""
    saved = store.load(host, config, lambda _, arrays: float(arrays["x"][1]))
    return None if saved is None else saved.state


def only_file(folder: Path) -> Path:
    (file,) = folder.glob("*.npz")
    return file


def test_state_comes_back_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    fill(store, 1234.5)
    saved = store.load(HOST, "c", restore)
    assert saved is not None
    header, arrays = saved.state
    assert saved.end_s == 1234.5
    assert header["names"] == ["a", "b"]
    assert np.isnan(header["nan"])
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_state_of_the_pipeline_comes_back(tmp_path: Path) -> None:
    store, state = Store(tmp_path, 3), HostState.new(HOST.instance)
    header, arrays = state.to_arrays()
    store.save(HOST, "c", header, arrays, 5.0, 5.0)
    saved = store.load(HOST, "c", HostState.from_arrays)
    assert saved is not None
    assert saved.state.instance == HOST.instance


def test_nothing_saved_is_nothing_loaded(tmp_path: Path) -> None:
    assert Store(tmp_path / "new" / "folder", 3).load(HOST, "c", restore) is None


def test_how_far_a_host_was_told_of_is_known_whatever_the_settings(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    assert store.told_s(HOST) == -math.inf
    fill(store, 1000.0, config="a")
    fill(store, 1234.5, config="b")
    fill(store, 9000.0, Host("other", "hostpulse"))
    assert store.told_s(HOST) == 1234.5


def test_how_far_a_host_was_told_of_outlasts_saves_of_a_past_that_is_judged_anew(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    fill(store, 2000.0, config="a")
    fill(store, 1000.0, config="b", told_s=2000.0)
    assert store.told_s(HOST) == 2000.0
    fill(store, 1100.0, config="b", told_s=1500.0)
    assert store.told_s(HOST) == 1500.0, "the clock was set back since, and the newest file knows"
    max(tmp_path.glob("*.npz")).write_bytes(b"")
    assert store.told_s(HOST) == 2000.0


def test_newest_generations_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    for number in range(6):
        fill(store, 1000.0 + number, size=number)
    assert len(list(tmp_path.glob("*.npz"))) == 3
    assert size_of(store) == 5
    assert list(tmp_path.glob("*.part")) == []


def test_state_is_saved_after_the_clock_was_set_back(tmp_path: Path) -> None:
    store, other = Store(tmp_path, 3), Host("10.0.0.2:17720", "hostpulse")
    fill(store, 9000.0, other, 7.0)
    for number in range(4):
        fill(store, 5000.0 + number, size=float(number))
    fill(store, 1000.0, size=9.0)
    assert size_of(store) == 9.0
    for number in range(4):
        fill(store, 1001.0 + number, size=float(number))
    assert (size_of(store), size_of(store, other)) == (3.0, 7.0)
    assert len(list(tmp_path.glob("*.npz"))) == 4


def test_hosts_do_not_share_files(tmp_path: Path) -> None:
    store = Store(tmp_path, 1)
    hosts = [Host("a:1", "x"), Host("a:1", "y"), Host("a_1", "x"), Host("../../etc/passwd", "x"), Host("ä" * 300, "x")]
    for number, host in enumerate(hosts):
        fill(store, host=host, size=number + 1)
    assert [size_of(store, host) for host in hosts] == [1, 2, 3, 4, 5]
    assert len(list(tmp_path.iterdir())) == len(hosts)


def test_state_learned_under_other_settings_is_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    fill(store, config="before")
    assert size_of(store, config="after") is None
    assert size_of(store, config="before") == 1


def spoil_end(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def spoil_all(file: Path) -> None:
    file.write_bytes(b"")


def spoil_type(file: Path) -> None:
    file.write_bytes(b"not a zip file at all, but text")


def spoil_middle(file: Path) -> None:
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 0xFF
    file.write_bytes(bytes(body))


def write_header(file: Path, before: bytes, after: bytes) -> None:
    """Change what the header of a file says."""
    with np.load(file) as bundle:
        arrays = {name: bundle[name] for name in bundle.files}
    text = arrays["header.json"].tobytes()
    assert text.count(before) == 1
    text = text.replace(before, after)
    with file.open("wb") as stream:
        np.savez(stream, **{**arrays, "header.json": np.frombuffer(text, dtype=np.uint8)})


def spoil_header(file: Path) -> None:
    write_header(file, b'"end_s": 1000.0', b'"end_s": {}')


def spoil_with_a_pickle(file: Path) -> None:
    with file.open("wb") as stream:
        np.savez(stream, **{"header.json": np.array([{"a": 1}], dtype=object)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spoil",
    [spoil_end, spoil_all, spoil_type, spoil_middle, spoil_header, spoil_with_a_pickle],
    ids=lambda f: f.__name__,
)
def test_bad_file_is_set_aside_with_one_line(spoil: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path, 3)
    fill(store)
    file = only_file(tmp_path)
    spoil(file)
    assert size_of(store) is None
    assert size_of(store) is None
    assert len(caplog.records) == 1
    assert file.name in caplog.text
    assert [bad.suffix for bad in tmp_path.iterdir()] == [".bad"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"format": 1', '"format": 9', "its format is 9, not 1"),
        (f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 0', "state of schema version 0"),
    ],
)
def test_file_of_another_version_is_no_damage_and_still_tells_how_far_it_came(
    before: str, after: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "detector")
    store = Store(tmp_path, 3)
    header, arrays = HostState.new(HOST.instance).to_arrays()
    store.save(HOST, "c", header, arrays, 1000.0, 2000.0)
    file = only_file(tmp_path)
    write_header(file, before.encode(), after.encode())
    assert store.load(HOST, "c", HostState.from_arrays) is None
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith(f"{file} was saved by another version and is not used: {said}")
    assert (list(tmp_path.iterdir()), store.told_s(HOST)) == ([file], 2000.0)
    store.save(HOST, "c", header, arrays, 1001.0, 2000.0)
    assert store.load(HOST, "c", HostState.from_arrays) is not None


def test_older_generation_is_used_where_the_newest_is_bad(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    fill(store, 1000.0, size=1)
    fill(store, 1001.0, size=2)
    spoil_middle(max(tmp_path.glob("*.npz")))
    assert size_of(store) == 1


def test_bad_files_do_not_pile_up(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    others = {tmp_path / "incidents.sqlite.bad", tmp_path / "maintenance.json.bad"}
    for other in others:
        other.touch()
    for number in range(10):
        fill(store, 1000.0 + number)
        spoil_end(next(tmp_path.glob("*.npz")))
        assert size_of(store) is None
    assert len(list(tmp_path.glob("*.npz.bad"))) == 3
    assert others < set(tmp_path.iterdir()), "what is not of a host is kept"


def test_state_that_cannot_be_restored_is_set_aside(tmp_path: Path) -> None:
    store = Store(tmp_path, 3)
    fill(store)
    assert store.load(HOST, "c", HostState.from_arrays) is None
    assert [bad.suffix for bad in tmp_path.iterdir()] == [".bad"]


def test_no_damage_of_a_file_raises(tmp_path: Path) -> None:
    store, chance = Store(tmp_path, 1), random.Random(0)
    fill(store)
    file = only_file(tmp_path)
    whole = file.read_bytes()
    sizes, told_s = set(), set()
    for _ in range(400):
        body = bytearray(whole)
        for _ in range(chance.choice([1, 1, 1, 20])):
            # The directory of the archive at its end is where a flipped bit does the oddest things.
            place = chance.choice([chance.randrange(len(body)), len(body) - 1 - chance.randrange(300)])
            body[place] = chance.randrange(256)
        file.write_bytes(bytes(body[: chance.choice([len(body), len(body), chance.randrange(len(body))])]))
        told_s.add(store.told_s(HOST))
        sizes.add(size_of(store))
    assert (sizes, told_s) == ({None, 1.0}, {1000.0})


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Store(tmp_path / "file" / "state", 3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        Store(tmp_path, 3)


def test_full_disk_keeps_the_file_before(tiny: Path) -> None:
    store = Store(tiny, 3)
    fill(store, 1000.0)
    before = only_file(tiny).read_bytes()
    with pytest.raises(OSError, match="No space left"):
        store.save(HOST, "c", HEADER, {"x": np.random.default_rng(0).random(100_000)}, 1001.0, 1001.0)
    assert only_file(tiny).read_bytes() == before
    assert [file.suffix for file in tiny.iterdir()] == [".npz"]
    assert size_of(store) == 1


def test_file_system_that_became_read_only_keeps_the_file_before(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tiny, 3)
    fill(store)
    make_read_only(tiny)
    with pytest.raises(OSError, match="Read-only"):
        fill(store, 1001.0)
    with pytest.raises(PermissionError):
        Store(tiny, 3)
    caplog.set_level(logging.ERROR)
    assert size_of(store) == 1

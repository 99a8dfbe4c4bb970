"""Models on disk: one npz of plain arrays and a JSON header for each host and save; never a pickle.

There is always a whole one, and older files are kept. A file that is damaged is set aside as ``*.bad``; one of other
settings or of another version of the program is left until newer ones take its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from detector import durable
from detector.source import Host
from detector.state import OtherVersionError

FORMAT_VERSION = 1
_HEADER = "header.json"
_LONGEST_NAME = 120
_BAD_KEPT = 3
_LONGEST_KEPT_S = 90 * 86400.0
_PARTS = f"*-{'[0-9a-f]' * 12}.{'[0-9]' * 15}{durable.PART}"  # what a save is called before it is whole
# What numpy, zipfile and the restoring code raise on bytes that are not what was written.
_DAMAGE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,
    EOFError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)

Header = dict[str, Any]
Arrays = dict[str, npt.NDArray[Any]]
T = TypeVar("T")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Saved(Generic[T]):
    """What was saved, the end of the newest window in it, and up to which window's end the host had been told of."""

    state: T
    end_s: float
    told_s: float


class Store:
    """The saved states of all hosts in one folder.

    ``config`` names the settings that a state depends on: one that was saved under others is not used.
    """

    def __init__(self, directory: Path, generations: int) -> None:
        """Raises OSError where the folder cannot be made or written."""
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(13, "not writable", str(directory))
        self._directory = directory
        self._generations = generations

    def save(
        self,
        host: Host,
        config: str,
        header: Header,
        arrays: Mapping[str, npt.NDArray[Any]],
        end_s: float,
        told_s: float,
    ) -> None:
        """Save one host; what was saved of it at a later time is given up.

        It was told of up to ``told_s``, which is later than ``end_s`` while its past is judged anew.
        Raises OSError (disk full, say); the files before it are untouched then.
        """
        about = {
            "format": FORMAT_VERSION,
            "config": config,
            "instance": host.instance,
            "job": host.job,
            "end_s": end_s,
            "told_s": max(told_s, end_s),
            "state": header,
        }
        body = io.BytesIO()
        text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        np.savez_compressed(body, allow_pickle=False, **{_HEADER: text, **arrays})
        name = _stem(host)
        final = self._directory / f"{name}.{round(end_s * 1000):015d}.npz"
        durable.write(final, body.getbuffer())
        files = self._files(host)
        newest = files.index(final)  # what is later is of a clock that was set back, or of a past that is judged anew
        for old in (*files[:newest], *files[newest + self._generations :]):
            old.unlink(missing_ok=True)

    def told_s(self, host: Host) -> float:
        """Up to which window's end a host was told of, by what is saved of it under whatever settings; -inf without.

        The newest file that can be read says so; those that cannot tell by their names how far they came.
        """
        told_s = -math.inf
        for file in self._files(host):
            number = file.name.split(".")[-2]
            told_s = max(told_s, int(number) / 1000 if number.isdecimal() else -math.inf)
            with contextlib.suppress(OSError, *_DAMAGE):
                return max(told_s, _told_s(file))
        return told_s

    def load(self, host: Host, config: str, restore: Callable[[Header, Arrays], T]) -> Saved[T] | None:
        """The newest state that can be restored; None without one. Bad files are set aside, each with one log line.

        ``restore`` raises OtherVersionError on what another version of the program saved, which is left where it is.
        """
        return _newest(self._files(host), restore, config, self._set_aside)

    def _set_aside(self, file: Path, error: Exception) -> None:
        _LOG.warning("%s is damaged and set aside as .bad: %s: %s", file, type(error).__name__, error)
        with contextlib.suppress(OSError):
            durable.set_aside(file)
        for old in _newest_first(self._directory.glob(f"*.npz{durable.BAD}"))[_BAD_KEPT:]:
            with contextlib.suppress(OSError):
                old.unlink(missing_ok=True)

    def _files(self, host: Host) -> list[Path]:
        return _newest_first(self._directory.glob(f"{_stem(host)}.*.npz"))


def sweep(directory: Path) -> None:
    """Remove what programs left that were ended while they saved, and models a quarter older than the newest.

    Those are of hosts that left; clocks may jump, so that none is asked. Nobody may be saving there. What cannot be
    removed stays.
    """
    saved_s = {file: file.lstat().st_mtime for file in directory.glob("*.npz")}
    newest_s = max(saved_s.values(), default=0.0)
    old = (file for file, file_s in saved_s.items() if file_s < newest_s - _LONGEST_KEPT_S)
    for file in (*directory.glob(_PARTS), *old):
        with contextlib.suppress(OSError):
            file.unlink()


def restored(directory: Path, restore: Callable[[Header, Arrays], T]) -> list[T]:
    """The newest state of each host in a folder that can be restored, whatever settings it was saved under.

    Nothing is set aside, as the folder may be in use; each bad file is logged. None where there is no such folder.
    """
    files: dict[str, list[Path]] = {}
    for file in _newest_first(directory.glob("*.npz")):
        files.setdefault(file.name.rsplit(".", 2)[0], []).append(file)
    found = (_newest(generations, restore, None, _leave) for generations in files.values())
    return [saved.state for saved in found if saved is not None]


def _newest(
    files: Iterable[Path],
    restore: Callable[[Header, Arrays], T],
    config: str | None,
    on_damage: Callable[[Path, Exception], None],
) -> Saved[T] | None:
    """What the first of the files that can be restored holds, of those that were saved under ``config``, if any."""
    for file in files:
        try:
            about, arrays = _read(file)
            if about["format"] != FORMAT_VERSION:
                raise OtherVersionError(f"its format is {about['format']}, not {FORMAT_VERSION}")
            if config not in (None, about["config"]):
                _LOG.info("%s was learned under other settings and is not used", file)
                continue
            return Saved(restore(about["state"], arrays), float(about["end_s"]), float(about["told_s"]))
        except OSError as error:
            _LOG.warning("%s cannot be read: %s", file, error)
        except OtherVersionError as error:
            _LOG.info("%s was saved by another version and is not used: %s", file, error)
        except _DAMAGE as error:
            on_damage(file, error)
    return None


def _leave(file: Path, error: Exception) -> None:
    _LOG.warning("%s is not used: %s: %s", file, type(error).__name__, error)


def _stem(host: Host) -> str:
    """A file name that is safe, readable, and different for different hosts."""
    digest = hashlib.blake2s(f"{host.job}\0{host.instance}".encode(), digest_size=6).hexdigest()
    readable = quote(host.instance, safe="").replace("%", "_")[:_LONGEST_NAME]
    return f"{readable}-{digest}"


def _newest_first(files: Iterable[Path]) -> list[Path]:
    return sorted(files, key=lambda file: file.name, reverse=True)


def _read(file: Path) -> tuple[Header, Arrays]:
    # Opened here, as numpy leaves a file open that it cannot make sense of.
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as bundle:
        arrays = {name: bundle[name] for name in bundle.files if name != _HEADER}
        return _header(bundle), arrays


def _told_s(file: Path) -> float:
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as bundle:
        return float(_header(bundle)["told_s"])


def _header(bundle: Mapping[str, npt.NDArray[Any]]) -> Header:
    about = json.loads(bundle[_HEADER].tobytes())
    if not isinstance(about, dict):
        raise TypeError("the header is not an object")
    return about

"""``record``: what the sampler samples, at its full rate, as a folder of Parquet files: docs/recording.md.

What writes Parquet is imported only here, and only when it is wanted: a serving exporter must stay small.
"""

from __future__ import annotations

import argparse
import logging
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from catalog import recording
from catalog.family import Tier
from exporter.anonymous import HOST_NAME, Anonymous
from exporter.engine import Engine, host_of
from exporter.facts import facts
from exporter.quantity import Duration, Kind, Size
from exporter.serving import allow_many_files
from exporter.settings import Settings, SettingsError

if TYPE_CHECKING:
    from exporter.parquet import Folder

_TAKE_S = 1.0
_SAVE_S = 10.0  # what a program that is killed loses at most
_LEAST_RING_S = 6 * _SAVE_S
_STOP_S = 1.0
_NOTABLE_STEP_S = 0.001
_HANGUP = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)  # nohup
_ENDING = (signal.SIGTERM, signal.SIGINT, *_HANGUP)
_FLAGS: Mapping[str, tuple[Kind[Any], str, str]] = {
    "duration": (Duration(1.0, 30 * 86400.0), "", "End after so long. Default: when told to, by Ctrl-C or SIGTERM."),
    "max_size": (Size(1 << 16, 1 << 50), "1GiB", "End before the files take more than that together."),
}
_LOG = logging.getLogger("exporter")


class CannotRecordError(Exception):
    """Nothing can be recorded for a reason that is not the command line's; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where to, for how long and how much."""

    directory: Path
    duration_s: float
    max_bytes: int


def add_record_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that only this command has."""
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="An empty folder, or one that can be made."
    )
    for name, (kind, default, about) in _FLAGS.items():
        shown = f"{about} Allowed: {kind.allowed}." + (f" Default: {default}." if default else "")
        parser.add_argument(_flag(name), metavar="VALUE", default=default, help=shown)


def wanted(arguments: argparse.Namespace) -> Wanted:
    """What the flags say. Raises SettingsError, which names the flag and what is allowed."""
    values: dict[str, Any] = {}
    for name, (kind, _, _) in _FLAGS.items():
        text = getattr(arguments, name)
        try:
            values[name] = kind.parse(text) if text else inf
        except ValueError:
            raise SettingsError(f"{_flag(name)}: {text!r} is not allowed; allowed: {kind.allowed}") from None
    return Wanted(arguments.out, values["duration"], values["max_size"])


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def record(settings: Settings, order: Wanted) -> int:
    """Record until a signal, the end of the time or the size that was wanted (0), or until the sampler breaks (1).

    Raises:
        SettingsError: the folder cannot be used, or a setting that only the collectors can judge is wrong.
        CannotRecordError: a package is missing, or the disk takes nothing more.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # waited for below; in threads that are still to come, too
    try:
        from exporter.parquet import Folder, FullError
    except ModuleNotFoundError as error:
        if error.name != recording.PACKAGE:
            raise
        raise CannotRecordError(f"record needs {recording.PACKAGE}: install {recording.EXTRA}") from None
    _make_empty(order.directory)
    allow_many_files()
    engine = Engine(replace(settings, ring_duration_s=max(settings.ring_duration_s, _LEAST_RING_S)))
    measured = host_of(settings)
    anonymous = Anonymous(measured.text(HOST_NAME, ""))
    about = facts(settings, engine, measured, anonymous)
    try:
        folder = Folder(order.directory, order.max_bytes, about, anonymous)
    except FullError:
        raise SettingsError(f"--max-size: {order.max_bytes} bytes do not hold what is said of the host") from None
    except FileExistsError:
        raise SettingsError(f"--out={order.directory}: another recording has been begun there") from None
    except OSError as error:
        raise _cannot_write(order.directory, error) from None
    try:
        return Recorder(engine, folder).run(order.duration_s)
    except FullError:
        _LOG.warning("ended: the recording would take more than --max-size; what came before is in %s", order.directory)
        return 0
    except OSError as error:
        raise _cannot_write(order.directory, error) from None


def _cannot_write(directory: Path, error: OSError) -> CannotRecordError:
    return CannotRecordError(
        f"--out={directory}: cannot write: {error.strerror or error}; what was written before is whole"
    )


def _told_to_end(within_s: float) -> bool:
    """Whether a signal comes within that time."""
    return signal.sigtimedwait(_ENDING, max(within_s, 0.0)) is not None


def _make_empty(directory: Path) -> None:
    """Make the folder where it is not there; SettingsError where it holds something or cannot be used."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise SettingsError(f"--out={directory}: is not empty; allowed: an empty folder, or one that can be made")
    except OSError as error:
        raise SettingsError(f"--out={directory}: {error.strerror}; allowed: a folder that can be written") from None


class Recorder:
    """Takes from an engine's ring what is new, and has it written."""

    def __init__(self, engine: Engine, folder: Folder) -> None:
        self._engine = engine
        self._folder = folder
        self._newest_s = -inf
        self._clock: list[dict[str, float]] = []

    @property
    def lost(self) -> int:
        """After ``take``: rows that the ring had let go before that."""
        paces = self._engine.tally.paces.items()
        return sum(pace.ticks for tier, pace in paces if tier is not Tier.STATIC) - self._folder.rows.total()

    def run(self, duration_s: float) -> int:
        """Record for so long, or until a signal."""
        sampling = Thread(target=self._engine.sampler.run, name="sampler", daemon=True)
        sampling.start()
        begun_s = saved_s = monotonic()
        _LOG.info("recording; Ctrl-C ends it")
        while not _told_to_end(min(begun_s + duration_s - monotonic(), _TAKE_S)) and sampling.is_alive():
            now_s = monotonic()
            if now_s >= begun_s + duration_s:
                break
            self.take()
            if now_s - saved_s >= min(_SAVE_S, saved_s - begun_s):  # ever less often, as there is ever more to lose
                self._save()
                saved_s = now_s
        broken = not sampling.is_alive()
        self._engine.sampler.stop()
        sampling.join(_STOP_S)
        self.take()
        self._save()
        self._report(broken=broken)
        return int(broken)

    def take(self) -> None:
        """Take all rows that are new. Raises OSError and FullError."""
        segments = self._engine.since(self._newest_s)
        self._folder.add(segments)
        newest = (segment.pieces[-1][-segment.schema.width] for segment in segments)
        self._newest_s = max(newest, default=self._newest_s)

    def _save(self) -> None:
        """Write what was taken, and how far the wall clock has come away from the steady one where that has changed."""
        now_s = self._engine.clock.now()
        ahead_s = self._engine.clock.wall() - now_s
        if not self._clock or abs(ahead_s - self._clock[-1]["wall_offset_s"]) > _NOTABLE_STEP_S:
            self._clock.append({"time_s": now_s, "wall_offset_s": ahead_s})
        self._folder.save(clock=self._clock)

    def _report(self, *, broken: bool) -> None:
        folder = self._folder
        rows = ", ".join(f"{count} {tier}" for tier, count in folder.rows.items())
        _LOG.info("recorded %s rows in %d files, %.1f MiB", rows, folder.files, folder.size_bytes / (1 << 20))
        if self.lost:
            _LOG.warning("%d rows are missing: they were not written within --ring.duration and --ring.size", self.lost)
        if broken:
            _LOG.error("the sampler has ended unexpectedly")

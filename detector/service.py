"""Puts the parts of the program together from settings, and takes over settings that change while it runs."""

from __future__ import annotations

import hashlib
import logging
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from catalog import outputs
from detector import logs, schedule, sink
from detector import source as sources
from detector.claim import FULL, Claim
from detector.clock import Clock
from detector.config import ConfigError, Watcher, load
from detector.incidents.store import IncidentStore
from detector.judge import Judge
from detector.loop import Loop
from detector.maintenance.desk import Desk
from detector.maintenance.register import Register
from detector.maintenance.silences import Silences
from detector.options import Options
from detector.pages import Pages
from detector.server import WebServer
from detector.settings import AUTOMATIC, Settings
from detector.sink import Context, Sink
from detector.sinks.metrics import MetricsSink, as_json
from detector.source import Source
from detector.store import Store, sweep
from detector.telemetry import Telemetry
from detector.threads import one_thread

_CHECK_S = 2.0
_STUCK_S = 60.0

_LOG = logging.getLogger(__name__)


class StartError(Exception):
    """The program cannot start; the message says which setting to change."""


def build_source(settings: Settings, clock: Clock) -> Source:
    """The source that the settings choose."""
    window = settings.window
    longest_s = schedule.longest_s(window.duration_s, window.stride_s, window.adaptive_limit)
    judge = Judge(window_s=longest_s, stride_s=window.stride_s)
    baseline_s, history_s = settings.baseline.duration_s, settings.baseline.history_s
    reach_s = max(schedule.horizon_s(baseline_s, judge.window_s), schedule.history_reach_s(history_s))
    horizon_s = reach_s + judge.lookback_s
    return sources.discover()[settings.source.chosen](settings.source.settings, horizon_s, clock)


def state_directory(settings: Settings, environment: Mapping[str, str]) -> Path | None:
    """The folder of saved models, which need not be there; None where nothing is to be saved."""
    directory = settings.state.directory
    if directory == AUTOMATIC:
        return _automatic(environment)
    return Path(directory) if directory else None


def build_store(settings: Settings, environment: Mapping[str, str], claim: Claim) -> Store | None:
    """The store of saved models in a claimed folder; None where there is to be none, or no place for one was found.

    Raises:
        StartError: a folder was asked for and cannot be used, as another detector does, say.
    """
    directory = state_directory(settings, environment)
    if directory is None:
        return None
    try:
        if claim.take(directory):
            sweep(directory)
        return Store(directory, settings.state.generations)
    except OSError as error:
        if settings.state.directory != AUTOMATIC:
            raise _unusable(directory, error) from None
        _LOG.warning(
            "models are not saved and incidents kept in memory: %s cannot be used: %s (state.directory names another)",
            directory,
            error.strerror or error,
        )
        return None


def build_incidents(settings: Settings, directory: Path | None) -> IncidentStore:
    """The store of incidents in a folder that is claimed, or in memory, where the disk is full, say.

    Raises:
        StartError: the folder was asked for and cannot be used, whatever room there is.
    """
    bounds = settings.incidents.retention_s, settings.incidents.most
    try:
        return IncidentStore(directory, *bounds)
    except OSError as error:
        assert directory is not None, "memory can be used"
        if settings.state.directory != AUTOMATIC and error.errno not in FULL:
            raise _unusable(directory, error) from None
        _LOG.warning("incidents are kept in memory: %s cannot be used: %s", directory, error.strerror or error)
        return IncidentStore(None, *bounds)


def _unusable(directory: Path, error: OSError) -> StartError:
    return StartError(f"state.directory: {directory} cannot be used: {error.strerror or error}")


def _automatic(environment: Mapping[str, str]) -> Path:
    if environment.get("STATE_DIRECTORY"):
        return Path(environment["STATE_DIRECTORY"].partition(":")[0])
    home = environment.get("XDG_STATE_HOME") or Path(environment.get("HOME", "/")) / ".local" / "state"
    return Path(home) / "hostpulse"


class Service:
    """The running program: loop, sinks, web server."""

    def __init__(self, options: Options, settings: Settings, environment: Mapping[str, str], clock: Clock) -> None:
        """Raises StartError."""
        one_thread()
        self._options, self._settings, self._environment, self._clock = options, settings, environment, clock
        self._watcher = Watcher(options.file) if options.file else None
        self._checked_s = clock.elapsed_s()
        self._reload_asked = False
        self._telemetry = Telemetry()
        self._claim = Claim()
        store = build_store(settings, environment, self._claim)
        self._directory = state_directory(settings, environment) if store else None
        self._incidents = build_incidents(settings, self._directory)
        try:
            self.server = WebServer(settings.web.listen_address, settings.web.max_connections)
        except OSError as error:
            address = settings.web.listen_address
            raise StartError(f"web.listen_address: cannot listen on {address}: {error.strerror}") from None
        source = build_source(settings, clock)
        self._sinks = self._build_sinks(source)
        self._maintenance = Register(self._directory)
        self.loop = Loop(settings, source, self._sinks, store, self._telemetry, clock, maintenance=self._maintenance)
        if settings.maintenance.alertmanager:
            Silences(settings.maintenance, self._maintenance, self._telemetry, clock).start()
        self._note_reload(good=True)
        self.server.start(self._pages())
        _LOG.info("serving on %s", self.server.url)

    def run(self) -> None:
        """Judge until the clock says stop."""
        try:
            self.loop.run(self._reload_if_changed)
        finally:
            for one in self._sinks:
                one.close()
            self.server.stop()
            self.loop.close()
            self._incidents.close()
            self._claim.release()

    def ask_reload(self) -> None:
        """Read the file again at the next round; safe in a signal handler."""
        self._reload_asked = True

    def _build_sinks(self, source: Source) -> list[Sink]:
        addresses = {
            source.name: source.address,
            "metrics": f"{self.server.url}/metrics",
            "report": f"{self.server.url}/report",
        }
        address = self._settings.web.external_url or self.server.url
        context = Context(self._clock, self._telemetry, addresses, self._incidents, address)
        built = [kind.build(getattr(self._settings, name, None), context) for name, kind in sink.discover().items()]
        return [one for one in built if one is not None]

    def _pages(self) -> Pages:
        (metrics,) = (one for one in self._sinks if isinstance(one, MetricsSink))
        return Pages(
            registry=self._telemetry.registry,
            verdicts=lambda: [as_json(judged) for judged in metrics.newest()],
            health=self._health,
            readiness=self.loop.unready,
            about=self._about,
            incidents=self._incidents,
            maintenance=Desk(self._maintenance, self._settings.maintenance.token.get_secret_value(), self._clock),
        )

    def _health(self) -> str:
        silent_s = self._clock.elapsed_s() - self.loop.beat_s
        return f"the loop has not come round for {silent_s:.0f} s" if silent_s > _STUCK_S else ""

    def _about(self) -> Mapping[str, str]:
        settings = self._settings
        return {
            "version": f"{version('hostpulse')} (Python {platform.python_version()})",
            "source": settings.source.chosen,
            "hosts": str(len(self.loop.hosts)),
            "window": f"{settings.window.duration_s:g} s, a new one every {settings.window.stride_s:g} s",
            "state": self.loop.unready() or "ready",
        }

    def _reload_if_changed(self) -> None:
        now_s = self._clock.elapsed_s()
        if self._options.file is None or (now_s < self._checked_s + _CHECK_S and not self._reload_asked):
            return
        self._checked_s = now_s
        changed = self._watcher is not None and self._watcher.changed()
        if changed or self._reload_asked:
            self._reload_asked = False
            self._reload()

    def _reload(self) -> None:
        """Take over the file's settings; where they are bad, those before stay in force."""
        options = self._options
        try:
            wanted = load(options.file, options.flags, self._environment, blank=False)
            settings, later = _taken_over(wanted, self._settings)
            store = build_store(settings, self._environment, self._claim) if self._directory else None
        except (ConfigError, StartError) as error:
            _LOG.error("the configuration stays as it was: %s", error)
            self._note_reload(good=False)
            return
        logs.set_up(settings.log.level, settings.log.format)
        if later:
            _LOG.warning("changes of %s count from the next start on", ", ".join(later))
        self._settings = settings
        self.loop.reconfigure(settings, build_source(settings, self._clock), store)
        self._note_reload(good=True)
        digest = hashlib.blake2s(repr(settings).encode(), digest_size=4).hexdigest()
        _LOG.info("the configuration was read again (%s)", digest)

    def _note_reload(self, *, good: bool) -> None:
        self._telemetry.set(outputs.RELOAD_GOOD, float(good))
        if good:
            self._telemetry.set(outputs.RELOAD_TIME, self._clock.wall_s())
            for severity, budget in self._settings.alarms_per_host_day:
                self._telemetry.set(outputs.BUDGET, budget, severity)


def _taken_over(wanted: Settings, before: Settings) -> tuple[Settings, list[str]]:
    """What a running program takes over of the settings that are wanted, and the names of those that it does not."""
    of_sinks = (name for name, kind in sink.discover().items() if kind.setting is not None)
    names = ("web", "maintenance", "incidents", *of_sinks)
    kept = {name: getattr(before, name) for name in names if getattr(wanted, name) != getattr(before, name)}
    later, state = list(kept), before.state.directory
    if wanted.state.directory != state:
        later.append("state.directory")
        kept["state"] = wanted.state.model_copy(update={"directory": state})
    return wanted.model_copy(update=kept), later

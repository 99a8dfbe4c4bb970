"""Every setting, once: this table drives the file's keys, flags, environment variables, ``--help`` and the docs.

Sources bring a section each, sinks may bring one key each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import AfterValidator, Field, SecretStr, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from catalog.duration import format_duration
from detector import schedule, sink, source
from detector.access import AccessSettings
from detector.section import Duration, OptionalUrl, Secret, Section, key_of

ENVIRONMENT_PREFIX = "HOSTPULSE_DETECTOR_"
AUTOMATIC = "auto"
_DEFAULT_SOURCE = "exporter"


def _check_address(value: str) -> str:
    host, colon, port = value.rpartition(":")
    is_port = port.isascii() and port.isdigit() and int(port) < 65536
    if not colon or not is_port or (":" in host and not host.startswith("[")):
        raise ValueError("must be HOST:PORT such as 127.0.0.1:17721, or :17721 for all interfaces")
    return value


class Window(Section):
    """How the time of a host is cut up."""

    duration_s: Duration = Field(
        default=3.0,
        ge=0.2,
        le=3600,
        description="Length of a window. Where a host is sampled too rarely it is widened to three samples.",
    )
    stride_s: Duration = Field(
        default=1.0,
        ge=0.1,
        le=3600,
        description="Time between the ends of windows. Widened to one sample where a host is sampled more rarely.",
    )

    adaptive_limit: float = Field(
        default=1.0,
        ge=1,
        le=10,
        description="Up to how many times as long a window may become where a host changes slowly: as long as it takes "
        "to change. One that would not be at least twice or at most half as long is kept. 1: windows never change.",
    )

    @model_validator(mode="after")
    def _no_gaps(self) -> Self:
        if self.stride_s > self.duration_s:
            raise ValueError("stride must not be longer than duration: samples between windows would not be judged")
        if self.duration_s > schedule.MOST_OVERLAP * self.stride_s:
            most = f"{schedule.MOST_OVERLAP} strides"
            raise ValueError(f"duration must not be longer than {most}: windows would hardly differ")
        return self


class Baseline(Section):
    """What is learned from."""

    duration_s: Duration = Field(
        default=600.0, ge=30, le=7 * 86400, description="How much a host's first model is learned from."
    )
    history_s: Duration = Field(
        default=0.0,
        ge=0,
        le=7 * 86400,
        description="How much of the past a host without a model is judged through at first, as far as the source has "
        "it. Nothing is provisional after nine hours at a sample a second, fourteen at one every 15 s, and two and a "
        "half days at one a minute. 0: what the first model takes. Up to a quarter more is read, so that two detectors "
        "begin at the same time.",
    )


class Profile(Section):
    """Other methods that judge beside the usual one; nothing is raised on them."""

    paper: Literal["off", "on"] = Field(
        default="off",
        description="Whether the paper's method flags windows too, as it is printed: `hostpulse_anomaly_paper_flag`.",
    )


class Alarms(Section):
    """The alarm budget: how many alarms a healthy host may raise in a day."""

    warning: float = Field(
        default=0.5, ge=0.001, le=100, description="Alarms a day that set `hostpulse_anomaly_active`."
    )
    page: float = Field(
        default=0.05, ge=0.0001, le=100, description="Alarms a day that also set `hostpulse_anomaly_page`."
    )

    @model_validator(mode="after")
    def _page_is_rarer(self) -> Self:
        if self.page > self.warning:
            raise ValueError("page must not be larger than warning: whoever is paged was warned")
        return self


class Episode(Section):
    """When alarms belong together, and when they are the new normal."""

    merge_s: Duration = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="An alarm so soon after another one of its subsystem resumes it, and so long after one nothing is "
        "learned; at least five strides.",
    )
    freeze_limit_s: Duration = Field(
        default=1800.0,
        ge=60,
        le=7 * 86400,
        description="An alarm that lasts longer is taken as the new normal: a new baseline is learned, and counted. "
        "Of a host that is not known for so long, as long as it was known before; at least 300 strides.",
    )


class State(Section):
    """Where models survive a restart. At a start those are removed that are a quarter older than the newest."""

    directory: str = Field(
        default=AUTOMATIC,
        description="Folder of the saved models, of one detector alone; empty for none. `auto` is systemd's "
        "`$STATE_DIRECTORY`, else `hostpulse` in `$XDG_STATE_HOME` or in `~/.local/state`.",
    )
    interval_s: Duration = Field(default=300.0, ge=1, le=86400, description="Time between saves of a host.")
    generations: int = Field(default=3, ge=1, le=100, description="Saved files kept of each host.")


class Incidents(Section):
    """What is remembered of episodes: `incidents.sqlite` beside the models, else memory. Read at the start only."""

    retention_s: Duration = Field(default=90 * 86400.0, ge=3600, le=3650 * 86400, description="How long one is kept.")
    most: int = Field(
        default=2000, ge=1, le=1_000_000, description="How many are kept, about 10 kB each; the oldest give way."
    )


class Web(Section):
    """Web server: `/metrics`, `/report`, `/api/v1/verdicts`, `incidents` and `maintenance`, `/-/healthy`, `ready`."""

    listen_address: Annotated[str, AfterValidator(_check_address)] = Field(
        default="127.0.0.1:17721", description="Address and port; port 0 takes a free one."
    )
    external_url: OptionalUrl = Field(
        default="", description="URL that people find the detector at, for links in alerts. Empty: the address."
    )
    max_connections: int = Field(default=64, ge=1, le=10000, description="Connections that may be open at once.")


class Maintenance(Section):
    """When somebody works on a host: no alarm is raised then, and nothing is learned. Read at the start only."""

    alertmanager: OptionalUrl = Field(
        default="", description="Alertmanager whose silences of whole hosts count as maintenance; empty for none."
    )
    interval_s: Duration = Field(default=10.0, ge=1, le=3600, description="Time between looks at its silences.")
    token: Secret = Field(
        default=SecretStr(""),
        description="What a request that changes `/api/v1/maintenance` must carry as `Authorization: Bearer`. Empty: "
        "only requests from this machine may.",
    )
    access: AccessSettings = AccessSettings()


class Log(Section):
    """What is said on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least serious messages.")
    format: Literal["text", "json", "logfmt"] = Field(default="text", description="How a message is written.")


class Sources(Section):
    """Where samples come from. Give the settings of one source; `kind` is needed only to choose among several."""

    kind: str = Field(default="", description="Which source. Empty: the one that has settings, else `exporter`.")

    @property
    def chosen(self) -> str:
        """Name of the source in use."""
        return self.kind or next(iter(self._candidates()), _DEFAULT_SOURCE)

    @property
    def settings(self) -> Section:
        """The settings of the source in use."""
        settings: Section = getattr(self, self.chosen)
        return settings

    def _candidates(self) -> list[str]:
        """Sources that have settings; where those are several, the ones whose settings are not the defaults."""
        given = sorted(self.model_fields_set - {"kind"})
        changed = [name for name in given if getattr(self, name) != type(self).model_fields[name].default]
        return given if len(given) < 2 else changed

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        known, candidates = sorted(source.discover()), self._candidates()
        if self.kind and self.kind not in known:
            raise ValueError(f"kind must be one of {', '.join(known)}, not {self.kind!r}")
        if not self.kind and len(candidates) > 1:
            raise ValueError(f"there are settings of {' and '.join(candidates)}: say which one in kind")
        return self


class Settings(Section):
    """All of it. ``TABLE`` adds what sources and sinks bring."""

    window: Window = Window()
    baseline: Baseline = Baseline()
    alarms_per_host_day: Alarms = Alarms()
    profile: Profile = Profile()
    source: Sources = Sources()
    episode: Episode = Episode()
    state: State = State()
    incidents: Incidents = Incidents()
    web: Web = Web()
    maintenance: Maintenance = Maintenance()
    log: Log = Log()


def _table() -> type[Settings]:
    sections: dict[str, Any] = {name: (kind.settings, kind.settings()) for name, kind in source.discover().items()}
    sources = create_model("Sources", __base__=Sources, __doc__=Sources.__doc__, **sections)
    keys: dict[str, Any] = {name: kind.setting for name, kind in sink.discover().items() if kind.setting is not None}
    return create_model("Settings", __base__=Settings, source=(sources, sources()), **keys)


TABLE = _table()


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table: ``path`` are its keys from the top."""

    path: tuple[str, ...]
    field: FieldInfo
    section: type[Section]

    @property
    def key(self) -> str:
        """``window.duration``."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """``--window.duration``."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """``HOSTPULSE_DETECTOR_WINDOW_DURATION``."""
        return ENVIRONMENT_PREFIX + "_".join(self.path).upper()

    @property
    def default(self) -> str:
        """The default as a user would write it."""
        value = self.field.get_default(call_default_factory=True)
        return "" if value is PydanticUndefined or self.is_secret else self.written(value)

    @property
    def is_secret(self) -> bool:
        """Whether no value of it may be shown."""
        return SecretStr in (self.field.annotation, *get_args(self.field.annotation))

    def written(self, value: Any) -> str:
        """A value as a user would write it."""
        if isinstance(value, tuple):
            return ",".join(value)
        return format_duration(value) if self.kind == "duration" else str(value)

    @property
    def kind(self) -> str:
        """``duration``, ``URL``, ``list``, ``secret``, ``number``, ``text`` or the choices."""
        extra = self.field.json_schema_extra
        if isinstance(extra, dict):
            return str(extra["kind"])
        annotation: Any = self.field.annotation
        if get_origin(annotation) is Literal:
            return " | ".join(get_args(annotation))
        return {str: "text", int: "whole number", float: "number"}[annotation]

    @property
    def allowed(self) -> str:
        """The kind and its limits, in words."""
        limits = [getattr(item, side) for side in ("ge", "le") for item in self.field.metadata if hasattr(item, side)]
        shown = [format_duration(limit) if self.kind == "duration" else f"{limit:g}" for limit in limits]
        return f"{self.kind}, {shown[0]} to {shown[1]}" if len(shown) == 2 else self.kind


def walk(section: type[Section] = TABLE, path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """All settings, in the order of the table."""
    for name, field in section.model_fields.items():
        here = (*path, key_of(name))
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from walk(field.annotation, here)
        else:
            yield Setting(here, field, section)

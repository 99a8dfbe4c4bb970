"""Settings: one table of fields drives flags, environment variables and ``--help``. A flag beats the environment.

Flag style: https://prometheus.io/docs/prometheus/latest/command-line/prometheus/
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from catalog.duration import format_duration
from catalog.family import Profile
from catalog.logform import FORMS
from exporter.folding import Granularity
from exporter.quantity import Address, Choice, Duration, Kind, Names, OrNothing, Path, Size, Whole

ENVIRONMENT_PREFIX = "HOSTPULSE_EXPORTER_"
MOST_CALM_S = 1.0


def _setting(flag: str, default: str, kind: Kind[Any], help_text: str) -> Any:
    """A field whose default is parsed like user input, so that ``--help`` shows what a user would type."""
    metadata = {"flag": flag, "default": default, "kind": kind, "help": help_text}
    return field(default_factory=lambda: kind.parse(default), metadata=metadata)


class SettingsError(ValueError):
    """A setting is wrong; the message names the flag or variable and what is allowed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the exporter can be told."""

    profile: Profile = _setting(  # noqa: RUF009 - it returns a field
        "profile",
        "core",
        Choice(Profile),
        "Which families are collected; each profile includes the ones before it.",
    )
    granularity: Granularity = _setting(  # noqa: RUF009 - it returns a field
        "cpu.granularity",
        "auto",
        Choice(Granularity),
        "What has CPU series of its own: each CPU (core), NUMA node or package; auto is numa above 64 CPUs, else core.",
    )
    interval_s: float = _setting(
        "sample.interval",
        "100ms",
        Duration(0.01, 60.0),
        "How often the fast tier is read. The medium tier follows every 1s, the slow tier every 15s.",
    )
    calm_interval_s: float = _setting(
        "sample.adaptive",
        "",
        OrNothing(Duration(0.02, MOST_CALM_S)),
        "While the host is calm, how often the fast tier is read instead of every --sample.interval; "
        "rounded to a multiple of that, at least twice as long. Nothing: always every --sample.interval.",
    )
    budget_s: float = _setting(
        "sample.budget",
        "10ms",
        Duration(0.0001, 1.0),
        "Time that one collector may take in the sampling thread before it is moved to the next slower tier.",
    )
    deadline_s: float = _setting(
        "sample.deadline",
        "5s",
        Duration(0.05, 60.0),
        "Time after which a collector of the slow tier counts as hung and is skipped until it returns.",
    )
    gpu_interval_s: float = _setting(
        "gpu.interval",
        "1s",
        Duration(0.01, 60.0),
        "How often GPUs are asked, in a thread of its own; rounded to a multiple of --sample.interval.",
    )
    ring_duration_s: float = _setting(
        "ring.duration",
        "5m",
        Duration(1.0, 86400.0),
        "How long samples are kept for /api/v1/samples.",
    )
    ring_bytes: int = _setting(
        "ring.size",
        "32MiB",
        Size(1 << 20, 1 << 40),
        "Memory that kept samples may take; the oldest give way.",
    )
    disabled: frozenset[str] = _setting(
        "collector.disable",
        "",
        Names(),
        "Collectors to switch off, separated by commas; may be given several times.",
    )
    procfs: str = _setting("path.procfs", "/proc", Path(), "Where the host's procfs is mounted.")
    sysfs: str = _setting("path.sysfs", "/sys", Path(), "Where the host's sysfs is mounted.")
    rootfs: str = _setting("path.rootfs", "/", Path(), "Where the host's root file system is mounted.")
    kmsg: str = _setting(
        "path.kmsg", "/dev/kmsg", Path(), "The kernel's log, where a GPU's driver reports errors; needs CAP_SYSLOG."
    )
    listen: tuple[str, int] = _setting(
        "web.listen-address",
        "127.0.0.1:17720",
        Address(),
        "Address and port to serve on; port 0 takes a free one, no host means all interfaces.",
    )
    max_connections: int = _setting(
        "web.max-connections",
        "64",
        Whole(1, 10000),
        "Connections that may be open at once; further ones are told to come back later.",
    )
    timeout_s: float = _setting(
        "web.timeout",
        "20s",
        Duration(0.1, 3600.0),
        "Longest wait for a request, its body, or a client that does not take its answer.",
    )
    log_level: str = _setting(
        "log.level",
        "info",
        Choice(("debug", "info", "warning", "error")),
        "Least serious messages that are logged.",
    )
    log_format: str = _setting("log.format", "text", Choice(tuple(FORMS)), "How a message is written.")


def environment_name(flag: str) -> str:
    """The environment variable of a flag.

    >>> environment_name("sample.interval")
    'HOSTPULSE_EXPORTER_SAMPLE_INTERVAL'
    """
    return ENVIRONMENT_PREFIX + flag.upper().replace(".", "_").replace("-", "_")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Give a parser one flag for each setting."""
    for entry in fields(Settings):
        about = entry.metadata
        parser.add_argument(
            f"--{about['flag']}",
            dest=entry.name,
            action="append",
            metavar=about["kind"].allowed.upper() if len(about["kind"].allowed) < 9 else "VALUE",
            help=f"{about['help']} Allowed: {about['kind'].allowed}. Default: {about['default'] or 'none'}. "
            f"Environment: {environment_name(about['flag'])}.".replace("%", "%%"),
        )


def from_arguments(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Settings:
    """Settings from parsed flags and the environment.

    Raises:
        SettingsError: names the flag or variable, the value and what is allowed.
    """
    values: dict[str, Any] = {}
    for entry in fields(Settings):
        flag, kind = entry.metadata["flag"], entry.metadata["kind"]
        given: Sequence[str] | None = getattr(arguments, entry.name)
        variable = environment_name(flag)
        if given is not None:
            values[entry.name] = _parse(kind, f"--{flag}", given)
        elif variable in environment:
            values[entry.name] = _parse(kind, variable, [environment[variable]])
    settings = Settings(**values)
    if settings.calm_interval_s and 2 * settings.interval_s > MOST_CALM_S:
        raise SettingsError(
            f"--sample.adaptive: is not allowed with --sample.interval {format_duration(settings.interval_s)}; "
            f"allowed: with at most {format_duration(MOST_CALM_S / 2)}"
        )
    if 0.0 < settings.calm_interval_s < 2 * settings.interval_s:
        raise SettingsError(
            f"--sample.adaptive: {format_duration(settings.calm_interval_s)} is not allowed; allowed: at least twice "
            f"--sample.interval, {format_duration(2 * settings.interval_s)}"
        )
    return settings


def _parse(kind: Kind[Any], origin: str, given: Sequence[str]) -> Any:
    text = ",".join(given) if isinstance(kind, Names) else given[-1]
    try:
        return kind.parse(text)
    except ValueError as error:
        reason = f" ({error})" if str(error) else ""
        raise SettingsError(f"{origin}: {text!r} is not allowed{reason}; allowed: {kind.allowed}") from None

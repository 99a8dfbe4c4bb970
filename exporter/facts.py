"""What is said of the host in a recording: what it is, how it was measured, nothing that tells whose it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from hashlib import blake2s
from typing import Any

from catalog import FAMILIES, recording
from catalog.families import cpu, gpu, host
from catalog.family import Profile, Tier
from catalog.series import Series
from exporter.anonymous import Anonymous
from exporter.collector import Context, Unavailable, discover
from exporter.engine import Engine
from exporter.host import BOOT_ID, Host
from exporter.settings import Settings
from exporter.version import PYTHON, installed

_HOW = ("profile", "granularity", "interval_s", "calm_interval_s", "gpu_interval_s", "disabled")

Infos = Mapping[str, list[dict[str, str]]]


def facts(settings: Settings, engine: Engine, measured: Host, anonymous: Anonymous) -> dict[str, Any]:
    """All that a recording begins with, as JSON can hold it."""
    infos: dict[str, list[dict[str, str]]] = {}
    for series in _constants(settings, measured):
        infos.setdefault(series.name, []).append(dict(anonymous.series(series).labels))
    how = {name: value for name, value in asdict(settings).items() if name in _HOW}
    return {
        "format": recording.FORMAT,
        "version": recording.VERSION,
        "exporter": installed(),
        "python": PYTHON,
        "settings": how | {"disabled": sorted(settings.disabled)},
        # Equal for recordings of one boot of one host; what it was made of cannot be found from it.
        "boot": blake2s(measured.text(BOOT_ID, "").encode(), digest_size=8).hexdigest(),
        "host": _summary(infos),
        "infos": infos,
        "collectors": {slot.name: _told(slot.health.state, slot.health.reason, anonymous) for slot in engine.slots},
        "families": {
            family.name: {"kind": family.kind, "unit": family.unit, "subsystem": family.subsystem, "help": family.help}
            for family in FAMILIES.values()
            if family.tier is not Tier.STATIC and Context(measured, settings.profile).wants(family)
        },
    }


def _constants(settings: Settings, measured: Host) -> Iterator[Series]:
    """What the collectors of constants find, those of all profiles: it is a few lines, and explains the rest."""
    for name, kind in discover().items():
        if kind.tier is not Tier.STATIC or name in settings.disabled:
            continue
        try:
            with closing(kind(Context(measured, Profile.FULL))) as collector:
                collector.read()
                series = collector.series
        except (Unavailable, OSError, ValueError):
            continue  # the host has none of it, or the state of the collector says what is wrong
        yield from series


def _summary(infos: Infos) -> dict[str, Any]:
    """What people ask first."""
    hosts, packages, cpus, gpus = (
        infos.get(family.name, []) for family in (host.INFO, cpu.INFO, cpu.TOPOLOGY_INFO, gpu.INFO)
    )
    return {
        "kernel": next((one["kernel"] for one in hosts), ""),
        "os": next((one["os"] for one in hosts), ""),
        "cpu_models": sorted({one["model_name"] for one in packages}),
        "cpus": len(cpus),
        "numa_nodes": len({one["node"] for one in cpus}),
        "gpus": [one["name"] for one in gpus],
    }


def _told(state: str, reason: str, anonymous: Anonymous) -> str:
    return f"{state}: {anonymous.text(reason)}" if reason else str(state)

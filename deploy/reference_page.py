"""docs/reference.md: a heading for each setting, collector, detector and alert, from where each is declared."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from detector.detectors.registry import registered
from detector.fusion import fuse
from detector.model import FUSED
from detector.peers import PEERS, PeerModel
from detector.settings import walk
from exporter.collector import discover
from exporter.settings import Settings, environment_name

_RULES = Path(__file__).resolve().parent / "prometheus" / "rules"
_HEAD = """\
# Reference

Rendered by `python -m deploy.render` from the settings tables, the collectors, the detectors and the alert rules; do
not edit. [exporter.md](exporter.md) and [configuration.md](configuration.md) say how settings are given,
[metrics.md](metrics.md) has the metrics, [runbook.md](runbook.md) what to do about an alert.
"""


def reference_page() -> str:
    """The text of ``docs/reference.md``."""
    parts = {
        "Settings of the exporter": _exporter_settings(),
        "Settings of the detector": _detector_settings(),
        "Collectors": _collectors(),
        "Detectors": _detectors(),
        "Alerts": _alerts(),
    }
    return _HEAD + "".join(f"\n## {title}\n{''.join(entries)}" for title, entries in parts.items())


def _entry(name: str, *lines: str) -> str:
    return "\n".join([f"\n### `{name}`\n", *lines, ""])


def _exporter_settings() -> Iterator[str]:
    for setting in fields(Settings):
        about = setting.metadata
        default = f"`{about['default']}`" if about["default"] else "none"
        given = f"Environment: `{environment_name(about['flag'])}`."
        allowed = f"Allowed: {about['kind'].allowed}. Default: {default}."
        yield _entry(f"--{about['flag']}", about["help"], "", f"{allowed} {given}")


def _detector_settings() -> Iterator[str]:
    for setting in walk():
        default = f"`{setting.default}`" if setting.default else "none"
        allowed = f"Allowed: {setting.allowed}. Default: {default}."
        given = f"Flag: `{setting.flag}`. Environment: `{setting.variable}`."
        yield _entry(setting.key, str(setting.field.description), "", f"{allowed} {given}")


def _collectors() -> Iterator[str]:
    for name, kind in sorted(discover().items()):
        families = ", ".join(f"`{family.name}`" for family in kind.families)
        yield _entry(name, _purpose(kind.__module__), "", f"Tier {kind.tier}. Families: {families}.")


def _detectors() -> Iterator[str]:
    scored = {name: kind.__module__ for name, kind in registered().items()}
    for name, module in (scored | {FUSED: fuse.__module__, PEERS: PeerModel.__module__}).items():
        yield _entry(name, _purpose(module))


def _alerts() -> Iterator[str]:
    for rule in _alert_rules():
        waits = f", for {rule['for']}" if "for" in rule else ""
        how = f"Severity {rule['labels']['severity']}{waits}. [What to do](runbook.md#{rule['alert'].lower()})."
        yield _entry(rule["alert"], "```promql", rule["expr"].strip(), "```", "", how)


def _alert_rules() -> Iterator[dict[str, Any]]:
    for file in sorted(_RULES.glob("*.yml")):
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]:
            yield from (rule for rule in group["rules"] if "alert" in rule)


def _purpose(module: str) -> str:
    """The first line of a module's docstring."""
    return str(inspect.getdoc(importlib.import_module(module))).partition("\n")[0]

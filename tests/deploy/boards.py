"""Boards as tests read them: the rendered files, their panels and their queries with the variables filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.grafana.build import FOLDER
from tests.tree import ROOT

BOARDS: Mapping[str, Path] = {  # rendered: see test_render
    path.stem.removeprefix("hostpulse-"): path for path in sorted((ROOT / FOLDER).glob("*.json"))
}
CHOSEN: Mapping[str, str] = {
    "cluster": ".*",
    "job": ".*",
    "instance": "node7",
    "subsystem": "(cpu|gpu|memory|network|storage)",
    "gpu": ".*",
    "judged": "node7:17720",
    "__rate_interval": "10s",
    "__range": "30m",
    "__range_s": "1800",
}
_VARIABLE = re.compile(r"\$\{?([a-z_]\w*)(?::\w+)?\}?")


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of a board."""

    panel: str
    expression: str
    folded: bool
    """Whether the panel is in a row that somebody has to open: there may be no such hardware."""


def read(name: str) -> dict[str, Any]:
    """The board's JSON."""
    board: dict[str, Any] = json.loads(BOARDS[name].read_text())
    return board


def panels(board: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All panels and rows, those inside collapsed rows too."""
    for panel in board["panels"]:
        yield panel
        yield from panel.get("panels") or []


def filled(text: str, **chosen: str) -> str:
    """The text with its variables as ``chosen``, else as in ``CHOSEN``."""
    return _VARIABLE.sub(lambda match: {**CHOSEN, **chosen}[match[1]], text)


def asked(board: Mapping[str, Any], **chosen: str) -> Iterator[Asked]:
    """Each query of each panel."""
    for panel in board["panels"]:
        for shown in (panel, *(panel.get("panels") or [])):
            for query in shown.get("targets", []):
                yield Asked(shown["title"], filled(query["expr"], **chosen), shown is not panel)


def variables(board: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The board's variables by name."""
    return {variable["name"]: variable for variable in board["templating"]["list"]}

"""The Grafana boards, built from the catalog, so that no metric's name is typed twice.

To add one, add a module with a function ``board()`` to ``boards``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import partial

from deploy.grafana import boards
from deploy.grafana.board import as_json

FOLDER = "deploy/grafana/dashboards"


def rendered() -> Mapping[str, Callable[[], str]]:
    """The file of each board, and what renders its text."""
    names = [module.name for module in pkgutil.iter_modules(boards.__path__)]
    return {f"{FOLDER}/hostpulse-{name}.json": partial(_text, name) for name in names}


def _text(name: str) -> str:
    return as_json(importlib.import_module(f"{boards.__name__}.{name}").board())

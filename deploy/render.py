"""Writes what follows from the catalog: ``python -m deploy.render``; with ``--check`` it fails where a file is stale.

To render another file, write a function that returns its text and name it in ``RENDERED``.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from catalog import FAMILIES, SIGNALS
from catalog.family import Alias, Family, Subsystem, Unit
from catalog.signal import Signal
from deploy.detector_page import detector_example, detector_page
from deploy.diagnosis_page import diagnosis_page
from deploy.exporter_page import exporter_page
from deploy.grafana import build
from deploy.recording_rules import recording_rules
from deploy.reference_page import reference_page

_ROOT = Path(__file__).resolve().parents[1]
_INTRODUCTION = """\
# Metrics

Rendered from `catalog/` by `python -m deploy.render`; to change a line, change its declaration there.

**Type** and **unit** follow Prometheus' naming: base units, unit last, `_total` on counters; a family of type info is a
gauge of constant 1 whose labels tell. **Tier** says how often a family is sampled: fast every 100 ms, medium every
second, slow every 15 s, gpu every `--gpu.interval` (1 s), static once. **Profile** is the first one that includes a
family: `core` is on by default, `standard` and `full` by `--profile`. **Elsewhere** is the same quantity where only
node_exporter or dcgm-exporter run, with the factor that turns its unit into ours and the labels that tell its values
apart.

Families of GPUs have not been seen on real hardware yet: [exporter.md](exporter.md#gpus) says how they were tried.
"""
_SIGNALS = """
## Signals

What the detector judges: each is one expression over families, here as PromQL over one minute.

"""


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def _code(text: object) -> str:
    """Text in a fixed font; nothing for none. A bar is escaped as in any cell: tables take it apart before fonts."""
    return f"`{_cell(text)}`" if str(text) else ""


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headings = list(headings)
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def _alias(alias: Alias) -> str:
    labels = {**alias.match, **{ours: f"label {theirs}" for ours, theirs in alias.renames.items()}, **alias.adds}
    factor = f" × {alias.factor:g}" if alias.factor != 1 else ""
    return (
        _code(alias.name) + factor + (f" ({', '.join(f'{k}: {v}' for k, v in labels.items() if v)})" if labels else "")
    )


def _family_row(family: Family) -> list[str]:
    return [
        _code(family.name),
        str(family.kind),
        "pages" if family.unit is Unit.PAGES else _cell(family.unit).replace("_", " ") or "count",
        ", ".join(map(_code, family.labels)),
        str(family.tier),
        str(family.profile),
        _cell(family.help),
        _code(family.source),
        "<br>".join(map(_alias, family.aliases)),
    ]


def _signal_row(signal: Signal) -> list[str]:
    return [
        _code(signal.name),
        str(signal.subsystem),
        str(signal.role),
        str(signal.worse),
        _cell(signal.unit),
        _cell(signal.help),
        _code(signal.promql()),
    ]


def metrics_page() -> str:
    """docs/metrics.md: every family by subsystem, and every signal."""
    headings = ("Name", "Type", "Unit", "Labels", "Tier", "Profile", "Meaning", "Source", "Elsewhere")
    parts = [_INTRODUCTION]
    for subsystem in Subsystem:
        families = sorted((f for f in FAMILIES.values() if f.subsystem is subsystem), key=lambda f: f.name)
        if families:
            parts += [f"\n## {subsystem}\n\n", _table(headings, map(_family_row, families))]
    parts += [
        _SIGNALS,
        _table(("Name", "Subsystem", "Role", "Worse", "Unit", "Meaning", "PromQL"), map(_signal_row, SIGNALS.values())),
    ]
    return "".join(parts)


RENDERED: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": detector_page,
    "deploy/detector.example.yml": detector_example,
    "docs/diagnosis.md": diagnosis_page,
    "docs/exporter.md": exporter_page,
    "docs/metrics.md": metrics_page,
    "docs/reference.md": reference_page,
    **build.rendered(),
    "deploy/prometheus/rules/capacity.yml": recording_rules,
}


def stale(root: Path = _ROOT) -> dict[str, str]:
    """The rendered files below ``root`` that differ from what they should be, each with its new text."""
    texts = {name: render() for name, render in RENDERED.items()}
    return {name: text for name, text in texts.items() if not _says(root / name, text)}


def _says(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _difference(name: str, text: str) -> str:
    path = _ROOT / name
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), name, "as rendered now", lineterm="", n=0)
    return "\n".join(list(lines)[:20])


def main(arguments: list[str] | None = None) -> int:
    """Write the files that are stale; with ``--check`` name them and return 1 instead."""
    parser = argparse.ArgumentParser(prog="python -m deploy.render", description="Renders files from the catalog.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail where a file is stale")
    check = parser.parse_args(arguments).check
    for name, text in (found := stale()).items():
        if check:
            sys.stderr.write(f"{_difference(name, text)}\n{name} is stale: run python -m deploy.render\n")
        else:
            (_ROOT / name).write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {name}\n")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())

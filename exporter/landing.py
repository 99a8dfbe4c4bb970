"""The page at ``/``: what is measured here, what is not and why, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isnan

from catalog.family import Tier
from exporter.slot import Slot
from exporter.tally import State, Tally
from exporter.version import installed

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25rem .75rem .25rem 0; }
th { border-bottom: 2px solid #cbd5e0; font-weight: 600; } td { border-bottom: 1px solid #e8edf2; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; } nav a { margin-right: 1rem; }
.on { color: #1a7f4b; } .off { color: #6b7785; } .failing, .hung { color: #b3261e; font-weight: 600; }
@media (prefers-color-scheme: dark) { body { background: #11161c; color: #d7dee6; } th { border-color: #3a4653; }
td { border-color: #232c36; } a { color: #7db4ff; } .on { color: #5fd196; } .failing, .hung { color: #ff8a80; } }
"""
_LINKS = ("/metrics", "/api/v1/samples", "/-/healthy", "/-/ready")
_ORDER = {State.HUNG: 0, State.FAILING: 1, State.ON: 2, State.OFF: 3}
_COLLECTOR_HEADS = ("Collector", "State", "Tier", "Series", "ms CPU per read", "ms last read", "Errors", "Reason")
_TIER_HEADS = ("Tier", "Every (s)", "Samples taken", "Ticks missed", "Samples kept", "ms late (99th percentile)")


def page(nodename: str, slots: Sequence[Slot], tally: Tally) -> bytes:
    """The page as UTF-8 HTML; everything that is not ours is escaped."""
    title = f"hostpulse exporter on {escape(nodename)}"
    links = "".join(f'<a href="{link}">{link}</a>' for link in _LINKS)
    ordered = sorted(slots, key=lambda slot: (_ORDER[slot.health.state], slot.name))
    text = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1><p>Version {escape(installed())}</p><nav>{links}</nav>\n"
        f"<h2>Collectors</h2>{_table(_COLLECTOR_HEADS, map(_collector_row, ordered))}\n"
        f"<h2>Tiers</h2>{_table(_TIER_HEADS, _tier_rows(tally))}</body></html>\n"
    )
    return text.encode("utf-8", "backslashreplace")  # a reason may hold the name of a file that is not UTF-8


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table>"


def _row(*cells: object) -> str:
    """Numbers to the right with up to three decimals, text to the left."""
    return "<tr>" + "".join(map(_cell, cells)) + "</tr>\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="number">{"" if isnan(value) else f"{value:.3f}"}</td>'
    return f'<td class="number">{value}</td>' if isinstance(value, int) else f"<td>{value}</td>"


def _collector_row(slot: Slot) -> str:
    health = slot.health
    state = f'<span class="{health.state}">{health.state}</span>'
    cpu_ms = health.cpu_s * 1000 / health.reads if health.reads else float("nan")
    errors = ", ".join(f"{escape(kind)} {count}" for kind, count in list(health.errors.items()))
    return _row(
        escape(slot.name),
        state,
        str(health.tier),
        len(slot.series),
        cpu_ms,
        health.duration_s * 1000,
        errors,
        escape(health.reason),
    )


def _tier_rows(tally: Tally) -> Iterable[str]:
    for tier in (Tier.FAST, Tier.MEDIUM, Tier.SLOW, Tier.GPU):
        pace = tally.paces[tier]
        yield _row(str(tier), pace.interval_s, pace.ticks, pace.overruns, pace.rows, pace.late_s(0.99) * 1000)

"""Signals in the names of node_exporter and dcgm-exporter, for hosts that have no more than those.

The names and factors are the catalog's aliases; https://prometheus.io/docs/prometheus/latest/querying/operators/.
"""

from __future__ import annotations

from collections.abc import Mapping

from catalog import FAMILIES
from catalog.expression import Expression, Render
from catalog.family import Alias, Family

_TARGET = ("instance", "job")
_DESCRIBED_BY_LABELS = "DCGM_"  # its series name the GPU several times over; what is compared across GPUs must not


def anywhere(told: Expression, window: str, selector: str) -> str:
    """The quantity of one host as hostpulse's exporter tells it, and as others do where that has no data."""
    own = told.promql(window, selector)
    families = [FAMILIES[name] for name in told.families()]
    if not all(family.aliases for family in families):
        return own
    try:
        return f"{own} or on () ({told.promql(window, selector, spelling=_foreign)})"
    except LookupError:
        return own


def _foreign(name: str, match: Mapping[str, str], render: Render) -> str:
    """The aliases of a family that can carry ``match``; LookupError where there is none."""
    family = FAMILIES[name]
    told = [_one(family, alias, match, render) for alias in family.aliases if _can_carry(alias, match)]
    if not told:
        raise LookupError(f"{name}: no other exporter tells {dict(match)}")
    return told[0] if len(told) == 1 else f"({' or '.join(told)})"


def _can_carry(alias: Alias, match: Mapping[str, str]) -> bool:
    return all(alias.adds.get(label, value) == value for label, value in match.items())


def _one(family: Family, alias: Alias, match: Mapping[str, str], render: Render) -> str:
    theirs = {alias.renames.get(label, label): value for label, value in match.items() if label not in alias.adds}
    text = render(alias.name, {**alias.match, **theirs})
    if alias.factor != 1:
        text = f"({text} * {float(alias.factor)!r})"
    for ours, value in alias.adds.items():
        text = f'label_replace({text}, "{ours}", "{value}", "", "")'
    for ours, label in alias.renames.items():
        text = f'label_replace({text}, "{ours}", "$1", "{label}", "(.*)")'
    if alias.renames or alias.name.startswith(_DESCRIBED_BY_LABELS):
        text = f"max by ({', '.join((*_TARGET, *family.labels))}) ({text})"
    return text

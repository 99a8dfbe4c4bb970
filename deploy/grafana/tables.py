"""How a table's columns are made of queries: joined, spread out, renamed, sorted, coloured.

Transformations: https://grafana.com/docs/grafana/latest/panels-visualizations/query-transform-data/transform-data/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grafana_foundation_sdk.builders import dashboard, table
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models

_LEFT_OUT = ("Time", *(f"Time {number}" for number in range(1, 9)))


def joined(panel: table.Panel, label: str) -> None:
    """One row for each value of the label, one column for each query."""
    _transform(panel, "joinByField", {"byField": label, "mode": "outer"})


def matrix(panel: table.Panel, row: str, column: str) -> None:
    """One row for each value of one label, one column for each of another."""
    told = {"rowField": row, "columnField": column, "valueField": "Value", "emptyValue": "null"}
    _transform(panel, "groupingToMatrix", told)


def renamed(panel: table.Panel, names: Mapping[str, str], without: Iterable[str] = ()) -> None:
    """Columns under these names, in their order, without the times and without those named."""
    told = {
        "excludeByName": dict.fromkeys((*_LEFT_OUT, *without), True),
        "indexByName": {name: number for number, name in enumerate(names)},
        "renameByName": dict(names),
    }
    _transform(panel, "organize", told)


def wide(panel: table.Panel, column: str, width_px: int) -> None:
    """The column as wide as that."""
    panel.override_by_name(column, [models.DynamicConfigValue("custom.width", width_px)])


def sorted_by(panel: table.Panel, column: str, *, descending: bool) -> None:
    """The largest value of the column first, or the smallest."""
    _transform(panel, "sortBy", {"fields": {}, "sort": [{"field": column, "desc": descending}]})


def with_cells(
    panel: table.Panel,
    column: str,
    steps: dashboard.ThresholdsConfig,
    *,
    decimals: int | None = None,
    mapping: models.ValueMap | None = None,
) -> None:
    """The column's cells coloured by their values."""
    cell = options.TableColoredBackgroundCellOptions(mode=options.TableCellBackgroundDisplayMode.BASIC)
    told: dict[str, object] = {
        "custom.cellOptions": cell.to_json(),
        "thresholds": steps.build().to_json(),
        "color": {"mode": "thresholds"},
    }
    if decimals is not None:
        told["decimals"] = decimals
    if mapping is not None:
        told["mappings"] = [mapping.to_json()]
    panel.override_by_name(column, [models.DynamicConfigValue(name, value) for name, value in told.items()])


def _transform(panel: table.Panel, name: str, told: Mapping[str, object]) -> None:
    panel.with_transformation(models.DataTransformerConfig(id_val=name, options=dict(told)))

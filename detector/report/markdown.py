"""A report as Markdown: for a ticket or a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from detector.readable import bar, quantity, sparkline
from detector.report.document import (
    Bars,
    Block,
    Cell,
    Chart,
    Commands,
    Entries,
    Link,
    Links,
    Prose,
    Report,
    Table,
    time_of_day,
)

_WIDTH = 60
_BAR = 20


def as_markdown(report: Report) -> str:
    """The whole document."""
    lines = [f"# {_safe(report.title)}", "", _safe(report.lead), ""]
    for section in report.sections:
        lines += [f"{'###' if section.minor else '##'} {section.title}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Prose(text):
            yield _safe(text)
        case Entries(texts):
            yield from (f"- {_safe(text)}" for text in texts)
        case Links(links):
            yield from (f"- {_cell(link)}" for link in links)
        case Table(headings, rows):
            yield from _table(headings, rows)
        case Commands(lines):
            for run, look_for in lines:
                yield from (f"- {look_for}", "", f"      {run}", "")
        case Bars(parts):
            yield "```"
            yield from (f"{name:<10} {bar(part, 1.0, _BAR)} {part:4.0%}" for name, part in parts)
            yield "```"
        case Chart():
            yield from _chart(block)


def _table(headings: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]) -> Iterator[str]:
    columns = len(headings or rows[0])
    yield f"| {' | '.join(headings or [''] * columns)} |"
    yield f"|{' --- |' * columns}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f"[{_safe(cell.text)}]({cell.url})"
    return _safe(cell).replace("|", "\\|")


def _safe(text: str) -> str:
    """Text on one line that no reader of Markdown takes for HTML."""
    return text.replace("<", "&lt;").replace("\n", " ")


def _chart(chart: Chart) -> Iterator[str]:
    values = [value for _, value in chart.points]
    if not values:
        return
    step = max(1, -(-len(values) // _WIDTH))
    shown = [max(values[start : start + step], key=abs) for start in range(0, len(values), step)]
    lowest, highest = min(*shown, 0.0), max(*shown, 1e-12)
    yield f"**{_safe(chart.title)}**: {_safe(_range(chart))}"
    yield ""
    yield "```"
    yield sparkline([value - lowest for value in shown], highest - lowest)
    yield f"{time_of_day(chart.points[0][0])} to {time_of_day(chart.points[-1][0])} UTC"
    yield "```"


def _range(chart: Chart) -> str:
    values = [value for _, value in chart.points]
    level = f", {chart.level[0]} {quantity(chart.level[1], chart.unit)}" if chart.level else ""
    return f"{quantity(min(values), chart.unit)} to {quantity(max(values), chart.unit)}{level}"

"""A report as one HTML file: no script, nothing from elsewhere, for a phone, a wide screen or paper, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from detector.readable import quantity
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
from detector.report.svg import drawing, time_bounds, value_bounds

_NARROW = 3  # columns that a phone has room for
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#59636e;--paper:#fff;--rule:#d1d9e0;--band:#f6f8fa;--line:#0969da;
--span:#cf222e1f;--level:#9a6700}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;--paper:#0d1117;--rule:#3d444d;--band:#151b23;
--line:#4493f8;--span:#f851492e;--level:#d29922}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--paper);
max-width:62rem;margin:0 auto;padding:1rem;overflow-wrap:break-word}
h1{font-size:1.6rem;line-height:1.25;margin:.4rem 0}
h2{font-size:1.25rem;margin:2rem 0 .5rem;padding-bottom:.25rem;border-bottom:1px solid var(--rule)}
h3{font-size:1.05rem;margin:1.4rem 0 .4rem}
.lead{font-size:1.1rem;margin:.5rem 0 1rem}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--rule)}
thead th{color:var(--dim);font-weight:600}
tbody th{font-weight:600;white-space:nowrap;width:1%}
code,pre{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.88em}
pre{background:var(--band);border:1px solid var(--rule);border-radius:6px;padding:.5rem .7rem;margin:.2rem 0;
white-space:pre-wrap;overflow-wrap:anywhere;user-select:all}
dl{margin:.5rem 0}dt{margin:0}dd{margin:0 0 .7rem;color:var(--dim)}
a{color:var(--line)}
figure{margin:1rem 0;break-inside:avoid}
figcaption{display:flex;flex-wrap:wrap;gap:0 1rem;justify-content:space-between;font-size:.9rem}
figcaption b{overflow-wrap:anywhere}
.dim{color:var(--dim);font-size:.85rem}
.plot{position:relative;border:1px solid var(--rule);border-radius:6px;background:var(--band);overflow:hidden}
svg{display:block;width:100%;height:7rem}
svg *{vector-effect:non-scaling-stroke}
.line{fill:none;stroke:var(--line);stroke-width:1.6}
.level{stroke:var(--level);stroke-width:1.2;stroke-dasharray:5 4}
.span{fill:var(--span)}
.times{display:flex;justify-content:space-between}
.bar{display:grid;grid-template-columns:6rem 1fr 3.2rem;gap:.6rem;align-items:center;margin:.25rem 0}
.bar i{display:block;height:.8rem;border-radius:3px;background:var(--line)}
.bar span:last-child{text-align:right}
@media (max-width:40rem){.wide thead{display:none}.wide tr{display:block;padding:.4rem 0;
border-bottom:1px solid var(--rule)}.wide td{display:grid;grid-template-columns:6rem 1fr;gap:.6rem;border:0;
padding:.1rem 0;overflow-wrap:anywhere}.wide td::before{content:attr(data-label);color:var(--dim)}}
@media print{body{max-width:none;padding:0;font-size:11pt}a{color:inherit}h2,h3{break-after:avoid}
tr,pre{break-inside:avoid}}
"""


def as_html(report: Report) -> str:
    """The whole file."""
    body = "".join(
        f"<section><h{3 if section.minor else 2}>{escape(section.title)}</h{3 if section.minor else 2}>"
        + "".join(part for block in section.blocks for part in _block(block))
        + "</section>"
        for section in report.sections
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style>"
        f'<h1>{escape(report.title)}</h1><p class="lead">{escape(report.lead)}</p>{body}</html>\n'
    )


def _block(block: Block) -> Iterator[str]:
    match block:
        case Prose(text):
            yield f"<p>{escape(text)}</p>"
        case Entries(texts):
            yield "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
        case Links(links):
            yield "<ul>" + "".join(f"<li>{_cell(link)}</li>" for link in links) + "</ul>"
        case Table():
            yield from _table(block)
        case Commands(lines):
            pairs = (f"<dt><pre>{escape(run)}</pre></dt><dd>{escape(look_for)}</dd>" for run, look_for in lines)
            yield "<dl>" + "".join(pairs) + "</dl>"
        case Bars(parts):
            for name, part in parts:
                yield (
                    f'<div class="bar"><span>{escape(name)}</span><span><i style="width:{100 * part:.1f}%"></i></span>'
                    f"<span>{part:.0%}</span></div>"
                )
        case Chart():
            yield from _chart(block)


def _table(table: Table) -> Iterator[str]:
    wide = ' class="wide"' if len(table.headings) > _NARROW else ""
    yield f'<div class="scroll"><table{wide}>'
    if table.headings:
        yield "<thead><tr>" + "".join(f"<th>{escape(text)}</th>" for text in table.headings) + "</tr></thead>"
    yield "<tbody>"
    for row in table.rows:
        if table.headings:
            labelled = zip(table.headings, row, strict=True)
            cells = [f'<td data-label="{escape(label)}">{_cell(cell)}</td>' for label, cell in labelled]
        else:
            cells = [f"<th>{_cell(row[0])}</th>", *(f"<td>{_cell(cell)}</td>" for cell in row[1:])]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f'<a href="{escape(cell.url)}">{escape(cell.text)}</a>'
    return escape(cell)


def _chart(chart: Chart) -> Iterator[str]:
    if not chart.points:
        return
    first_s, last_s = time_bounds(chart)
    lowest, highest = (quantity(value, chart.unit) for value in value_bounds(chart))
    level = f" · dashed: {chart.level[0]} {quantity(chart.level[1], chart.unit)}" if chart.level else ""
    yield (
        f'<figure><figcaption><b>{escape(chart.title)}</b><span class="dim">{escape(lowest)} to {escape(highest)}'
        f'{escape(level)}</span></figcaption><div class="plot">{drawing(chart)}</div>'
        f'<div class="times dim"><span>{time_of_day(first_s)}</span><span>{time_of_day(last_s)} UTC</span></div>'
        "</figure>"
    )

"""docs/exporter.md: the page about running the exporter, with its settings as the table declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from exporter.settings import Settings, environment_name

_TEXT = """\
# The exporter

Rendered from the exporter's settings by `python -m deploy.render`.

```
hostpulse-exporter [COMMAND] [--FLAG=VALUE ...]
```

| command | what it does |
| --- | --- |
| `serve` | serves the paths below until SIGTERM or SIGINT; the default |
| `once` | writes one exposition |
| `list` | lists the collectors: state, reason, families, files read |
| `capture` | writes all that the collectors read, without what identifies the host: for a bug report |
| `version` | says which version this is |

Flags follow the command. All but `serve` take `--out=FILE`, and `--replay=CAPTURE` to look at the host that a capture
was made of: a bug report can be replayed. The exit status is 0, 1 for what went wrong while running (a taken port, say)
and 2 for a wrong command line.

| path | what is there |
| --- | --- |
| `/` | every collector with its state, tier, cost, errors and the reason for its state |
| `/metrics` | the newest value of each series, as text 0.0.4 or OpenMetrics 1.0; `collect[]=NAME` picks collectors |
| `/api/v1/samples` | the recent samples, in binary form: [samples-api.md](samples-api.md) |
| `/-/healthy` | 200 while the process serves |
| `/-/ready` | 200 while samples are fresh, else 503 with the reason |

## Settings

A flag beats the environment, the environment beats the default.

| flag | environment | default | meaning | allowed |
| --- | --- | --- | --- | --- |
"""

_REST = """
## How sampling works

The fast tier is read every `--sample.interval`, the medium tier every second, the slow tier every 15 s, what never
changes once. All ticks lie on one grid of the monotonic clock, so they do not drift. A tick that comes more than one
interval late is left out and counted in `hostpulse_exporter_tick_overruns_total`.

A tick takes from the kernel what is due; what it took is parsed when somebody asks for it, or else every two seconds.

A collector is

- **on**: its last read worked;
- **off**: there is nothing to read on this host, or it is not wanted; the page at `/` says which. It has no series, and
  is tried again every 30 s, as a driver may be loaded later;
- **failing**: `hostpulse_exporter_collector_success` is 0, its values are left out, the others are not affected. It is
  read on, and built anew every 30 s, until it works. The log has one line for each change of state;
- **hung**: a read of the slow tier has not returned within `--sample.deadline`. It is left out until it returns.

A collector that keeps taking longer than `--sample.budget` in the fast or the medium tier is moved to the next slower
one until the exporter is restarted; collectors of perf events may take a tenth of it, as they interrupt other CPUs.

All values of a tick bear the time at which it began. One that could only be read more than half an interval later (the
host was too busy to let the exporter run) is left out, as rates made of it would be wrong.

`hostpulse_exporter_errors_total` counts all of this by collector and kind: the name of an errno or an exception,
`deadline`, `over_budget`, `late`, or `impossible_value` for a value that was infinite and therefore left out.

`hostpulse_exporter_sample_timestamp_seconds` says when the newest sample of each tier was taken. That, and not the time
of the scrape, is the clock of rates.
"""


def exporter_page() -> str:
    """The whole page."""
    return _TEXT + "".join(_row(entry.metadata) for entry in fields(Settings)) + _REST


def _row(about: Mapping[str, Any]) -> str:
    flag, default = about["flag"], about["default"]
    cells = (f"`--{flag}`", f"`{environment_name(flag)}`", f"`{default}`" if default else "none", about["help"])
    return "| " + " | ".join((*cells, about["kind"].allowed.replace("|", ", "))) + " |\n"

"""The page about the detector's configuration and the example file, from the settings table."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from itertools import groupby

from detector.options import ALARM, COMMANDS, FAILED, GOOD, USAGE, add_own_flags
from detector.section import Section
from detector.settings import ENVIRONMENT_PREFIX, TABLE, Setting, walk

_WIDTH = 110

_COMMAND_ROWS = "\n".join(f"| `hostpulse-detector {name}` | {about} |" for name, about in COMMANDS.items())


def _own_flags() -> Iterator[str]:
    """What only some commands take, a row each."""
    for name in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        add_own_flags(name, parser)
        for action in parser._actions:
            value = f"{{{','.join(action.choices)}}}" if action.choices else str(action.metavar or "")
            flag = "=".join(filter(None, (*action.option_strings, value)))
            about = str(action.help).replace("*", "\\*")
            yield f"| `{name}` | `{flag}` | {about} |"


_FLAG_ROWS = "\n".join(_own_flags())

_INTRODUCTION = f"""\
# Configuration of the detector

Rendered by `python -m deploy.render` from the settings table in `detector/settings.py`; do not edit.

| command | |
| --- | --- |
{_COMMAND_ROWS}

| command | its own flags | |
| --- | --- | --- |
{_FLAG_ROWS}

Exit codes: {GOOD} all is well; {FAILED} something failed at run time; {USAGE} wrong flag or setting; {ALARM} (`once`
only) a host has an open episode. SIGTERM and Ctrl-C save the models and end the program; SIGHUP has the file read
again.

`run` serves

| path | what is there |
| --- | --- |
| `/metrics` | the newest verdict of each host as metrics, and how the detector itself is doing |
| `/api/v1/verdicts` | the same verdicts as JSON, with the causes: what moved, what is typical, what it is now |
| `/report` | what happened, where, since when, what to check and change: see [diagnosis.md](diagnosis.md#reports) |
| `/api/v1/incidents` | past episodes and what is likely behind them: `?instance=&from=&to=` |
| `/api/v1/maintenance` | hosts that somebody works on: see [operating](operating.md#maintenance) |
| `/-/healthy` | 200 while the loop goes round, else 503 with the reason |
| `/-/ready` | 200 while a host can be judged or learned, else 503 with the reason |

Every setting can be given in three ways. A flag beats an environment variable, that beats the file, that beats the
default.

| | example |
| --- | --- |
| flag, after the command | `hostpulse-detector run --window.duration=3s` |
| environment variable | `{ENVIRONMENT_PREFIX}WINDOW_DURATION=3s` |
| file, named by `--config.file` or `{ENVIRONMENT_PREFIX}CONFIG_FILE` | `window: {{duration: 3s}}` |

`deploy/detector.example.yml` is a complete file with all defaults. In the file `${{NAME}}` is replaced by the
environment variable `NAME`, which must be set; `$$` is a dollar sign. An unknown key, flag or value is an error that
says where it stands and what is allowed.

Scores are scraped from `/metrics`, or written: with `remote_write.url` each goes to a store at the time of its window's
end, once, and its series end when the host goes, cannot be judged, or the program ends. A window that was written
before a restart does no harm: Prometheus refuses it or finds it equal, VictoriaMetrics needs
`-dedup.minScrapeInterval` to keep one of two. Samples that a store refuses are dropped and counted; all else is tried
again until `remote_write.max_age`. Prometheus takes samples that are older than the newest only with
`storage.tsdb.out_of_order_time_window`. Where two detectors judge the same hosts, their scores are equal up to
rounding, and a Prometheus takes each window from the one that writes it first; `remote_write.replica` keeps them apart.
Do not scrape what is written.

With `baseline.history` a host that has no model is first judged through that much of its past, as fast as half a core
does it: a window takes 5 to 20 ms, so that a day of scrapes every 15 s takes a minute or two and a day of scrapes every
second half an hour. Models are fitted on the way, and alarms in the past are not learned. How much past it takes until
the bound is no longer provisional is in [detection.md](detection.md#calibration): some fourteen hours of scrapes
every 15 s. A page needs more than a day.
Two detectors that start within a quarter of the history of each other begin with the same window and say the same, up
to the first model that is fitted later: that is in use when it is ready, which differs by a second or two.

`replay --from=PATH` judges a [recording](recording.md) instead of a source, saves nothing, and prints what it found.

`backtest --from=TIME --to=TIME [--instance=NAME]` judges what the store (`source.prometheus`) holds of that stretch, or
with `--recording=PATH` what a file or folder does. Hosts are those that were there then. What a baseline takes is read
from before `--from`; only what is judged after it is told. A time is `2027-01-15T08:00:00Z`, seconds since the epoch,
`now` or `now-6h`. Each host's episodes are printed (`--json`: one line of JSON for each host), and `--out=FILE` writes
the scores: `.csv` and `.parquet` with a row for each window, `.om` for Prometheus, which takes it as blocks:

```
hostpulse-detector backtest --from=now-24h --source.prometheus.url=http://127.0.0.1:9090 --out=scores.om
promtool tsdb create-blocks-from openmetrics scores.om /path/to/the/data
```

`export-rules` prints the alert rules of `deploy/prometheus/rules` as one file for Prometheus, for the scrape jobs that
`source.prometheus.job` names. `completion bash` (or `zsh`, `fish`) prints what makes the shell complete commands and
flags: `source <(hostpulse-detector completion bash)`.

`export-rules --keep` prints `metric_relabel_configs` for the scrape job of the exporters: they keep the families that
the saved models of all hosts (`state.directory`) use, after pruning, with those that say who is there and when it was
sampled, and whatever the detector publishes. Scores stay the same. What is no longer stored cannot be learned again:
a model fitted later knows only what was kept, causes are named among that, and panels, recording rules and alerts on
other families stay empty.
[benchmarks.md](benchmarks.md#storage) says what it saves. The models of `make run` are in `.cache/run/state`.

Durations are written `500ms`, `3s`, `10m`, `1h30m`; a bare number means seconds. Lists are separated by commas in flags
and variables.

The file is read again when its contents change. A bad or empty file changes nothing: the settings before it stay in
force, the error is logged, and `hostpulse_detector_config_last_reload_successful` is 0. Settings of `web`,
`maintenance`, `incidents`, `view` and `remote_write`, and `state.directory`, are read at the start only.
"""


def detector_page() -> str:
    """The text of ``docs/configuration.md``."""
    parts = [_INTRODUCTION]
    for path, settings in groupby(walk(), key=lambda setting: setting.path[:-1]):
        rows = list(settings)
        parts.append(f"\n## `{'.'.join(path)}`\n" if path else "\n## At the top\n")
        if path:
            parts.append(f"\n{rows[0].section.__doc__}\n")
        parts.append("\n| key | default | allowed | meaning |\n| --- | --- | --- | --- |\n")
        parts += [_row(setting) for setting in rows]
    return "".join(parts)


def _row(setting: Setting) -> str:
    default = f"`{setting.default}`" if setting.default else "none"
    allowed = setting.allowed.replace("|", "\\|")
    return f"| `{setting.key}` | {default} | {allowed} | {setting.field.description} |\n"


def detector_example() -> str:
    """The text of ``deploy/detector.example.yml``: every key with its default."""
    head = "# Every setting of the detector with its default. docs/configuration.md has the same as a table."
    return "\n".join([head, *_keys(TABLE, (), 0), ""])


def _keys(section: type[Section], path: tuple[str, ...], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, inside in groupby(walk(section, path), key=lambda setting: setting.path[depth]):
        settings = list(inside)
        if len(settings[0].path) == depth + 1:
            yield from _comment(f"{settings[0].field.description} ({settings[0].allowed})", indent)
            yield f"{indent}{key}: {_scalar(settings[0])}"
            continue
        inner = _section_at(section, key)
        yield ""
        yield from _comment(str(inner.__doc__), indent)
        yield f"{indent}{key}:"
        yield from _keys(inner, (*path, key), depth + 1)


def _section_at(section: type[Section], key: str) -> type[Section]:
    annotation = section.model_fields[key].annotation
    assert isinstance(annotation, type), f"{key} is no section"
    assert issubclass(annotation, Section), f"{key} is no section"
    return annotation


def _comment(text: str, indent: str) -> Iterator[str]:
    for line in textwrap.wrap(text, _WIDTH - len(indent)):
        yield f"{indent}# {line}"


def _scalar(setting: Setting) -> str:
    if setting.kind == "list":
        return "[" + ", ".join(f'"{item}"' for item in setting.default.split(",") if item) + "]"
    plain = setting.default and setting.kind not in ("secret", "text", "URL")
    return setting.default if plain else f'"{setting.default}"'

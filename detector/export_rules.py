"""``export-rules``: the alerts for a configuration, or what a Prometheus need keep for models that are there already.

https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/,
https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from catalog import FAMILIES, SIGNALS
from catalog.exporters import EXPORTERS, OWN
from catalog.families.exporter import BUILD_INFO, COLLECTOR_SUCCESS, SAMPLE_TIMESTAMP_SECONDS
from detector.diagnosis.probes import PROBES
from detector.model import Model
from detector.query import equal, matching, one_of
from detector.state import HostState
from detector.store import restored

_ALWAYS = (BUILD_INFO.name, COLLECTOR_SUCCESS.name, SAMPLE_TIMESTAMP_SECONDS.name)  # who is there, and their clock
_OURS = ("hostpulse_anomaly_.+", "hostpulse_detector_.+")  # wherever the rules are put, no score is lost


_RULES = ("hostpulse", "hardware", "self")  # what is judged, what needs no judging, who judges
_FOLDER = Path(__file__).parent / "rules"  # links to what deploy/prometheus has
_HEAD = "groups:\n"
_UNSAFE = re.compile(r"[\s\"'#]")
_EXPORTERS = 'job="hostpulse"'


class ExportError(Exception):
    """There is nothing to export; the message says what to do."""


def alert_rules(jobs: Sequence[str]) -> str:
    """A file of alert rules; ``jobs`` are the scrape jobs of the exporters, the usual one where none is named."""
    parts = []
    for name in _RULES:
        about, head, groups = (_FOLDER / f"{name}.yml").read_text(encoding="utf-8").partition(_HEAD)
        assert head, f"{name}.yml has groups"
        parts.append("".join(f"  {line}\n" for line in about.splitlines()) + groups.rstrip("\n"))
    text = _HEAD + "\n\n".join(parts) + "\n"
    return text.replace(_EXPORTERS, _matcher(jobs)) if jobs else text


def _matcher(jobs: Sequence[str]) -> str:
    for job in jobs:
        if _UNSAFE.search(job):
            raise ExportError(f"source.prometheus.job: {job!r} cannot stand in a file of rules: no blank, quote or #")
    return equal(job=jobs[0])[0] if len(jobs) == 1 else matching("job", one_of(jobs))


def keep_rules(directory: Path | None) -> str:
    """``metric_relabel_configs`` as YAML that keep what the saved models of all hosts in a folder use.

    Raises:
        ExportError: there is no folder, or no model in it.
    """
    if directory is None:
        raise ExportError("state.directory: names no folder, and that of the saved models is needed")
    models = [state.model for state in restored(directory, HostState.from_arrays) if state.model is not None]
    if not models:
        raise ExportError(f"state.directory: {directory} holds no model yet: a detector has to have learned a host")
    return "".join(f"{line}\n" for line in _lines(len(models), kept_families(models)))


def kept_families(models: Iterable[Model]) -> list[str]:
    """Names of the families that the models' detectors read, and of those that the program itself or diagnosis needs.

    Features that pruning grouped are represented by one of them: families that only the others need are not kept.
    """
    used = {name for model in models for name in _used_signals(model)}
    read = {family for name in used for family in SIGNALS[name].expression.families()}
    probed = frozenset[str]().union(*(probe.expression.families() for probe in PROBES.values()))
    return sorted(read.union(_ALWAYS, probed))


def _used_signals(model: Model) -> set[str]:
    layout = model.parts.layout
    columns = np.union1d(layout.independent, layout.distinct)
    return {model.features[column].channel.series.name for column in columns}


def _lines(hosts: int, names: list[str]) -> Iterator[str]:
    yield f"# What the models of {hosts} host{'s' * (hosts != 1)} use: {len(names)} of {len(FAMILIES)} families."
    yield "# For the scrape jobs of the exporters, of node_exporter and dcgm-exporter too: their names are the last."
    yield "# Panels and rules on other families will find nothing."
    yield "metric_relabel_configs:"
    yield "  - action: keep"
    yield "    source_labels: [__name__]"
    # In double quotes a backslash at the end of a line joins it with the next one, without the blanks there.
    foreign = {alias.name for name in names for alias in FAMILIES[name].aliases}
    markers = {one.marker for one in EXPORTERS if one is not OWN}
    patterns = [*_OURS, *names, *sorted(foreign | markers)]
    for place, pattern in enumerate(patterns):
        head = '    regex: "' if place == 0 else "      "
        yield head + pattern + ("|\\" if place < len(patterns) - 1 else '"')

"""The board of hostpulse itself: what it costs, whether it keeps up, what it covers, how often it alarms."""

from __future__ import annotations

from collections.abc import Iterator

from grafana_foundation_sdk.builders import dashboard, stat, timeseries

from catalog import outputs
from catalog.families import exporter
from catalog.family import Family, Tier
from catalog.outputs import Output
from deploy.grafana import chosen, colours
from deploy.grafana.board import board as new_board
from deploy.grafana.board import mark_episodes, row
from deploy.grafana.chosen import CLUSTER, HOST, WINDOW, of
from deploy.grafana.colours import BAD, GOOD, WARN
from deploy.grafana.panels import AnyPanel, Query, bars, bounded, lines, named_colours, number

_TIERS = dict(zip(map(str, Tier), colours.SERIES, strict=False))


def board() -> dashboard.Dashboard:
    """Does hostpulse keep up, what does it cost, and what does it miss?"""
    question = "Does hostpulse keep up, what does it cost, and what does it miss?"
    built = new_board("itself", "itself", question, (chosen.hosts(),))
    mark_episodes(built)
    row(built, "Now", _figures())
    row(built, "Cost", _cost())
    row(built, "Exporters: keeping time", _time())
    row(built, "Detector: keeping up", _keeping_up())
    row(built, "Detector: models and alarms", _models())
    row(built, "Detector: what went wrong", _errors())
    row(built, "Remote write", _remote_write(), collapsed=True)
    row(built, "Exporters with profile standard", _standard(), collapsed=True)
    return built


def _read(family: Family, *matchers: str) -> str:
    return family.name + "{" + ",".join((*matchers, HOST)) + "}"


def _own(output: Output, suffix: str = "", *matchers: str) -> str:
    """What the detector says of itself: no job of a judged host is in that."""
    return output.name + suffix + "{" + ",".join((*matchers, CLUSTER)) + "}"


def _process(family: Family) -> str:
    """Of any program; those that are not of hostpulse have to be sorted out."""
    return family.name + "{" + CLUSTER + "}"


def _figures() -> Iterator[stat.Panel]:
    behind = f"time() - min({_own(outputs.HEARTBEAT)})"
    panel = number("Detector came round", behind, "Time since the detector's loop last came round.", "s")
    yield panel.decimals(1).thresholds(colours.steps((GOOD, None), (WARN, 5.0), (BAD, 30.0)))
    yield number("Hosts known", f"sum({_own(outputs.HOSTS)})", "Hosts that the detector's source knows.")
    failing = number("Hosts failing", f"sum({_own(outputs.HOSTS_FAILING)})", "Hosts not read or judged last time.")
    yield failing.thresholds(colours.steps((GOOD, None), (BAD, 1.0)))
    good = number("Configuration", f"min({_own(outputs.RELOAD_GOOD)})", "Whether the file was good when last read.")
    yield good.mappings([colours.names(refused=BAD, good=GOOD)]).thresholds(colours.steps((BAD, None), (GOOD, 1.0)))
    share = number(
        "Collectors that work", f"avg({_read(exporter.COLLECTOR_SUCCESS)})", "Of those with hardware.", "percentunit"
    )
    yield share.decimals(0).thresholds(colours.steps((BAD, None), (WARN, 0.9), (GOOD, 1.0)))
    yield number("Series a host", f"avg(sum by (instance) ({_read(exporter.SERIES)}))", "Series exported.").decimals(0)


def _cost() -> Iterator[AnyPanel]:
    cpu = f"rate({_process(exporter.PROCESS_CPU_SECONDS)}[{WINDOW}])"
    memory = _process(exporter.PROCESS_RESIDENT_MEMORY_BYTES)
    exporters, detectors = _read(exporter.BUILD_INFO), _own(outputs.BUILD_INFO)
    of_exporters = Query(f"{cpu} and on (instance, job) {exporters}", "{{instance}}")
    told = "Share of one core. The dashed line is what an exporter at 100 ms may cost."
    yield bounded(lines("CPU of exporters", [of_exporters], "percentunit", told).min(0), (WARN, 0.01))
    of_exporters = Query(f"{memory} and on (instance, job) {exporters}", "{{instance}}")
    yield lines("Memory of exporters", [of_exporters], "bytes", "Resident.").min(0)
    by_collector = f"sort_desc(topk(8, sum by (collector) (rate({_read(exporter.COLLECTOR_CPU_SECONDS)}[{WINDOW}]))))"
    told = "Share of one core, the eight that cost most, all hosts together."
    yield bars("CPU by collector", Query(by_collector, "{{collector}}"), "percentunit", told)
    of_detectors = Query(f"{cpu} and on (instance, job) {detectors}", "{{instance}}")
    yield lines("CPU of the detector", [of_detectors], "percentunit", "Share of one core.").min(0)
    of_detectors = Query(f"{memory} and on (instance, job) {detectors}", "{{instance}}")
    yield lines("Memory of the detector", [of_detectors], "bytes", "Resident.").min(0)
    took = f"sort_desc(topk(8, max by (collector) ({_read(exporter.COLLECTOR_DURATION_SECONDS)})))"
    told = "Last read of the eight collectors that took longest, the slowest host of each."
    yield bars("Time to read", Query(took, "{{collector}}"), "s", told)


def _time() -> Iterator[timeseries.Panel]:
    newest = _read(exporter.SAMPLE_TIMESTAMP_SECONDS, 'tier!="static"')
    age = f"max by (tier) (time() - {newest})"
    panel = lines("Age of samples", [Query(age, "{{tier}}")], "s", "Of the host that is furthest behind.", 12).min(0)
    yield named_colours(panel, _TIERS)
    holes = f"sum by (tier) (rate({_read(exporter.TICK_OVERRUNS)}[{WINDOW}]))"
    told = "Ticks more than one interval late: holes in the samples."
    yield named_colours(lines("Ticks missed", [Query(holes, "{{tier}}")], "cps", told, 12).min(0), _TIERS)


def _keeping_up() -> Iterator[timeseries.Panel]:
    lag = Query(f"max by (instance) ({of(outputs.WINDOW_LAG)})", "{{instance}}")
    yield lines("Verdict after a window's end", [lag], "s", "Of each host.").min(0)
    yield lines("Window's end to verdict", _quantiles(outputs.END_TO_END), "s", "Over all hosts.").min(0)
    yield lines("Time to judge a window", _quantiles(outputs.STEP_DURATION), "s", "Over all hosts.").min(0)
    yield lines("Time to read a host", _quantiles(outputs.READ_DURATION), "s", "From the source.").min(0)
    done = Query(f"sum(rate({_own(outputs.WINDOWS)}[{WINDOW}]))", "judged")
    skipped = Query(f"sum(rate({_own(outputs.WINDOWS_SKIPPED)}[{WINDOW}]))", "skipped", BAD)
    yield lines("Windows", [done, skipped], "cps", "Skipped are those whose time was too long ago.").min(0)
    length = [Query(of(outputs.WINDOW), "window {{instance}}"), Query(of(outputs.STRIDE), "stride {{instance}}")]
    yield lines("Window and stride", length, "s", "They widen where scrapes are rare.").min(0)


def _models() -> Iterator[timeseries.Panel]:
    covered = Query(of(outputs.COVERAGE), "{{instance}}")
    yield lines("Features with data", [covered], "percentunit", "Part of what each model knows.", 6).min(0).max(1)
    states = [
        Query(f"sum({of(outputs.PROVISIONAL)})", "provisional"),
        Query(f"sum({of(outputs.FROZEN)})", "frozen by an episode", WARN),
    ]
    yield lines("State of models", states, "short", "Hosts whose model is in that state.", 6).min(0).decimals(0)
    age = Query(f"time() - {of(outputs.FITTED)}", "{{instance}}")
    yield lines("Age of models", [age], "s", "Since what the model in use learned last.", 6).min(0)
    realised = Query(f"avg by (severity) (increase({of(outputs.EPISODES)}[1d]))", "{{severity}}")
    told = "Episodes in the day before, mean of the hosts."
    alarms = lines("Alarms per host-day", [realised], "short", told, 6).min(0)
    yield named_colours(alarms, {"warning": WARN, "page": BAD})


def _errors() -> Iterator[AnyPanel]:
    kinds = {
        "reading": outputs.READ_ERRORS,
        "judging": outputs.STEP_ERRORS,
        "fitting": outputs.FIT_ERRORS,
        "saving": outputs.SAVE_ERRORS,
        "publishing": outputs.SINK_ERRORS,
    }
    queries = [Query(f"sum(rate({_own(output)}[{WINDOW}]))", kind) for kind, output in kinds.items()]
    yield lines("Errors of the detector", queries, "cps", "By what it was doing.", 12).min(0)
    failing = f"sort_desc(topk(8, sum by (collector) (1 - {_read(exporter.COLLECTOR_SUCCESS)})))"
    told = "On how many hosts a collector's last read failed, the eight with most."
    yield bars("Collectors that fail", Query(failing, "{{collector}}"), "short", told, 12).decimals(0)


def _remote_write() -> Iterator[timeseries.Panel]:
    sent = Query(f"sum(rate({_own(outputs.WRITTEN_SAMPLES)}[{WINDOW}]))", "samples")
    yield lines("Samples sent", [sent], "cps", "To the store that scores are written to.").min(0)
    waiting = Query(f"sum({_own(outputs.WRITE_PENDING)})", "samples", WARN)
    yield lines("Samples waiting", [waiting], "short", "For the store to take them.").min(0)
    failed = Query(f"sum(rate({_own(outputs.WRITE_FAILURES)}[{WINDOW}]))", "requests", BAD)
    yield lines("Failed requests", [failed], "cps", "That the store refused or never answered.").min(0)


def _standard() -> Iterator[timeseries.Panel]:
    recent = _read(exporter.TICK_LATENESS_SECONDS, 'stat="p99"')
    late = f"max by (tier) ({recent})"
    yield lines("Lateness of ticks", [Query(late, "{{tier}}")], "s", "99th percentile of recent ticks.").min(0)
    failed = f"sum by (collector, error) (rate({_read(exporter.ERRORS)}[{WINDOW}]))"
    yield lines("Failed reads", [Query(failed, "{{collector}} {{error}}")], "cps", "By kind of error.").min(0)
    held = f"max by (tier) ({_read(exporter.RING_SAMPLES)})"
    yield lines("Samples held", [Query(held, "{{tier}}")], "short", "By the ring of each tier.").min(0)


def _quantiles(output: Output) -> list[Query]:
    """Nothing where nothing was measured: of that the quantile is NaN, which leaves a panel without an axis."""
    rate = f"sum by (le) (rate({_own(output, '_bucket')}[{WINDOW}]))"
    return [Query(f"histogram_quantile({part}, {rate}) >= 0", f"p{part * 100:.0f}") for part in (0.5, 0.95, 0.99)]

"""The detector's own metrics: names, labels and values of verdicts, their disappearance, and what is said of itself."""

from __future__ import annotations

import math
import subprocess
from dataclasses import replace

import orjson
import pytest
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog import outputs
from catalog.family import Unit
from catalog.outputs import OUTPUTS
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.sink import Context, Judged
from detector.sinks.metrics import MetricsSink, as_json
from detector.source import Host
from detector.telemetry import Telemetry
from detector.verdict import Phase
from tests.detector.shell.stepped import SteppedClock
from tests.detector.shell.verdicts import CAUSES, END_S, HOST, alarm, judged, learning
from tests.servers import binary

WHO = {"instance": HOST.instance, "job": HOST.job}


class Page:
    """The sink and what it exposes."""

    def __init__(self, *published: Judged) -> None:
        self.clock = SteppedClock()
        self.telemetry = Telemetry()
        self.sink = MetricsSink.build(None, Context(self.clock, self.telemetry, {}, address="http://detector:17721"))
        for one in published:
            self.sink.publish(one)

    def value(self, name: str, **labels: str) -> float | None:
        """One sample, None where there is none."""
        return self.telemetry.registry.get_sample_value(name, {**WHO, **labels})

    def text(self, accept: str = "") -> str:
        """The exposition."""
        return choose_encoder(accept)[0](self.telemetry.registry).decode()


def test_quiet_host_has_its_scores_and_all_subsystems_at_zero() -> None:
    page = Page(judged())
    scores = {
        name: page.value("hostpulse_anomaly_score", detector=name)
        for name in ("deviation", "subspace", "forest", "fused")
    }
    assert scores == {"deviation": 0.3, "subspace": 0.5, "forest": 0.2, "fused": 0.4}
    for name in ("hostpulse_anomaly_active", "hostpulse_anomaly_page"):
        assert [page.value(name, subsystem=subsystem) for subsystem in (*JUDGED_SUBSYSTEMS, "unknown")] == [0] * 6
    assert page.value("hostpulse_anomaly_subsystem_share", subsystem="storage") == 0.6
    assert page.value("hostpulse_anomaly_provisional") == 0
    assert page.value("hostpulse_anomaly_agreement") == 0
    assert page.value("hostpulse_anomaly_window_end_timestamp_seconds") == END_S
    assert page.value("hostpulse_anomaly_feature_coverage_ratio") == 0.98
    assert page.value("hostpulse_anomaly_model_frozen") == 0
    assert page.value("hostpulse_detector_window_seconds") == 3
    assert page.value("hostpulse_detector_stride_seconds") == 1
    assert page.value("hostpulse_detector_address_info", url="http://detector:17721") == 1


def test_alarm_is_active_for_the_subsystem_to_blame_only() -> None:
    page = Page(alarm())
    active = {s: page.value("hostpulse_anomaly_active", subsystem=s) for s in (*JUDGED_SUBSYSTEMS, "unknown")}
    assert active == dict.fromkeys((*JUDGED_SUBSYSTEMS, "unknown"), 0) | {"storage": 1}
    assert page.value("hostpulse_anomaly_page", subsystem="storage") == 0
    assert page.value("hostpulse_anomaly_model_frozen") == 1
    assert Page(alarm(page=True)).value("hostpulse_anomaly_page", subsystem="storage") == 1
    assert Page(alarm(subsystem="unknown")).value("hostpulse_anomaly_active", subsystem="unknown") == 1


def test_learning_host_has_progress_and_no_score() -> None:
    page = Page(learning(0.25))
    assert page.value("hostpulse_detector_learning_progress_ratio") == 0.25
    names = {name for name in OUTPUTS if name.startswith("hostpulse_anomaly_")}
    assert {name for name in names if f"{name}{{" in page.text()} == {
        outputs.WINDOW_END.name,
        outputs.MAINTENANCE.name,
    }


def test_missing_score_is_absent_and_not_zero() -> None:
    page = Page(judged(score=math.nan, detectors={"deviation": math.nan}))
    assert "hostpulse_anomaly_score" not in page.text()
    assert page.value("hostpulse_anomaly_active", subsystem="cpu") == 0


def test_newest_verdict_counts() -> None:
    page = Page(judged(score=0.1), judged(end_s=END_S + 1, score=0.9))
    assert page.value("hostpulse_anomaly_score", detector="fused") == 0.9
    (kept,) = page.sink.newest()
    assert (kept.verdict.end_s, kept.frame.values.size) == (END_S + 1, 0), "what it was made from is not kept"


def test_verdict_that_is_not_followed_disappears() -> None:
    page = Page(judged())
    page.clock.wait(9)
    assert page.value("hostpulse_anomaly_score", detector="fused") == 0.4
    page.clock.wait(2)
    assert HOST.instance not in page.text()
    assert page.sink.newest() == []


def test_host_that_leaves_disappears() -> None:
    other = Host("10.0.0.2:17720", "hostpulse")
    page = Page(judged(), judged(other))
    page.sink.leave(HOST)
    assert HOST.instance not in page.text()
    assert other.instance in page.text()


def test_series_of_a_host_are_few_and_do_not_grow() -> None:
    page = Page()
    before = page.text().count("\n")
    counts = []
    for number in range(5):
        page.sink.publish(alarm(end_s=END_S + number))
        counts.append(sum(HOST.instance in line for line in page.text().splitlines()))
    assert len(set(counts)) == 1
    assert counts[0] < 45
    assert sum(HOST.instance in line for line in Page(judged()).text().splitlines()) <= 36
    assert page.text().count("\n") > before


@pytest.mark.parametrize(
    ("accept", "parse", "end"),
    [
        ("text/plain;version=0.0.4", parse_text, "\n"),
        ("application/openmetrics-text;version=1.0.0", parse_openmetrics, "# EOF\n"),
    ],
)
def test_exposition_is_well_formed_in_both_formats(accept: str, parse: object, end: str) -> None:
    text = Page(alarm()).text(accept)
    assert callable(parse)
    families = {family.name: family for family in parse(text)}
    assert text.endswith(end)
    for name in ("hostpulse_anomaly_score", "hostpulse_detector_windows", "hostpulse_detector_rebaselines"):
        assert name in {known.removesuffix("_total") for known in families}


def test_promtool_has_nothing_to_say_against_it() -> None:
    text = Page(alarm()).text()
    run = subprocess.run(
        [binary("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    complaints = [line for line in run.stderr.splitlines() if "hostpulse" in line]
    assert complaints == []


def test_common_cause_is_told_of_hosts_that_are_in_a_group() -> None:
    page = Page(replace(alarm(common=True), host=replace(HOST, peer="job 7")))
    assert page.value("hostpulse_anomaly_common_cause") == 1
    page = Page(alarm())
    assert page.value("hostpulse_anomaly_common_cause") is None


def test_every_declared_output_is_exposed_with_its_help_and_type() -> None:
    page = Page(replace(alarm(paper={"forest": True}), host=replace(HOST, peer="job 7")))
    for output in OUTPUTS.values():
        if "instance" in output.labels or not output.labels:
            continue
        labels = ["x" for _ in output.labels]
        if output.kind == "counter":
            page.telemetry.count(output, *labels)
        else:
            write = page.telemetry.observe if output.kind == "histogram" else page.telemetry.set
            write(output, 1.0, *labels)
    text = page.text()
    for output in OUTPUTS.values():
        kind = "gauge" if output.kind == "info" else str(output.kind)
        assert f"# HELP {output.name} {output.help}\n# TYPE {output.name} {kind}\n" in text
        assert f"\n{output.name}" in text


def test_json_says_what_the_metrics_say_and_the_causes() -> None:
    said = orjson.loads(orjson.dumps(as_json(alarm(p_value=math.nan)), option=orjson.OPT_SERIALIZE_NUMPY))
    assert (said["instance"], said["job"], said["score"], said["active"]) == (*WHO.values(), 2.5, True)
    assert said["p_value"] is None
    assert said["subsystem"] == "storage"
    assert said["causes"][0]["channel"] == 'storage_busy_ratio{device="vda"}'
    assert said["causes"][1]["members"] == ["storage_writes_per_second"]
    assert said["phase"] == Phase.CALIBRATED


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "other_score"}, "foreign prefix"),
        ({"name": "hostpulse_detector_x_total"}, "_total marks a counter"),
        ({"help": "no sentence"}, "help is a sentence"),
        ({"buckets": (1.0,)}, "buckets make a histogram"),
        ({"unit": Unit.SECONDS}, "must end in seconds"),
    ],
)
def test_output_that_breaks_the_naming_rules_cannot_be_declared(changes: dict[str, object], said: str) -> None:
    fields = {"name": "hostpulse_detector_x", "kind": outputs.OutputKind.GAUGE, "help": "Fine."}
    with pytest.raises(AssertionError, match=said):
        outputs.Output(**(fields | changes))  # type: ignore[arg-type]


def test_open_episode_has_its_onset_and_a_few_causes_with_typical_and_actual() -> None:
    page = Page(alarm())
    first = {"rank": "1", "channel": CAUSES[0].channel, "statistic": "mean", "unit": "ratio"}
    assert page.value("hostpulse_anomaly_onset_timestamp_seconds") == END_S - 12
    assert page.value("hostpulse_anomaly_cause_typical", **first) == 0.02
    assert page.value("hostpulse_anomaly_cause_actual", **first) == 0.97
    assert page.text().count("hostpulse_anomaly_cause_actual{") == 3
    assert Page(alarm(causes=CAUSES * 2)).text().count("hostpulse_anomaly_cause_actual{") == 3


def test_quiet_host_has_neither_onset_nor_causes() -> None:
    text = Page(judged()).text()
    assert "hostpulse_anomaly_onset" not in text
    assert "hostpulse_anomaly_cause" not in text


def test_model_tells_up_to_when_it_learned() -> None:
    assert Page(judged(fitted_s=END_S - 60)).value("hostpulse_detector_model_fitted_timestamp_seconds") == END_S - 60
    assert Page(learning(0.5)).value("hostpulse_detector_model_fitted_timestamp_seconds") is None

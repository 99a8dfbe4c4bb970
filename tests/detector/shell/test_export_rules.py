"""The relabelling that keeps what models use: promtool takes it, and a model goes on with what it lets through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from catalog import FAMILIES, SIGNALS
from catalog.exporters import DCGM_EXPORTER, NODE_EXPORTER
from catalog.families.exporter import BUILD_INFO, COLLECTOR_SUCCESS, SAMPLE_TIMESTAMP_SECONDS
from detector.diagnosis.probes import PROBES
from detector.export_rules import ExportError, keep_rules, kept_families
from detector.model import Model
from detector.source import Host
from detector.state import HostState
from detector.store import Store
from tests.detector.synthetic import synthetic_frame
from tests.detector.watching import watch
from tests.servers import (
    Server,
    binary,
    scrape_job,
    start_detector,
    start_exporter,
    start_prometheus,
    wait_until,
)
from tests.tree import ROOT

JOB = "hostpulse"
SHIPPED = [ROOT / "deploy" / "prometheus" / "rules" / f"{name}.yml" for name in ("hostpulse", "hardware", "self")]
LEARNED_LIMIT_S = 120.0


@pytest.fixture(scope="module")
def learned() -> HostState:
    """A host with a model."""
    return watch(synthetic_frame(244.0)).state


def saved(folder: Path, *states: HostState) -> Path:
    store = Store(folder, 3)
    for state in states:
        header, arrays = state.to_arrays()
        store.save(Host(state.instance, JOB), "some settings", header, arrays, 1000.0, 1000.0)
    return folder


def rules(text: str) -> dict[str, Any]:
    (rule,) = yaml.safe_load(text)["metric_relabel_configs"]
    assert (rule["action"], rule["source_labels"]) == ("keep", ["__name__"])
    return dict(rule)


def kept(text: str) -> set[str]:
    return set(rules(text)["regex"].split("|"))


def seeing_only(learned: HostState, *signals: str) -> Model:
    """The host's model as if pruning had left features of these signals alone."""
    model = learned.model
    assert model is not None
    chosen = np.array([place for place, one in enumerate(model.features) if one.channel.series.name in signals])
    layout = replace(model.parts.layout, independent=chosen[:1], distinct=chosen[1:])
    z = model.parts.scaler.deviations(learned.training.table()[1])
    detectors = tuple(type(detector).fit(z, layout) for detector in model.parts.detectors)
    return replace(model, parts=replace(model.parts, layout=layout, detectors=detectors))


def test_families_of_used_signals_are_kept_and_those_the_program_needs(learned: HostState, tmp_path: Path) -> None:
    model = learned.model
    assert model is not None
    one, other = sorted({feature.channel.series.name for feature in model.features})[:2]
    state = replace(learned, model=seeing_only(learned, one))
    always = {BUILD_INFO.name, COLLECTOR_SUCCESS.name, SAMPLE_TIMESTAMP_SECONDS.name}
    probed = frozenset[str]().union(*(probe.expression.families() for probe in PROBES.values()))
    needed = SIGNALS[one].expression.families() | always | probed
    ours = {name for name in kept(keep_rules(saved(tmp_path, state))) if name.startswith("hostpulse_")}
    assert ours == needed | {"hostpulse_anomaly_.+", "hostpulse_detector_.+"}
    second = replace(learned, instance="other:1", model=seeing_only(learned, other))
    both = keep_rules(saved(tmp_path, second))
    assert kept(both) >= needed | SIGNALS[other].expression.families()
    assert "2 hosts" in both.splitlines()[0]


def test_jobs_of_other_exporters_keep_what_is_read_of_them_and_by_what_they_are_found(
    learned: HostState, tmp_path: Path
) -> None:
    model = learned.model
    assert model is not None
    names = kept(keep_rules(saved(tmp_path, learned)))
    foreign = {alias.name for family in kept_families([model]) for alias in FAMILIES[family].aliases}
    assert {"node_cpu_seconds_total", "node_nf_conntrack_entries"} <= foreign
    assert names >= foreign | {NODE_EXPORTER.marker, DCGM_EXPORTER.marker}


def test_detectors_read_nothing_but_what_is_kept(learned: HostState) -> None:
    """Scores stay what they were when the features of all other families are gone."""
    model = learned.model
    assert model is not None
    names = set(kept_families([model]))
    assert names <= FAMILIES.keys()
    lost = [not SIGNALS[one.channel.series.name].expression.families() <= names for one in model.features]
    _, x, _ = learned.training.table()
    z = model.parts.scaler.deviations(x)
    pruned = np.where(lost, np.nan, z)
    np.testing.assert_array_equal(model.parts.raw(pruned), model.parts.raw(z))


def test_host_that_still_learns_counts_for_nothing(learned: HostState, tmp_path: Path) -> None:
    alone = keep_rules(saved(tmp_path, learned))
    assert keep_rules(saved(tmp_path, HostState.new("new:1"))) == alone


def test_damaged_file_is_passed_over_for_the_one_before(
    learned: HostState, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = keep_rules(saved(tmp_path, learned))
    (file,) = tmp_path.glob("*.npz")
    newer = file.with_name(file.name.replace("000000001000000", "000000002000000"))
    newer.write_bytes(file.read_bytes()[:500])
    assert keep_rules(tmp_path) == whole
    assert f"{newer} is not used: " in caplog.text
    assert newer.exists()


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_no_model_is_an_error_that_says_what_to_do(folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExportError, match=f"{folder} holds no model yet: a detector has to have learned a host"):
        keep_rules(tmp_path / folder)
    with pytest.raises(ExportError, match=r"state\.directory: names no folder"):
        keep_rules(None)
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]


def check_rules(path: Path) -> str:
    done = subprocess.run([binary("promtool"), "check", "rules", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alert_rules_are_the_shipped_ones_for_the_scrape_job(tmp_path: Path) -> None:
    shipped = [yaml.safe_load(path.read_text()) for path in SHIPPED]
    usual = export()
    assert usual.returncode == 0, usual.stderr
    assert yaml.safe_load(usual.stdout) == {"groups": [group for one in shipped for group in one["groups"]]}
    for jobs, matcher in (("edge", '{job="edge"}'), ("a,b.c", '{job=~"a|b\\\\.c"}')):
        done = export(f"--source.prometheus.job={jobs}")
        (tmp_path / "rules.yml").write_text(done.stdout)
        assert "rules found" in check_rules(tmp_path / "rules.yml")
        rules = [rule for group in yaml.safe_load(done.stdout)["groups"] for rule in group["rules"]]
        (down,) = (rule for rule in rules if rule["alert"] == "HostpulseExporterDown")
        assert down["expr"] == f"up{matcher} == 0"


def export(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "detector", "export-rules", *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment)


def _writing_end(pipe: Path) -> int | None:
    """A descriptor to write to a pipe, once somebody reads it; None before."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_though_the_folder_does_not_answer(tmp_path: Path, number: signal.Signals) -> None:
    pipe = tmp_path / "host-0123.000000001000000.npz"  # read like a file on a server that is away
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "detector", "export-rules", "--keep", f"--state.directory={tmp_path}"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process:
        held = wait_until(lambda: _writing_end(pipe), 60, "the file is read")
        process.send_signal(number)
        assert process.wait(10) == -number
        os.close(held)


def test_command_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    for flags, status, said in (
        (("--source.prometheus.job=a b",), 1, "source.prometheus.job: 'a b' cannot stand in a file of rules"),
        (("--keep", f"--state.directory={tmp_path}"), 1, f"state.directory: {tmp_path} holds no model yet"),
        (("--keep", "--state.directory="), 1, "state.directory: names no folder"),
    ):
        done = export(*flags)
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr
        assert done.stdout == ""


def test_promtool_takes_the_rules(learned: HostState, tmp_path: Path) -> None:
    job = scrape_job(JOB, "127.0.0.1:1") | yaml.safe_load(keep_rules(saved(tmp_path / "state", learned)))
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump({"scrape_configs": [job]}))
    # As printed, too: what a person pastes below a job.
    text = 'scrape_configs:\n  - job_name: a\n    static_configs: [{targets: ["127.0.0.1:1"]}]\n'
    text += "".join(f"    {line}\n" for line in keep_rules(tmp_path / "state").splitlines())
    (tmp_path / "pasted.yml").write_text(text)
    for file in ("prometheus.yml", "pasted.yml"):
        done = subprocess.run([binary("promtool"), "check", "config", tmp_path / file], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert len(yaml.safe_load(text)["scrape_configs"][0]["metric_relabel_configs"]) == 1


@dataclass
class Judged:
    """What a detector says of a host of a Prometheus once it has a score."""

    coverage: float
    verdict: dict[str, Any]


def judged(detector: Server, limit_s: float, after_s: float = 0.0) -> Judged:
    """The first verdict with a score on a window that ends later than that."""

    def scored() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = detector.get("/api/v1/verdicts").json()
        return [one for one in found if one["score"] is not None and one["end_s"] > after_s]

    (verdict,) = wait_until(scored, limit_s, "a score")
    return Judged(verdict["coverage"], verdict)


@pytest.fixture
def exporter(tmp_path: Path) -> Iterator[Server]:
    with start_exporter(tmp_path / "exporter") as server:
        yield server


def test_model_goes_on_behind_a_prometheus_that_keeps_only_that(exporter: Server, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with start_prometheus(tmp_path / "prometheus", [scrape_job(JOB, exporter.address, interval="500ms")]) as prometheus:
        prometheus.await_result("up == 1")
        source = f"--source.prometheus.url={prometheus.url}", f"--state.directory={state}"
        flags = (*source, "--baseline.duration=30s", "--window.stride=500ms")
        with start_detector(tmp_path / "before", *flags) as detector:
            before = judged(detector, LEARNED_LIMIT_S)
        done = export("--keep", f"--state.directory={state}")
        assert done.returncode == 0, done.stderr
        series = 'count({job="hostpulse"})'
        (all_series,) = prometheus.query(series)
        prometheus.config["scrape_configs"][0] |= yaml.safe_load(done.stdout)
        prometheus.reload()
        lost = 'absent({__name__="hostpulse_exporter_collector_cpu_seconds_total"})'
        (pruned,) = prometheus.await_result(lost)
        pruned_s = float(pruned["value"][0])
        (few_series,) = prometheus.query(series)
        assert int(few_series["value"][1]) < int(all_series["value"][1])
        assert prometheus.query("up == 1")
        with start_detector(tmp_path / "after", *flags) as detector:
            after = judged(detector, 60.0, after_s=pruned_s + 10.0)
            assert "goes on with its saved model" in detector.logged()
    assert after.verdict["phase"] == "provisional"
    assert after.coverage == pytest.approx(before.coverage, abs=0.02)

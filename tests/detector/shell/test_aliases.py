"""Hosts that run only what others publish: found, translated, judged, and not counted twice beside our own exporter."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from catalog import FAMILIES, SIGNALS
from catalog.exporters import DCGM_EXPORTER, EXPORTERS, NODE_EXPORTER, OWN
from catalog.families import cpu, gpu, gpuhealth, host, memory, storage
from catalog.family import Kind
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.channels import evaluate
from detector.clock import SystemClock
from detector.frame import Frame
from detector.source import Host
from detector.sources.prometheus import PrometheusSettings, PrometheusSource
from detector.tables import changing
from detector.targets import Target, answered, by_host
from detector.translation import Translation
from tests.detector.shell.scripted import Scripted
from tests.recorded import recorded
from tests.servers import (
    Prometheus,
    Server,
    scrape_job,
    start_exporter,
    start_node_exporter,
    start_prometheus,
)

GPUS = 8
MIB = 1048576.0
# Value of GPU number i, as an H100 at work tells it, and what that is in the catalog's name and unit.
DCGM = {
    "DCGM_FI_DEV_SM_CLOCK": (1980.0, gpu.CLOCK_HERTZ, ("sm",), 1.98e9),
    "DCGM_FI_DEV_MEM_CLOCK": (2619.0, gpu.CLOCK_HERTZ, ("memory",), 2.619e9),
    "DCGM_FI_DEV_MEMORY_TEMP": (71.0, gpu.MEMORY_TEMPERATURE_CELSIUS, (), 71.0),
    "DCGM_FI_DEV_GPU_TEMP": (63.0, gpu.TEMPERATURE_CELSIUS, (), 63.0),
    "DCGM_FI_DEV_POWER_USAGE": (412.5, gpu.POWER_WATTS, (), 412.5),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": (5.5e9, gpu.ENERGY_JOULES, (), 5.5e6),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": (3.0, gpuhealth.PCIE_REPLAYS, (), 3.0),
    "DCGM_FI_DEV_GPU_UTIL": (97.0, gpu.UTILIZATION_RATIO, (), 0.97),
    "DCGM_FI_DEV_MEM_COPY_UTIL": (41.0, gpu.MEMORY_UTILIZATION_RATIO, (), 0.41),
    "DCGM_FI_DEV_ENC_UTIL": (0.0, gpu.ENCODER_UTILIZATION_RATIO, (), 0.0),
    "DCGM_FI_DEV_DEC_UTIL": (5.0, gpu.DECODER_UTILIZATION_RATIO, (), 0.05),
    "DCGM_FI_DEV_FB_FREE": (20000.0, gpu.MEMORY_FREE_BYTES, (), 20000 * MIB),
    "DCGM_FI_DEV_FB_USED": (61000.0, gpu.MEMORY_USED_BYTES, (), 61000 * MIB),
    "DCGM_FI_DEV_FB_RESERVED": (559.0, gpu.MEMORY_RESERVED_BYTES, (), 559 * MIB),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": (1.0, gpuhealth.REMAPPED_ROWS, ("uncorrected",), 1.0),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": (2.0, gpuhealth.REMAPPED_ROWS, ("corrected",), 2.0),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": (0.0, gpuhealth.ROW_REMAP_FAILURE, (), 0.0),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": (0.95, gpu.GRAPHICS_ACTIVE_RATIO, (), 0.95),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": (0.6, gpu.TENSOR_ACTIVE_RATIO, (), 0.6),
    "DCGM_FI_PROF_DRAM_ACTIVE": (0.4, gpu.DRAM_ACTIVE_RATIO, (), 0.4),
}
# On by default there, and nothing of ours: what each says instead.
NOT_OURS = {
    "DCGM_FI_DEV_XID_ERRORS": "the number of the last error, not how many there were",
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": "both directions in one",
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS": "licences",
    "DCGM_FI_DRIVER_VERSION": "a label",
    "DCGM_FI_PROF_PCIE_TX_BYTES": "a rate, ours counts",
    "DCGM_FI_PROF_PCIE_RX_BYTES": "a rate, ours counts",
}


def dcgm_exposition() -> str:
    """What dcgm-exporter says of a host of eight GPUs, with labels as it puts them; it asks them once a second."""
    lines = []
    for name, (level, family, *_) in DCGM.items():
        value = float(int(time.time())) if family is gpu.ENERGY_JOULES else level
        lines.append(f"# TYPE {name} {'counter' if family.kind is Kind.COUNTER else 'gauge'}")
        lines += [
            f'{name}{{gpu="{number}",UUID="GPU-{number}",device="nvidia{number}",modelName="NVIDIA H100 80GB HBM3",'
            f'Hostname="node1",DCGM_FI_DRIVER_VERSION="590.48.01",pod="train-{number}"}} {value!r}'
            for number in range(GPUS)
        ]
    return "\n".join(lines) + "\n"


@dataclass
class Site:
    """Prometheus and what it scrapes."""

    prometheus: Prometheus
    node: Server
    own: Server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One host with all three exporters."""
    folder = tmp_path_factory.mktemp("site")
    with (
        start_node_exporter(folder) as node,
        start_exporter(folder) as own,
        Scripted(lambda path, parameters: (200, dcgm_exposition().encode())) as dcgm,
    ):
        addresses = {"node": node.address, "dcgm": dcgm.address, "hostpulse": own.address}
        jobs = [scrape_job(job, address, interval="200ms") for job, address in addresses.items()]
        with start_prometheus(folder / "prometheus", jobs) as prometheus:
            prometheus.await_result("count_over_time(up[1m]) >= 32", accept=lambda result: len(result) == len(jobs))
            yield Site(prometheus, node, own)


def read(site: Site, *jobs: str, **settings: object) -> tuple[Host, Frame]:
    """The one host of these jobs, and its last five seconds."""
    given = PrometheusSettings.model_validate({"url": site.prometheus.url, "job": list(jobs), **settings})
    source = PrometheusSource(given, 60.0, SystemClock())
    (found,) = source.hosts()
    newest_s = source.newest_s(found)
    frame = source.read(found, newest_s - 5, newest_s)
    source.close()
    return found, frame


def test_node_exporter_alone_is_found_and_covers_the_host(site: Site) -> None:
    found, frame = read(site, "node")
    assert found == Host(site.node.address, "node")
    channels = evaluate(frame)
    known = [channel for channel, values in zip(channels.channels, channels.values.T, strict=True) if values[-1] >= 0]
    assert {channel.subsystem for channel in known} >= set(JUDGED_SUBSYSTEMS) - {"gpu"}
    assert len(known) >= 60


def test_values_of_node_exporter_are_ours_in_our_units(site: Site) -> None:
    _, frame = read(site, "node")
    exposed = text_string_to_metric_families(site.node.get("/metrics").text)
    theirs = {(one.name, *one.labels.values()): one.value for family in exposed for one in family.samples}
    newest = dict(zip(frame.columns, frame.values[-1], strict=True))
    assert newest[memory.TOTAL_BYTES()] == theirs["node_memory_MemTotal_bytes",]
    assert newest[cpu.SECONDS(0, "idle")] == pytest.approx(theirs["node_cpu_seconds_total", "0", "idle"], abs=5)
    stalled = theirs["node_pressure_io_stalled_seconds_total",]
    assert newest[host.PRESSURE_STALLED_SECONDS("io")] == pytest.approx(stalled, abs=5)


def test_factor_turns_a_foreign_unit_into_ours() -> None:
    means = Translation(NODE_EXPORTER)
    sectors = means({"__name__": "node_disk_discarded_sectors_total", "device": "vda"})
    assert sectors is not None
    assert (sectors.series, sectors.factor) == (storage.DISCARDED_BYTES("vda"), 512)
    renamed = means({"__name__": "node_rapl_package_joules_total", "index": "1", "path": "/x"})
    assert renamed is not None
    assert renamed.series == host.RAPL_ENERGY_JOULES("package", "1")


@pytest.mark.parametrize(
    "metric",
    [
        {"__name__": "node_disk_reads_completed_total", "device": "loop3"},
        {"__name__": "node_network_up", "device": "veth12"},
        {"__name__": "node_filesystem_size_bytes", "device": "tmpfs", "mountpoint": "/run/user/0", "fstype": "tmpfs"},
        {"__name__": "node_systemd_units"},
    ],
)
def test_what_is_not_worth_its_series_or_not_known_is_left_out(metric: dict[str, str]) -> None:
    assert Translation(NODE_EXPORTER)(metric) is None


def test_all_exporters_of_a_host_are_one_host_and_nothing_counts_twice(site: Site) -> None:
    found, frame = read(site)
    assert found == Host(site.own.address, "hostpulse")
    assert len(set(frame.columns)) == len(frame.columns)
    assert gpu.POWER_WATTS(7) in frame.columns
    _, alone = read(site, "hostpulse")
    shared = [series for series in alone.columns if series.name == cpu.SECONDS.name]
    times = {
        name: np.isfinite(one.values[:, one.columns.index(shared[0])]).sum()
        for name, one in {"all": frame, "alone": alone}.items()
    }
    assert abs(times["all"] - times["alone"]) <= 2
    own = {series.name for series in alone.columns}
    assert {series for series in frame.columns if series.name in own} == set(alone.columns)


def test_gpus_of_dcgm_exporter_are_told_in_our_names_and_units(site: Site) -> None:
    _, frame = read(site, "dcgm")
    values = dict(zip(frame.columns, frame.values[-1], strict=True))
    read_by_signals = frozenset[str]().union(*(signal.expression.families() for signal in SIGNALS.values()))
    wanted = {
        family(number, *labels): value
        for _, family, labels, value in DCGM.values()
        for number in range(GPUS)
        if family.name in read_by_signals - {gpu.ENERGY_JOULES.name}
    }
    assert len(wanted) >= 13 * GPUS
    assert {series: values.get(series) for series in wanted} == pytest.approx(wanted)


def test_every_default_field_of_dcgm_exporter_is_translated_or_explained() -> None:
    known = Translation(DCGM_EXPORTER)
    for file in ("dcgm_default-counters.csv", "dcgm_dcp-metrics-included.csv"):
        lines = recorded(f"hosts/{file}").read_text().splitlines()
        fields = [line.partition(",")[0].strip() for line in lines if line.strip() and not line.startswith("#")]
        missing = {name for name in fields if known({"__name__": name, "gpu": "0"}) is None}
        assert missing == {name for name in fields if name in NOT_OURS}
        assert set(fields) - missing <= DCGM.keys()
        assert len(fields) >= 20


def test_each_alias_belongs_to_an_exporter_that_is_looked_for() -> None:
    prefixes = tuple(one.prefix for one in EXPORTERS if one is not OWN)
    aliases = [alias.name for family in FAMILIES.values() for alias in family.aliases]
    assert [name for name in aliases if not name.startswith(prefixes)] == []
    assert {one.marker for one in EXPORTERS if one is not OWN} <= set(aliases)


def test_pod_of_a_gpu_may_change_and_a_part_of_it_is_not_the_whole() -> None:
    means = Translation(DCGM_EXPORTER)
    name = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "3"}
    before, after, part = (means({**name, **more}) for more in ({"pod": "a"}, {"pod": "b"}, {"GPU_I_ID": "1"}))
    assert before is not None
    assert part is not None
    assert before == after
    assert before.series == part.series == gpu.POWER_WATTS(3)
    assert part.rank > before.rank


def test_several_exporters_of_ours_on_one_machine_are_hosts_of_their_own() -> None:
    targets = [Target(0, "a", "h:1", "h"), Target(0, "a", "h:2", "h"), Target(1, "node", "h:9100", "h")]
    assert by_host(targets) == {Host("h:1", "a"): (targets[0],), Host("h:2", "a"): (targets[1],)}
    assert by_host(targets[1:]) == {Host("h:2", "a"): tuple(targets[1:])}


def test_targets_without_the_label_of_hosts_are_joined_by_their_address() -> None:
    labels: list[dict[str, str]] = [
        {"instance": "a:9100", "node": "n1"},
        {"instance": "b:9400", "node": "n1"},
        {"instance": "c:9100"},
        {"instance": "c:9400"},
    ]
    entries = [{"metric": one, "value": [0, "1"]} for one in labels]
    assert [target.host for target in answered(entries, "node")] == ["n1", "n1", "c", "c"]


def test_any_of_its_targets_may_tell_the_group_of_a_host() -> None:
    targets = [Target(0, "a", "h:1", "h"), Target(1, "node", "h:9100", "h", "job 7")]
    (host,) = by_host(targets)
    assert (host, host.peer) == (Host("h:1", "a"), "job 7")


def test_label_may_name_the_host(site: Site) -> None:
    given = PrometheusSettings.model_validate({"url": site.prometheus.url, "host_label": "instance"})
    source = PrometheusSource(given, 60.0, SystemClock())
    assert len(source.hosts()) == 3
    source.close()


def test_reading_that_repeats_the_one_before_is_masked() -> None:
    values = np.array([[1.0, np.nan], [1.0, np.nan], [2.0, np.nan], [2.0, 5.0], [2.0, 5.0]])
    assert changing(values).tolist() == [True, False, True, True, False]
    assert changing(np.empty((0, 2))).tolist() == []


def test_gpus_that_are_asked_more_rarely_than_scraped_have_no_repeats(site: Site) -> None:
    _, frame = read(site, "dcgm")
    energy_joules = frame.values[:, frame.columns.index(gpu.ENERGY_JOULES(0))]
    assert 4 <= np.isfinite(energy_joules).sum() <= 6
    assert len(set(energy_joules)) == len(energy_joules)

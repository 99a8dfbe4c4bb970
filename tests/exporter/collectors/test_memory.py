"""Memory sources: bytes for what the kernel counts in KiB and pages, nodes apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.family import Profile
from exporter.host import Host
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import captured_vm, context, written
from tests.hosts.hardware import hardware

NODE = "/sys/devices/system/node/node{}"


def test_meminfo_turns_kib_into_bytes(tmp_path: Path) -> None:
    host = written(
        tmp_path, {"/proc/meminfo": "MemTotal: 1000 kB\nMemFree:  10 kB\nActive(anon): 3 kB\nPercpu: 2 kB\n"}
    )
    assert reading("meminfo", host) == {
        "memory_total_bytes": 1024000, "memory_free_bytes": 10240, "memory_active_anon_bytes": 3072,
        "memory_percpu_bytes": 2048,
    }  # fmt: skip
    assert "memory_active_anon_bytes" not in reading("meminfo", host, Profile.CORE)
    assert "memory_percpu_bytes" not in reading("meminfo", host, Profile.STANDARD)


def test_meminfo_without_huge_pages_of_a_later_kernel_keeps_the_rest(tmp_path: Path) -> None:
    collector = opened("meminfo", written(tmp_path, {"/proc/meminfo": "MemFree: 1 kB\nHugetlb: 2 kB\nDirty: 3 kB\n"}))
    written(tmp_path, {"/proc/meminfo": "MemFree: 1 kB\nDirty: 3 kB\n"})
    assert latest(collector) == {"memory_free_bytes": 1024, "memory_dirty_bytes": 3072}
    collector.close()


def test_vmstat_labels_who_reclaims_and_turns_kib_and_pages_into_bytes(tmp_path: Path) -> None:
    fields = "nr_dirty_threshold 10\npgpgin 3\npgpgout 4\npgscan_kswapd 5\npgscan_direct 6\npgscan_anon 9\noom_kill 1\n"
    fields += "pgdemote_direct 8\n"
    written(tmp_path, {"/proc/vmstat": fields})
    host = Host(tmp_path / "proc", tmp_path / "sys", tmp_path, page_bytes=65536)
    assert reading("vmstat", host) == {
        "memory_dirty_threshold_bytes": 655360,
        "memory_paged_in_bytes_total": 3072,
        "memory_paged_out_bytes_total": 4096,
        'memory_scanned_pages_total{source="kswapd"}': 5,
        'memory_scanned_pages_total{source="direct"}': 6,
        "memory_oom_kills_total": 1,
        'memory_demoted_pages_total{source="direct"}': 8,
    }


def test_numa_counts_are_by_node(tmp_path: Path) -> None:
    text = "numa_hit {}\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n"
    host = written(tmp_path, {NODE.format(node) + "/numastat": text.format(100 + node) for node in (0, 1, 10)})
    values = reading("numastat", host)
    assert [values[f'memory_numa_hit_total{{node="{node}"}}'] for node in (0, 1, 10)] == [100, 101, 110]
    assert values['memory_numa_other_total{node="10"}'] == 6
    assert len(values) == 18


def test_numa_stocks_are_by_node_in_bytes(tmp_path: Path) -> None:
    text = "Node 1 MemTotal:       2048 kB\nNode 1 MemFree:           4 kB\nNode 1 HugePages_Free:      0\n"
    host = written(tmp_path, {NODE.format(1) + "/meminfo": text})
    assert reading("numameminfo", host) == {
        'memory_numa_total_bytes{node="1"}': 2097152, 'memory_numa_free_bytes{node="1"}': 4096
    }  # fmt: skip
    assert list(reading("numameminfo", host, Profile.CORE)) == ['memory_numa_free_bytes{node="1"}']


def test_huge_pages_are_by_node_size_and_state(tmp_path: Path) -> None:
    pool = NODE.format(0) + "/hugepages/hugepages-1048576kB"
    host = written(tmp_path, {f"{pool}/{file}_hugepages": f"{n}\n" for n, file in enumerate(("surplus", "free", "nr"))})
    assert reading("hugepages", host) == {
        'memory_hugepages{node="0",size="1048576kB",state="total"}': 2,
        'memory_hugepages{node="0",size="1048576kB",state="free"}': 1,
        'memory_hugepages{node="0",size="1048576kB",state="surplus"}': 0,
    }


def test_errors_of_memory_are_by_controller(tmp_path: Path) -> None:
    values = reading("edac", hardware(tmp_path))
    assert values['memory_edac_correctable_errors_total{controller="0"}'] == 12
    assert values['memory_edac_uncorrectable_errors_total{controller="1"}'] == 1


def test_corrected_errors_are_by_module_with_the_label_of_its_place(tmp_path: Path) -> None:
    host = hardware(tmp_path)
    values = reading("edac", host)
    family = "memory_edac_dimm_correctable_errors_total"
    assert {series: value for series, value in values.items() if "dimm_correctable" in series} == {
        f'{family}{{controller="0",dimm="0",label="CPU_SrcID#0_MC#0_Chan#0_DIMM#0"}}': 11,
        f'{family}{{controller="0",dimm="3",label="CPU_SrcID#0_MC#0_Chan#1_DIMM#1"}}': 1,
        f'{family}{{controller="1",dimm="2",label=""}}': 0,
    }
    uncorrectable = {series: value for series, value in values.items() if "dimm_uncorrectable" in series}
    assert list(uncorrectable.values()) == [2]
    assert not any("dimm_uncorrectable" in series for series in reading("edac", host, Profile.STANDARD))
    assert len(reading("edac", host, Profile.CORE)) == 4


def test_memory_modules_are_told_with_their_places(tmp_path: Path) -> None:
    told = list(reading("edacinfo", hardware(tmp_path)))
    assert told[0] == (
        'memory_edac_dimm_info{controller="0",dimm="0",label="CPU_SrcID#0_MC#0_Chan#0_DIMM#0",'
        'location="channel 0 slot 0",type="Registered-DDR5",mode="S8ECD8ED",driver="Intel_10nm Socket#0 IMC#0"}'
    )
    assert len(told) == 3


def test_free_blocks_are_by_node_zone_and_order(tmp_path: Path) -> None:
    values = reading("buddyinfo", hardware(tmp_path))
    assert values['memory_free_blocks{node="0",zone="DMA",order="2"}'] == 1
    assert values['memory_free_blocks{node="1",zone="Normal",order="1"}'] == 5423
    assert len(values) == 9


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Node 0, zone DMA 1 2 \nNode 0, zone Normal 1 \n", "not of one length"),
        ("Node 0, zone DMA \n", "not of one length"),
        ("Node 0, zone DMA 1 2\n", "each number with a blank behind it"),
        ("Node 0, zone DMA 1 \nNode 0, zone DMA 2 \n", "names a zone twice"),
        ("Node x, zone DMA 1 \n", "not of a zone of a node"),
        ("Node 18446744073709551615, zone DMA 1 \n", "not of a zone of a node"),
        ("Page 0, zone DMA 1 \n", "not of a zone of a node"),
        ("Node 0, zone DMA many \n", "is not a number"),
        (" \n", "is empty"),
    ],
)
def test_other_format_of_free_blocks_is_refused(content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"/proc/buddyinfo: .*{said}"):
        opened("buddyinfo", written(tmp_path, {"/proc/buddyinfo": content}))


def test_zone_that_comes_later_is_told_from_then_on(tmp_path: Path) -> None:
    collector = opened("buddyinfo", written(tmp_path, {"/proc/buddyinfo": "Node 0, zone Normal 7 8 \n"}))
    written(tmp_path, {"/proc/buddyinfo": "Node 0, zone Normal 7 9 \nNode 0, zone Movable 5 6 \n"})
    assert list(latest(collector).values()) == [7, 9, 5, 6]
    assert len(collector.series) == 4
    collector.close()


def test_transparent_huge_pages_are_by_size(tmp_path: Path) -> None:
    assert reading("thpsize", hardware(tmp_path)) == {
        f'memory_thp_size_{name}{{size="{kib}kB"}}': kib + count
        for kib in (64, 2048)
        for count, name in enumerate(("fault_allocations_total", "fault_fallbacks_total", "splits_total", "anon_pages"))
    }


def test_distance_of_nodes_is_from_each_to_each(tmp_path: Path) -> None:
    assert reading("numadistance", hardware(tmp_path)) == {
        f'memory_numa_distance{{node="{node}",to="{to}"}}': 10 if node == to else 21 for node in (0, 2) for to in (0, 2)
    }
    written(tmp_path, {NODE.format(2) + "/distance": "21\n"})
    with pytest.raises(ValueError, match="node2/distance: does not have a number for each of 2 nodes"):
        opened("numadistance", Host(tmp_path / "proc", tmp_path / "sys", tmp_path))


def test_poisoned_pages_are_by_how_their_recovery_ended(tmp_path: Path) -> None:
    assert reading("memoryfailure", hardware(tmp_path)) == {
        f'memory_failure_pages_total{{node="0",result="{result}"}}': pages
        for result, pages in (("recovered", 4), ("delayed", 3), ("ignored", 2), ("failed", 1))
    }


@pytest.mark.parametrize("name", ["meminfo", "vmstat", "numastat", "numameminfo", "hugepages"])
def test_captured_host_gives_what_its_files_say(name: str, tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    values = reading(name, host)
    kib = int(host.text("/proc/meminfo").split()[1])
    expected = {
        "meminfo": ("memory_total_bytes", kib * 1024),
        "vmstat": ("memory_page_faults_total", _field(host, "/proc/vmstat", "pgfault")),
        "numastat": ('memory_numa_hit_total{node="0"}', _field(host, NODE.format(0) + "/numastat", "numa_hit")),
        "numameminfo": (
            'memory_numa_used_bytes{node="0"}',
            1024 * _field(host, NODE.format(0) + "/meminfo", "MemUsed:"),
        ),
        "hugepages": ('memory_hugepages{node="0",size="2048kB",state="free"}', 0),
    }
    series, value = expected[name]
    assert values[series] == value
    assert context(host).host.page_bytes == 4096


def _field(host: Host, path: str, key: str) -> int:
    words = host.text(path).split()
    return int(words[words.index(key) + 1])

"""Network sources: per interface, per CPU, of the protocol stack; RDMA ports."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from catalog.family import Profile
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import captured_vm, written
from tests.hosts.hardware import hardware

HEADINGS = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier"
    " compressed\n"
)
NET = "/sys/class/net"


def _device(name: str, first: int) -> str:
    return f"{name}: " + " ".join(str(first + column) for column in range(16)) + "\n"


def test_interfaces_have_their_columns_and_container_links_are_left_out(tmp_path: Path) -> None:
    rows = HEADINGS + _device("    lo", 0) + _device("  eth0", 100) + _device("vethab12", 900)
    values = reading("netdev", written(tmp_path, {"/proc/net/dev": rows}))
    of_eth0 = {name.split("{")[0]: value for name, value in values.items() if '"eth0"' in name}
    assert of_eth0 == {
        "network_receive_bytes_total": 100,
        "network_receive_packets_total": 101,
        "network_receive_errors_total": 102,
        "network_receive_drops_total": 103,
        "network_receive_fifo_errors_total": 104,
        "network_receive_frame_errors_total": 105,
        "network_receive_multicast_packets_total": 107,
        "network_transmit_bytes_total": 108,
        "network_transmit_packets_total": 109,
        "network_transmit_errors_total": 110,
        "network_transmit_drops_total": 111,
        "network_transmit_carrier_errors_total": 114,
    }
    assert {name.split('"')[1] for name in values} == {"lo", "eth0"}


def test_interface_that_comes_and_names_glued_to_numbers_are_read(tmp_path: Path) -> None:
    collector = opened("netdev", written(tmp_path, {"/proc/net/dev": HEADINGS + _device("eth0", 0)}), Profile.CORE)
    glued = _device("eth1", 50).replace(": ", ":")
    written(tmp_path, {"/proc/net/dev": HEADINGS + glued + _device("eth0", 1000)})
    values = latest(collector)
    assert values['network_receive_bytes_total{device="eth1"}'] == 50
    assert values['network_receive_bytes_total{device="eth0"}'] == 1000
    written(tmp_path, {"/proc/net/dev": HEADINGS})
    assert latest(collector) == {}
    collector.close()


def test_protocol_counts_are_read_from_below_their_names(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    values = reading("netstat", host)
    heading, row = (line.split() for line in host.text("/proc/net/snmp").splitlines() if line.startswith("Tcp:"))
    told = dict(zip(heading, row, strict=True))
    assert values["network_tcp_sent_segments_total"] == int(told["OutSegs"])
    assert values["network_tcp_retransmitted_segments_total"] == int(told["RetransSegs"])
    assert values["network_tcp_established_connections"] == int(told["CurrEstab"])
    assert len(values) == 36
    assert not any(map(math.isnan, values.values()))


def test_softnet_is_hexadecimal_and_names_its_cpus(tmp_path: Path) -> None:
    row = "0000ffff 00000002 0000000a " + "00000000 " * 8 + "0000001f {:08x} 00000010 0000000f\n"
    values = reading("softnet", written(tmp_path, {"/proc/net/softnet_stat": row.format(0) + row.format(17)}))
    assert values['network_softnet_processed_total{cpu="0"}'] == 65535
    assert values['network_softnet_dropped_total{cpu="17"}'] == 2
    assert values['network_softnet_time_squeezed_total{cpu="17"}'] == 10
    assert values['network_softnet_backlog_packets{cpu="17"}'] == 31


def test_softnet_of_older_kernels_counts_its_lines(tmp_path: Path) -> None:
    rows = "00000001 00000000 00000000\n00000002 00000000 00000000\n"
    values = reading("softnet", written(tmp_path, {"/proc/net/softnet_stat": rows}))
    assert values['network_softnet_processed_total{cpu="1"}'] == 2
    assert not any("backlog" in name for name in values)


def test_sockets_count_memory_in_bytes(tmp_path: Path) -> None:
    text = "sockets: used 229\nTCP: inuse 4 orphan 1 tw 9 alloc 17 mem 3\nUDP: inuse 2 mem 5\nFRAG: inuse 0 memory 0\n"
    collector = opened("sockstat", written(tmp_path, {"/proc/net/sockstat": text}))
    assert latest(collector) == {
        "network_sockets_used": 229,
        "network_tcp_sockets_inuse": 4,
        "network_tcp_sockets_orphan": 1,
        "network_tcp_sockets_timewait": 9,
        "network_tcp_socket_memory_bytes": 12288,
        "network_udp_sockets_inuse": 2,
    }
    written(tmp_path, {"/proc/net/sockstat": "sockets: used 230\n"})
    assert latest(collector) == {"network_sockets_used": 230}
    collector.close()


def test_links_have_state_speed_and_packet_size(tmp_path: Path) -> None:
    files = {
        f"{NET}/eth0/operstate": "up\n",
        f"{NET}/eth0/speed": "100000\n",
        f"{NET}/eth0/mtu": "9000\n",
        f"{NET}/eth0/carrier_changes": "3\n",
        f"{NET}/eth1/operstate": "down\n",
        f"{NET}/eth1/speed": "-1\n",
        f"{NET}/veth0/operstate": "up\n",
    }
    host = written(tmp_path, files)
    collector = opened("netlink", host)
    values = latest(collector)
    assert values['network_up{device="eth0"}'] == 1
    assert values['network_up{device="eth1"}'] == 0
    assert values['network_speed_bytes_per_second{device="eth0"}'] == 12.5e9
    assert math.isnan(values['network_speed_bytes_per_second{device="eth1"}'])
    assert values['network_mtu_bytes{device="eth0"}'] == 9000
    assert not any("veth0" in name for name in values)
    assert reading("netcarrier", host) == {'network_carrier_changes_total{device="eth0"}': 3}
    written(tmp_path, {f"{NET}/ib0/operstate": "up\n"})
    assert latest(collector)['network_up{device="ib0"}'] == 1, "a device that comes is found"
    collector.close()


def test_link_that_goes_is_left_out_and_its_neighbour_keeps_its_value(tmp_path: Path) -> None:
    files = {f"{NET}/{device}/carrier_changes": f"{count}\n" for device, count in (("eth0", 3), ("eth1", 4))}
    collector = opened("netcarrier", written(tmp_path, files))
    assert len(collector.read()) == 2
    (tmp_path / f"{NET[1:]}/eth0/carrier_changes").unlink()
    (tmp_path / f"{NET[1:]}/eth0").rmdir()
    assert latest(collector) == {'network_carrier_changes_total{device="eth1"}': 4}
    collector.close()


def test_interface_tells_its_driver_and_place(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    assert (
        'network_info{device="eth0",address="02:00:00:00:00:01",duplex="unknown",driver="virtio_net",'
        'pci="0000:00:03.0",node=""}'
    ) in reading("netinfo", host)


def test_interfaces_that_came_or_went_are_told_when_they_are_read_again(tmp_path: Path) -> None:
    collector = opened("netinfo", written(tmp_path, {f"{NET}/eth0/address": "02:00:00:00:00:01\n"}))
    assert len(latest(collector)) == 1
    written(tmp_path, {f"{NET}/eth1/address": "02:00:00:00:00:02\n"})
    assert len(latest(collector)) == 2
    (tmp_path / f"{NET[1:]}/eth0").rename(tmp_path / f"{NET[1:]}/veth0")
    (series,) = latest(collector)
    assert 'device="eth1",address="02:00:00:00:00:02"' in series
    collector.close()


def test_interface_on_a_node_tells_its_number(tmp_path: Path) -> None:
    device = "/sys/devices/pci0000:16/0000:17:00.0"
    files = {f"{device}/net/eth0/address": "b8:ce:f6:00:00:01\n", "/sys/bus/pci/devices/0000:17:00.0/numa_node": "1\n"}
    host = written(tmp_path, files)
    (tmp_path / "sys/class/net").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0").symlink_to("../../devices/pci0000:16/0000:17:00.0/net/eth0")
    (tmp_path / device[1:] / "net/eth0/device").symlink_to("../../../0000:17:00.0")
    (info,) = reading("netinfo", host)
    assert info.endswith('driver="",pci="0000:17:00.0",node="1"}')


def test_tracked_connections_are_counted_with_their_limit(tmp_path: Path) -> None:
    files = {
        "/proc/sys/net/netfilter/nf_conntrack_count": "7\n",
        "/proc/sys/net/netfilter/nf_conntrack_max": "262144\n",
    }
    assert reading("conntrack", written(tmp_path, files)) == {
        "network_conntrack_entries": 7, "network_conntrack_entries_limit": 262144
    }  # fmt: skip


def test_rdma_counts_words_as_bytes_and_what_a_port_does_not_count_as_missing(tmp_path: Path) -> None:
    values = reading("rdmaport", hardware(tmp_path))
    port = '{device="mlx5_0",port="1"}'
    assert values[f"network_rdma_receive_bytes_total{port}"] == 4000
    assert values[f"network_rdma_transmit_bytes_total{port}"] == 10000
    assert values[f"network_rdma_transmit_wait_ticks_total{port}"] == 12
    assert math.isnan(values[f"network_rdma_receive_errors_total{port}"])


def test_rdma_port_that_counts_nothing_is_no_fault(tmp_path: Path) -> None:
    counters = "/sys/class/infiniband/rxe0/ports/1/counters"
    host = written(tmp_path, {f"{counters}/{name}": "N/A (no PMA)\n" for name in ("port_rcv_data", "link_downed")})
    for collector in ("rdmaport", "rdmaerrors"):
        (value,) = reading(collector, host).values()
        assert math.isnan(value)
    written(tmp_path, {f"{counters}/port_rcv_data": "not a number\n"})
    with pytest.raises(ValueError, match="not a number"):
        reading("rdmaport", host)


def test_rdma_errors_are_those_that_the_driver_counts(tmp_path: Path) -> None:
    assert reading("rdmaerrors", hardware(tmp_path)) == {
        'network_rdma_symbol_errors_total{device="mlx5_0",port="1"}': 6,
        'network_rdma_link_downed_total{device="mlx5_0",port="1"}': 1,
        'network_rdma_out_of_sequence_total{device="mlx5_0",port="1"}': 44,
        'network_rdma_cnp_sent_total{device="mlx5_0",port="1"}': 5,
    }


@pytest.mark.parametrize(("profile", "count"), [(Profile.CORE, 2), (Profile.STANDARD, 3)])
def test_rdma_state_and_rate_are_numbers(profile: Profile, count: int, tmp_path: Path) -> None:
    values = reading("rdmalink", hardware(tmp_path), profile)
    assert values['network_rdma_state{device="mlx5_0",port="1"}'] == 4
    assert values['network_rdma_state{device="mlx5_1",port="1"}'] == 1
    assert values.get('network_rdma_rate_bytes_per_second{device="mlx5_0",port="1"}', 50e9) == 50e9
    assert len(values) == count


def test_rdma_ports_tell_what_they_belong_to(tmp_path: Path) -> None:
    host = hardware(tmp_path)
    written(tmp_path, {"/sys/bus/pci/devices/0000:18:00.0/numa_node": "1\n"})
    (tmp_path / "sys/class/infiniband/mlx5_0/device").symlink_to("../../../bus/pci/devices/0000:18:00.0")
    nothing = 'board="",fw="",link_layer="",netdev="",node=""'
    assert list(reading("rdmainfo", host)) == [
        'network_rdma_info{device="mlx5_0",port="1",board="MT_0000000838",fw="28.39.1002",link_layer="Ethernet",'
        'netdev="eth0",node="1"}',
        f'network_rdma_info{{device="mlx5_1",port="1",{nothing}}}',
    ]


def test_bond_tells_how_many_links_it_has_and_how_many_of_them_work(tmp_path: Path) -> None:
    collector = opened("bonding", hardware(tmp_path))
    assert latest(collector) == {
        'network_bonding_slaves{master="bond0",state="configured"}': 2,
        'network_bonding_slaves{master="bond0",state="active"}': 1,
    }
    written(tmp_path, {"/sys/class/net/eth1/bonding_slave/mii_status": "up\n"})
    assert latest(collector)['network_bonding_slaves{master="bond0",state="active"}'] == 2
    collector.close()

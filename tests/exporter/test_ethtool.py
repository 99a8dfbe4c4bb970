"""Drivers' counters: the answers taken apart byte by byte, and asked of a pair of virtual cards."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from math import isnan
from pathlib import Path
from secrets import token_hex

import pytest

from exporter.collector import Unavailable
from exporter.collectors.nicevents import allowed
from exporter.ethtool import Ethtool, names_in, values_in
from exporter.host import Host
from tests.exporter.collectors import latest, opened
from tests.hosts import captured_vm


def test_answers_are_taken_apart_as_the_kernels_header_lays_them_out() -> None:
    fields = b"".join(name.ljust(32, b"\0") for name in (b"rx_drops", b"a" * 32, b" tx_timeout"))
    assert names_in(struct.pack("=III", 0x1B, 1, 3) + fields + bytes(64)) == ("rx_drops", "a" * 32, "tx_timeout")
    assert values_in(struct.pack("=II3Q", 0x1D, 2, 7, 2**64 - 1, 9)) == (7, 2**64 - 1)
    assert names_in(struct.pack("=III", 0x1B, 1, 0)) == ()
    assert values_in(struct.pack("=II", 0x1D, 0)) == ()


@pytest.mark.parametrize("take", [names_in, values_in])
@pytest.mark.parametrize("answer", [b"", bytes(7), b"\xff" * 64], ids=["nothing", "cut", "far too many"])
def test_answer_that_is_shorter_than_it_says_costs_its_own_card(
    take: Callable[[bytes], tuple[object, ...]], answer: bytes
) -> None:
    with pytest.raises(OSError, match="shorter than it says"):  # as where a card is gone
        take(answer)


@pytest.mark.parametrize(
    "name",
    [
        "rx_out_of_buffer", "rx_discards_phy", "tx_discards_phy", "rx_crc_errors_phy", "rx_symbol_err_phy",
        "link_down_events_phy", "rx_prio3_pause", "tx_prio7_pause_duration", "rx_ecn_mark", "rx_pcs_symbol_err_phy",
        "pps_allowance_exceeded", "rx_missed_errors", "tx_tx_timeouts",
    ],
)  # fmt: skip
def test_trouble_is_on_the_allow_list(name: str) -> None:
    assert allowed(name)


@pytest.mark.parametrize("name", ["rx_packets", "rx0_drops", "tx_queue_3_bytes", "peer_ifindex", "", "ch0_poll"])
def test_traffic_and_queues_are_not(name: str) -> None:
    assert not allowed(name)


@pytest.fixture
def pair() -> Iterator[str]:
    """The first of two virtual cards joined together, in this network namespace."""
    name = f"pair{token_hex(3)}"
    made = subprocess.run(
        ["ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}p"], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs root and iproute2")
    yield name
    subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make network cards")
def test_driver_is_asked_for_names_and_values_in_one_order(pair: str) -> None:
    asked = Ethtool()
    names, values = asked.names(pair), asked.values(pair)
    asked.close()
    assert len(names) == len(values) > 0
    index = int(Path(f"/sys/class/net/{pair}p/ifindex").read_text())
    assert dict(zip(names, values, strict=True))["peer_ifindex"] == index


def test_interface_that_is_not_there_is_an_error_that_a_collector_can_pass_over() -> None:
    asked = Ethtool()
    with pytest.raises(OSError, match=r"\[Errno \d+\]"):
        asked.count("nosuchcard0")
    asked.close()


def test_interface_may_be_called_what_is_not_utf8() -> None:
    asked = Ethtool()
    with pytest.raises(OSError, match=r"\[Errno \d+\]"):
        asked.count(os.fsdecode(b"\xff\x85"))
    asked.close()


def test_interfaces_of_a_capture_are_not_asked_here(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="network namespace"):
        opened("nicevents", captured_vm(tmp_path))


def test_cards_of_this_host_tell_their_events_or_there_are_none() -> None:
    try:
        collector = opened("nicevents", Host())
    except Unavailable as error:
        pytest.skip(str(error))
    values = latest(collector)
    assert values
    assert all(name.startswith("network_nic_events_total{device=") for name in values)
    assert not any(isnan(value) for value in values.values())
    layout = collector.series
    collector.read()
    assert collector.series is layout
    collector.close()

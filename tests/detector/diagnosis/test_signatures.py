"""The signatures: each is sound by itself, and each is found first in a host that shows just its evidence."""

from __future__ import annotations

import doctest
import re
from collections.abc import Mapping

import numpy as np
import pytest

from catalog.signal import Scale
from detector.diagnosis import diagnose as diagnosing
from detector.diagnosis.diagnose import LEAST_CONFIDENCE, diagnose
from detector.diagnosis.library import SignatureError, read_signature, signatures
from detector.scaling import LEAST_SPREAD
from tests.detector.diagnosis.observed import CLEAR, SIGNALS_AND_PROBES, evidence, moved, noise
from tests.tree import ROOT

ALL = signatures()
CHANGING = re.compile(
    r"(?<![-\w])(rm|kill|mkfs|dd|reboot|shutdown|tee|mv|cp|sysctl -w|nvidia-smi -(r|pl|pm)|ethtool -[A-RT-Z])(?!\w)"
    r"|dcgmi diag|>"
)
EXAMPLE = (ROOT / "detector" / "diagnosis" / "signatures" / "huge-pages.yml").read_text()

every_signature = pytest.mark.parametrize("name", ALL)


def test_the_cases_that_everybody_asks_for_have_signatures() -> None:
    asked = """numa-placement nccl-queue-pairs irq-imbalance huge-pages packet-loss workload-retransmission
        gpu-thermal-throttle gpu-power-cap gpu-memory-errors gpu-row-remapping gpu-xid-application gpu-pcie-degraded
        gpu-lost cpu-steal cgroup-cpu-throttling out-of-memory memory-reclaim swap-storm writeback-stall disk-saturation
        nic-drops softnet-squeeze listen-overflow conntrack-pressure clock-step noisy-neighbour memory-leak fork-storm
        cpu-saturation page-cache-thrash"""
    assert set(asked.split()) <= ALL.keys()


@every_signature
def test_signature_comes_first_where_its_own_evidence_is(name: str) -> None:
    for seed in range(3):
        found = diagnose(evidence(ALL[name], seed), ALL.values())
        assert [one.name for one in found][:1] == [name]
        assert found[0].confidence > 0.6


def test_signatures_can_be_told_apart() -> None:
    """The matrix of confusion: in the row of a signature's evidence no other one comes near."""
    matrix = {
        name: {one.name: one.confidence for one in diagnose(evidence(signature, 7), ALL.values())}
        for name, signature in ALL.items()
    }
    near = {
        (name, other): confidence
        for name, row in matrix.items()
        for other, confidence in row.items()
        if other != name and confidence > 0.8 * row[name]
    }
    assert near == {}
    assert all(row[name] == max(row.values()) for name, row in matrix.items())


# What moved on this kind of host, by how much: see bench.faults.cases.
BURSTS_OF_A_JOB = {
    "network_tcp_retransmission_ratio": 33.9,
    "network_tcp_lost_retransmits_per_second": 18.7,
    "network_tcp_retransmitted_segments_per_second": 4.2,
    "network_tcp_fast_retransmits_per_second": 4.0,
    "cpu_pressure_ratio": 3.1,
    "network_tcp_timeouts_per_second": 2.3,
    "network_receive_bytes_per_second": 7.2,
    "network_transmit_bytes_per_second": 6.5,
    "network_tcp_sent_segments_per_second": 6.3,
    "network_tcp_received_segments_per_second": 3.8,
}
LOST_PACKETS = {
    "network_tcp_retransmission_ratio": 6.5,
    "network_tcp_lost_retransmits_per_second": 7.9,
    "network_tcp_timeouts_per_second": 1.6,
}
INTERRUPTS_ON_ONE_CPU = {"cpu_interrupt_imbalance_ratio": 4.8, "cpu_idle_state_ratio": 3.8}


@pytest.mark.parametrize(
    ("deviations", "name"),
    [
        (BURSTS_OF_A_JOB, "workload-retransmission"),
        (LOST_PACKETS, "packet-loss"),
        (INTERRUPTS_ON_ONE_CPU, "irq-imbalance"),
    ],
)
def test_what_was_seen_on_a_live_host_is_told_for_what_it_was(deviations: Mapping[str, float], name: str) -> None:
    observed = noise(0) | {signal: moved(signal, deviation) for signal, deviation in deviations.items()}
    assert diagnose(observed.values(), ALL.values())[0].name == name


@pytest.mark.parametrize(("pages", "size"), [(1024, 2 << 20), (2, 1 << 30)])
def test_few_large_pages_are_as_much_memory_as_many_small_ones(pages: int, size: int) -> None:
    signal = SIGNALS_AND_PROBES["memory_hugetlb_bytes"]
    assert signal.scale is Scale.RELATIVE
    assert np.log1p(pages * size / signal.floor) / LEAST_SPREAD[Scale.RELATIVE] > 10.0


def test_noise_is_not_a_cause() -> None:
    found = [one.name for seed in range(200) for one in diagnose(noise(seed).values(), ALL.values())]
    assert found == []


@every_signature
def test_more_of_what_speaks_against_it_makes_a_signature_less_likely(name: str) -> None:
    signature = ALL[name]
    confidence = diagnose(evidence(signature), [signature])[0].confidence
    for doubt in signature.doubts:
        if doubt.signal in {clue.signal for clue in signature.clues}:
            continue
        sign = 1.0 if doubt.direction == "higher" else -1.0
        size = CLEAR[SIGNALS_AND_PROBES[doubt.signal].role]
        observed = [one for one in evidence(signature) if one.channel.series.name != doubt.signal]
        found = diagnose([*observed, moved(doubt.signal, sign * size, doubt.labels.items())], [signature])
        assert not found or found[0].confidence < confidence, doubt.signal


@every_signature
def test_signature_needs_what_it_says_it_needs(name: str) -> None:
    needed = {clue.signal for clue in ALL[name].clues if clue.needed}
    rest = [one for one in evidence(ALL[name]) if one.channel.series.name not in needed]
    assert diagnose(rest, [ALL[name]]) == ()


def test_needed_clue_counts_also_where_another_of_its_group_shows_more() -> None:
    observed = [moved("storage_queue_length", 6.0), moved("storage_requests_now", 8.0)]
    (finding,) = diagnose(observed, [ALL["disk-saturation"]])
    assert [one.signal for one in finding.speaks_for] == ["storage_requests_now"]
    assert diagnose(observed[1:], [ALL["disk-saturation"]]) == (), "it is not needed itself"


@every_signature
def test_checks_change_nothing(name: str) -> None:
    assert [check.run for check in ALL[name].check if CHANGING.search(check.run)] == []


def test_every_class_of_hardware_xid_is_told_from_a_program_that_failed() -> None:
    for number, name in (("48", "gpu-memory-errors"), ("74", "gpu-nvlink-errors"), ("79", "gpu-lost"), ("13", "")):
        labels = (("gpu", "0"), ("xid", number))
        observed = [moved("gpu_xid_errors_per_second", 9.0), moved("gpu_xid_by_number_per_second", 9.0, labels)]
        found = diagnose([*observed, *noise(3).values()][:60], ALL.values())
        assert found[0].name == (name or "gpu-xid-application")


def test_what_a_host_has_no_signal_for_counts_less_than_what_did_not_move() -> None:
    signature = ALL["numa-placement"]
    needed = moved("memory_numa_remote_ratio", 9.0)
    still = [moved(clue.signal, 0.0) for clue in signature.clues if clue.signal != "memory_numa_remote_ratio"]
    (seen,) = diagnose([needed, *still], [signature])
    (unseen,) = diagnose([needed], [signature])
    assert LEAST_CONFIDENCE < seen.confidence < unseen.confidence


def test_finding_says_typical_and_actual_of_the_channel_that_shows_it_most() -> None:
    observed = [moved("storage_busy_ratio", size, (("device", name),)) for name, size in (("sda", 3.0), ("sdb", 9.0))]
    (finding,) = diagnose(observed, [ALL["disk-saturation"]])
    first = finding.speaks_for[0]
    assert (first.channel, first.deviation, first.typical, first.actual) == (
        'storage_busy_ratio{device="sdb"}',
        9,
        1,
        10,
    )
    assert first.why == "The disk is busy for more of the time."


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("signal: memory_hugepages", "signal: memory_hugepage", "for.1: signal: the catalog has no memory_hugepage"),
        ("direction: lower", "direction: higher", "direction: memory_available_ratio is judged only where it is lower"),
        ("weight: 3", "weight: 300", "for.0.weight"),
        ("needed: true", "needed: false", "for: one clue at least must be needed"),
        ("subsystem: memory", "subsystem: ram", "subsystem: must be one of cpu, gpu"),
        ("name: huge-pages", "name: other", "name: must be huge-pages, as the file is called"),
        ("reference:", "references:", "reference"),
        ("labels: {state: total}", "labels: {disk: sda}", "labels: memory_hugepages has no label disk"),
        ("cause: >-", "cause: [", "not YAML"),
        ("subsystem: memory", "subsystem: memory\nsubsystem: cpu", "subsystem stands twice"),
    ],
)
def test_mistake_in_a_signature_is_named(old: str, new: str, told: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(SignatureError, match=re.escape(told)):
        read_signature(EXAMPLE.replace(old, new), "huge-pages")


def test_examples_in_the_module_are_right() -> None:
    assert doctest.testmod(diagnosing).failed == 0

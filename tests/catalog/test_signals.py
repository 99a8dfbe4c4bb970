"""The signals: each can be computed by the detector and by Prometheus, and hardly a measured family is wasted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import promql_parser
import pytest

from catalog import FAMILIES, SIGNALS
from catalog.families.cpu import SOFTIRQS
from catalog.family import Family, Kind, Profile, Subsystem, Unit
from catalog.series import Series
from catalog.signal import JUDGED_SUBSYSTEMS, Role, Signal, Worse
from detector.channels import evaluate
from detector.frame import Frame

UNREAD = {
    "hostpulse_host_interrupts_total": "cpu_interrupts_per_second sums the same by CPU",
    "hostpulse_host_boot_time_seconds": "changes at a reboot only, which resets every counter",
    "hostpulse_host_load_average": "a slow mean of what cpu_running_tasks and the pressure signals say at once",
    "hostpulse_host_hwmon_power_watts": "boards rarely have it, and it repeats cpu_power_watts",
    "hostpulse_cpu_context_switches_total": "cpu_context_switches_per_second sums the same up",
    "hostpulse_cpu_minor_faults_total": "memory_page_faults_per_second sums them up",
    "hostpulse_cpu_major_faults_total": "memory_major_page_faults_per_second sums the same up",
    "hostpulse_cpu_ref_cycles_total": "cpu_busy_ratio says the same of clocks that are never multiplexed",
    "hostpulse_cpu_perf_running_ratio": "tells how far to trust the counters, not how the host fares",
    "hostpulse_gpu_memory_free_bytes": "the rest of gpu_memory_used_ratio",
    "hostpulse_gpu_xid_last_timestamp_seconds": "when, for people; gpu_xid_errors_per_second says that",
    "hostpulse_memory_free_bytes": "small on a healthy host: memory_available_ratio tells what is left",
    "hostpulse_memory_paged_in_bytes_total": "storage_read_bytes_per_second by device",
    "hostpulse_memory_paged_out_bytes_total": "storage_written_bytes_per_second by device",
    "hostpulse_memory_written_pages_total": "follows memory_dirtied_pages and storage_written_bytes",
    "hostpulse_memory_numa_foreign_total": "the other side of memory_numa_misses_per_second",
    "hostpulse_memory_numa_interleave_total": "a policy's bookkeeping",
    "hostpulse_memory_numa_free_bytes": "a stock that any file copy moves",
    "hostpulse_storage_filesystem_files_free": "a stock; its capacity is not of profile core",
}
"""Core hardware families that no signal reads, and why; info families need no reason."""

UNITS = {"1/s", "B/s", "B", "ratio", "s", "pages", "W", "°C", "Hz", ""}


def _read() -> frozenset[str]:
    return frozenset().union(*(signal.expression.families() for signal in SIGNALS.values()))


def _values(family: Family) -> dict[str, tuple[str, ...]]:
    """Label values of a small host: two of each, and every one that a signal asks for."""
    asked: dict[str, set[str]] = {label: {"0", "1"} for label in family.labels}
    for signal in SIGNALS.values():
        for matchers in re.findall(rf"{family.name}{{([^}}]*)}}", signal.promql()):
            for label, value in re.findall(r'(\w+)="(\w+)"', matchers):
                asked[label].add(value)
    return {label: tuple(sorted(values)) for label, values in asked.items()}


def _series(family: Family) -> Iterator[Series]:
    grids = np.meshgrid(*(np.arange(len(values)) for values in _values(family).values()), indexing="ij")
    for numbers in zip(*(grid.ravel() for grid in grids), strict=True) if grids else [()]:
        yield family(*(values[number] for values, number in zip(_values(family).values(), numbers, strict=True)))


@pytest.fixture(scope="module")
def small_host() -> Frame:
    """Two rows of every family that signals read, all growing by the second."""
    columns = tuple(series for name in sorted(_read()) for series in _series(FAMILIES[name]))
    levels = np.arange(1.0, 1.0 + len(columns))
    return Frame("h", np.array([10.0, 10.1, 10.2]), levels + np.array([[0.0], [0.3], [0.6]]), columns)


def test_there_are_signals_of_every_subsystem_that_this_catalog_measures() -> None:
    assert len(SIGNALS) > 50
    measured = {str(family.subsystem) for family in FAMILIES.values()} & set(JUDGED_SUBSYSTEMS)
    assert {str(signal.subsystem) for signal in SIGNALS.values()} == measured


def test_signals_read_only_families_that_are_declared() -> None:
    assert _read() - FAMILIES.keys() == set()


def test_signals_do_not_judge_the_exporter() -> None:
    assert [name for name in _read() if FAMILIES[name].subsystem is Subsystem.EXPORTER] == []


@pytest.mark.parametrize("signal", SIGNALS.values(), ids=lambda signal: signal.name)
def test_signal_parses_as_promql(signal: Signal) -> None:
    parsed = promql_parser.parse(signal.promql("30s", 'instance="a:17720",job="hostpulse"'))
    assert signal.expression.families() <= set(re.findall(r"hostpulse_\w+", parsed.prettify()))


def test_signal_names_start_with_their_subsystem_and_are_no_families() -> None:
    for name, signal in SIGNALS.items():
        assert re.fullmatch(rf"{signal.subsystem}_[a-z0-9]+(_[a-z0-9]+)*", name), name
    assert SIGNALS.keys() & FAMILIES.keys() == set()


def test_every_signal_evaluates_on_a_small_host(small_host: Frame) -> None:
    channels = evaluate(small_host)
    assert {channel.series.name for channel in channels.channels} == SIGNALS.keys()
    assert np.isfinite(channels.values[-1]).all()


@pytest.mark.parametrize(
    ("per_s", "imbalance"), [((80_000, 0), 1.0), ((40_000, 40_000), 0.0), ((800, 0), 0.08)], ids=["one", "even", "few"]
)
def test_soft_interrupts_of_all_types_on_one_cpu_are_an_imbalance(per_s: tuple[int, int], imbalance: float) -> None:
    columns = tuple(SOFTIRQS(number, kind) for number in range(2) for kind in ("NET_RX", "TIMER"))
    counts = np.outer(np.arange(3.0), [part for rate in per_s for part in (0.75 * rate, 0.25 * rate)])
    channels = evaluate(Frame("h", np.arange(3.0), counts, columns), [SIGNALS["cpu_softirq_imbalance_ratio"]])
    assert channels.values[-1] == pytest.approx([imbalance])


def test_channel_names_are_unique(small_host: Frame) -> None:
    names = [str(channel) for channel in evaluate(small_host).channels]
    assert len(names) == len(set(names))


def test_no_channel_is_one_cpu_by_itself(small_host: Frame) -> None:
    per_cpu = [str(c) for c in evaluate(small_host).channels if {"cpu", "core"} & dict(c.series.labels).keys()]
    assert per_cpu == []


def test_signals_have_units_that_fit_their_names() -> None:
    assert {signal.unit for signal in SIGNALS.values()} <= UNITS
    for signal in SIGNALS.values():
        assert (signal.unit == "ratio") == signal.name.endswith("_ratio"), signal.name
        assert (signal.unit in {"1/s", "B/s"}) == signal.name.endswith("_per_second"), signal.name


def test_errors_and_saturation_are_bad_news_only_upwards() -> None:
    specific = (signal for signal in SIGNALS.values() if signal.role in {Role.ERROR, Role.SATURATION})
    assert [signal.name for signal in specific if signal.worse is not Worse.HIGHER] == []


def test_core_hardware_families_are_judged_or_excused() -> None:
    core = {
        family.name
        for family in FAMILIES.values()
        if family.profile is Profile.CORE
        and family.subsystem is not Subsystem.EXPORTER
        and family.kind is not Kind.INFO
    }
    assert core - _read() == UNREAD.keys()


def test_signals_read_only_families_of_the_default_profile() -> None:
    assert [name for name in sorted(_read()) if FAMILIES[name].profile is not Profile.CORE] == []


def test_flags_are_judged_on_a_linear_scale() -> None:
    for signal in SIGNALS.values():
        families = [FAMILIES[name] for name in signal.expression.families()]
        if any(family.unit is Unit.BOOLEAN for family in families):
            assert (signal.scale, signal.floor < 1) == ("linear", True), signal.name


def test_signal_refuses_a_floor_of_zero_and_a_subsystem_that_is_not_judged() -> None:
    example = next(iter(SIGNALS.values()))
    arguments = {name: getattr(example, name) for name in example.__dataclass_fields__}
    with pytest.raises(AssertionError, match="floor must be positive"):
        Signal(**(arguments | {"floor": 0.0}))
    with pytest.raises(AssertionError, match="signals are judged by"):
        Signal(**(arguments | {"subsystem": Subsystem.EXPORTER}))
    with pytest.raises(AssertionError, match="sentence"):
        Signal(**(arguments | {"help": "No full stop"}))

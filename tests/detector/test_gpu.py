"""Faults of GPUs are blamed on the GPUs: four of them at work beside the rest of a host, asked once a second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from catalog.families import gpu, gpuhealth
from catalog.family import Family, Kind
from catalog.series import Series
from detector.frame import Floats, Frame
from tests.detector.synthetic import synthetic_frame
from tests.detector.watching import JUDGE, Watched, watch

GPUS = 4
FAULT_S = 260.0
LEARNED_S = JUDGE.baseline_s + JUDGE.window_s
SEVERAL = 10  # ticks between two looks at the GPUs

# family, labels after gpu, rate (counter) or level (gauge), relative noise
_AT_WORK: tuple[tuple[Family, tuple[str, ...], float, float], ...] = (
    (gpu.UP, (), 1.0, 0.0),
    (gpu.UTILIZATION_RATIO, (), 0.97, 0.02),
    (gpu.MEMORY_USED_BYTES, (), 60e9, 0.001),
    (gpu.MEMORY_TOTAL_BYTES, (), 80e9, 0.0),
    (gpu.POWER_WATTS, (), 550.0, 0.03),
    (gpu.ENERGY_JOULES, (), 550.0, 0.02),
    (gpu.POWER_LIMIT_WATTS, ("current",), 700.0, 0.0),
    (gpu.TEMPERATURE_CELSIUS, (), 62.0, 0.01),
    (gpu.CLOCK_HERTZ, ("sm",), 1.9e9, 0.01),
    (gpu.CLOCK_MAX_HERTZ, ("sm",), 1.98e9, 0.0),
    (gpu.CLOCK_EVENT_SECONDS, ("hw_thermal_slowdown",), 0.0, 0.0),
    (gpu.CLOCK_EVENT_ACTIVE, ("hw_slowdown",), 0.0, 0.0),
    (gpuhealth.PCIE_RECEIVE_BYTES, (), 2e8, 0.3),
    (gpuhealth.PCIE_LINK_WIDTH, ("current",), 16.0, 0.0),
    (gpuhealth.PCIE_LINK_WIDTH, ("max",), 16.0, 0.0),
    (gpuhealth.NVLINK_ERRORS, ("replay",), 0.0, 0.0),
    (gpuhealth.ECC_ERRORS, ("uncorrected", "total"), 0.0, 0.0),
    (gpuhealth.XID_ERRORS, ("79",), 0.0, 0.0),
)
_FAULTS: Mapping[str, Mapping[Series, float]] = {
    "heat": {
        gpu.CLOCK_HERTZ(2, "sm"): -7e8,
        gpu.TEMPERATURE_CELSIUS(2): 26.0,
        gpu.POWER_WATTS(2): -180.0,
        gpu.ENERGY_JOULES(2): -180.0,
        gpu.CLOCK_EVENT_SECONDS(2, "hw_thermal_slowdown"): 0.9,
        gpu.CLOCK_EVENT_ACTIVE(2, "hw_slowdown"): 1.0,
    },
    "links": {gpuhealth.NVLINK_ERRORS(1, "replay"): 40.0, gpuhealth.PCIE_LINK_WIDTH(1, "current"): -8.0},
    "memory": {gpuhealth.ECC_ERRORS(0, "uncorrected", "total"): 2.0, gpuhealth.XID_ERRORS(0, "79"): 1.0},
}


def _host(duration_s: float, fault: str = "", lost: str = "") -> Frame:
    """The host; with a fault from ``FAULT_S`` on, or with a GPU that falls off the bus then."""
    frame = synthetic_frame(duration_s)
    generator = np.random.default_rng(3)
    looks = np.arange(len(frame.times_s)) % SEVERAL == 0
    elapsed_s = np.arange(1, len(frame.times_s) + 1) / 10.0
    later = elapsed_s >= FAULT_S
    columns, values = [], []
    for label in map(str, range(GPUS)):
        for family, labels, size, noise in _AT_WORK:
            series = family(label, *labels)
            signal: Floats = size * (1.0 + noise * generator.standard_normal(len(elapsed_s)))
            signal = signal + np.where(later, _FAULTS.get(fault, {}).get(series, 0.0), 0.0)
            if family.kind is Kind.COUNTER:
                signal = np.cumsum(signal / 10.0)
            if label == lost:
                signal = np.where(later, 0.0 if family is gpu.UP else np.nan, signal)
            columns.append(series)
            values.append(np.where(looks, signal, np.nan))
    return Frame(
        frame.instance,
        frame.times_s,
        np.concatenate([frame.values, np.stack(values, axis=1)], axis=1),
        (*frame.columns, *columns),
    )


@pytest.fixture(scope="module")
def at_work() -> Watched:
    """The host while all is well."""
    return watch(_host(LEARNED_S))


def _blamed(at_work: Watched, frame: Frame) -> set[str]:
    watched = watch(frame, state=at_work.state, after_s=LEARNED_S, fits=False)
    assert [FAULT_S < opening_s <= FAULT_S + 15 for opening_s in watched.openings_s] == [True]
    return {verdict.subsystem for verdict in watched.verdicts if verdict.active}


@pytest.mark.parametrize("fault", _FAULTS)
def test_fault_of_one_gpu_is_blamed_on_the_gpus(at_work: Watched, fault: str) -> None:
    assert _blamed(at_work, _host(290.0, fault)) == {"gpu"}


def test_gpu_that_falls_off_the_bus_is_blamed_on_the_gpus(at_work: Watched) -> None:
    assert _blamed(at_work, _host(290.0, lost="3")) == {"gpu"}


def test_gpus_that_are_well_raise_no_alarm(at_work: Watched) -> None:
    watched = watch(_host(LEARNED_S + 300.0), state=at_work.state, after_s=LEARNED_S)
    assert watched.openings_s == []
    assert len(watched.verdicts) >= 295

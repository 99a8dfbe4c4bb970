"""Board sensors, energy counters and PCI errors."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from catalog.family import Profile
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import written
from tests.hosts.hardware import hardware

ZONE = "/sys/class/powercap/intel-rapl:0"


def test_sensors_are_named_by_device_and_scaled(tmp_path: Path) -> None:
    assert reading("hwmon", hardware(tmp_path)) == {
        'host_hwmon_temperature_celsius{chip="platform_coretemp_0",sensor="temp1",label="Package id 0"}': 54.0,
        'host_hwmon_temperature_celsius{chip="platform_coretemp_0",sensor="temp2",label=""}': -1.5,
        'host_hwmon_fan_rpm{chip="power_meter",sensor="fan1"}': 4800.0,
        'host_hwmon_voltage_volts{chip="power_meter",sensor="in0",label="+12V"}': pytest.approx(12.048),
        'host_hwmon_voltage_volts{chip="power_meter",sensor="in1",label=""}': pytest.approx(-11.952),
        'host_hwmon_power_watts{chip="power_meter",sensor="power1"}': 350.0,
        'host_hwmon_power_watts{chip="power_meter",sensor="power2"}': 20.5,
    }


def test_voltages_are_read_where_they_are_wanted_only(tmp_path: Path) -> None:
    assert not [series for series in reading("hwmon", hardware(tmp_path), Profile.STANDARD) if "volts" in series]


def test_sensor_that_does_not_answer_is_missing_and_all_of_them_are_a_fault(tmp_path: Path) -> None:
    host = written(
        tmp_path,
        {
            "/sys/class/hwmon/hwmon0/name": "a\n",
            "/sys/class/hwmon/hwmon0/temp1_input": "1000\n",
            "/sys/class/hwmon/hwmon0/temp2_input": "N/A\n",
        },
    )
    collector = opened("hwmon", host)
    assert [value == value for value in collector.read()] == [True, False]
    written(tmp_path, {"/sys/class/hwmon/hwmon0/temp1_input": "N/A\n"})
    with pytest.raises(ValueError, match="N/A"):
        collector.read()
    collector.close()


def test_energy_is_by_zone_and_package(tmp_path: Path) -> None:
    assert reading("rapl", hardware(tmp_path)) == {
        'host_rapl_energy_joules_total{zone="package",package="0"}': pytest.approx(240422.366267),
        'host_rapl_energy_joules_total{zone="dram",package="0"}': pytest.approx(118821.284256),
    }


def test_energy_goes_on_where_its_counter_wraps(tmp_path: Path) -> None:
    collector = opened("rapl", hardware(tmp_path))
    package = 'host_rapl_energy_joules_total{zone="package",package="0"}'
    before = latest(collector)[package]
    written(tmp_path, {f"{ZONE}/energy_uj": "1000000\n"})
    wrapped = latest(collector)[package]
    assert wrapped == pytest.approx(262143.328850 + 1.0)
    written(tmp_path, {f"{ZONE}/energy_uj": "3000000\n"})
    assert latest(collector)[package] == pytest.approx(wrapped + 2.0)
    assert before < wrapped
    collector.close()


def test_limits_of_power_are_by_zone_and_constraint(tmp_path: Path) -> None:
    assert reading("rapllimits", hardware(tmp_path)) == {
        'host_rapl_power_limit_watts{zone="package",package="0",constraint="long_term"}': 350.0,
        'host_rapl_power_limit_watts{zone="package",package="0",constraint="short_term"}': 420.0,
        'host_rapl_power_limit_watts{zone="dram",package="0",constraint="0"}': 0.0,
    }


def test_cooling_devices_are_told_in_their_own_steps(tmp_path: Path) -> None:
    assert reading("cooling", hardware(tmp_path)) == {
        'host_cooling_device_state{device="0",type="Processor"}': 4,
        'host_cooling_device_max_state{device="0",type="Processor"}': 10,
        'host_cooling_device_state{device="1",type="intel_powerclamp"}': -1,
        'host_cooling_device_max_state{device="1",type="intel_powerclamp"}': 50,
    }


def test_pci_errors_are_those_of_the_devices_that_matter(tmp_path: Path) -> None:
    assert reading("aer", hardware(tmp_path)) == {
        'host_pcie_aer_errors_total{device="0000:17:00.0",severity="correctable"}': 4,
        'host_pcie_aer_errors_total{device="0000:17:00.0",severity="nonfatal"}': 0,
        'host_pcie_aer_errors_total{device="0000:17:00.0",severity="fatal"}': 2,
    }


def test_links_are_told_where_there_are_any(tmp_path: Path) -> None:
    assert reading("pcielink", hardware(tmp_path)) == {
        'host_pcie_link_speed_transfers_per_second{device="0000:17:00.0"}': 32e9,
        'host_pcie_link_width{device="0000:17:00.0"}': 16,
        'host_pcie_link_speed_transfers_per_second{device="0000:18:00.0"}': 2.5e9,
        'host_pcie_link_width{device="0000:18:00.0"}': 8,
    }


def test_link_that_is_lost_has_no_speed_and_no_lanes(tmp_path: Path) -> None:
    collector = opened("pcielink", hardware(tmp_path))
    device = "/sys/bus/pci/devices/0000:17:00.0"
    written(tmp_path, {f"{device}/current_link_speed": "Unknown\n", f"{device}/current_link_width": "0\n"})
    values = latest(collector)
    assert math.isnan(values['host_pcie_link_speed_transfers_per_second{device="0000:17:00.0"}'])
    assert values['host_pcie_link_width{device="0000:17:00.0"}'] == 0
    collector.close()


def test_thermal_zones_are_in_degrees(tmp_path: Path) -> None:
    assert reading("thermal", hardware(tmp_path)) == {
        'host_thermal_zone_celsius{zone="0",type="x86_pkg_temp"}': pytest.approx(47.125),
        'host_thermal_zone_celsius{zone="1",type="acpitz"}': -8,
    }

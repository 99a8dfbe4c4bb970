"""CPU sources: values in our units under the right CPU, whatever the number of CPUs does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from catalog.family import Profile
from exporter.collector import Unavailable
from tests.exporter.collectors import latest, opened, reading
from tests.hosts import captured_vm, written
from tests.hosts.hardware import hardware

STAT = """\
cpu  300 2 30 4000 5 6 7 8 9 10
cpu0 100 1 10 2000 2 3 3 4 4 5
cpu{second} 200 1 20 2000 3 3 4 4 5 5
intr 123456 0 9 0 0 77
ctxt 1990473
btime 1062191376
processes 2915
procs_running 1
procs_blocked 3
softirq 183433 0 21755 12 39 1137 231 21459 2263
"""
INTERRUPTS = """\
           CPU0       CPU1
 24:          1          2  IO-APIC   5-edge      ACPI:Ged
 31:          7          0 PCI-MSIX-0000:17:00.0   0-edge      mlx5_comp0@pci:0000:17:00.0
 32:          0          5 PCI-MSIX-0000:18:00.0   0-edge      nvidia
 33:          0          4 PCI-MSIX-0000:19:00.0   1-edge      nvme0q1
NMI:          0          0   Non-maskable interrupts
LOC:        100        200   Local timer interrupts
TLB:          3          4   TLB shootdowns
ERR:          2
"""


def test_stat_turns_ticks_into_seconds_and_leaves_the_sum_of_cpus_out(tmp_path: Path) -> None:
    values = reading("stat", written(tmp_path, {"/proc/stat": STAT.format(second=1)}))
    assert values['cpu_seconds_total{cpu="0",mode="user"}'] == 1.0
    assert values['cpu_seconds_total{cpu="1",mode="system"}'] == 0.2
    assert values['cpu_seconds_total{cpu="1",mode="steal"}'] == 0.04
    assert len([name for name in values if name.startswith("cpu_seconds")]) == 16
    assert values['cpu_guest_seconds_total{cpu="0",mode="user"}'] == 0.04
    assert values['cpu_guest_seconds_total{cpu="0",mode="nice"}'] == 0.05
    assert values["host_interrupts_total"] == 123456
    assert values["host_context_switches_total"] == 1990473
    assert values["host_boot_time_seconds"] == 1062191376
    assert values["host_forks_total"] == 2915
    assert (values["host_procs_running"], values["host_procs_blocked"]) == (1, 3)


def test_stat_follows_a_cpu_that_goes_and_another_that_comes(tmp_path: Path) -> None:
    collector = opened("stat", written(tmp_path, {"/proc/stat": STAT.format(second=1)}))
    before = collector.series
    written(tmp_path, {"/proc/stat": STAT.format(second=2)})
    values = latest(collector)
    assert collector.series is not before
    assert values['cpu_seconds_total{cpu="2",mode="user"}'] == 2.0
    assert 'cpu_seconds_total{cpu="1",mode="user"}' not in values
    collector.close()


def test_idle_time_that_the_kernel_counts_back_stands_still(tmp_path: Path) -> None:
    """https://man7.org/linux/man-pages/man5/proc_stat.5.html: iowait may decrease."""
    collector = opened("stat", written(tmp_path, {"/proc/stat": STAT.format(second=1)}))
    told = []
    for idle, waiting in ((1999, 3), (2004, 2), (1000, 4)):
        row = f"cpu0 100 1 10 {idle} {waiting} 3"
        written(tmp_path, {"/proc/stat": STAT.format(second=1).replace("cpu0 100 1 10 2000 2 3", row)})
        values = latest(collector)
        told.append(tuple(values[f'cpu_seconds_total{{cpu="0",mode="{mode}"}}'] for mode in ("idle", "iowait")))
    assert told == [(20.0, 0.03), (20.04, 0.03), (10.0, 0.04)], "what falls by seconds was counted anew"
    collector.close()


def test_stat_of_a_kernel_with_fewer_modes_has_those(tmp_path: Path) -> None:
    rows = "cpu  1 2 3 4\ncpu0 100 200 300 400\nintr 1 0\nctxt 2\nbtime 3\nprocesses 4\n"
    values = reading("stat", written(tmp_path, {"/proc/stat": rows}))
    modes = {name.split('"')[3]: value for name, value in values.items() if name.startswith("cpu_seconds")}
    assert modes == {"user": 1.0, "nice": 2.0, "system": 3.0, "idle": 4.0}
    assert "host_procs_running" not in values


def test_softirqs_leave_cpus_out_that_are_not_plugged_in(tmp_path: Path) -> None:
    table = "          CPU0       CPU1       CPU2\n      HI:   1 2 3\n  NET_RX:   40 50 60\n"
    files = {"/proc/softirqs": table, "/sys/devices/system/cpu/present": "0,2\n"}
    assert reading("softirqs", written(tmp_path, files)) == {
        'cpu_softirqs_total{cpu="0",type="HI"}': 1,
        'cpu_softirqs_total{cpu="2",type="HI"}': 3,
        'cpu_softirqs_total{cpu="0",type="NET_RX"}': 40,
        'cpu_softirqs_total{cpu="2",type="NET_RX"}': 60,
    }


def test_interrupts_are_summed_by_cpu_and_by_class(tmp_path: Path) -> None:
    values = reading("interrupts", written(tmp_path, {"/proc/interrupts": INTERRUPTS}))
    assert values['cpu_interrupts_total{cpu="0"}'] == 1 + 7 + 100 + 3
    assert values['cpu_interrupts_total{cpu="1"}'] == 2 + 5 + 4 + 200 + 4
    classes = {name.split('"')[1]: value for name, value in values.items() if "by_class" in name}
    assert classes == {
        "LOC": 300, "NMI": 0, "TLB": 7, "ERR": 2, "mlx5": 7, "nvidia": 5, "nvme": 4, "other": 3
    }  # fmt: skip


def test_interrupts_follow_rows_that_change_hands(tmp_path: Path) -> None:
    collector = opened("interrupts", written(tmp_path, {"/proc/interrupts": INTERRUPTS}))
    written(
        tmp_path, {"/proc/interrupts": INTERRUPTS.replace("5 PCI", "9 PCI").replace("      nvidia", "      nvme1q1")}
    )
    values = latest(collector)
    assert values['cpu_interrupts_by_class_total{class="nvme"}'] == 4 + 9
    assert 'cpu_interrupts_by_class_total{class="nvidia"}' not in values
    collector.close()


def test_interrupts_count_on_where_only_some_rows_change(tmp_path: Path) -> None:
    collector = opened("interrupts", written(tmp_path, {"/proc/interrupts": INTERRUPTS}))
    layout = collector.series
    written(tmp_path, {"/proc/interrupts": INTERRUPTS.replace("200   Local", "260   Local")})
    values = latest(collector)
    assert values['cpu_interrupts_by_class_total{class="LOC"}'] == 360
    assert values['cpu_interrupts_total{cpu="1"}'] == 275
    assert collector.series is layout
    collector.close()


def test_interrupts_of_a_driver_that_was_unloaded_are_not_taken_back(tmp_path: Path) -> None:
    collector = opened("interrupts", written(tmp_path, {"/proc/interrupts": INTERRUPTS}))
    rows = [row for row in INTERRUPTS.splitlines(keepends=True) if "mlx5" not in row and "ACPI" not in row]
    written(tmp_path, {"/proc/interrupts": "".join(rows)})
    values = latest(collector)
    assert (values['cpu_interrupts_total{cpu="0"}'], values['cpu_interrupts_total{cpu="1"}']) == (111, 215)
    written(tmp_path, {"/proc/interrupts": "".join(rows).replace("100        200   Local", "110        200   Local")})
    values = latest(collector)
    assert (values['cpu_interrupts_total{cpu="0"}'], values['cpu_interrupts_by_class_total{class="LOC"}']) == (121, 310)
    collector.close()


def test_interrupts_of_a_class_neither_fall_nor_jump_with_the_cpus(tmp_path: Path) -> None:
    both = "     CPU0 CPU1\nLOC: 100 200 Local timer interrupts\n"
    collector = opened("interrupts", written(tmp_path, {"/proc/interrupts": both}))
    told = []
    for rows in (
        "     CPU0\nLOC: 110 Local timer interrupts\n",
        "     CPU0\nLOC: 120 Local timer interrupts\n",
        both.replace("100", "130"),
        both.replace("100", "140"),
    ):
        written(tmp_path, {"/proc/interrupts": rows})
        values = latest(collector)
        told.append((values['cpu_interrupts_by_class_total{class="LOC"}'], values['cpu_interrupts_total{cpu="0"}']))
    assert told == [(300, 110), (310, 120), (310, 130), (320, 140)]
    assert values['cpu_interrupts_total{cpu="1"}'] == 200
    collector.close()


def test_impossible_count_does_not_outlast_a_change_of_cpus(tmp_path: Path) -> None:
    both = "     CPU0 CPU1\nLOC: 100 200 Local timer interrupts\n"
    collector = opened("interrupts", written(tmp_path, {"/proc/interrupts": both}))
    told = []
    for rows in (both.replace("100", "9" * 30), "     CPU0\nLOC: 110 Local timer interrupts\n"):
        written(tmp_path, {"/proc/interrupts": rows})
        told.append(latest(collector)['cpu_interrupts_by_class_total{class="LOC"}'])
    assert math.isnan(told[0])
    assert told[1] == 110
    collector.close()


def test_numbered_vectors_of_arm_are_told_by_their_description(tmp_path: Path) -> None:
    rows = (
        "           CPU0       CPU1\n"
        " 11:      30000      40000     GICv3  27 Level     arch_timer\n"
        "IPI0:         5          6       Rescheduling interrupts\n"
        "IPI1:         1          1       Function call interrupts\n"
        "IPI2:         0          0       CPU stop interrupts\n"
    )
    values = reading("interrupts", written(tmp_path, {"/proc/interrupts": rows}))
    assert {name.split('"')[1]: value for name, value in values.items() if "by_class" in name} == {
        "LOC": 70000, "RES": 11, "CAL": 2, "other": 0
    }  # fmt: skip


def test_idle_states_are_named_by_their_driver(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    values = reading("cpuidle", host)
    microseconds = int(host.text("/sys/devices/system/cpu/cpu1/cpuidle/state1/time"))
    assert values['cpu_idle_state_seconds_total{cpu="1",state="haltpoll idle"}'] == pytest.approx(microseconds / 1e6)
    assert 'cpu_idle_state_entries_total{cpu="0",state="POLL"}' in values
    assert all("entries" not in name for name in reading("cpuidle", host, Profile.CORE))


def test_idle_states_of_a_cpu_that_goes_offline_go_with_it(tmp_path: Path) -> None:
    states = {
        f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state0/{file}": value
        for cpu in (0, 1)
        for file, value in (("name", "C1\n"), ("time", "5000000\n"), ("usage", "7\n"), ("rejected", "3\n"))
    }
    collector = opened("cpuidle", written(tmp_path, {**states, "/sys/devices/system/cpu/online": "0-1\n"}))
    assert len(collector.read()) == 6
    for file in ("name", "time", "usage", "rejected"):
        (tmp_path / f"sys/devices/system/cpu/cpu1/cpuidle/state0/{file}").unlink()
    (tmp_path / "sys/devices/system/cpu/cpu1/cpuidle/state0").rmdir()
    written(tmp_path, {"/sys/devices/system/cpu/online": "0\n"})
    assert latest(collector) == {
        'cpu_idle_state_seconds_total{cpu="0",state="C1"}': 5.0,
        'cpu_idle_state_entries_total{cpu="0",state="C1"}': 7.0,
        'cpu_idle_state_rejected_total{cpu="0",state="C1"}': 3.0,
    }
    collector.close()


def test_cpus_are_online_or_not(tmp_path: Path) -> None:
    files = {"/sys/devices/system/cpu/present": "0-3\n", "/sys/devices/system/cpu/online": "0-1,3\n"}
    collector = opened("cpuonline", written(tmp_path, files))
    assert [latest(collector)[f'cpu_online{{cpu="{number}"}}'] for number in range(4)] == [1, 1, 0, 1]
    written(tmp_path, {"/sys/devices/system/cpu/online": "0-3\n"})
    assert latest(collector)['cpu_online{cpu="2"}'] == 1
    collector.close()


def test_package_and_place_of_cpus_are_told(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    (info,) = reading("cpuinfo", host)
    assert info.startswith('cpu_info{package="0",vendor="GenuineIntel",family="6",model=')
    assert reading("cputopology", host) == {
        f'cpu_topology_info{{cpu="{cpu}",core="{cpu}",package="0",die="0",node="0"}}': 1.0 for cpu in (0, 1)
    }


def test_package_of_an_arm_cpu_is_told_by_the_names_it_uses(tmp_path: Path) -> None:
    block = "processor\t: {}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\nCPU revision\t: 0\n\n"
    host = written(tmp_path, {"/proc/cpuinfo": block.format(0) + block.format(1)})
    assert list(reading("cpuinfo", host)) == [
        'cpu_info{package="0",vendor="0x41",family="8",model="0xd4f",stepping="0",microcode="",model_name=""}'
    ]


def test_schedstat_turns_nanoseconds_into_seconds(tmp_path: Path) -> None:
    values = reading("schedstat", hardware(tmp_path))
    assert values['cpu_sched_running_seconds_total{cpu="0"}'] == pytest.approx(2045936.778163039)
    assert values['cpu_sched_waiting_seconds_total{cpu="1"}'] == pytest.approx(364107.263788241)
    assert values['cpu_sched_timeslices_total{cpu="1"}'] == 5145567945
    assert len(values) == 6


def test_throttling_is_counted_once_for_each_core_and_package(tmp_path: Path) -> None:
    assert reading("throttle", hardware(tmp_path)) == {
        'cpu_core_throttles_total{package="0",core="0"}': 5,
        'cpu_core_throttle_seconds_total{package="0",core="0"}': 1.5,
        'cpu_package_throttles_total{package="0"}': 30,
        'cpu_package_throttle_seconds_total{package="0"}': 0.25,
        'cpu_core_throttles_total{package="1",core="0"}': 7,
        'cpu_core_throttle_seconds_total{package="1",core="0"}': 1.5,
        'cpu_package_throttles_total{package="1"}': 31,
        'cpu_package_throttle_seconds_total{package="1"}': 0.25,
    }


def test_machine_checks_are_those_of_each_cpu_and_not_the_looks_for_them(tmp_path: Path) -> None:
    rows = "           CPU0       CPU2\n LOC: 5 6 timer\n MCE: {} 1 Machine check exceptions\n MCP: 8 9 polls\n"
    collector = opened("interrupts", written(tmp_path, {"/proc/interrupts": rows.format(0)}))
    checks = [f'cpu_machine_checks_total{{cpu="{number}"}}' for number in (0, 2)]
    assert [latest(collector)[series] for series in checks] == [0, 1]
    written(tmp_path, {"/proc/interrupts": rows.format(3)})
    assert [latest(collector)[series] for series in checks] == [3, 1]
    collector.close()
    assert not set(checks) & set(reading("interrupts", written(tmp_path, {}), Profile.CORE))


def test_bounds_of_frequencies_are_in_hertz(tmp_path: Path) -> None:
    values = reading("cpufreq", hardware(tmp_path))
    family = "cpu_frequency_limit_hertz"
    assert {series: value for series, value in values.items() if 'cpu="2"' in series} == {
        f'{family}{{cpu="2",limit="hardware_min"}}': 800e6,
        f'{family}{{cpu="2",limit="hardware_max"}}': 3.8e9,
        f'{family}{{cpu="2",limit="base"}}': 2e9,
        f'{family}{{cpu="2",limit="policy_max"}}': 2600002e3,
    }
    assert len(values) == 8


def test_frequency_is_what_was_measured_or_else_what_was_asked_for(tmp_path: Path) -> None:
    host = hardware(tmp_path)
    assert reading("cpufrequency", host) == {
        'cpu_frequency_hertz{cpu="0"}': 2.1e9,
        'cpu_frequency_hertz{cpu="2"}': 2345678e3,
    }


def test_load_is_a_gauge_by_window(tmp_path: Path) -> None:
    values = reading("loadavg", written(tmp_path, {"/proc/loadavg": "0.75 1.5 2.25 2/1234 5678\n"}))
    assert values == {
        'host_load_average{window="1m"}': 0.75,
        'host_load_average{window="5m"}': 1.5,
        'host_load_average{window="15m"}': 2.25,
    }


def test_pressure_turns_microseconds_into_seconds_and_knows_no_stall_of_the_cpu(tmp_path: Path) -> None:
    some, full = (f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={{}}\n" for kind in ("some", "full"))
    files = {f"/proc/pressure/{name}": some.format(1500000) + full.format(250000) for name in ("cpu", "io", "memory")}
    collector = opened("pressure", written(tmp_path, {**files, "/proc/pressure/irq": full.format(7)}))
    assert latest(collector) == {
        'host_pressure_waiting_seconds_total{resource="cpu"}': 1.5,
        'host_pressure_waiting_seconds_total{resource="io"}': 1.5,
        'host_pressure_stalled_seconds_total{resource="io"}': 0.25,
        'host_pressure_waiting_seconds_total{resource="memory"}': 1.5,
        'host_pressure_stalled_seconds_total{resource="memory"}': 0.25,
        'host_pressure_stalled_seconds_total{resource="irq"}': 7e-6,
    }
    written(tmp_path, {"/proc/pressure/io": full.format(250000)})
    with pytest.raises(ValueError, match="/proc/pressure/io: has no line"):
        collector.read()
    collector.close()


def test_host_without_pressure_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="psi=1"):
        opened("pressure", written(tmp_path, {"/proc/stat": ""}))


def test_host_tells_what_it_is(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/hostname": "gpu-7\n",
        "/proc/sys/kernel/osrelease": "6.8.0\n",
        "/etc/os-release": 'NAME="X"\nPRETTY_NAME="X 12"\n',
        "/sys/class/dmi/id/sys_vendor": "ACME\n",
        "/sys/class/dmi/id/product_name": "DX-9\n",
        "/sys/class/dmi/id/bios_version": "2.1\n",
    }
    host = written(tmp_path, {**files, "/sys/hypervisor/type": "xen\n"})
    labels = 'nodename="gpu-7",kernel="6.8.0",os="X 12",vendor="ACME",product="DX-9",bios="2.1"'
    assert list(reading("hostinfo", host)) == [f'host_info{{{labels},hypervisor="xen"}}']


def test_kernel_of_older_days_only_tells_its_taint(tmp_path: Path) -> None:
    assert reading("kernel", written(tmp_path, {"/proc/sys/kernel/tainted": "512\n"})) == {"host_taint": 512}


def test_nothing_is_missing_on_the_captured_host(tmp_path: Path) -> None:
    host = captured_vm(tmp_path)
    for name in ("stat", "softirqs", "interrupts", "cpuidle", "pressure", "loadavg"):
        values = reading(name, host)
        assert values
        assert not any(map(math.isnan, values.values())), name

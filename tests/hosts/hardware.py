"""A host with what a small virtual machine lacks: sensors, energy counters, RDMA, a bond, slices, hardware errors.

In the formats of https://docs.kernel.org/hwmon/sysfs-interface.html, https://docs.kernel.org/power/powercap/powercap.html,
https://docs.kernel.org/admin-guide/RAS/main.html, https://docs.kernel.org/ABI/stable/sysfs-class-infiniband.html,
https://docs.kernel.org/scheduler/sched-stats.html, https://docs.kernel.org/admin-guide/md.html,
https://docs.kernel.org/driver-api/thermal/sysfs-api.html, https://docs.kernel.org/ABI/testing/sysfs-bus-pci.html,
https://docs.kernel.org/admin-guide/mm/transhuge.html, https://docs.kernel.org/filesystems/proc.html,
https://man7.org/linux/man-pages/man8/mountstats.8.html, https://docs.kernel.org/networking/bonding.html and
https://docs.kernel.org/admin-guide/cgroup-v2.html.
"""

from __future__ import annotations

from pathlib import Path

from exporter.host import Host
from tests.hosts import written

_CPU = "/sys/devices/system/cpu"
_PORT = "/sys/class/infiniband/mlx5_0/ports/1"
_PCI = "/sys/bus/pci/devices"
MOUNTSTATS = (
    "device proc mounted on /proc with fstype proc\n"
    "no device mounted on /odd with fstype odd\n"
    "device filer:/sets mounted on /data\\040sets with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp,timeo=600,retrans=2,sec=sys\n"
    "\tage:\t1000\n"
    "\tevents:\t52 226 0 0 1 13 398 0 0 331 0 47 0 0 77 0 0 77 0 0 0 0 0 0 0 0 0\n"
    "\tbytes:\t1207640230 2000 1000 500 1210214218 2500 295483 1\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726\n"
    "\tper-op statistics\n"
    "\t        NULL: 0 0 0 0 0 0 0 0 0\n"
    "\t        READ: 1298 1301 0 207680 1210292152 6 79386 79407 0\n"
    "\t       WRITE: 7 7 0 2500 900 1 20 22 0\n"
    "\t     GETATTR: 331 331 0 61568 72544 2 340 345 4\n"
    "\n"
    "device filer:/home mounted on /home with fstype nfs statvers=1.1\n"
    "\tbytes:\t70 80 0 0 70 80 1 1\n"
    "\tper-op statistics\n"
    "\t        READ: 3 3 0 300 400 0 6 6 0\n"
    "\n"
    "device /dev/vda mounted on /last with fstype ext4\n"
)
_FILES = {
    "/proc/schedstat": (
        "version 15\ntimestamp 4295892912\n"
        "cpu0 498494191 0 3533438552 2553969831 3853684107 2465731542 2045936778163039 343796328169361 4767485306\n"
        "domain0 00000000,00000003 212499247 210112015 1861015 1860405436 536440 369895 32599 210079416 25368550\n"
        "cpu1 518377256 0 4155211005 2778589869 10466382 2867629021 1904686152592476 364107263788241 5145567945\n"
    ),
    **{
        f"{_CPU}/cpu{cpu}/{file}": f"{value}\n"
        for cpu, core, package in ((0, 0, 0), (1, 0, 0), (2, 0, 1))
        for file, value in (
            ("topology/core_id", core),
            ("topology/physical_package_id", package),
            ("thermal_throttle/core_throttle_count", 5 + cpu),
            ("thermal_throttle/core_throttle_total_time_ms", 1500),
            ("thermal_throttle/package_throttle_count", 30 + package),
            ("thermal_throttle/package_throttle_total_time_ms", 250),
        )
    },
    f"{_CPU}/online": "0-2\n",
    "/sys/class/hwmon/hwmon0/name": "coretemp\n",
    "/sys/devices/platform/coretemp.0/uevent": "",
    "/sys/class/hwmon/hwmon0/temp1_input": "54000\n",
    "/sys/class/hwmon/hwmon0/temp1_label": "Package id 0\n",
    "/sys/class/hwmon/hwmon0/temp1_max": "80000\n",
    "/sys/class/hwmon/hwmon0/temp2_input": "-1500\n",
    "/sys/class/hwmon/hwmon1/name": "power_meter\n",
    "/sys/class/hwmon/hwmon1/power1_input": "350000000\n",
    "/sys/class/hwmon/hwmon1/power1_average": "340000000\n",
    "/sys/class/hwmon/hwmon1/power2_average": "20500000\n",
    "/sys/class/hwmon/hwmon1/fan1_input": "4800\n",
    "/sys/class/hwmon/hwmon1/in0_input": "12048\n",
    "/sys/class/hwmon/hwmon1/in0_label": "+12V\n",
    "/sys/class/hwmon/hwmon1/in1_input": "-11952\n",
    "/sys/class/hwmon/hwmon2/name": "nvme\n",
    "/sys/class/hwmon/hwmon2/temp1_input": "40850\n",
    "/sys/class/nvme/nvme0/hwmon2/temp1_input": "40850\n",
    "/sys/class/nvme/nvme0/hwmon2/temp2_input": "51850\n",
    "/sys/class/powercap/intel-rapl/enabled": "1\n",
    "/sys/class/powercap/intel-rapl:0/name": "package-0\n",
    "/sys/class/powercap/intel-rapl:0/energy_uj": "240422366267\n",
    "/sys/class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850\n",
    "/sys/class/powercap/intel-rapl:0:0/name": "dram\n",
    "/sys/class/powercap/intel-rapl:0:0/energy_uj": "118821284256\n",
    "/sys/class/powercap/intel-rapl:0:0/max_energy_range_uj": "262143328850\n",
    "/sys/class/powercap/intel-rapl:0/constraint_0_name": "long_term\n",
    "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw": "350000000\n",
    "/sys/class/powercap/intel-rapl:0/constraint_1_name": "short_term\n",
    "/sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw": "420000000\n",
    "/sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw": "0\n",
    "/sys/devices/system/edac/mc/mc0/mc_name": "Intel_10nm Socket#0 IMC#0\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_location": "channel 0 slot 0 \n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_mem_type": "Registered-DDR5\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_edac_mode": "S8ECD8ED\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count": "2\n",
    "/sys/devices/system/edac/mc/mc0/ce_count": "12\n",
    "/sys/devices/system/edac/mc/mc0/ue_count": "0\n",
    "/sys/devices/system/edac/mc/mc1/ce_count": "0\n",
    "/sys/devices/system/edac/mc/mc1/ue_count": "1\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count": "11\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_label": "CPU_SrcID#0_MC#0_Chan#0_DIMM#0\n",
    "/sys/devices/system/edac/mc/mc0/dimm3/dimm_ce_count": "1\n",
    "/sys/devices/system/edac/mc/mc0/dimm3/dimm_label": "CPU_SrcID#0_MC#0_Chan#1_DIMM#1\n",
    "/sys/devices/system/edac/mc/mc1/rank2/dimm_ce_count": "0\n",
    **{
        f"/sys/devices/system/node/node0/memory_failure/{result}": f"{pages}\n"
        for result, pages in (("total", 10), ("recovered", 4), ("delayed", 3), ("ignored", 2), ("failed", 1))
    },
    "/sys/devices/system/node/node0/distance": "10 21\n",
    "/sys/devices/system/node/node2/distance": "21 10\n",
    "/sys/class/nvme/nvme0/state": "live\n",
    "/sys/class/nvme/nvme1/state": "deleting (no IO)\n",
    "/sys/block/md0/md/degraded": "1\n",
    "/sys/class/thermal/cooling_device0/type": "Processor\n",
    "/sys/class/thermal/cooling_device0/max_state": "10\n",
    "/sys/class/thermal/cooling_device0/cur_state": "4\n",
    "/sys/class/thermal/cooling_device1/type": "intel_powerclamp\n",
    "/sys/class/thermal/cooling_device1/max_state": "50\n",
    "/sys/class/thermal/cooling_device1/cur_state": "-1\n",
    "/sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
    "/sys/class/thermal/thermal_zone0/temp": "47125\n",
    "/sys/class/thermal/thermal_zone1/type": "acpitz\n",
    "/sys/class/thermal/thermal_zone1/temp": "-8000\n",
    **{
        f"{_CPU}/cpu{cpu}/cpufreq/{file}": f"{khz}\n"
        for cpu in (0, 2)
        for file, khz in (
            ("cpuinfo_min_freq", 800_000),
            ("cpuinfo_max_freq", 3_800_000),
            ("base_frequency", 2_000_000),
            ("scaling_max_freq", 2_600_000 + cpu),
        )
    },
    f"{_CPU}/cpu0/cpufreq/scaling_cur_freq": "2100000\n",
    f"{_CPU}/cpu2/cpufreq/scaling_cur_freq": "2200000\n",
    f"{_CPU}/cpu2/cpufreq/cpuinfo_avg_freq": "2345678\n",
    "/proc/buddyinfo": (
        "Node 0, zone      DMA      0      0      1 \n"
        "Node 0, zone   Normal   4381   1093    185 \n"
        "Node 1, zone   Normal    567   5423      9 \n"
    ),
    **{
        f"/sys/kernel/mm/transparent_hugepage/hugepages-{kib}kB/stats/{file}": f"{kib + count}\n"
        for kib in (64, 2048)
        for count, file in enumerate(("anon_fault_alloc", "anon_fault_fallback", "split", "nr_anon"))
    },
    "/proc/1/mountstats": MOUNTSTATS,
    f"{_PCI}/0000:17:00.0/current_link_speed": "32.0 GT/s PCIe\n",
    f"{_PCI}/0000:17:00.0/current_link_width": "16\n",
    f"{_PCI}/0000:18:00.0/class": "0x020000\n",
    f"{_PCI}/0000:18:00.0/current_link_speed": "2.5 GT/s\n",
    f"{_PCI}/0000:18:00.0/current_link_width": "8\n",
    f"{_PCI}/0000:00:01.0/class": "0x010802\n",
    f"{_PCI}/0000:00:01.0/current_link_speed": "Unknown\n",
    f"{_PCI}/0000:00:01.0/current_link_width": "0\n",
    "/sys/class/infiniband/mlx5_0/board_id": "MT_0000000838\n",
    "/sys/class/infiniband/mlx5_0/fw_ver": "28.39.1002\n",
    f"{_PORT}/link_layer": "Ethernet\n",
    f"{_PORT}/gid_attrs/ndevs/0": "eth0\n",
    f"{_PCI}/0000:17:00.0/class": "0x030200\n",
    f"{_PCI}/0000:17:00.0/aer_dev_correctable": "RxErr 3\nBadTLP 1\nTOTAL_ERR_COR 4\n",
    f"{_PCI}/0000:17:00.0/aer_dev_nonfatal": "Undefined 0\nTOTAL_ERR_NONFATAL 0\n",
    f"{_PCI}/0000:17:00.0/aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 2\n",
    f"{_PCI}/0000:00:1f.3/class": "0x040300\n",
    f"{_PCI}/0000:00:1f.3/aer_dev_correctable": "RxErr 9\nTOTAL_ERR_COR 9\n",
    f"{_PORT}/state": "4: ACTIVE\n",
    f"{_PORT}/rate": "400 Gb/sec (4X NDR)\n",
    f"{_PORT}/counters/port_rcv_data": "1000\n",
    f"{_PORT}/counters/port_xmit_data": "2500\n",
    f"{_PORT}/counters/port_rcv_packets": "70\n",
    f"{_PORT}/counters/port_xmit_packets": "80\n",
    f"{_PORT}/counters/port_xmit_wait": "12\n",
    f"{_PORT}/counters/port_xmit_discards": "3\n",
    f"{_PORT}/counters/port_rcv_errors": "N/A (no PMA)\n",
    f"{_PORT}/counters/symbol_error": "6\n",
    f"{_PORT}/counters/link_downed": "1\n",
    f"{_PORT}/hw_counters/out_of_sequence": "44\n",
    f"{_PORT}/hw_counters/np_cnp_sent": "5\n",
    "/sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
    "/sys/class/net/bond0/bonding/slaves": "eth0 eth1\n",
    "/sys/class/net/eth0/bonding_slave/mii_status": "up\n",
    "/sys/class/net/eth1/bonding_slave/mii_status": "down\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "/sys/fs/cgroup/system.slice/cpu.stat": "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 700\n",
    "/sys/fs/cgroup/system.slice/cpu.max": "200000 100000\n",
    "/sys/fs/cgroup/system.slice/memory.max": "max\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
    "/proc/irq/25/smp_affinity_list": "2\n",
    "/proc/irq/25/effective_affinity_list": "2\n",
    "/proc/irq/26/smp_affinity_list": "1\n",
    "/sys/fs/cgroup/system.slice/memory.events": "low 0\nhigh 1\nmax 2\noom 0\noom_kill 0\n",
}


def hardware(folder: Path) -> Host:
    """The host, written below an empty folder."""
    host = written(folder, _FILES)
    (folder / "sys/class/hwmon/hwmon0/device").symlink_to("../../../devices/platform/coretemp.0")
    return host

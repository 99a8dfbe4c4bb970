"""Figures of real GPUs, and what each of them does not have, as nvidia-smi showed them of machines at work.

From recordings of the project nvidia_gpu_exporter (MIT); fields that nvidia-smi does not show are made up and say so.
"""

from __future__ import annotations

from collections.abc import Mapping

_MIB = 1 << 20
_ALL_LINKS = 0xFFFFFFFF
_MADE_UP: Mapping[str, object] = {
    "energy": 123456789012,
    "field.83": 123456789012,  # total energy, mJ
    "field.197": 5_000_000_000,  # PCIe bytes sent
    "field.198": 7_000_000_000,
    **{f"field.{number}": 0 for number in range(173, 184)},  # PCIe errors
}
_HOPPER: Mapping[str, object] = {
    "capability": "9 0",
    "clock.0": 1980, "clock.1": 1980, "clock.3": 1545,
    "clock_max.0": 1980, "clock_max.1": 1980, "clock_max.3": 1545,
    "pcie_generation": 5, "pcie_generation_max": 5, "pcie_width": 16, "pcie_width_max": 16,
    "field.187": "200000u", "field.188": "700000u", "field.189": "700000u", "field.190": "700000u",
    "field.192": "700000u",
    "power_limit": 700000,
    "fabric": 3,
}  # fmt: skip
_DATA_CENTRE: Mapping[str, object] = {
    "pstate": 0,
    "reasons": 0,
    "compute_mode": 0, "ecc_mode": "1 1", "gsp_mode": "1 1",
    "graphics_processes": 0,
    "field.74": 0, "field.76": 0, "field.269": 0, "field.270": 0, "field.271": 0,  # clock event reasons, ns
    **{f"field.{number}": 0 for number in (3, 4, 5, 6)},  # ECC totals
    **{f"ecc.{kind}.{counter}.{place}": 0 for kind in (0, 1) for counter in (0, 1) for place in (2, 7)},
    "field.230": "0u",
}  # fmt: skip
_ROWS: Mapping[str, object] = {f"field.{number}": "0u" for number in (142, 143, 144, 145)}
H100: Mapping[str, object] = {
    **_MADE_UP, **_DATA_CENTRE, **_HOPPER, **_ROWS,
    "name": "NVIDIA H100 80GB HBM3", "vbios": "96.00.A5.00.01", "serial": "0000000000000",
    "persistence": 1, "mig_mode": "0 0", "mig_most": 7,
    "utilization": "100 11", "encoder": "0 0", "decoder": "0 0", "jpeg": "0 0", "ofa": "0 0",
    "memory": f"{81559 * _MIB} {479 * _MIB} {19818 * _MIB}", "bar1": f"{131072 * _MIB} {19819 * _MIB}",
    "clock.2": 2619, "clock_max.2": 2619,
    "temperature.0": 59, "margin": 26, "field.82": "54u",
    "field.185": "631950u", "field.186": "625680u", "power": 631950,
    "field.94": "9u", "replays": 9,
    "banks": "2560 0 0 0 0",
    "compute_processes": 3,
    **{f"nvlink.{link}": 1 for link in range(18)},
    # Made up: traffic and errors of NVLink, and what the performance monitors count.
    f"field.138.{_ALL_LINKS}": 2_000_000, f"field.139.{_ALL_LINKS}": 3_000_000,
    "field.38": 0, "field.45": 0, "field.52": 0, "field.59": 0,
    "gpm": 1, "gpm.1": 100.0, "gpm.2": 98.5, "gpm.3": 37.25, "gpm.5": 72.0, "gpm.10": 41.0, "gpm.12": 3.5,
    "gpm.13": 0.25, "gpm.4": 12.0, "gpm.7": 71.0, "gpm.11": 0.0,
}  # fmt: skip
H200_MIG: Mapping[str, object] = {
    **_MADE_UP, **_DATA_CENTRE, **_HOPPER,
    "name": "NVIDIA H200", "vbios": "96.00.A5.00.03", "persistence": 1, "mig_mode": "1 1", "mig_most": 7,
    "memory": f"{143771 * _MIB} {614 * _MIB} {16959 * _MIB}", "bar1": f"{262144 * _MIB} {143157 * _MIB}",
    "clock.2": 3201, "clock_max.2": 3201,
    "temperature.0": 36, "margin": 46, "field.82": "39u",
    "field.185": "295010u", "field.186": "294140u", "power": 295010,
    "field.94": "0u", "replays": 0,
    "banks": "3072 0 0 0 0",
    "compute_processes": 3,
    **{
        f"mig.{number}.{key}": value
        for number, (profile, instance, compute, total, used) in enumerate((
            ("1c.3g.71gb", 2, 0, 71424, 16925), ("2c.3g.71gb", 2, 1, 71424, 16925), ("2g.35gb", 3, 0, 33280, 17),
            ("1g.18gb", 9, 0, 16384, 9), ("1g.18gb", 10, 0, 16384, 9),
        ))
        for key, value in {
            "name": f"NVIDIA H200 MIG {profile}", "gi": instance, "ci": compute,
            "memory": f"{total * _MIB} 0 {used * _MIB}",
        }.items()
    },
    # Made up: what the performance monitors count in the two largest instances.
    "gi.2.gpm": 1, "gi.2.gpm.1": 90.0, "gi.2.gpm.2": 81.5, "gi.2.gpm.3": 33.0, "gi.2.gpm.5": 64.0, "gi.2.gpm.10": 22.0,
    "gi.3.gpm": 1, "gi.3.gpm.2": 12.5,
}  # fmt: skip
L40S: Mapping[str, object] = {
    **_MADE_UP, **_DATA_CENTRE, **_ROWS,
    "name": "NVIDIA L40S", "vbios": "95.02.66.00.02", "capability": "8 9", "persistence": 0,
    "utilization": "9 2", "encoder": "60 0", "decoder": "0 0", "jpeg": "0 0", "ofa": "0 0",
    "memory": f"{46068 * _MIB} {609 * _MIB} {1235 * _MIB}", "bar1": f"{65536 * _MIB} {1235 * _MIB}",
    "clock.0": 2520, "clock.1": 2520, "clock.2": 9001, "clock.3": 1965,
    "clock_max.0": 2520, "clock_max.1": 2520, "clock_max.2": 9001, "clock_max.3": 1965,
    "temperature.0": 54, "margin": 34,
    "field.185": "110230u", "field.186": "112380u", "power": 110230,
    "field.187": "100000u", "field.188": "350000u", "field.189": "350000u", "field.190": "350000u",
    "field.192": "350000u", "power_limit": 350000,
    "field.74": 204_642_816_000,
    "field.94": "0u", "replays": 0,
    "pcie_generation": 4, "pcie_generation_max": 4, "pcie_width": 16, "pcie_width_max": 16,
    "banks": "192 0 0 0 0",
    "compute_processes": 2,
}  # fmt: skip


def host(profile: Mapping[str, object], gpus: int = 1, driver: str = "590.48.01") -> dict[str, object]:
    """What the library of a host with so many of these GPUs says."""
    return {"count": gpus, "driver": driver, "cuda": 13010, **{f"*.{key}": value for key, value in profile.items()}}

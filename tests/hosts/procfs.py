"""What /proc says of a made-up machine, in the formats of https://docs.kernel.org/filesystems/proc.html.

``step`` is how many times 100 ms have passed: counts grow with it. What does not depend on the hardware keeps the lines
that a real kernel wrote on the captured virtual machine, with its numbers moved.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tests.hosts import VM
from tests.hosts.machines import Machine

_COUNT = re.compile(r"(?<= )\d+")
_KIB = re.compile(r"\d+(?= kB)")
_SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
_DISK_FIELDS = 17


@lru_cache(maxsize=16)
def recorded(path: str) -> str:
    """A file of the captured virtual machine."""
    _, _, rest = VM.read_text(encoding="utf-8").partition(f"\nfile {path}\n")
    lines = rest.encode().decode("unicode_escape").split("\n")
    return "".join(f"{line[1:]}\n" for line in lines[: next(at for at, line in enumerate(lines) if line[:1] != "|")])


def grown(text: str, step: int) -> str:
    """The text with every second of its counts larger by a few for each step."""
    numbers = iter(range(1 << 20))

    def grow(match: re.Match[str]) -> str:
        at = next(numbers)
        return str(int(match[0]) + step * (at % 7 + 1)) if at % 2 else match[0]

    return _COUNT.sub(grow, text)


def resized(text: str, step: int, share: float) -> str:
    """Sizes in KiB as a share of 64 times what they were, some of which go up and down."""
    numbers = iter(range(1 << 20))

    def resize(match: re.Match[str]) -> str:
        size = int(int(match[0]) * 64 * share)
        return f"{size + 4 * (step % 5) if size and next(numbers) % 3 == 0 else size:>{len(match[0])}}"

    return _KIB.sub(resize, text)


def files(machine: Machine, step: int) -> dict[str, str]:
    """The files by their path on the host."""
    moving = ("/proc/vmstat", "/proc/net/snmp", "/proc/net/netstat", "/proc/net/sockstat")
    still = ("/proc/loadavg", "/proc/sys/fs/file-nr", "/proc/sys/kernel/tainted", "/proc/sys/kernel/osrelease")
    return {
        **{path: grown(recorded(path), step) for path in moving},
        **{path: recorded(path) for path in still},
        "/proc/meminfo": resized(recorded("/proc/meminfo"), step, 1.0),
        "/proc/stat": _stat(machine, step),
        "/proc/interrupts": _interrupts(machine, step),
        "/proc/softirqs": _softirqs(machine, step),
        "/proc/schedstat": _schedstat(machine, step),
        "/proc/net/softnet_stat": _softnet(machine, step),
        "/proc/net/dev": _net(machine, step),
        "/proc/diskstats": _disks(machine, step),
        "/proc/cpuinfo": "".join(
            machine.cpuinfo.format(cpu=cpu, package=machine.package_of(cpu), core=cpu % machine.cores)
            for cpu in range(machine.cpus)
        ),
        "/proc/sys/kernel/hostname": f"{machine.name}\n",
        "/proc/1/mountinfo": "27 1 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw\n",
        **{
            f"/proc/pressure/{resource}": "".join(
                f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={some_us + step * 90}\n" for kind in kinds
            )
            for resource, kinds, some_us in (
                ("cpu", ("some", "full"), 123456),
                ("io", ("some", "full"), 234567),
                ("memory", ("some", "full"), 3456),
                ("irq", ("full",), 45678),
            )
        },
    }


def _stat(machine: Machine, step: int) -> str:
    """CPUs at work, in hundredths of a second: user, nice, system, idle, iowait, irq, softirq, steal and of guests."""
    rows = [
        (500_000 + 3 * cpu + 7 * step, 0, 90_000 + cpu + step, 400_000 + step, 300, 0, 900 + step, 0, 0, 0)
        for cpu in range(machine.cpus)
    ]
    lines = [("cpu ", map(sum, zip(*rows, strict=True))), *((f"cpu{cpu}", row) for cpu, row in enumerate(rows))]
    return (
        "".join(f"{name} {' '.join(map(str, row))}\n" for name, row in lines)
        + f"intr {90_000_000 + 5000 * step}{' 0' * sum(device.vectors for device in machine.devices)}\n"
        + f"ctxt {800_000_000 + 9000 * step}\nbtime 1795994512\nprocesses {70_000 + step}\n"
        + "procs_running 97\nprocs_blocked 0\nsoftirq 439199 0 58671 8 40677 92125 0 152 123734 0 123832\n"
    )


def _interrupts(machine: Machine, step: int) -> str:
    """A device's vectors go to the CPUs of its node, one each; what the architecture counts comes on all of them."""
    cpus = machine.cpus
    zero = f" {0:>10}"
    lines = [f"{'':>11}{''.join(f'CPU{cpu:<8}' for cpu in range(cpus))}"]
    label = 30
    for device in machine.devices:
        near = machine.cpus_of(device.node)
        for number in range(device.vectors):
            cpu = near[number % len(near)]
            row = zero * cpu + f" {1000 + number + step * (number % 9):>10}" + zero * (cpus - cpu - 1)
            chip = machine.msi.format(address=device.address, number=number)
            lines.append(f"{label:>4}:{row} {chip}{device.driver}{number}@pci:{device.address}")
            label += 1
    for at, (name, told) in enumerate(machine.arch_vectors):
        grows = step * (at % 4)
        row = "".join(f" {100 * at + cpu + grows:>10}" for cpu in range(cpus))
        lines.append(f"{name:>4}:{row}   {told}")
    lines += [f"{name:>4}: {0:>10}" for name in machine.error_vectors]
    return "\n".join(lines) + "\n"


def _softirqs(machine: Machine, step: int) -> str:
    header = " " * 20 + "".join(f"CPU{cpu:<8}" for cpu in range(machine.cpus))
    rows = (
        f"{kind + ':':>13}" + "".join(f" {1000 * at + cpu + step * (at % 3):>10}" for cpu in range(machine.cpus))
        for at, kind in enumerate(_SOFTIRQS)
    )
    return "\n".join((header, *rows)) + "\n"


def _schedstat(machine: Machine, step: int) -> str:
    rows = (
        f"cpu{cpu} 0 0 3533 2553 3853 2465 {2_045_936_000_000 + cpu + 70_000_000 * step} {343_796_000 + 1000 * step}"
        f" {4_767_485 + 9 * step}\n"
        for cpu in range(machine.cpus)
    )
    return f"version 15\ntimestamp {4295892912 + 25 * step}\n" + "".join(rows)


def _softnet(machine: Machine, step: int) -> str:
    rest = " ".join(["00000000"] * 9)
    return "".join(
        f"{21_000 + cpu + step * (cpu % 4):08x} 00000000 {cpu % 3:08x} {rest} {cpu:08x} 00000000 00000000\n"
        for cpu in range(machine.cpus)
    )


def _net(machine: Machine, step: int) -> str:
    headings = recorded("/proc/net/dev").splitlines(keepends=True)[:2]
    cards = (*machine.of_kind("adapter"), *machine.of_kind("uplink"))
    rows = (
        f"{name:>6}: {10**9 + 5000 * at * step} {2 * 10**6 + 9 * at * step} 0 {at} 0 0 0 0"
        f" {10**8 + 700 * at * step} {10**6 + 5 * at * step} 0 0 0 0 0 0\n"
        for at, name in enumerate(("lo", *map(machine.interface, cards)))
    )
    return "".join((*headings, *rows))


def _disks(machine: Machine, step: int) -> str:
    return "".join(
        f" 259 {disk.index:>7} nvme{disk.index}n1"
        + "".join(f" {10_000 * field + disk.index + step * (field % 3)}" for field in range(1, _DISK_FIELDS + 1))
        + "\n"
        for disk in machine.of_kind("disk")
    )

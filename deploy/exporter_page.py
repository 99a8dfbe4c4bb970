"""docs/exporter.md: the page about running the exporter, with its settings as the table declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from exporter.collector import discover
from exporter.settings import Settings, environment_name

_TEXT = """\
# The exporter

Rendered from the exporter's settings by `python -m deploy.render`.

```
hostpulse-exporter [COMMAND] [--FLAG=VALUE ...]
```

| command | what it does |
| --- | --- |
| `serve` | serves the paths below until SIGTERM or SIGINT; SIGHUP changes nothing; the default |
| `record` | writes all samples at full rate to a folder of Parquet files: [recording.md](recording.md) |
| `once` | writes one exposition |
| `list` | lists the collectors: state, reason, families, files read |
| `capture` | writes all that the collectors read, without what identifies the host: for a bug report |
| `completion` | writes what makes bash, zsh or fish complete flags: `source <(hostpulse-exporter completion bash)` |
| `version` | says which version this is |

Flags follow the command. `once`, `list`, `capture` and `version` take `--out=FILE`, and `--replay=CAPTURE` to look at
the host that a capture was made of: a bug report can be replayed. The exit status is 0, 1 for what went wrong while
running (a taken port, say) and 2 for a wrong command line.

| path | what is there |
| --- | --- |
| `/` | every collector with its state, tier, cost, errors and the reason for its state |
| `/metrics` | the newest value of each series, as text 0.0.4 or OpenMetrics 1.0; `collect[]=NAME` picks collectors |
| `/api/v1/samples` | the recent samples, in binary form: [samples-api.md](samples-api.md) |
| `/-/healthy` | 200 while the process serves |
| `/-/ready` | 200 while samples are fresh, else 503 with the reason |

## Settings

A flag beats the environment, the environment beats the default.

| flag | environment | default | meaning | allowed |
| --- | --- | --- | --- | --- |
"""

_REST = """
## How sampling works

The fast tier is read every `--sample.interval`, the medium tier every second, the slow tier every 15 s, GPUs every
`--gpu.interval`, what never changes once. All ticks lie on one grid of the monotonic clock, so they do not drift. A
tick that comes more than one interval late is left out and counted in `hostpulse_exporter_tick_overruns_total`.
What never changes is read again when a device came or went, and every 15 s while some of it cannot be read.

With `--sample.adaptive=600ms` the fast tier is read every 600 ms while the host is calm, and every `--sample.interval`
while it is not. What counts is the CPUs' idle time, context switches, time that tasks waited (for CPUs, memory, I/O or
interrupts), major faults and retransmitted segments, each against its own recent past: a host is unsettled once one of
them has in 600 ms moved from its mean by eight times its usual deviation, and calm again once all have kept below four
times it for as long as they had not, within 1.2 and 3.6 s. So a change is noticed at most one calm interval after it
shows. What is usual is forgotten within a minute: what stays becomes usual, and what keeps coming back. The first 12 s
are spent learning it. These times are multiples of the calm interval.

The detector judges such a host by one row in each calm interval, so that the rate itself is no anomaly. A window of 3 s
has five of them, which make fewer statistics than thirty ([detection.md](detection.md)). The rows in between are for
people: in `/api/v1/samples` and recordings. When the longer interval changes, the host is learned anew.

A tick takes from the kernel what is due; what it took is parsed when somebody asks for it, or else every two seconds.

A collector is

- **on**: its last read worked;
- **off**: there is nothing to read on this host, or it is not wanted; the page at `/` says which. It has no series, and
  is tried again every 30 s, as a driver may be loaded later;
- **failing**: `hostpulse_exporter_collector_success` is 0, its values are left out, the others are not affected. It is
  read on, and built anew every 30 s, until it works. The log has one line for each change of state;
- **hung**: a read of the slow tier or of the GPUs has not returned within `--sample.deadline`. It is left out until it
  returns.

Filesystems on servers, and all of a kind that is not known, are looked at in threads of their own, all at once and for
half a second at most. One that does not answer has no values, and in profile `standard`
`hostpulse_storage_filesystem_device_error` 1, until it does; the others are not affected.

A collector that keeps taking longer than `--sample.budget` in the fast or the medium tier is moved to the next slower
one; collectors of perf events may take a tenth of it, as they interrupt other CPUs. Once 30 reads there have taken less
than half of what is allowed (a read over it takes back five of them) it is moved back, and counted in
`hostpulse_exporter_collector_returns_total`. Each time that it has to go again twice as many reads are asked for, up to
1920. The page at `/` says what was moved last and why.

All values of a tick bear the time at which it began. One that could only be read more than half an interval later (the
host was too busy to let the exporter run) is left out, as rates made of it would be wrong.

`hostpulse_exporter_errors_total` counts all of this by collector and kind: the name of an errno or an exception,
`deadline`, `over_budget`, `late`, or `impossible_value` for a value that was infinite and therefore left out.

`hostpulse_exporter_sample_timestamp_seconds` says when the newest sample of each tier was taken. That, and not the time
of the scrape, is the clock of rates.

## What it may do, and what it then tells

The exporter needs no right of its own. Each collector that lacks one is off and says which; give it only what is wanted
(systemd: `AmbientCapabilities=` and `CapabilityBoundingSet=`, containers: `cap_add`).

{CAPABILITIES}
Files: one for most sources and one for each perf event and CPU, about 24 a CPU. `serve` raises its own limit as far as
the hard one (`LimitNOFILE=`) allows. Where that is too low perf counts fewer events and says which are left out.

## CPUs

By default each CPU has series of its own, and on hosts of more than 64 CPUs each NUMA node (`--cpu.granularity`); the
label `cpu` is then `node0` or `package0`. Counts are summed; times, clocks and gauges are averaged, so that a share of
time stays one. Signals come to the same either way, but for those of imbalance, which then compare nodes. A folded
counter goes on when one of its CPUs goes offline.

Perf events are counted on whole CPUs, whatever runs there, from 0 again when a CPU comes back. Hardware events are put
into groups that the PMU of the CPU can count whole, found by trying; each group is one read. Where groups have to take
turns, each reading is scaled by the time that its group was enabled over the time it was counted, and
`hostpulse_cpu_perf_running_ratio` tells that share; a group that was not counted at all has no value, and the next one
makes up for it. Generic events come first, then those that Arm's kernels name and one of Intel's Xeons (stalls). The
last level of AMD's caches belongs to no CPU and is not counted: `cache_references` and `cache_misses` are those of the
second level there.

To read the events of another CPU the kernel interrupts it. That takes 3 µs on the CPU itself and some 13 to 50 µs from
another one, for each group. So hardware events are read in the fast tier only while that takes less than a tenth of
`--sample.budget` (up to some 40 CPUs, in virtual machines 10), else every second: 1 % of one CPU. A larger budget keeps
them there. Caches, clocks and the scheduler's counts are read every second.

Tried on real counters: the software events and the time-stamp counter of the MSR PMU, alone and in one group, and the
system-management interrupts, which stayed at 0. Not tried, as the machine used had no hardware PMU: all events of
`perf` and `perfcache`, APERF and MPERF, the trying of groups against a real PMU, and Arm. They are as the kernel
documents them; multiplexing was tried on made-up readings.

## Files that are not as they should be

Numbers that no count can be (negative, beyond 64 bits, `nan`) are left out. A file of another format makes its own
collector fail and no other. One that ended with a newline when it was opened and no longer does has been cut: its last
number would be another one, so that the whole reading is left out (`EBADMSG`). Bytes of a name that are not UTF-8 are
told as `\\xNN`. The tests spoil each file that a collector reads in each of these ways, and replace it by a directory,
by a link to itself and by a file that may not be read.

## What is not read

- Traffic of memory controllers (`uncore_imc`, AMD's data fabric): each model of CPU has events of its own, none of
  which could be tried. Misses of the last-level cache and stalls come nearest.
- Power of the whole host by IPMI: its controller may take a second for an answer. What `hwmon` and RAPL tell is read.
- Rate of PCI Express by `nvmlDeviceGetPcieThroughput`: it blocks for 20 ms in each direction. The counters that later
  drivers have are read.
- What follows from other values, such as instructions per cycle, or the share and the frequency of busy time: it is
  computed where it is looked at, as one of the [signals](metrics.md#signals).

## Beside node_exporter

[metrics.md](metrics.md) has the names that node_exporter gives to the same quantities. The tests compare them with a
real node_exporter: counters have to lie between two readings of ours, on the host that the tests run on, on another
project's recorded tree and on written ones. Where the two differ on purpose:

| what | node_exporter | here |
| --- | --- | --- |
| disks | zram, partitions of memory cards | neither: memory is no disk, and a partition is counted by its disk |
| filesystems | each mount that is not excluded | each once, none of containers; in memory `/dev/shm` and `/tmp` |
| interfaces | all, `veth*` included | all but `veth*`, the host's ends of containers' links |
| speed of a link that has none | -125000, unless `--collector.netclass.ignore-invalid-speed` | no value |
| huge pages | the default size, all nodes together | each size and node |
| label of a temperature | in a series of its own (`node_hwmon_sensor_label`) | the label `label` |
| several sensor chips of one device | up to 1.11 one of them | each, what it is called added to `chip` |
| temperatures of NVMe drives | among those of `node_hwmon` | `hostpulse_storage_nvme_temperature_celsius` |
| label of a voltage | as that of a temperature | the label `label` |
| frequency of a CPU | what its driver asked for last | what was measured, where the driver tells it (Linux 6.14) |
| base frequency of a CPU | not told | `limit="base"` of `hostpulse_cpu_frequency_limit_hertz` |
| perf events | from when it was started | from when this was started |

Not compared are hardware events, for which a PMU is needed, and what came after node_exporter 1.5: `node_cpu_online`,
`node_softirqs_functions_total`, `node_softnet_backlog_len`, `node_kernel_hung_task_detect_count`, pressure of
interrupts, and the hardware counters of InfiniBand ports.

## GPUs

NVIDIA's GPUs are read through NVML, the driver's own library `libnvidia-ml.so.1`. Where it cannot be loaded or the
driver is not, the collectors are off and say so; a driver that does not fit its library, or does not answer within 4 s,
makes them fail. In a container the NVIDIA runtime has to hand the library in (`NVIDIA_DRIVER_CAPABILITIES=utility`).

| collector | how often | what it reads |
| --- | --- | --- |
| `gpu` | `--gpu.interval` | whether each answers, use, memory, power, heat, clocks and what holds them down, traffic |
| `gpugpm` | `--gpu.interval` | multiprocessors, tensor cores and memory bandwidth in use (Hopper and later) |
| `xid` | `--gpu.interval` | XID errors, counted as they happen, with the time of the last |
| `gpuhealth` | 15 s | limits, links, ECC errors, remapped rows, what the driver asks for, fans, processes |
| `gpudevices` | 15 s | GPUs that are plugged in, and GPUs that the driver finds |
| `gpumig`, `gpumode` | 15 s | instances of partitioned GPUs with their memory, how GPUs are set up (`standard`) |
| `gpumiggpm` | `--gpu.interval` | the same of each instance of a partitioned GPU (`standard`) |
| `gpuprocesses` | 15 s | memory of each process, by its number and never by its name or command line (`full`) |
| `gpuinfo` | once | what each GPU is |

Calls to the driver take a lock of the whole driver and may block, so they are made in threads of their own, never in
the one that samples the fast tier. All field values of a GPU are asked for in one call. What a GPU or a driver does not
have is found out once, when NVML is opened, and has no series.

While the exporter runs it holds the GPUs open: to reset one (`nvidia-smi --gpu-reset`) or to unload the driver, stop it
first. The driver's counts of bytes over PCI Express (`hostpulse_gpu_pcie_receive_bytes_total` and `…_transmit_…`) may
be of 32 bits, which would begin anew within a second above 4 GB/s; that is untried.

A GPU that falls off the bus has `hostpulse_gpu_up` 0 and no other values. Its series stay, and so does its label
`gpu`, even when the driver numbers the others anew. While one is lost NVML is closed and opened again once a minute,
which finds it once it is back.

XID errors come from two sources, NVML's events and the kernel's log; of two counts the larger one is told, as both
report the same errors. Only lines of the kernel's own facility count, since any process that may write to the log could
make up others. The log needs CAP_SYSLOG where `kernel.dmesg_restrict` is 1, and `--path.kmsg` in a container that has
it elsewhere. Errors from before the exporter was started are not counted.

The binding takes 14 MB of memory and is loaded only where the library is. A capture does not hold what NVML says, as
that is no file: replaying one never shows GPUs.

How far this was tried: against a stand-in for the library which is built by the tests, with the figures and the gaps
that nvidia-smi showed of an H100, an H200 in MIG mode and an L40S, and with GPUs that are lost, hang or come back. It
has not run on a real GPU yet. What NVML does when it is opened anew while a GPU is lost, how long it takes for real,
and the counters of NVLink, PCI Express, `gpugpm` and `gpumiggpm` are therefore as documented, not as observed.
`python -m bench.gpu_check` compares all values with nvidia-smi on a machine that has one, and measures what polling
costs the exporter and a job that multiplies matrices.
"""

_GAINS = {
    "`CAP_PERFMON` (before Linux 5.8 `CAP_SYS_ADMIN`), or the sysctl `kernel.perf_event_paranoid` at 0 or below; in a "
    "container also a seccomp profile that allows `perf_event_open`": (
        "perf",
        "perfcache",
        "perfclock",
    ),
    "`CAP_DAC_READ_SEARCH`, or root: since Linux 5.10 nobody else may read energy counters": ("rapl",),
    "`CAP_SYSLOG` where `kernel.dmesg_restrict` is 1: errors from the kernel's log beside those that NVML reports": (
        "xid",
    ),
    "the network namespace of the host (`--network=host`): system calls have no other": ("nicevents",),
    "root and `CAP_SYS_ADMIN`, in a container also `/dev/nvme*`: made after the specification, not tried on a drive "
    "yet": ("nvmehealth",),
}
"""What the exporter may have or not, and the collectors that need it."""


def exporter_page() -> str:
    """The whole page."""
    rest = _REST.replace("{CAPABILITIES}", _capabilities())
    return _TEXT + "".join(_row(entry.metadata) for entry in fields(Settings)) + rest


def _capabilities() -> str:
    kinds = discover()
    rows = ["| what it has | collectors | families gained |", "| --- | --- | --- |"]
    for right, names in _GAINS.items():
        families = (f"`{family.name}`" for name in names for family in kinds[name].families)
        rows.append(f"| {right} | {', '.join(f'`{name}`' for name in names)} | {', '.join(families)} |")
    return "\n".join(rows) + "\n"


def _row(about: Mapping[str, Any]) -> str:
    flag, default = about["flag"], about["default"]
    cells = (f"`--{flag}`", f"`{environment_name(flag)}`", f"`{default}`" if default else "none", about["help"])
    return "| " + " | ".join((*cells, about["kind"].allowed.replace("|", ", "))) + " |\n"

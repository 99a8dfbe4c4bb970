"""What is kept of each host for months: a bounded choice of quantities, one number a host, recorded by Prometheus.

Names follow https://prometheus.io/docs/practices/rules/: level, metric, operations (``instance:cpu_used_ratio:avg1m``).
Chosen is what a capacity team asks for: how full a subsystem is, how much of the time something waited for it, how
hot it ran and what it drew; and each signal that counts errors. What only tells causes stays in the raw series.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from catalog import FAMILIES, SIGNALS, outputs
from catalog.expression import Array, Expression, Vector, level, minus, plus, rate, ratio
from catalog.families import memory, network
from catalog.family import Subsystem
from catalog.signal import Role, Worse

WINDOW = "75s"
"""What rates and means look back on, once a minute: with scrapes up to 15 s no step falls between two looks."""
SUMMARIES: Mapping[Role, str] = MappingProxyType(
    {
        Role.UTILISATION: "instance_subsystem:utilisation_ratio",
        Role.SATURATION: "instance_subsystem:saturation_ratio",
        Role.ERROR: "instance_subsystem:errors_per_second",
    }
)


@dataclass(frozen=True, slots=True)
class Record:
    """One quantity a host. ``across`` (avg, max, min, sum) makes one number of its devices.

    ``leads`` marks what stands for its subsystem in the summary of its role: one share, or the sum of its errors.
    """

    name: str
    help: str
    expression: Expression
    unit: str
    subsystem: Subsystem
    role: Role
    across: str = "max"
    worse: Worse = Worse.HIGHER
    leads: bool = False

    def __post_init__(self) -> None:
        assert self.help.endswith("."), f"{self.name}: help is a sentence"
        assert self.across in {"avg", "max", "min", "sum"}, f"{self.name}: {self.across} makes no number of many"
        assert not self.leads or self.counts_errors or self.unit == "ratio", f"{self.name}: only shares and errors lead"

    @property
    def counts_errors(self) -> bool:
        """Whether it is the rate of an error."""
        return self.role is Role.ERROR and self.unit == "1/s"

    @property
    def minute(self) -> str:
        """The name of the means of a minute."""
        return f"instance:{self.name}:avg1m"

    @property
    def hours(self) -> Mapping[str, str]:
        """Names of what is kept of an hour, each with its PromQL over the means of a minute."""
        return _hours(self.minute, self.worse, only_mean=self.counts_errors)

    def promql(self) -> str:
        """What a minute's mean is computed by."""
        inner = self.expression.promql(WINDOW, "", averaged=True)
        labels = _labels_of(self.expression)
        return f"{self.across} without ({', '.join(labels)}) ({inner})" if labels else inner


def summary_minute(role: Role) -> str:
    """The name of the means of a minute of the summary by subsystem."""
    return f"{SUMMARIES[role]}:avg1m"


def summary_hours(role: Role) -> Mapping[str, str]:
    """As ``Record.hours``, of the summary by subsystem."""
    return _hours(summary_minute(role), Worse.HIGHER, only_mean=role is Role.ERROR)


def _hours(minute: str, worse: Worse, *, only_mean: bool) -> Mapping[str, str]:
    """Mean, and extreme and quantile on the bad side; of errors the mean tells how many."""
    bad = (
        {"min1h": "min_over_time({}[1h])", "p05_1h": "quantile_over_time(0.05, {}[1h])"}
        if worse is Worse.LOWER
        else {"max1h": "max_over_time({}[1h])", "p95_1h": "quantile_over_time(0.95, {}[1h])"}
    )
    operations = {"avg1h": "avg_over_time({}[1h])", **({} if only_mean else bad)}
    name = minute.removesuffix("avg1m")
    return {name + key: form.format(minute) for key, form in operations.items()}


class _Labels:
    """Operands of which only the labels count."""

    def rate(self, family: str, match: Mapping[str, str]) -> Vector:
        return {tuple((label, match.get(label, "")) for label in FAMILIES[family].labels): 1.0}

    level = slope = rate

    def aggregate(self, operator: str, arrays: Sequence[Array]) -> Array:  # noqa: ARG002 - see catalog.expression
        return arrays[0]

    def clamp_min(self, array: Array, least: float) -> Array:  # noqa: ARG002
        return array


def _labels_of(expression: Expression) -> tuple[str, ...]:
    """The labels that its result has besides those of the target."""
    (labels,) = expression.evaluate(_Labels())
    return tuple(name for name, _ in labels)


def _of(name: str, across: str = "max", *, leads: bool = False) -> Record:
    """A signal."""
    signal = SIGNALS[name]
    return Record(
        name, signal.help, signal.expression, signal.unit, signal.subsystem, signal.role, across, signal.worse, leads
    )


def _share(name: str, meaning: str, expression: Expression, subsystem: Subsystem) -> Record:
    """How full a subsystem is, where no signal says that by one number."""
    return Record(name, meaning, expression, "ratio", subsystem, Role.UTILISATION, leads=True)


def _sum(names: Iterable[str]) -> Expression:
    first, *others = (SIGNALS[name].expression for name in names)
    for other in others:
        first = plus(first, other)
    return first


_CPU_TIME = ("cpu_user_ratio", "cpu_nice_ratio", "cpu_system_ratio", "cpu_irq_ratio", "cpu_softirq_ratio")
_BOTH_WAYS = plus(rate(network.RECEIVE_BYTES), rate(network.TRANSMIT_BYTES))
_SPEED = level(network.SPEED_BYTES_PER_SECOND)
_CHOSEN = (
    _share("cpu_used_ratio", "Share of CPU time that was spent working.", _sum(_CPU_TIME), Subsystem.CPU),
    _of("cpu_user_ratio"),
    _of("cpu_system_ratio"),
    _of("cpu_steal_ratio"),
    _of("cpu_pressure_ratio", leads=True),
    _of("cpu_queueing_ratio"),
    _of("cpu_cgroup_throttled_ratio"),
    _of("cpu_running_tasks"),
    _of("cpu_context_switches_per_second"),
    _of("cpu_busy_frequency_hertz"),
    _of("cpu_board_temperature_celsius"),
    _share(
        "memory_used_ratio",
        "Share of memory that programs could not have.",
        ratio(minus(level(memory.TOTAL_BYTES), level(memory.AVAILABLE_BYTES)), level(memory.TOTAL_BYTES)),
        Subsystem.MEMORY,
    ),
    _of("memory_pressure_ratio", leads=True),
    _of("memory_swap_used_bytes"),
    _of("memory_major_page_faults_per_second"),
    _of("memory_refaults_per_second"),
    _of("memory_numa_remote_ratio"),
    _share(
        "network_used_ratio",
        "Traffic in both directions of the busiest link, of what it can carry both ways.",
        ratio(_BOTH_WAYS, plus(_SPEED, _SPEED)),
        Subsystem.NETWORK,
    ),
    _of("network_receive_bytes_per_second", "sum"),
    _of("network_transmit_bytes_per_second", "sum"),
    _of("network_tcp_retransmission_ratio"),
    _of("network_tcp_established_connections", "sum"),
    _of("network_rdma_receive_bytes_per_second", "sum"),
    _of("network_rdma_transmit_bytes_per_second", "sum"),
    _of("network_rdma_transmit_wait_per_second", "sum"),
    _of("storage_busy_ratio", leads=True),
    _of("storage_read_bytes_per_second", "sum"),
    _of("storage_written_bytes_per_second", "sum"),
    _of("storage_reads_per_second", "sum"),
    _of("storage_writes_per_second", "sum"),
    _of("storage_read_latency_seconds"),
    _of("storage_write_latency_seconds"),
    _of("storage_pressure_ratio", leads=True),
    _of("storage_filesystem_available_ratio", "min"),
    _of("gpu_up", "min"),
    _of("gpu_utilization_ratio", "avg", leads=True),
    _of("gpu_sm_active_ratio", "avg"),
    _of("gpu_tensor_active_ratio", "avg"),
    _of("gpu_memory_used_ratio", "avg"),
    _of("gpu_power_watts", "sum"),
    _of("gpu_temperature_celsius"),
    _of("gpu_sw_power_cap_ratio", leads=True),
    _of("gpu_sw_thermal_slowdown_ratio"),
    _of("gpu_hw_thermal_slowdown_ratio"),
    _of("gpu_pcie_receive_bytes_per_second", "sum"),
    _of("gpu_pcie_transmit_bytes_per_second", "sum"),
    _of("gpu_nvlink_receive_bytes_per_second", "sum"),
    _of("gpu_nvlink_transmit_bytes_per_second", "sum"),
)


def _errors() -> Iterator[Record]:
    """Each signal that counts errors, summed over devices. TCP tells of a loss in several ways: not to be added."""
    for signal in SIGNALS.values():
        if signal.role is Role.ERROR and signal.unit == "1/s":
            yield _of(signal.name, "sum", leads=not signal.name.startswith("network_tcp_"))


RECORDS: Mapping[str, Record] = MappingProxyType({record.name: record for record in (*_CHOSEN, *_errors())})
"""Everything that is recorded, by name."""

VERDICTS: Mapping[str, str] = MappingProxyType(
    {
        "instance:anomaly_score:max1m": "max without (detector) "
        f'(max_over_time({outputs.SCORE.name}{{detector="fused"}}[{WINDOW}]))',
        "instance:anomaly_score:max1h": "max_over_time(instance:anomaly_score:max1m[1h])",
        "instance_subsystem:anomaly_active:avg1m": f"avg_over_time({outputs.ACTIVE.name}[{WINDOW}])",
        "instance_subsystem:anomaly_active:avg1h": "avg_over_time(instance_subsystem:anomaly_active:avg1m[1h])",
    }
)
"""What is kept of the detector's verdicts: record -> PromQL."""


def names() -> frozenset[str]:
    """Every name that is recorded."""
    found = {name for record in RECORDS.values() for name in (record.minute, *record.hours)}
    found |= {name for role in SUMMARIES for name in (summary_minute(role), *summary_hours(role))}
    return frozenset(found | VERDICTS.keys())

"""What the detector publishes, declared once: its verdicts on hosts and the metrics about itself.

``OUTPUTS`` maps names to objects. Naming follows https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from catalog.family import Unit


class OutputKind(StrEnum):
    """How values of an output behave in time."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Output:
    """One metric family of the detector. ``buckets`` are the upper bounds of a histogram, in its unit."""

    name: str
    kind: OutputKind
    help: str
    labels: tuple[str, ...] = ()
    unit: Unit = Unit.NONE
    buckets: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        assert self.name.startswith(("hostpulse_anomaly_", "hostpulse_detector_")), f"{self.name}: foreign prefix"
        assert (self.kind is OutputKind.COUNTER) == self.name.endswith("_total"), f"{self.name}: _total marks a counter"
        assert (self.kind is OutputKind.INFO) == self.name.endswith("_info"), f"{self.name}: _info marks an info"
        assert self.unit is Unit.NONE or self.name.endswith(f"_{self.unit}"), f"{self.name}: must end in {self.unit}"
        assert (self.kind is OutputKind.HISTOGRAM) == bool(self.buckets), f"{self.name}: buckets make a histogram"
        assert self.help.endswith("."), f"{self.name}: help is a sentence"


_GAUGE, _COUNTER, _HISTOGRAM = OutputKind.GAUGE, OutputKind.COUNTER, OutputKind.HISTOGRAM
_HOST = ("instance", "job")
_WORK_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_DELAY_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)

SCORE = Output(
    "hostpulse_anomaly_score",
    _GAUGE,
    "How unusual the host is, by detector and fused; 1 is the bound. Absent without a model or without data.",
    (*_HOST, "detector"),
)
SUBSYSTEM_SHARE = Output(
    "hostpulse_anomaly_subsystem_share",
    _GAUGE,
    "Part of the anomaly that a subsystem accounts for; the shares of a host sum to 1.",
    (*_HOST, "subsystem"),
)
ACTIVE = Output(
    "hostpulse_anomaly_active",
    _GAUGE,
    "Whether an episode is open that is blamed on the subsystem, at the warning budget.",
    (*_HOST, "subsystem"),
)
PAGE = Output(
    "hostpulse_anomaly_page",
    _GAUGE,
    "Whether an episode is open that is blamed on the subsystem, at the page budget.",
    (*_HOST, "subsystem"),
)
PROVISIONAL = Output(
    "hostpulse_anomaly_provisional", _GAUGE, "Whether the bound still rests on little data; no page then.", _HOST
)
AGREEMENT = Output("hostpulse_anomaly_agreement", _GAUGE, "How many detectors exceed their own bound.", _HOST)
WINDOW_END = Output(
    "hostpulse_anomaly_window_end_timestamp_seconds",
    _GAUGE,
    "End of the newest window judged, since the epoch.",
    _HOST,
    Unit.SECONDS,
)
COVERAGE = Output(
    "hostpulse_anomaly_feature_coverage_ratio",
    _GAUGE,
    "Part of the model's features that the newest window had data for.",
    _HOST,
    Unit.RATIO,
)
MAINTENANCE = Output(
    "hostpulse_anomaly_maintenance",
    _GAUGE,
    "Whether somebody works on the host: no alarm is raised then, and nothing is learned.",
    _HOST,
)
ONSET = Output(
    "hostpulse_anomaly_onset_timestamp_seconds",
    _GAUGE,
    "When the open episode began, since the epoch; absent while none is open.",
    _HOST,
    Unit.SECONDS,
)
CAUSE_TYPICAL = Output(
    "hostpulse_anomaly_cause_typical",
    _GAUGE,
    "What is usual of the signals that moved most, in their own unit; while an episode is open, of a few.",
    (*_HOST, "rank", "channel", "statistic", "unit"),
)
CAUSE_ACTUAL = Output(
    "hostpulse_anomaly_cause_actual",
    _GAUGE,
    "What the signals that moved most are now, in their own unit; while an episode is open, of a few.",
    (*_HOST, "rank", "channel", "statistic", "unit"),
)
PAPER_FLAG = Output(
    "hostpulse_anomaly_paper_flag",
    _GAUGE,
    "Whether the paper's method, with its own thresholds, flags the newest window; only with profile.paper.",
    (*_HOST, "detector"),
)
COMMON_CAUSE = Output(
    "hostpulse_anomaly_common_cause",
    _GAUGE,
    "Whether the host's episode is one of many in its workload group: 3 hosts or more, and a tenth of the group.",
    _HOST,
)
FROZEN = Output("hostpulse_anomaly_model_frozen", _GAUGE, "Whether learning is frozen by an open episode.", _HOST)

LEARNING_PROGRESS = Output(
    "hostpulse_detector_learning_progress_ratio", _GAUGE, "How much of the first baseline is there.", _HOST, Unit.RATIO
)
EPISODES = Output(
    "hostpulse_anomaly_episodes_total",
    _COUNTER,
    "Episodes that opened, and those of them that paged: over time the alarm rate, to compare with the budget.",
    (*_HOST, "severity"),
)
REBASELINES = Output(
    "hostpulse_detector_rebaselines_total",
    _COUNTER,
    "How often an episode that lasted too long was taken as the new normal.",
    _HOST,
)
FITTED = Output(
    "hostpulse_detector_model_fitted_timestamp_seconds",
    _GAUGE,
    "Up to when the host's model in use has learned, since the epoch; absent without a model.",
    _HOST,
    Unit.SECONDS,
)
WINDOW = Output("hostpulse_detector_window_seconds", _GAUGE, "Length of the host's windows.", _HOST, Unit.SECONDS)
STRIDE = Output("hostpulse_detector_stride_seconds", _GAUGE, "Time between window ends.", _HOST, Unit.SECONDS)
WINDOW_LAG = Output(
    "hostpulse_detector_window_lag_seconds",
    _GAUGE,
    "Time between the newest window's end and the moment its verdict was published, on the source's clock.",
    _HOST,
    Unit.SECONDS,
)

BUILD_INFO = Output(
    "hostpulse_detector_build_info", OutputKind.INFO, "Constant 1 with version and Python.", ("version", "python")
)
ADDRESS_INFO = Output(
    "hostpulse_detector_address_info",
    OutputKind.INFO,
    "Constant 1 with the URL that people find the host's detector at.",
    (*_HOST, "url"),
)
BUDGET = Output(
    "hostpulse_detector_alarm_budget",
    _GAUGE,
    "Alarms a healthy host may raise in a day, to compare with the episodes that opened.",
    ("severity",),
)
HEARTBEAT = Output(
    "hostpulse_detector_heartbeat_timestamp_seconds",
    _GAUGE,
    "When the loop last came round, since the epoch.",
    unit=Unit.SECONDS,
)
HOSTS = Output("hostpulse_detector_hosts", _GAUGE, "Hosts that the source knows.")
HOSTS_FAILING = Output("hostpulse_detector_hosts_failing", _GAUGE, "Hosts that could not be read or judged last.")
READ_DURATION = Output(
    "hostpulse_detector_read_duration_seconds",
    _HISTOGRAM,
    "Time to read one host from the source.",
    ("source",),
    Unit.SECONDS,
    _WORK_S,
)
READ_ERRORS = Output("hostpulse_detector_read_errors_total", _COUNTER, "Reads that failed.", ("source",))
STEP_DURATION = Output(
    "hostpulse_detector_step_duration_seconds",
    _HISTOGRAM,
    "Time to judge one window.",
    (),
    Unit.SECONDS,
    _WORK_S,
)
STEP_ERRORS = Output("hostpulse_detector_step_errors_total", _COUNTER, "Windows whose judgement failed.")
FIT_DURATION = Output(
    "hostpulse_detector_fit_duration_seconds", _HISTOGRAM, "Time to fit one model.", (), Unit.SECONDS, _WORK_S
)
FIT_ERRORS = Output("hostpulse_detector_fit_errors_total", _COUNTER, "Fits that failed.")
SAVE_DURATION = Output(
    "hostpulse_detector_save_duration_seconds", _HISTOGRAM, "Time to save one host.", (), Unit.SECONDS, _WORK_S
)
SAVE_ERRORS = Output("hostpulse_detector_save_errors_total", _COUNTER, "Saves that failed.")
SILENCES_ERRORS = Output(
    "hostpulse_detector_silences_errors_total", _COUNTER, "Times that Alertmanager's silences could not be read."
)
SINK_ERRORS = Output("hostpulse_detector_sink_errors_total", _COUNTER, "Verdicts that a sink failed on.", ("sink",))
WRITTEN_SAMPLES = Output(
    "hostpulse_detector_remote_write_samples_total",
    _COUNTER,
    "Samples that left the queue of remote write: written, refused by the store, too_old, or overflow of the queue; or "
    "never came into it, as a clock was set back or ahead.",
    ("outcome",),
)
WRITE_PENDING = Output("hostpulse_detector_remote_write_pending_samples", _GAUGE, "Samples that wait to be written.")
WRITE_FAILURES = Output(
    "hostpulse_detector_remote_write_failures_total", _COUNTER, "Requests of remote write that have to be made again."
)
WRITE_DURATION = Output(
    "hostpulse_detector_remote_write_duration_seconds",
    _HISTOGRAM,
    "Time of one request of remote write.",
    (),
    Unit.SECONDS,
    _WORK_S,
)
WINDOWS = Output("hostpulse_detector_windows_total", _COUNTER, "Windows judged.")
WINDOWS_SKIPPED = Output(
    "hostpulse_detector_windows_skipped_total", _COUNTER, "Windows never judged, because their time was too long ago."
)
END_TO_END = Output(
    "hostpulse_detector_end_to_end_seconds",
    _HISTOGRAM,
    "Time between a window's end and its verdict, caught-up windows left out.",
    (),
    Unit.SECONDS,
    _DELAY_S,
)
RELOAD_GOOD = Output(
    "hostpulse_detector_config_last_reload_successful",
    _GAUGE,
    "Whether the configuration file was good when last read.",
)
RELOAD_TIME = Output(
    "hostpulse_detector_config_last_reload_success_timestamp_seconds",
    _GAUGE,
    "When the configuration in force was read, since the epoch.",
    unit=Unit.SECONDS,
)

OUTPUTS: Mapping[str, Output] = MappingProxyType(
    {value.name: value for value in list(vars().values()) if isinstance(value, Output)}
)

"""Storage families: block devices, filesystems, file descriptors.

Formats: https://docs.kernel.org/admin-guide/iostats.html, https://docs.kernel.org/block/stat.html
"""

from __future__ import annotations

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Tier, Unit


def _disk(
    name: str,
    field: int,
    help_text: str,
    alias: str,
    *,
    unit: Unit = Unit.COUNT,
    kind: Kind = Kind.COUNTER,
    profile: Profile = Profile.CORE,
    factor: float = 1.0,
) -> Family:
    source, aliases = f"/proc/diskstats field {field}", (Alias(alias, factor),)
    return Family(name, kind, unit, help_text, Subsystem.STORAGE, ("device",), Tier.FAST, profile, source, aliases)


READS_COMPLETED = _disk(
    "hostpulse_storage_reads_completed_total", 1, "Reads completed.", "node_disk_reads_completed_total"
)
READS_MERGED = _disk(
    "hostpulse_storage_reads_merged_total",
    2,
    "Reads merged with a neighbour before they reached the device.",
    "node_disk_reads_merged_total",
    profile=Profile.STANDARD,
)
READ_BYTES = _disk(
    "hostpulse_storage_read_bytes_total",
    3,
    "Bytes read from the device.",
    "node_disk_read_bytes_total",
    unit=Unit.BYTES,
)
READ_TIME_SECONDS = _disk(
    "hostpulse_storage_read_time_seconds_total",
    4,
    "Time that all reads took together, queueing included.",
    "node_disk_read_time_seconds_total",
    unit=Unit.SECONDS,
)
WRITES_COMPLETED = _disk(
    "hostpulse_storage_writes_completed_total", 5, "Writes completed.", "node_disk_writes_completed_total"
)
WRITES_MERGED = _disk(
    "hostpulse_storage_writes_merged_total",
    6,
    "Writes merged with a neighbour before they reached the device.",
    "node_disk_writes_merged_total",
    profile=Profile.STANDARD,
)
WRITTEN_BYTES = _disk(
    "hostpulse_storage_written_bytes_total",
    7,
    "Bytes written to the device.",
    "node_disk_written_bytes_total",
    unit=Unit.BYTES,
)
WRITE_TIME_SECONDS = _disk(
    "hostpulse_storage_write_time_seconds_total",
    8,
    "Time that all writes took together, queueing included.",
    "node_disk_write_time_seconds_total",
    unit=Unit.SECONDS,
)
IO_NOW = _disk(
    "hostpulse_storage_io_now",
    9,
    "Requests that the device has not finished at this instant.",
    "node_disk_io_now",
    kind=Kind.GAUGE,
)
IO_TIME_SECONDS = _disk(
    "hostpulse_storage_io_time_seconds_total",
    10,
    "Time in which the device had at least one request to work on.",
    "node_disk_io_time_seconds_total",
    unit=Unit.SECONDS,
)
IO_TIME_WEIGHTED_SECONDS = _disk(
    "hostpulse_storage_io_time_weighted_seconds_total",
    11,
    "Time with requests, weighted by their number: its rate is the mean queue length.",
    "node_disk_io_time_weighted_seconds_total",
    unit=Unit.SECONDS,
)
DISCARDS_COMPLETED = _disk(
    "hostpulse_storage_discards_completed_total",
    12,
    "Discards (TRIM) completed.",
    "node_disk_discards_completed_total",
    profile=Profile.STANDARD,
)
DISCARDS_MERGED = _disk(
    "hostpulse_storage_discards_merged_total",
    13,
    "Discards (TRIM) merged with a neighbour before they reached the device.",
    "node_disk_discards_merged_total",
    profile=Profile.FULL,
)
DISCARDED_BYTES = _disk(
    "hostpulse_storage_discarded_bytes_total",
    14,
    "Bytes discarded (TRIM).",
    "node_disk_discarded_sectors_total",
    unit=Unit.BYTES,
    profile=Profile.STANDARD,
    factor=512,
)
DISCARD_TIME_SECONDS = _disk(
    "hostpulse_storage_discard_time_seconds_total",
    15,
    "Time that all discards took together.",
    "node_disk_discard_time_seconds_total",
    unit=Unit.SECONDS,
    profile=Profile.STANDARD,
)
FLUSHES_COMPLETED = _disk(
    "hostpulse_storage_flushes_completed_total",
    16,
    "Cache flushes completed: the rate of fsync.",
    "node_disk_flush_requests_total",
)
FLUSH_TIME_SECONDS = _disk(
    "hostpulse_storage_flush_time_seconds_total",
    17,
    "Time that all cache flushes took together.",
    "node_disk_flush_requests_time_seconds_total",
    unit=Unit.SECONDS,
)
INFLIGHT_REQUESTS = Family(
    "hostpulse_storage_inflight_requests",
    Kind.GAUGE,
    Unit.COUNT,
    "Requests handed to the device and not finished at this instant, reads and writes apart.",
    Subsystem.STORAGE,
    ("device", "op"),
    Tier.MEDIUM,
    Profile.STANDARD,
    "/sys/block/*/inflight",
)
QUEUE_DEPTH_LIMIT = Family(
    "hostpulse_storage_queue_depth_limit",
    Kind.GAUGE,
    Unit.COUNT,
    "Requests that the block layer queues for the device at most, for each direction.",
    Subsystem.STORAGE,
    ("device",),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/block/*/queue/nr_requests",
)
DEVICE_INFO = Family(
    "hostpulse_storage_device_info",
    Kind.INFO,
    Unit.NONE,
    "What each block device is: model, firmware, scheduler and NUMA node.",
    Subsystem.STORAGE,
    ("device", "model", "serial", "firmware", "rotational", "scheduler", "node"),
    Tier.STATIC,
    Profile.STANDARD,
    "/sys/block/*/device, /sys/block/*/queue",
)
NVME_TEMPERATURE_CELSIUS = Family(
    "hostpulse_storage_nvme_temperature_celsius",
    Kind.GAUGE,
    Unit.CELSIUS,
    "Temperature of an NVMe controller's sensors; a hot one slows itself down.",
    Subsystem.STORAGE,
    ("device", "sensor"),
    Tier.SLOW,
    source="/sys/class/nvme/*/{,device/hwmon/}hwmon*/temp*_input",
)
NVME_STATE = Family(
    "hostpulse_storage_nvme_state",
    Kind.GAUGE,
    Unit.BOOLEAN,
    "Whether an NVMe controller is in each state (1); a sound one is live.",
    Subsystem.STORAGE,
    ("device", "state"),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/class/nvme/*/state",
)


def _of_nvme_log(name: str, help_text: str, place: str, kind: Kind, unit: Unit, *labels: str) -> Family:
    """What an NVMe drive says of its own health: https://nvmexpress.org/specifications/."""
    return Family(
        f"hostpulse_storage_nvme_{name}",
        kind,
        unit,
        help_text,
        Subsystem.STORAGE,
        ("device", *labels),
        Tier.SLOW,
        Profile.FULL,
        f"NVMe log page 02h, {place}",
    )


NVME_USED_RATIO = _of_nvme_log(
    "used_ratio",
    "Part of the writes an NVMe drive is made for that it has had; more than 1 is beyond them.",
    "percentage used",
    Kind.GAUGE,
    Unit.RATIO,
)
NVME_SPARE_RATIO = _of_nvme_log(
    "spare_ratio",
    "Part of an NVMe drive's spare blocks that is left.",
    "available spare",
    Kind.GAUGE,
    Unit.RATIO,
)
NVME_WARNING = _of_nvme_log(
    "warning",
    "Whether an NVMe drive warns (1): few spare blocks, too hot or cold, unreliable, read-only, no backup power.",
    "critical warning",
    Kind.GAUGE,
    Unit.BOOLEAN,
    "warning",
)
NVME_MEDIA_ERRORS = _of_nvme_log(
    "media_errors_total",
    "Times that an NVMe drive could not give back the data it was given.",
    "media and data integrity errors",
    Kind.COUNTER,
    Unit.COUNT,
)
NVME_UNSAFE_SHUTDOWNS = _of_nvme_log(
    "unsafe_shutdowns_total",
    "Times that an NVMe drive lost power without being told before.",
    "unsafe shutdowns",
    Kind.COUNTER,
    Unit.COUNT,
)
MD_DEGRADED_DISKS = Family(
    "hostpulse_storage_md_degraded_disks",
    Kind.GAUGE,
    Unit.COUNT,
    "Disks that a RAID array lacks: failed, missing or not yet rebuilt.",
    Subsystem.STORAGE,
    ("device",),
    Tier.SLOW,
    Profile.STANDARD,
    "/sys/block/md*/md/degraded",
)


def _filesystem(
    name: str,
    help_text: str,
    alias: str,
    *,
    unit: Unit = Unit.BYTES,
    profile: Profile = Profile.CORE,
) -> Family:
    labels, source = ("device", "mountpoint", "fstype"), "statvfs(3), /proc/1/mountinfo"
    aliases = (Alias(alias),)
    return Family(name, Kind.GAUGE, unit, help_text, Subsystem.STORAGE, labels, Tier.SLOW, profile, source, aliases)


FILESYSTEM_SIZE_BYTES = _filesystem(
    "hostpulse_storage_filesystem_size_bytes", "Size of the filesystem.", "node_filesystem_size_bytes"
)
FILESYSTEM_FREE_BYTES = _filesystem(
    "hostpulse_storage_filesystem_free_bytes",
    "Free space, that reserved for root included.",
    "node_filesystem_free_bytes",
    profile=Profile.STANDARD,
)
FILESYSTEM_AVAIL_BYTES = _filesystem(
    "hostpulse_storage_filesystem_avail_bytes",
    "Free space that users other than root may fill.",
    "node_filesystem_avail_bytes",
)
FILESYSTEM_FILES = _filesystem(
    "hostpulse_storage_filesystem_files",
    "Inodes of the filesystem.",
    "node_filesystem_files",
    unit=Unit.COUNT,
    profile=Profile.STANDARD,
)
FILESYSTEM_FILES_FREE = _filesystem(
    "hostpulse_storage_filesystem_files_free", "Free inodes.", "node_filesystem_files_free", unit=Unit.COUNT
)
FILESYSTEM_READONLY = _filesystem(
    "hostpulse_storage_filesystem_readonly",
    "Whether the filesystem is mounted read-only (1), as the kernel does after an error.",
    "node_filesystem_readonly",
    unit=Unit.BOOLEAN,
)
FILESYSTEM_DEVICE_ERROR = _filesystem(
    "hostpulse_storage_filesystem_device_error",
    "Whether the last look at the filesystem failed (1).",
    "node_filesystem_device_error",
    unit=Unit.BOOLEAN,
    profile=Profile.STANDARD,
)
FILE_DESCRIPTORS_ALLOCATED = Family(
    "hostpulse_storage_file_descriptors_allocated",
    Kind.GAUGE,
    Unit.COUNT,
    "File handles that are open on the whole host.",
    Subsystem.STORAGE,
    (),
    Tier.MEDIUM,
    Profile.STANDARD,
    "/proc/sys/fs/file-nr",
    (Alias("node_filefd_allocated"),),
)
FILE_DESCRIPTORS_LIMIT = Family(
    "hostpulse_storage_file_descriptors_limit",
    Kind.GAUGE,
    Unit.COUNT,
    "File handles that may be open on the whole host.",
    Subsystem.STORAGE,
    (),
    Tier.MEDIUM,
    Profile.STANDARD,
    "/proc/sys/fs/file-nr",
    (Alias("node_filefd_maximum"),),
)

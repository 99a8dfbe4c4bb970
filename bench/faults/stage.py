"""The host under test: an exporter that sees all the faults, Prometheus and node_exporter beside it, two detectors.

The exporter believes in one GPU, which a stand-in for NVIDIA's library plays, takes a file of the bench for the
kernel's log, and has a small filesystem in memory for its ``/dev/shm``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from bench.faults.injections import Place, Switch
from bench.faults.journal import Journal
from bench.faults.link import Link
from bench.faults.plan import BASELINE_S
from bench.faults.resident import Resident
from bench.faults.suite import CONTROLS, FAULTS, LOADS
from deploy.debian import UnavailableError
from tests.nvml import Stub, build, profiles
from tests.nvml.stub import VARIABLE
from tests.servers import (
    Prometheus,
    Server,
    scrape_job,
    start_detector,
    start_exporter,
    start_node_exporter,
    start_prometheus,
)
from tests.servers.namespace import run

JOB, NODE_JOB = "hostpulse", "node"
MERGE_S = 15
PEERS = Path(__file__).with_name("peers")
_SHM_MB = 512
_NEEDED = ("unshare", "mount", "umount", "mkswap", "swapon", "swapoff", "dd")


def require_root() -> None:
    """Raises UnavailableError that says what is missing to put faults in."""
    if os.geteuid() != 0:
        raise UnavailableError("bench.faults needs root: it makes namespaces, control groups, mounts and swap")
    if missing := [name for name in _NEEDED if shutil.which(name) is None]:
        raise UnavailableError(f"bench.faults needs {', '.join(missing)}, of util-linux and coreutils")
    if not Path("/proc/self/ns/net").exists():
        raise UnavailableError("bench.faults needs a kernel with network namespaces (CONFIG_NET_NS)")


@dataclass
class Ground:
    """What faults are put into: a place, and all switches, ready."""

    place: Place
    faults: Mapping[str, Switch]
    controls: Mapping[str, Switch]
    loads: Mapping[str, Resident]
    load: str = ""

    def change_load(self, load: str) -> None:
        """Let another of the normal loads run, "" for none."""
        if load == self.load:
            return
        if self.load:
            self.loads[self.load].off()
        if load:
            self.loads[load].on()
        self.load = load


@contextlib.contextmanager
def ground(folder: Path, faults: Sequence[str]) -> Iterator[Ground]:
    """Make it in ``folder``, and leave nothing of it or of that folder behind, whatever ends the program."""
    require_root()
    with contextlib.ExitStack() as stack:
        journal = stack.enter_context(Journal())
        journal.note("remove", str(folder))
        shm = folder / "shm"
        shm.mkdir(parents=True)
        journal.note("run", "umount", "--lazy", str(shm))
        run("mount", "-t", "tmpfs", "-o", f"size={_SHM_MB}M", "hostpulse-faults", shm)
        (folder / "xid").mkdir()
        (folder / "xid" / "kmsg").touch()
        link = stack.enter_context(Link(journal))
        link.transfer()
        place = Place(journal, stack, folder, shm, link)
        tools = {FAULTS[name].control for name in faults}
        yield Ground(
            place,
            {name: FAULTS[name].injection.prepare(place) for name in faults},
            {name: control.prepare(place) for name, control in CONTROLS.items() if name in tools},
            {
                load: stack.enter_context(Resident(journal, work, folder / f"load-{load}"))
                for load, work in LOADS.items()
            },
        )


def start_host_exporter(ground: Ground, folder: Path, *flags: str) -> Server:
    """An exporter that sees what is done on the ground."""
    place = ground.place
    library, stub = build(place.folder / "nvml"), Stub(place.folder)
    stub.say(profiles.host(profiles.H100))
    prefix = (
        *("unshare", "--mount", "sh", "-c", f'mount --bind {place.shm} /dev/shm && exec "$@"', "sh"),
        *("env", f"LD_LIBRARY_PATH={library}", f"{VARIABLE}={stub.path}"),
    )
    log = f"--path.kmsg={place.folder / 'xid' / 'kmsg'}"
    server = start_exporter(folder, log, *flags, prefix=prefix)
    place.journal.ends(server.pid)
    return server


@dataclass
class Stage:
    """Everything that runs."""

    ground: Ground
    folder: Path
    exporter: Server
    prometheus: Prometheus
    detectors: Mapping[str, Server] = field(default_factory=dict)

    def stop_exporter(self) -> None:
        """Stop the one that runs now."""
        self.exporter.stop()

    def outage(self, name: str, seconds: float) -> None:
        """The exporter is stopped and started anew at its address; the store hangs."""
        never = Event()
        if name == "exporter":
            address = self.exporter.address
            self.stop_exporter()
            never.wait(seconds)
            self.exporter = start_host_exporter(
                self.ground, self.folder / "exporter", f"--web.listen-address={address}"
            )
        else:
            self.prometheus.process.send_signal(signal.SIGSTOP)
            try:
                never.wait(seconds)
            finally:
                self.prometheus.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running_stage(folder: Path, faults: Sequence[str], baseline_s: float = BASELINE_S) -> Iterator[Stage]:
    """The ground, the servers and, last, the detectors: ``embedded`` reads the ring, ``prometheus`` the store."""
    with ground(folder, faults) as made, contextlib.ExitStack() as stack:
        journal = made.place.journal

        def started(server: Server) -> Server:
            journal.ends(server.pid)
            return stack.enter_context(server)

        exporter = start_host_exporter(made, folder / "exporter")
        node = started(start_node_exporter(folder / "node"))
        scrapes = [scrape_job(JOB, exporter.address), scrape_job(NODE_JOB, node.address)]
        prometheus = start_prometheus(folder / "prometheus", scrapes, sorted(PEERS.glob("*.yml")))
        started(prometheus)
        stage = Stage(made, folder, exporter, prometheus)
        stack.callback(stage.stop_exporter)
        flags = (f"--baseline.duration={baseline_s:g}s", f"--episode.merge={MERGE_S}s", "--state.directory=")
        sources = {
            "embedded": (f"--source.exporter.targets={exporter.url}",),
            "prometheus": (f"--source.prometheus.url={prometheus.url}", f"--source.prometheus.job={JOB}"),
        }
        for name, source in sources.items():
            stage.detectors = {
                **stage.detectors,
                name: started(start_detector(folder / name, *source, *flags)),
            }
        yield stage

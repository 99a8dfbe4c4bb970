"""What the exporter shows of the written hosts of tests/hosts, and how much of it and of its code they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog import FAMILIES
from catalog.families import exporter as own
from catalog.family import Subsystem
from tests.hosts.cluster import Tree
from tests.hosts.machines import MACHINES
from tests.servers.process import READY_LIMIT_S, wait_until
from tests.servers.programs import ROOT, start_exporter

_SAMPLE = re.compile(r"^([a-z]\w*)(?:\{[^}]*\})? ", re.M)
_SLOW = f'\n{own.SAMPLE_TIMESTAMP_SECONDS.name}{{tier="slow"}} '
_COLLECTOR = re.compile(rf'^{own.COLLECTOR_SUCCESS.name}{{collector="([^"]+)"}} 1', re.M)


@dataclass(frozen=True, slots=True)
class Shown:
    """Values by family that tells of the host, and the collectors that found something."""

    values: Mapping[str, int]
    collectors: frozenset[str]


def read(text: str) -> Shown:
    """What an exposition shows.

    >>> dict(read('hostpulse_cpu_seconds_total{cpu="0",mode="user"} 1\\nprocess_cpu_seconds_total 2\\n').values)
    {'hostpulse_cpu_seconds_total': 1}
    """
    counts = Counter(_SAMPLE.findall(text))
    of_host = {name: many for name, many in counts.items() if _tells_of_the_host(name)}
    return Shown(of_host, frozenset(_COLLECTOR.findall(text)))


def _tells_of_the_host(name: str) -> bool:
    family = FAMILIES.get(name)
    return family is not None and family.subsystem is not Subsystem.EXPORTER


def here(folder: Path, *flags: str) -> Shown:
    """What is shown of this host, or of the one that the flags point at, once its slowest tier was read."""
    with start_exporter(folder, "--profile=full", *flags) as server:

        def text() -> str | None:
            answer = server.get("/metrics").text
            return answer if _SLOW in answer else None

        return read(wait_until(text, 2 * READY_LIMIT_S, "a slow sample"))


def written(folder: Path) -> dict[str, Shown]:
    """What is shown of each written host. None has a GPU's library, nor counters of perf, which ask the kernel."""
    return {
        name: here(folder / f"{name}-log", *Tree(machine, folder / name).flags) for name, machine in MACHINES.items()
    }


def common_share(each: Iterable[Iterable[str]]) -> tuple[int, int]:
    """How many are in all of them, and how many in any.

    >>> common_share([{"a", "b"}, {"b", "c"}])
    (1, 3)
    """
    sets = [set(one) for one in each]
    return len(set.intersection(*sets)), len(set.union(*sets))


def lines_of_code(collectors: Iterable[frozenset[str]]) -> tuple[int, int]:
    """Lines of the exporter that run on all hosts, and on any: a collector's file counts where it found something."""
    each = list(collectors)
    everywhere, anywhere = frozenset.intersection(*each), frozenset.union(*each)
    counts = {path: len(path.read_text().splitlines()) for path in sorted((ROOT / "exporter").rglob("*.py"))}
    shared = sum(many for path, many in counts.items() if path.parent.name != "collectors")
    files = {path.stem: many for path, many in counts.items() if path.parent.name == "collectors"}
    missing = anywhere - files.keys()
    assert not missing, f"collectors without a file of their name: {sorted(missing)}"
    return shared + sum(files[name] for name in everywhere), shared + sum(files[name] for name in anywhere)

"""Who is scraped: targets of the exporters that the catalog knows, and which of them tell of one host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.exporters import EXPORTERS, OWN, Exporter
from detector.instances import host_name
from detector.query import equal, matching, one_of
from detector.source import Host

_KIND = "hostpulse_exporter"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One scraped exporter. ``rank`` is its place in ``EXPORTERS``, ``host`` names the host that it is on,
    ``peer`` the workload group of that, if it is in one."""

    rank: int
    job: str
    instance: str
    host: str
    peer: str = field(default="", compare=False)

    @property
    def exporter(self) -> Exporter:
        """Which program it is."""
        return EXPORTERS[self.rank]

    @property
    def matchers(self) -> list[str]:
        """What its series have in common."""
        return equal(job=self.job, instance=self.instance)


def question(jobs: Sequence[str], host_label: str, peer_label: str = "", back_s: int = 0) -> str:
    """The query that all targets answer with the time of their newest sample; ``jobs`` are all where empty.

    With ``back_s`` those answer that had a sample so long ago or later, with the time that is asked for.
    """
    chosen = equal(job=jobs[0]) if len(jobs) == 1 else [matching("job", one_of(jobs))] if jobs else []
    labels = ", ".join(dict.fromkeys(("job", "instance", *filter(None, (host_label, peer_label)))))
    selector = "{" + ",".join(chosen) + "}" if chosen else ""
    before, after = ("last_over_time(", f"[{back_s}s])") if back_s else ("", "")
    parts = (
        f"label_replace(max by ({labels}) (timestamp({before}{one.marker}{selector}{after})), "
        f'"{_KIND}", "{one.name}", "", "")'
        for one in EXPORTERS
    )
    return " or ".join(parts)


def answered(entries: Iterable[Mapping[str, Any]], host_label: str, peer_label: str = "") -> dict[Target, float]:
    """Targets and the times of their newest samples, seconds since the epoch; what has no instance is none."""
    ranks = {one.name: rank for rank, one in enumerate(EXPORTERS)}
    found: dict[Target, float] = {}
    for entry in entries:
        labels = entry["metric"]
        instance = labels.get("instance", "")
        host = labels.get(host_label, "") if host_label else ""
        rank, peer = ranks[labels.get(_KIND, OWN.name)], labels.get(peer_label, "")
        target = Target(rank, labels.get("job", ""), instance, host or host_name(instance), peer)
        if instance:
            found[target] = max(float(entry["value"][1]), found.get(target, 0.0))
    return found


def by_host(targets: Iterable[Target]) -> dict[Host, tuple[Target, ...]]:
    """Hosts, each with its targets: the one that names the host first, then the others in order of trust.

    Each exporter of ours is a host of its own. Others' join it; where there are several, nobody can tell whose they
    are, and they count for none.
    """
    groups: dict[str, list[Target]] = {}
    for target in sorted(targets):
        groups.setdefault(target.host, []).append(target)
    found: dict[Host, tuple[Target, ...]] = {}
    for group in groups.values():
        own = [target for target in group if target.exporter is OWN]
        for together in [[target] for target in own] if len(own) > 1 else [group]:
            peer = next((target.peer for target in together if target.peer), "")
            found[Host(together[0].instance, together[0].job, peer)] = tuple(together)
    return found

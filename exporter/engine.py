"""The exporter without its web side: collectors, sampler, ring and exposition, put together from the settings."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from exporter.collector import Collector, Context, discover
from exporter.exposition import Exposition, Format
from exporter.folding import folder
from exporter.host import Host
from exporter.ring import Ring, Schema, Segment
from exporter.sampler import Limits, Sampler
from exporter.settings import Settings, SettingsError
from exporter.slot import Slot
from exporter.steady import Clock
from exporter.tally import Tally


class Engine:
    """Everything that measures. Collectors are open once it is built; nothing is read before ``sampler`` is run."""

    def __init__(
        self,
        settings: Settings,
        kinds: Mapping[str, type[Collector]] | None = None,
        clock: Clock | None = None,
        host: Host | None = None,
    ) -> None:
        kinds = discover() if kinds is None else kinds
        _check_names(settings.disabled, kinds)
        self.clock = clock or Clock()
        self.tally = Tally()
        context = Context(host or host_of(settings), settings.profile, self.tally, settings.kmsg)
        fold = folder(context.host, settings.granularity)
        self.slots = [
            Slot(kinds[name], context, disabled=name in settings.disabled, fold=fold) for name in sorted(kinds)
        ]
        for slot in self.slots:
            slot.start()
        self._ring = Ring(settings.ring_duration_s, settings.ring_bytes)
        limits = Limits(
            settings.interval_s,
            settings.budget_s,
            settings.deadline_s,
            settings.gpu_interval_s,
            settings.calm_interval_s,
        )
        self.sampler = Sampler(self.slots, self._ring, self.tally, self.clock, limits)
        self._exposition = Exposition({slot.name: slot.kind.families for slot in self.slots})

    def newest(self) -> Sequence[tuple[Schema, array[float]]]:
        """The newest row of each tier that has any."""
        self.sampler.flush()
        return self._ring.newest()

    def since(self, since_s: float) -> list[Segment]:
        """All kept rows later than a steady time, by tier and then by age."""
        self.sampler.flush()
        return self._ring.since(since_s)

    def exposition(self, form: Format, only: frozenset[str] | None = None) -> bytes:
        """The newest values as text, of all collectors or of some."""
        return self._exposition.render(self.newest(), form, only)


def host_of(settings: Settings) -> Host:
    """The host that the settings point at."""
    return Host(settings.procfs, settings.sysfs, settings.rootfs)


def _check_names(disabled: frozenset[str], kinds: Mapping[str, type[Collector]]) -> None:
    for name in sorted(disabled - set(kinds)):
        nearest = get_close_matches(name, kinds, n=1)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        raise SettingsError(
            f"--collector.disable: no collector is called {name!r}{hint}; allowed: {', '.join(sorted(kinds))}"
        )

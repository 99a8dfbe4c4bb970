"""The limits of the top-level control groups, of version 2: https://docs.kernel.org/admin-guide/cgroup-v2.html."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.families import cgroup
from catalog.family import Tier
from catalog.series import Series
from exporter.collector import Context
from exporter.constants import ConstantCollector
from exporter.controlgroups import ROOT, is_named

_FILES = ("cpu.max", "memory.high", "memory.max")
_NONE = "max"


class CgrouplimitsCollector(ConstantCollector):
    """Groups without any limit are not told; a limit that a group does not have is empty."""

    name = "cgrouplimits"
    tier = Tier.STATIC
    families = (cgroup.CGROUP_LIMIT_INFO,)
    sources = tuple(f"{ROOT}/*/{file}" for file in _FILES)

    def constants(self, context: Context) -> Iterator[Series]:
        """One series for each group that has a limit."""
        paths = {path.rpartition("/")[0] for source in self.sources for path in context.host.glob(source)}
        for path in sorted(paths):
            limits = [self._limit(context, f"{path}/{file}") for file in _FILES]
            group = path.rpartition("/")[2]
            if any(limits) and is_named(group):
                yield cgroup.CGROUP_LIMIT_INFO(group, *limits)

    @staticmethod
    def _limit(context: Context, path: str) -> str:
        text = context.host.text(path, "").strip()
        return "" if text.split()[:1] == [_NONE] else text

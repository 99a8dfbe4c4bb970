"""How many links each bond has, and how many of them work.

https://docs.kernel.org/networking/bonding.html
"""

from __future__ import annotations

from catalog.families import ethtool
from catalog.family import Tier
from exporter.collector import Collector, Context, Unavailable

_NET = "/sys/class/net"
_BONDS = f"{_NET}/*/bonding/slaves"
_STATUS = "bonding_slave/mii_status"
_LINKS = (f"{_NET}/{{link}}", f"{_NET}/{{bond}}/lower_{{link}}", f"{_NET}/{{bond}}/slave_{{link}}")


class BondingCollector(Collector):
    """Two values a bond. Bonds are looked for at each reading: there are few, and it is every 15 s."""

    name = "bonding"
    tier = Tier.SLOW
    families = (ethtool.BONDING_SLAVES,)
    sources = (_BONDS, *(f"{place.format(link='*', bond='*')}/{_STATUS}" for place in _LINKS))

    def __init__(self, context: Context) -> None:
        self._host = context.host
        self.series = ()
        self.read()
        if not self.series:
            raise Unavailable(f"nothing at {_BONDS}: no interfaces are bonded")

    def read(self) -> list[float]:
        """Links of each bond, all and those that are up."""
        bonds = {path.split("/")[-3]: self._host.text(path, "").split() for path in self._host.glob(_BONDS)}
        series, values = [], []
        for bond, links in bonds.items():
            up = [self._status(bond, link) == "up" for link in links]
            series += [ethtool.BONDING_SLAVES(bond, "configured"), ethtool.BONDING_SLAVES(bond, "active")]
            values += [float(len(links)), float(sum(up))]
        if tuple(series) != self.series:
            self.series = tuple(series)
        return values

    def _status(self, bond: str, link: str) -> str:
        """What the link's own directory says, or the bond's of it, which is where kernels have it as well."""
        places = (f"{place.format(link=link, bond=bond)}/{_STATUS}" for place in _LINKS)
        return next(filter(None, (self._host.text(place, "") for place in places)), "")

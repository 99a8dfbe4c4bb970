"""How people call a host: by its instance, or by the name of the host without the port of what is scraped there."""

from __future__ import annotations

from collections.abc import Iterable


def host_name(instance: str) -> str:
    """The host of an address.

    >>> host_name("node1:9100"), host_name("[fe80::1]:9100"), host_name("node1"), host_name("fe80::1")
    ('node1', '[fe80::1]', 'node1', 'fe80::1')
    """
    host, _, port = instance.rpartition(":")
    return host if host and port.isdigit() and (":" not in host or host.endswith("]")) else instance


def called(name: str, instances: Iterable[str]) -> list[str]:
    """The instance that is called so, else those on the host of that name; all, where there is no name.

    >>> known = ["node1:17720", "node2:1", "node2:2"]
    >>> called("node1", known), called("node2:2", known), called("node2", known), called("node3", known)
    (['node1:17720'], ['node2:2'], ['node2:1', 'node2:2'], [])
    """
    known = list(dict.fromkeys(instances))
    return [one for one in known if name in ("", one)] or [one for one in known if name == host_name(one)]

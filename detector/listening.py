"""A socket that listens where a setting says."""

from __future__ import annotations

import errno
import socket


def listen(address: str) -> socket.socket:
    """A listening socket on HOST:PORT; without a host on all interfaces, IPv4 and IPv6 where there is both.

    Raises OSError where the address cannot be had; its ``strerror`` says why.
    """
    host, _, port = address.rpartition(":")
    try:
        listening = _on(host.strip("[]"), int(port)) if host else _on_all(int(port))
    except UnicodeError:
        raise OSError(errno.EINVAL, f"{host!r} is no name of a host") from None
    except OSError as error:  # of which create_server says the address, too
        raise OSError(error.errno, (error.strerror or str(error)).partition(" (while ")[0]) from None
    listening.setblocking(False)
    return listening


def _on(host: str, port: int) -> socket.socket:
    family = socket.AddressFamily(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0])
    return socket.create_server((host, port), family=family)


def _on_all(port: int) -> socket.socket:
    both = socket.has_dualstack_ipv6()
    return socket.create_server(("", port), family=socket.AF_INET6 if both else socket.AF_INET, dualstack_ipv6=both)

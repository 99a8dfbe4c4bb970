"""One host of a distributed job: sends to the next host and takes from the one before, in phases common to all.

python -m bench.peers.traffic OWN_ADDRESS NEXT_ADDRESS
"""

from __future__ import annotations

import socket
import sys
import threading
import time

PORT = 5001
_PHASE_S, _BUSY_SHARE = 5.0, 0.6
_CHUNK, _CHUNKS_PER_S = bytes(32_768), 100
_RETRY_S = 0.5


def _take(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_drain, args=(connection,), daemon=True).start()


def _drain(connection: socket.socket) -> None:
    with connection:
        while connection.recv(1 << 16):
            pass


def _give(address: str, never: threading.Event) -> None:
    """Send for as long as the connection lives; when is told by the clock, which all hosts share."""
    with socket.create_connection((address, PORT), timeout=10) as connection:
        while True:
            if time.time() % _PHASE_S < _BUSY_SHARE * _PHASE_S:
                connection.sendall(_CHUNK)
            never.wait(1.0 / _CHUNKS_PER_S)


def main(own: str, following: str) -> None:
    """Go on until the process is ended."""
    server, never = socket.create_server((own, PORT)), threading.Event()
    threading.Thread(target=_take, args=(server,), daemon=True).start()
    while True:
        try:
            _give(following, never)
        except OSError:
            never.wait(_RETRY_S)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""``python -m tests.servers``: fill the cache of servers and say where it is."""

from __future__ import annotations

import sys

from tests.servers.packages import UnavailableError, fill

if __name__ == "__main__":
    try:
        print(f"test servers: {fill()}")
    except UnavailableError as error:
        sys.exit(f"test servers: {error}")

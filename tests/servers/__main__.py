"""``python -m tests.servers``: fill the cache of servers; only in CI is it an error to have none."""

from __future__ import annotations

import os
import sys

from deploy.debian import UnavailableError
from tests.servers.packages import fill

if __name__ == "__main__":
    try:
        print(f"test servers: {fill()}")
    except UnavailableError as error:
        print(f"test servers: {error}")
        sys.exit(os.environ.get("CI") == "true")

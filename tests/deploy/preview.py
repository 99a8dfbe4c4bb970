"""Draws each board with Grafana's own components in a headless browser, for people to look at.

``make dashboards-preview``: needs npm and chromium; the pictures of ``docs/dashboards.md`` are made by it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.deploy.boards import BOARDS, read
from tests.deploy.live import judged_hosts
from tests.nvml import Stub
from tests.tree import ROOT

SOURCES = ROOT / "deploy" / "grafana" / "preview"
CACHE = ROOT / ".cache" / "preview"
HOSTS = ("trainer-1", "trainer-2", "trainer-3")
SICK, SICK_GPU = "trainer-2", 5
GPUS = 8
WIDTH_PX, ROW_PX = 1400, 36
TOP_PX, WHOLE_PX = 2300, 4000
SCALE = 0.6  # of the pictures
_BROWSER = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
_QUIET = ("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars")
_DRAWN_MS = 60_000  # of the browser's own clock, which does not wait
_LIMIT_S = 900.0


def main() -> int:
    """Start the stack, let something happen, and draw."""
    parser = argparse.ArgumentParser(prog="python -m tests.deploy.preview", description="Draws the Grafana boards.")
    parser.add_argument("boards", nargs="*", default=list(BOARDS), help=f"any of {', '.join(BOARDS)}; default all")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images", help="where the pictures go")
    parser.add_argument("--minutes", type=float, default=4.0, help="how much there is to see, from the first score on")
    parser.add_argument("--whole", action="store_true", help="draw all of each board, not only its top")
    chosen = parser.parse_args()
    unknown = set(chosen.boards) - BOARDS.keys()
    if unknown:
        parser.error(f"no board is called {', '.join(sorted(unknown))}; there are {', '.join(BOARDS)}")
    tools = {tool: shutil.which(tool) or parser.error(f"{tool} is not installed") for tool in ("npm", "chromium")}
    page = _built(tools["npm"])
    work = _Work()
    with (
        tempfile.TemporaryDirectory() as folder,
        judged_hosts(Path(folder), HOSTS, GPUS, work.begin) as store,
        _served(page) as at,
    ):
        work.go_on(chosen.minutes * 60)
        span = {"prometheus": store.url, "span": f"{(chosen.minutes + 1) * 60:.0f}"}
        most_px = WHOLE_PX if chosen.whole else TOP_PX
        for name in chosen.boards:
            _draw(tools["chromium"], name, f"{at}/?{urlencode({**span, **_variables(name)})}", chosen.folder, most_px)
        work.end()
    return 0


def _variables(name: str) -> dict[str, str]:
    host = ".*" if name in {"fleet", "history", "itself"} else SICK
    return {"board": f"boards/{BOARDS[name].name}", "instance": host}


def _built(npm: str) -> Path:
    """The page's folder: packages installed and the page built where they are not yet as the sources say."""
    CACHE.mkdir(parents=True, exist_ok=True)
    page = CACHE / "dist"
    if (new_packages := _differs("package.json")) or not (CACHE / "node_modules").is_dir():
        shutil.copy(SOURCES / "package.json", CACHE)
        install = ("install", "--no-audit", "--no-fund", "--no-package-lock", "--legacy-peer-deps")
        subprocess.run([npm, *install], cwd=CACHE, check=True, timeout=_LIMIT_S)
    if new_packages or any(map(_differs, _sources())) or not page.is_dir():
        shutil.rmtree(page, ignore_errors=True)
        shutil.copytree(SOURCES, CACHE, dirs_exist_ok=True)
        subprocess.run([npm, "run", "build"], cwd=CACHE, check=True, timeout=_LIMIT_S)
    shutil.copytree(next(iter(BOARDS.values())).parent, page / "boards", dirs_exist_ok=True)
    return page


def _sources() -> list[str]:
    return [str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*") if path.is_file()]


def _differs(name: str) -> bool:
    """Whether a file of the page is another one than when it was built last."""
    built = CACHE / name
    return not built.is_file() or built.read_bytes() != (SOURCES / name).read_bytes()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Work:
    """GPUs of all hosts at work; in time one gets too hot and is slowed down."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._hot_since_s = math.inf

    def begin(self, hosts: Mapping[str, Stub]) -> None:
        """Start the work."""
        threading.Thread(target=self._run, args=(hosts,), daemon=True).start()

    def go_on(self, for_s: float) -> None:
        """Wait; for the second half with a GPU that is too hot."""
        self._ended.wait(for_s / 2)
        self._hot_since_s = time.monotonic()
        self._ended.wait(for_s / 2)

    def end(self) -> None:
        """End the work."""
        self._ended.set()

    def _run(self, hosts: Mapping[str, Stub]) -> None:
        while not self._ended.wait(1.0):
            now_s = time.monotonic()
            for name, stub in hosts.items():
                for gpu in range(GPUS):
                    sick = name == SICK and gpu == SICK_GPU
                    stub.say(_at_work(now_s + gpu / 3, max(0.0, now_s - self._hot_since_s) if sick else 0.0), gpu)


def _at_work(phase_s: float, hot_for_s: float) -> dict[str, object]:
    """What a GPU says in a job whose load rises and falls."""
    load = 0.9 + 0.08 * math.sin(phase_s / 3)
    heat = min(hot_for_s, 30.0)
    power = int((250 + 400 * load) * 1000 * (0.6 if hot_for_s else 1))
    return {
        "utilization": f"{100 * load:.0f} {40 * load:.0f}",
        "temperature.0": int(45 + 18 * load + heat),
        "field.82": f"{int(42 + 16 * load + heat)}u",
        "power": power,
        "field.185": f"{power}u",
        "field.186": f"{power}u",
        "clock.1": 1200 if hot_for_s else 1980,
        "field.269": int(hot_for_s * 0.7e9),
        "field.270": int(hot_for_s * 0.7e9),
    }


def _height_px(panels: Sequence[Mapping[str, Any]], most_px: int) -> int:
    """As much of a board as fits, of which no panel is cut and no row is only its title."""
    placed = [one["gridPos"] for one in panels]
    ends = {at["y"] + at["h"] for at, one in zip(placed, panels, strict=True) if one.get("collapsed") is not False}
    whole = [end for end in ends if not any(at["y"] < end < at["y"] + at["h"] for at in placed)]
    heights: list[int] = [ROW_PX * end for end in whole]
    return max(height for height in heights if height <= most_px)


def _draw(browser: str, name: str, url: str, folder: Path, most_px: int) -> None:
    height = _height_px(read(name)["panels"], most_px)
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"board-{name}.png"
    with tempfile.TemporaryDirectory() as profile:
        size = (f"--window-size={WIDTH_PX},{height}", f"--force-device-scale-factor={SCALE}")
        out = (f"--user-data-dir={profile}", f"--virtual-time-budget={_DRAWN_MS}", f"--screenshot={picture}")
        command = [browser, *_BROWSER, *_QUIET, *size, *out, url]
        subprocess.run(command, check=True, timeout=_LIMIT_S, capture_output=True)
    sys.stdout.write(f"{picture}\n")


if __name__ == "__main__":
    sys.exit(main())

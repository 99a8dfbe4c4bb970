"""HTTP servers whose answers a test scripts: an exporter's samples API with its faults, among others."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

import numpy as np

Answer = tuple[int, bytes]


class Scripted:
    """Answers every GET with what ``answer`` makes of path and parameters; a context manager."""

    def __init__(self, answer: Callable[[str, dict[str, str]], Answer]) -> None:
        self.asked: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.drip_s = 0.0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler) -> None:  # noqa: N805 - self is the scripted server's
                url = urlsplit(handler.path)
                parameters = {name: texts[-1] for name, texts in parse_qs(url.query).items()}
                self.asked.append(parameters)
                self.headers.append(dict(handler.headers))
                status, body = answer(url.path, parameters)
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                self._send(handler, body)

            def log_message(handler, format: str, *arguments: object) -> None:  # noqa: A002, N805
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """``127.0.0.1:port``."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://{self.address}"

    def _send(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        try:
            if not self.drip_s:
                handler.wfile.write(body)
                return
            for position in range(len(body)):
                handler.wfile.write(body[position : position + 1])
                handler.wfile.flush()
                if self._stopped.wait(self.drip_s):
                    return
        except OSError:
            return  # the client has had enough

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass
class Tier:
    """Rows of one tier: time first, then a value a column."""

    name: str
    interval_s: float
    columns: tuple[str, ...]
    rows: list[tuple[float, ...]] = field(default_factory=list)
    finest_s: float | None = None

    @property
    def digest(self) -> str:
        """What names the schema."""
        return f"{abs(hash((self.name, self.columns))):016x}"[:16]


def encode(
    tiers: Sequence[Tier], since_s: float = 0.0, known: Sequence[str] = (), boot: str = "first", now_s: float = 0.0
) -> bytes:
    """An answer on ``/api/v1/samples``."""
    chosen = [(tier, [row for row in tier.rows if row[0] > since_s]) for tier in tiers]
    chosen = [(tier, rows) for tier, rows in chosen if rows]
    segments = [
        {
            "schema": tier.digest,
            "tier": tier.name,
            "interval_s": tier.interval_s,
            **({} if tier.finest_s is None else {"finest_s": tier.finest_s}),
            "rows": len(rows),
            "columns": None if tier.digest in known else tier.columns,
        }
        for tier, rows in chosen
    ]
    header = {"boot": boot, "now_s": now_s, "wall_offset_s": 0.0, "instance": "node1", "segments": segments}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    tables = b"".join(np.array(rows, dtype="<f8").tobytes() for _, rows in chosen)
    return b"HPS1" + struct.pack("<I", len(text)) + text + tables


class ScriptedExporter(Scripted):
    """Speaks the samples API. ``tiers`` are served; ``spoil`` may change the answer."""

    def __init__(self) -> None:
        self.boot = "first"
        self.tiers: list[Tier] = []
        self.now_s = 0.0
        self.spoil: Callable[[bytes], Answer] = lambda body: (200, body)
        super().__init__(self._samples)

    def _samples(self, path: str, parameters: dict[str, str]) -> Answer:
        if path != "/api/v1/samples":
            return 404, b"not found\n"
        known = parameters.get("schemas", "").split(",")
        return self.spoil(encode(self.tiers, float(parameters.get("since", "0")), known, self.boot, self.now_s))

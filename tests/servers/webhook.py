"""A receiver of Alertmanager's webhooks (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config)."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.servers.process import wait_until

Alert = dict[str, Any]


class Webhook:
    """Listens on a free loopback port and keeps each alert it is sent. A context manager."""

    def __init__(self) -> None:
        messages: list[list[Alert]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                messages.append(json.loads(body)["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the overridden name)
                """Stay silent."""

        self.messages = messages
        """What was sent, each with its alerts."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What goes into the receiver's ``webhook_configs``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    @property
    def received(self) -> list[Alert]:
        """The alerts of all messages so far."""
        return [alert for message in self.messages.copy() for alert in message]

    def alerts(self, status: str = "firing", **labels: str) -> list[Alert]:
        """Alerts received so far with that status and those labels."""
        return [
            alert for alert in self.received if alert["status"] == status and labels.items() <= alert["labels"].items()
        ]

    def await_alert(self, limit_s: float, status: str = "firing", **labels: str) -> Alert:
        """The first such alert."""
        wanted = {"status": status, **labels}
        return wait_until(
            lambda: self.alerts(status, **labels), limit_s, lambda: f"webhook {wanted}, received {self.received}"
        )[0]

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.stop()

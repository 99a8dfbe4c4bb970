"""Log lines on standard error, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

_TEXT = "%(asctime)s %(levelname)-7s %(message)s"


class _Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False)


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to whatever standard error is at that moment: a live view puts something else there."""

    def emit(self, record: logging.LogRecord) -> None:
        self.setStream(sys.stderr)
        super().emit(record)


def set_up(level: str, form: str) -> None:
    """Send this program's messages to standard error; those of libraries from warnings on."""
    handler = _StandardError()
    handler.setFormatter(_Json() if form == "json" else logging.Formatter(_TEXT, "%H:%M:%S"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("detector").setLevel(level.upper())
    # A probe that is told to wait is no error of this program; those have a traceback of their own.
    logging.getLogger("tornado.access").setLevel(logging.CRITICAL)

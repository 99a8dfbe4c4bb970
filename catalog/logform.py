"""How both programs write a line of their logs: as text, as logfmt (https://brandur.org/logfmt) or as JSON."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime

_PLAIN = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+")


class _Form(logging.Formatter):
    """Times are of UTC."""

    def fields(self, record: logging.LogRecord) -> dict[str, str]:
        """What there is to say, by name."""
        found = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return found


class _Text(_Form):
    def format(self, record: logging.LogRecord) -> str:
        found = self.fields(record)
        line = f"{found['time']} {found['level']:<7} {found['message']}"
        return f"{line}\n{found['exception']}" if "exception" in found else line


class _Logfmt(_Form):
    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{name}={_quoted(text)}" for name, text in self.fields(record).items())


class _Json(_Form):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record), ensure_ascii=False)


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


FORMS: Mapping[str, type[logging.Formatter]] = {"text": _Text, "json": _Json, "logfmt": _Logfmt}

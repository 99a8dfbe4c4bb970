"""Log lines on standard error."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from catalog.logform import FORMS


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to whatever standard error is at that moment: a live view puts something else there."""

    def emit(self, record: logging.LogRecord) -> None:
        self.setStream(sys.stderr)
        super().emit(record)


def set_up(level: str, form: str) -> None:
    """Send this program's messages to standard error; those of libraries from warnings on."""
    handler = _StandardError()
    handler.setFormatter(FORMS[form]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("detector").setLevel(level.upper())
    # A probe that is told to wait is no error of this program; those have a traceback of their own.
    logging.getLogger("tornado.access").setLevel(logging.CRITICAL)

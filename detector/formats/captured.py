"""What ``hostpulse-exporter capture`` writes: one moment of a host, of which nothing can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from detector.recording import Format, Recording, RecordingError

_HEADING = b"# hostpulse capture"


class Captured(Format):
    """Told from other text, so that who names one learns what to do instead."""

    name: ClassVar[str] = "capture"
    about: ClassVar[str] = ""

    @classmethod
    def recognises(cls, path: Path, head: bytes) -> bool:  # noqa: ARG003 - its first line tells
        """See ``Format``."""
        return head.startswith(_HEADING)

    @classmethod
    def open(cls, path: Path) -> Sequence[Recording]:
        """See ``Format``."""
        raise RecordingError(
            f"{path}: is a capture, which is one moment of a host, and rates need many: hostpulse-exporter record "
            f"writes what can be judged; hostpulse-exporter once --replay={path} shows this one's values"
        )

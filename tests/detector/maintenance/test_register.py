"""Periods of maintenance are kept, ended and read from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from detector.maintenance import register
from detector.maintenance.period import Matcher, Period
from detector.maintenance.register import FILE, FullError, Register
from detector.source import Host

NODE7 = Host("node7:17720", "hostpulse")
PERIOD = Period("", (Matcher("instance", "node7:17720"),), 100.0, 200.0, "new firmware")


def test_period_covers_until_it_is_ended() -> None:
    kept = Register()
    named = kept.add(PERIOD, 100.0)
    assert kept.covers(NODE7, 150.0)
    assert kept.end(named.id, 160.0)
    assert [kept.covers(NODE7, at_s) for at_s in (150.0, 160.0)] == [True, False]
    assert not kept.end(named.id, 170.0)
    assert not kept.end("no such id", 170.0)


def test_what_people_said_outlasts_the_program(tmp_path: Path) -> None:
    Register(tmp_path).add(PERIOD, 100.0)
    again = Register(tmp_path)
    assert again.covers(NODE7, 150.0)
    ((source, period),) = again.periods(150.0)
    assert (source, period.matchers, period.comment) == ("api", PERIOD.matchers, "new firmware")


@pytest.mark.parametrize("content", [b"{", b"[1]", b'[{"id": "a"}]', b'{"a": 1}'])
def test_damaged_file_is_told_and_passed_over(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert Register(tmp_path).periods(0.0) == []
    assert FILE in caplog.text


def test_folder_that_cannot_be_written_is_told_and_the_period_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "maintenance.new").mkdir()
    kept = Register(tmp_path)
    kept.add(PERIOD, 100.0)
    assert kept.covers(NODE7, 150.0)
    assert "cannot be written" in caplog.text


def test_periods_are_bounded_and_those_long_over_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "MOST_PERIODS", 2)
    kept = Register()
    for _ in range(2):
        kept.add(PERIOD, 100.0)
    with pytest.raises(FullError, match="already"):
        kept.add(PERIOD, 100.0)
    late_s = PERIOD.end_s + register.KEPT_AFTER_S + 1
    kept.add(PERIOD, late_s)
    assert kept.periods(late_s) == []


def test_silence_that_is_gone_is_over_but_still_covers_what_was() -> None:
    kept = Register()
    kept.read([PERIOD], 150.0)
    assert [source for source, _ in kept.periods(150.0)] == ["alertmanager"]
    kept.read([], 160.0)
    assert [kept.covers(NODE7, at_s) for at_s in (155.0, 165.0)] == [True, False]
    assert kept.periods(170.0) == []

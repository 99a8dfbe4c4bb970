"""Periods of maintenance are kept, ended and read from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from detector.maintenance import register
from detector.maintenance.period import Matcher, Period
from detector.maintenance.register import FILE, FullError, Register
from detector.source import Host
from tests.detector.conftest import fill_up

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


GOOD = '[{"id":"a","matchers":[{"name":"instance","value":"x"}],"start_s":100,"end_s":200.5}]'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "Invalid JSON"),
        (GOOD[:-9], "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("\udcff", "Invalid JSON"),
        ("{}", "Input should be a valid array"),
        ("null", "Input should be a valid array"),
        ("[null]", "0: Input should be"),
        ('[{"id":"a"}]', "0.matchers: Field required"),
        (GOOD.replace("100", '"100"'), "0.start_s: Input should be a valid number"),
        (GOOD.replace("100", "null"), "0.start_s: Input should be a valid number"),
        (GOOD.replace("200.5", "1e300"), "0: does not end after it begins"),
        (GOOD.replace("200.5", "NaN"), "0: does not end after it begins"),
        (GOOD.replace("200.5", "50"), "0: does not end after it begins"),
        (GOOD.replace('"x"', "7"), "0.matchers.0.value: Input should be a valid string"),
        (GOOD.replace('"value":"x"', '"value":"x","is_regex":1'), "0.matchers.0.is_regex: Input should be"),
        (GOOD.replace('{"name":"instance","value":"x"}', ""), "0.matchers: there are none"),
        (GOOD.replace('"start_s"', '"begin"'), "0.start_s: Field required"),
    ],
)
def test_damaged_file_is_told_and_kept_aside(
    tmp_path: Path, content: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    written = content.encode(errors="surrogateescape")
    (tmp_path / FILE).write_bytes(written)
    kept = Register(tmp_path)
    assert kept.periods(0.0) == []
    (line,) = caplog.messages
    assert line.startswith(f"{tmp_path / FILE} is damaged and set aside as .bad, no maintenance is remembered: {said}")
    assert (tmp_path / f"{FILE}.bad").read_bytes() == written
    named = kept.add(PERIOD, 100.0)
    assert [period for _, period in Register(tmp_path).periods(150.0)] == [named]


def test_file_as_it_is_written_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).write_text(GOOD)
    ((source, period),) = Register(tmp_path).periods(150.0)
    assert (source, period) == ("api", Period("a", (Matcher("instance", "x"),), 100.0, 200.5))
    assert caplog.text == ""


def test_folder_that_cannot_be_written_is_told_and_the_period_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Register(tmp_path)
    tmp_path.joinpath("maintenance.part").mkdir()
    kept.add(PERIOD, 100.0)
    assert kept.covers(NODE7, 150.0)
    assert not kept.saved
    assert "cannot be written" in caplog.text
    tmp_path.joinpath("maintenance.part").rmdir()
    kept.add(PERIOD, 100.0)
    assert kept.saved
    assert len(Register(tmp_path).periods(150.0)) == 2


def test_full_disk_keeps_the_file_before_and_nothing_beside_it(tiny: Path) -> None:
    kept = Register(tiny)
    kept.add(PERIOD, 100.0)
    before = (tiny / FILE).read_bytes()
    fill_up(tiny)
    kept.add(PERIOD, 100.0)
    assert not kept.saved
    assert [file.name for file in tiny.iterdir() if file.name != "fill"] == [FILE]
    assert (tiny / FILE).read_bytes() == before


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

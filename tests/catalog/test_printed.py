"""What is printed reaches an encoding that lacks its characters as what looks like them."""

from __future__ import annotations

import doctest
import io
import json
import subprocess
import sys

import pytest

from catalog import printed
from detector.readable import bar, quantity, sparkline
from tests.tree import ROOT


def _printed(text: str, monkeypatch: pytest.MonkeyPatch, encoding: str = "ascii") -> bytes:
    taken = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, encoding, newline=""))
    printed.set_up()
    printed.tell(text)
    return taken.getvalue()


def test_bars_and_figures_stay_readable_and_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{bar(0.5, 2.0, 8, mark=1.0)} {sparkline([0.0, 1.0, 2.0], 2.0)} {quantity(0.0004, 's')}"
    shown = _printed(text, monkeypatch)
    assert shown == b"##..|.... _=# 400 us"
    assert len(shown) == len(text)


def test_names_in_json_are_the_same_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"instance": "münchen-\N{GRINNING FACE}:9100"}
    assert json.loads(_printed(json.dumps(document, ensure_ascii=False), monkeypatch)) == document


def test_encoding_that_has_the_characters_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _printed("ä █ σ", monkeypatch, "latin-1") == "ä # z".encode("latin-1")
    assert _printed("ä █ σ", monkeypatch, "utf-8") == "ä █ σ".encode()


def test_name_that_is_not_utf_8_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _printed("disk\udcff", monkeypatch, "utf-8") == b"disk\\udcff"


def test_closed_output_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    printed.set_up()
    with pytest.raises(printed.PrintError, match="standard output is closed"):
        printed.tell("text")


@pytest.mark.parametrize(
    ("arguments", "code", "prints"),
    [
        (["detector", "export-rules"], 0, True),
        (["detector", "once", "--config.file=/nowhere.yml"], 2, False),
        (["exporter", "list"], 0, True),
    ],
)
def test_closed_standard_error_changes_neither_what_is_printed_nor_the_status(
    arguments: list[str], code: int, prints: bool
) -> None:
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=30, check=False)
    assert (done.returncode, bool(done.stdout)) == (code, prints)


def test_examples_are_right() -> None:
    assert doctest.testmod(printed).failed == 0

"""Lines of the log, as both programs write them."""

from __future__ import annotations

import json
import logging
import re

import pytest

from catalog.logform import FORMS

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def written(form: str, message: str, error: Exception | None = None) -> str:
    about = (type(error), error, None) if error else None
    record = logging.LogRecord("x", logging.WARNING, "here", 1, "%s", (message,), about)
    return FORMS[form]().format(record)


def test_each_form_tells_time_level_and_message() -> None:
    assert re.fullmatch(TIME + " warning disk is slow", written("text", "disk is slow"))
    assert re.fullmatch(f'time={TIME} level=warning message="disk is slow"', written("logfmt", "disk is slow"))
    assert written("logfmt", "slow").endswith(" message=slow")
    told = json.loads(written("json", "disk is slow"))
    assert re.fullmatch(TIME, told.pop("time"))
    assert told == {"level": "warning", "message": "disk is slow"}


@pytest.mark.parametrize("form", ["json", "logfmt"])
@pytest.mark.parametrize("message", ['say "no"', "two\nlines", "a=b", "back\\slash", "", "ä", "\x00"])
def test_machines_read_one_line_whatever_the_message(form: str, message: str) -> None:
    line = written(form, message)
    assert "\n" not in line
    text = line if form == "json" else "{" + f'"message": {_value(line)}' + "}"
    assert json.loads(text)["message"] == message


def _value(line: str) -> str:
    value = line.partition(" message=")[2]
    return value if value.startswith('"') else json.dumps(value)


@pytest.mark.parametrize("form", FORMS)
def test_traceback_is_told(form: str) -> None:
    line = written(form, "failed", ValueError("bad luck"))
    assert "ValueError: bad luck" in line
    assert line.count("\n") == (1 if form == "text" else 0)

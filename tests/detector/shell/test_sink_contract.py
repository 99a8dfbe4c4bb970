"""What every registered sink must bear: any verdict, hosts that come, fail and go, and being closed."""

from __future__ import annotations

import io
import math
from contextlib import redirect_stdout
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from detector import sink
from detector.settings import TABLE
from detector.sink import Context, Sink
from detector.sinks.remote_write import RemoteWriteSettings, RemoteWriteSink
from detector.source import Host
from detector.telemetry import Telemetry
from detector.verdict import Phase
from tests.detector.shell.stepped import SteppedClock
from tests.detector.shell.verdicts import END_S, HOST, alarm, judged, learning

EMPTY: dict[str, Any] = {"detectors": {}, "shares": {}, "causes": (), "score": math.nan, "p_value": math.nan}

every_sink = pytest.mark.parametrize("kind", sink.discover().values(), ids=lambda kind: kind.name)


@every_sink
def test_any_verdict_is_taken(kind: type[Sink]) -> None:
    output = io.StringIO()
    with redirect_stdout(output):
        made = build(kind)
        for one in (
            learning(0.0),
            learning(1.0),
            judged(**EMPTY),
            judged(phase=Phase.PROVISIONAL),
            alarm(subsystem="unknown", onset_s=math.nan),
            alarm(page=True),
            judged(Host("ä{}\n\"'", "j")),
        ):
            made.publish(one)
        made.trouble(HOST, "connection refused")
        made.trouble(Host("never:seen"), "connection refused")
        made.leave(HOST)
        made.leave(Host("never:seen"))
        made.publish(judged(end_s=END_S + 1))
        made.close()
    assert "Traceback" not in output.getvalue()


def build(kind: type[Sink]) -> Sink:
    default = None if kind.setting is None else kind.setting[1].default
    if kind is RemoteWriteSink:  # off by default; nobody listens there
        default = RemoteWriteSettings.model_validate({"url": "http://127.0.0.1:1/api/v1/write"})
    made = kind.build(default, Context(SteppedClock(), Telemetry(), {"metrics": "http://127.0.0.1:1/metrics"}))
    assert made is not None, f"{kind.name} is off by default"
    return made


@every_sink
def test_setting_of_a_sink_is_in_the_table_under_its_name(kind: type[Sink]) -> None:
    if kind.setting is None:
        assert kind.name not in TABLE.model_fields
        return
    _, field = kind.setting
    assert isinstance(field, FieldInfo)
    assert TABLE.model_fields[kind.name].description == field.description

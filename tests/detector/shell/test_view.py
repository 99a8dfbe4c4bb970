"""What the terminal shows of a host that learns, is quiet, has an episode, or cannot be read."""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from catalog import printed
from detector.readable import bar, duration, quantity, sparkline
from detector.sink import Context, Judged
from detector.sinks.view import ViewSink
from detector.source import Host
from detector.telemetry import Telemetry
from detector.verdict import Cause
from detector.view import HostView, line, picture
from tests.detector.shell.stepped import SteppedClock
from tests.detector.shell.verdicts import CAUSES, END_S, HOST, alarm, judged, learning


def view_of(*published: Judged) -> HostView:
    view = HostView(published[0])
    for one in published:
        view.update(one)
    return view


def drawn(views: Sequence[HostView], own_cost: float = 0.03, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(picture(views, {"metrics": "http://127.0.0.1:17721/metrics"}, own_cost))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_learning_host_shows_progress_and_time_left() -> None:
    text = drawn([view_of(learning(0.0), learning(0.25, END_S + 30))])
    assert "learning" in text
    assert "25%, 1 min 30 s left" in text
    assert "score" not in text
    narrow = drawn([view_of(learning(0.0), learning(0.25, END_S + 30))], width=80)
    assert any(row.startswith("baseline") and row.rstrip().endswith("left") for row in narrow.splitlines())


def test_quiet_host_shows_score_bound_detectors_shares_and_features() -> None:
    text = drawn([view_of(judged())])
    for words in (HOST.instance, "quiet", "0.40 (bound 1.00)", "http://127.0.0.1:17721/metrics"):
        assert words in text
    for detector in ("deviation", "forest", "subspace"):
        assert detector in text
    assert "0 of 3 exceed their own bound" in text
    assert "storage    █████████░░░░░░ 60%" in text
    assert 'storage_busy_ratio{device="vda"} (mean)' in text
    assert "97 %" in text
    assert "320 MB/s" in text
    assert "+12.5" in text


def test_window_without_a_score_blames_nothing() -> None:
    text = drawn([view_of(judged(), judged(end_s=END_S + 1, score=math.nan))])
    assert "no score" in text
    for words in ("last minute", "cost "):
        assert words in text
    for words in ("blamed", "moved", "exceed", "bound"):
        assert words not in text


def test_what_is_typical_again_is_not_shown_as_moved() -> None:
    back = Cause("network_tcp_retransmission_ratio", "max", "network", "ratio", 0.0, 0.0, 0.0)
    for name, here in (("network_tcp_retransmission_ratio", False), ("storage_busy_ratio", True)):
        view = view_of(alarm(causes=(back, *CAUSES)))
        assert (name in drawn([view]), name in line(view)) == (here, here)
    assert line(view_of(alarm(causes=(back,)))).endswith("since 12 s")


def test_each_sign_that_is_drawn_has_one_in_ascii_that_looks_like_it() -> None:
    text = drawn([view_of(judged()), view_of(alarm())], own_cost=math.nan, width=60)
    signs = {sign for sign in text if not sign.isascii()}
    assert {"█", "░", "│", "–", "…", "σ"} <= signs <= {chr(code) for code in printed._ALIKE}


def test_narrow_terminal_cuts_names_and_no_numbers() -> None:
    text = drawn([view_of(judged())], width=60)
    for words in ("storage_busy", "…", "97 %", "320 MB/s", "+12.5"):
        assert words in text


def test_episode_shows_what_is_to_blame_and_since_when() -> None:
    assert "ALARM: storage, since 12 s" in drawn([view_of(alarm())])
    assert "PAGE: storage" in drawn([view_of(alarm(page=True))])


def test_episode_that_ended_is_still_told() -> None:
    onset_s = END_S - 12
    opened = [alarm(END_S, onset_s=onset_s), alarm(END_S + 5, onset_s=onset_s, score=1.2)]
    assert "last alarm" not in drawn([view_of(*opened)])
    text = drawn([view_of(*opened, judged(end_s=END_S + 100))])
    assert "last alarm   storage, lasted 17 s until 1 min 35 s ago, highest score 2.50" in text
    newer = alarm(END_S + 200, onset_s=END_S + 190, score=1.1, subsystem="cpu")
    assert "last alarm   cpu, lasted 10 s until 2 s ago, highest score 1.10" in drawn(
        [view_of(*opened, newer, judged(end_s=END_S + 202))]
    )


def test_cost_of_sampling_comes_from_the_exporter_itself() -> None:
    view = view_of(*(judged(end_s=END_S + number) for number in range(40)))
    assert view.cost == pytest.approx(0.02)
    assert view.judged.frame.values.size == 0, "samples are looked at once and not kept"
    assert "sampling 2 % of a core, judging 3 %" in drawn([view])


def test_cost_is_unknown_after_a_restart_and_not_negative() -> None:
    view = view_of(judged())
    restarted = judged(end_s=END_S + 20)
    restarted.frame.values[:] -= 1e6
    restarted.frame.values[:] *= -1e-9
    view.update(restarted)
    assert not view.cost < 0


def test_host_that_cannot_be_read_says_why() -> None:
    view = view_of(judged())
    view.trouble = "connection refused"
    assert "not judged: connection refused" in drawn([view])
    assert line(view) == f"{HOST.instance}: not judged: connection refused"


def test_several_hosts_are_listed_worst_first_with_the_worst_in_detail() -> None:
    calm = judged(Host("10.0.0.2:17720"), score=0.1, causes=())
    text = drawn([view_of(calm), view_of(alarm())])
    assert text.index(HOST.instance) < text.index("10.0.0.2:17720")
    assert "storage_busy_ratio" in text


def test_no_host_yet_says_what_it_waits_for() -> None:
    assert "waiting for the first samples" in drawn([])


def test_history_is_one_minute() -> None:
    view = view_of(*(judged(end_s=END_S + number) for number in range(200)))
    assert len(view.scores) == 60


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (learning(0.5), "learning, 50%"),
        (judged(), "quiet, score 0.40 (bound 1.00), calibrated"),
        (judged(score=math.nan), "no score, calibrated"),
        (judged(score=1.5), "over the bound, score 1.50 (bound 1.00), calibrated"),
        (judged(score=1.5, maintained=True), "maintenance, score 1.50 (bound 1.00), calibrated"),
        (
            alarm(),
            "ALARM: storage, score 2.50 (bound 1.00), calibrated, since 12 s: "
            'storage_busy_ratio{device="vda"} (mean) 97 %',
        ),
    ],
)
def test_plain_line_says_the_state(shown: Judged, expected: str) -> None:
    assert line(view_of(shown)).startswith(f"{HOST.instance}: {expected}")


class Terminal:
    """A view sink that writes to a string."""

    def __init__(self, *, live: bool) -> None:
        self.clock = SteppedClock()
        self.stream = io.StringIO()
        self.sink = ViewSink(Context(self.clock, Telemetry(), {"metrics": "http://x/metrics"}), self.stream, live=live)

    def publish(self, *published: Judged) -> str:
        """Publish one verdict a second; what was written."""
        before = self.stream.tell()
        for one in published:
            self.clock.wait(1)
            self.sink.publish(one)
        return self.stream.getvalue()[before:]


def test_plain_view_writes_when_something_changes_and_every_ten_seconds() -> None:
    terminal = Terminal(live=False)
    quiet = terminal.publish(*(judged(end_s=END_S + number) for number in range(25)))
    assert quiet.count("\n") == 3
    assert "ALARM" in terminal.publish(alarm(end_s=END_S + 26))
    assert terminal.publish(alarm(end_s=END_S + 27)) == ""
    assert "quiet" in terminal.publish(judged(end_s=END_S + 28))


def test_plain_view_says_that_a_host_is_in_trouble_once() -> None:
    terminal = Terminal(live=False)
    terminal.publish(judged())
    terminal.sink.trouble(HOST, "connection refused")
    terminal.sink.trouble(HOST, "connection refused")
    assert terminal.stream.getvalue().count("connection refused") == 1


def test_windows_that_are_caught_up_are_not_shown_one_by_one() -> None:
    terminal = Terminal(live=False)
    late = [judged(end_s=END_S + number) for number in range(100)]
    behind = [Judged(j.host, j.verdict, j.frame, 3.0, 1.0, 500.0, END_S + 500) for j in late]
    assert terminal.publish(*behind) == ""


def test_live_view_draws_over_itself_and_leaves_the_last_picture() -> None:
    terminal = Terminal(live=True)
    text = terminal.publish(judged(), alarm(end_s=END_S + 1))
    terminal.sink.close()
    assert "\x1b[" in text
    assert "ALARM: storage" in text
    assert terminal.stream.getvalue().endswith("\x1b[?25h")


def test_live_view_drops_hosts_that_leave() -> None:
    terminal = Terminal(live=True)
    terminal.publish(judged())
    terminal.clock.wait(1)
    before = terminal.stream.tell()
    terminal.sink.leave(HOST)
    terminal.sink.close()
    assert "waiting for the first samples" in terminal.stream.getvalue()[before:]


def test_picture_that_cannot_be_drawn_is_given_up_for_lines() -> None:
    told: list[str] = []
    with contextlib.suppress(OSError), Path("/dev/full").open("w") as full:  # closing it fails, too
        sink = ViewSink(Context(SteppedClock(), Telemetry(), {}), full, live=True)
        for shown in (judged(), alarm()):
            with pytest.raises(OSError, match="No space left") as raised:
                sink.publish(shown)
            told.append(str(raised.value))
        sink.close()
        told.append("closed")
    assert told == ["[Errno 28] No space left on device"] * 2 + ["closed"]


def test_view_that_is_off_or_has_nowhere_to_show_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(SteppedClock(), Telemetry(), {})
    assert ViewSink.build("off", context) is None
    assert ViewSink.build("plain", context) is not None
    monkeypatch.setattr(sys, "stdout", None)
    assert ViewSink.build("auto", context) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.031, "ratio", "3.1 %"),
        (1.0, "ratio", "100 %"),
        (2.5e8, "B/s", "250 MB/s"),
        (0.0, "B", "0 B"),
        (-3.2e9, "B/s", "-3.2 GB/s"),
        (0.0004, "s", "400 µs"),
        (0.012, "s", "12 ms"),
        (90.0, "s", "90 s"),
        (1234.0, "1/s", "1.23 k/s"),
        (0.25, "1/s", "0.25 /s"),
        (41.5, "°C", "41.5 °C"),
        (3.0, "", "3"),
        (math.nan, "W", "–"),
        (math.inf, "W", "–"),
    ],
)
def test_quantities_are_written_for_people(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (95, "1 min 35 s"), (7260, "2 h 1 min"), (-1, "0 s")]
)
def test_durations_are_written_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_bars_and_sparklines_stay_in_their_frame() -> None:
    assert [bar(value, 2.0, 4) for value in (-1, 0, 1, 2, 9, math.nan)] == [
        "░░░░",
        "░░░░",
        "██░░",
        "████",
        "████",
        "░░░░",
    ]
    assert sparkline([-1.0, 0.0, 1.0, 2.0, 9.0, math.nan], 2.0) == "▁▁▅██ "

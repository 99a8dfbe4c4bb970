"""The loop among peers: hosts of a group are judged side by side, and who is late is left out."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from detector.company import Company
from detector.features import Features
from detector.frame import Frame
from detector.judge import Judge
from detector.source import Host
from detector.state import HostState
from detector.steps import Companies, Piece
from detector.trainer import Judging
from detector.verdict import Phase, Verdict
from detector.watch import Batch, Watch
from tests.detector.arrays import plain_features
from tests.detector.shell.stepped import START_S, Bench, counting_fit, never_due, scoring_step

GROUP = tuple(Host(f"{name}:1", "hostpulse", "job 7") for name in "abcd")
LONE = Host("lone:1", "hostpulse")


class _Seen:
    """Judging that notes which hosts each was compared with."""

    def __init__(self) -> None:
        self.companies: dict[tuple[str, float], set[str]] = {}
        self.sizes: set[int] = set()
        self.failing = self.unreadable = ""

    def judging(self) -> Judging:
        return Judging(scoring_step, never_due, counting_fit, self._features, self._among)

    def _features(self, frame: Frame, end_s: float, judge: Judge) -> Features:
        assert frame.instance != self.unreadable, "as the test wants it"
        return Features(np.array([end_s]), np.ones((1, 3)), plain_features(3))

    def _among(self, window: Features, state: HostState, judge: Judge, company: Company) -> tuple[HostState, Verdict]:
        assert state.instance != self.failing, "as the test wants it"
        assert company.group == "job 7"
        end_s = float(window.end_s[0])
        self.companies[state.instance, end_s - START_S] = set(company.rows or ())
        self.sizes.add(company.size)
        return replace(state, last_end_s=end_s), Verdict(state.instance, end_s, Phase.LEARNING)


@pytest.fixture
def seen() -> _Seen:
    return _Seen()


def test_each_host_of_a_group_is_judged_among_all_of_it(seen: _Seen) -> None:
    bench = Bench(seen.judging(), hosts=(*GROUP, LONE))
    bench.go(10)
    everyone = {host.instance for host in GROUP}
    assert {instance for instance, _ in seen.companies} == everyone
    assert all(company == everyone for company in seen.companies.values())
    assert seen.sizes == {len(GROUP)}
    assert all(bench.notebook.ends_s(host) == list(range(3, 10)) for host in (*GROUP, LONE))


def test_host_that_does_not_answer_is_left_out(seen: _Seen) -> None:
    # Each round waits for half a stride of real time, hence short ones; multiples of an eighth are exact.
    bench = Bench(seen.judging(), hosts=GROUP, sections={"window": {"stride": "125ms", "duration": "1s"}})
    bench.go(2)
    bench.source.hung[GROUP[0]] = threading.Event()
    try:
        bench.go(2)
    finally:
        bench.source.hung[GROUP[0]].set()
    others = {host.instance for host in GROUP[1:]}
    assert seen.companies["b:1", 3.0] == others
    assert bench.notebook.ends_s(GROUP[1]) == [eighths / 8 for eighths in range(8, 4 * 8)]
    assert bench.notebook.troubles == []


@pytest.mark.parametrize("what", ["failing", "unreadable"])
def test_host_whose_judging_fails_does_not_stop_its_peers(seen: _Seen, what: str) -> None:
    bench = Bench(seen.judging(), hosts=GROUP)
    setattr(seen, what, "b:1")
    bench.go(6)
    assert bench.notebook.ends_s(GROUP[1]) == []
    assert bench.notebook.ends_s(GROUP[2]) == [3, 4, 5]
    assert [host for host, _ in bench.notebook.troubles] == [GROUP[1]]


def test_late_host_finds_its_peers_though_the_clock_of_one_is_ahead_or_one_catches_up() -> None:
    companies, judge = Companies(), Judge()
    watches = [Watch(host, HostState.new(host.instance), judge) for host in GROUP]
    empty = Frame("any", np.empty(0), np.empty((0, 0)), ())

    def company(end_s: float, *judged: Watch) -> Company:
        batch, window = (
            Batch([end_s], empty, end_s, 0, 0),
            Features(np.array([end_s]), np.ones((1, 3)), plain_features(3)),
        )
        return companies.of([Piece(one, batch, end_s, empty, judge, window) for one in judged], end_s, watches)

    for number in range(20):  # its clock is ahead
        company(1e6 + number, watches[0])
    company(5.0, *watches[1:3])
    for number in range(20):  # it catches up
        company(-100.0 + number, watches[0])
    assert set(company(5.0, watches[3]).rows or ()) == {"b:1", "c:1", "d:1"}


def test_host_that_changes_its_group_stays_the_same_host(seen: _Seen) -> None:
    bench = Bench(seen.judging(), hosts=GROUP)
    bench.go(6)
    bench.source.present = [replace(host, peer="") for host in GROUP]
    bench.go(4)
    assert bench.notebook.left == []
    assert bench.notebook.ends_s(GROUP[0]) == list(range(3, 10))
    assert ("a:1", 9.0) not in seen.companies

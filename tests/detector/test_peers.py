"""Peers: what the hosts of a job have in common is no news, and what one of them has for itself is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from detector.company import gather
from detector.features import Feature, Features
from detector.frame import Floats
from detector.judge import Judge
from detector.learning import due, fit
from detector.peers import MOST_GAIN, fit_gain, from_arrays, to_arrays
from detector.pipeline import judge_window
from detector.state import HostState
from detector.verdict import Verdict
from tests.detector.arrays import channel

JUDGE = Judge(baseline_s=400.0)
HOSTS, CHANNELS = 6, 40
FEATURES = tuple(
    Feature(channel(f"c{number}", ("cpu", "memory", "network", "storage")[number % 4], floor=0.1), "mean")
    for number in range(CHANNELS)
)
NETWORK = np.arange(CHANNELS) % 4 == 2


@dataclass
class Job:
    """Hosts of a job whose phases come for all at a time, each host with its own gain; windows once a second."""

    states: list[HostState] = field(default_factory=lambda: [HostState.new(f"h{host}") for host in range(HOSTS)])
    groups: str = "job"
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng(3)
        self.gain = np.exp(0.1 * self.chance.standard_normal((HOSTS, CHANNELS)))
        self.load = self.chance.uniform(0.5, 1.5, CHANNELS)

    def live(self, duration_s: float, shift: Floats | float = 0.0, here: range = range(HOSTS)) -> list[list[Verdict]]:
        """The verdicts of all hosts; ``shift`` is added to the last one. Who is not ``here`` is late."""
        verdicts = []
        for _ in range(round(duration_s)):
            self.now_s += 1.0
            phase = 10.0 * (int(self.now_s) // 50 % 2) + 5.0 * (int(self.now_s) // 170 % 3)
            x = self.gain * self.load * phase + self.chance.standard_t(4, (HOSTS, CHANNELS))
            x[-1] += shift
            verdicts.append(self._judged(x, here))
        return verdicts

    def _judged(self, x: Floats, here: range) -> list[Verdict]:
        windows = {f"h{host}": Features(np.array([self.now_s]), x[host : host + 1], FEATURES) for host in here}
        flagged = frozenset(state.instance for state in self.states if state.episode.open)
        company = gather(self.groups, windows, flagged, HOSTS)
        verdicts = []
        for host in here:
            self.states[host], verdict = judge_window(windows[f"h{host}"], self.states[host], JUDGE, company)
            verdicts.append(verdict)
            if due(self.states[host], self.now_s, JUDGE):
                self.states[host] = fit(self.states[host], JUDGE)
        return verdicts


@pytest.fixture(scope="module")
def _learned() -> Job:
    job = Job()
    job.live(JUDGE.baseline_s + 30)
    return job


@pytest.fixture
def job(_learned: Job) -> Job:
    """A job whose hosts have just learned."""
    copy = Job(list(_learned.states), now_s=_learned.now_s)
    copy.chance = np.random.default_rng(4)
    return copy


def test_phases_of_the_job_raise_no_alarm_and_peers_score_beside_the_others(job: Job) -> None:
    verdicts = job.live(120)
    assert not any(verdict.active for each in verdicts for verdict in each)
    assert all("peers" in verdict.detectors for verdict in verdicts[-1])
    assert np.median([verdict.detectors["peers"] for verdict in verdicts[-1]]) < 0.7


def test_shift_that_the_hosts_own_past_does_not_show_is_found_by_its_peers_and_blamed_right(job: Job) -> None:
    job.live(30)
    verdicts = job.live(25, shift=np.where(NETWORK, 6.0, 0.0))
    sick = [each[-1] for each in verdicts]
    assert sick[-1].active
    assert sick[-1].subsystem == "network"
    assert sick[-1].score == sick[-1].detectors["peers"] > 1.0
    assert max(sick[-1].detectors[name] for name in ("deviation", "subspace")) < 1.0
    assert sick[-1].causes[0].subsystem == "network"
    assert not any(verdict.active for each in verdicts for verdict in each[:-1])


def test_typical_value_of_a_cause_is_what_the_peers_make_one_expect(job: Job) -> None:
    verdicts = job.live(25, shift=np.where(NETWORK, 8.0, 0.0))
    cause = verdicts[-1][-1].causes[0]
    assert cause.actual - cause.typical == pytest.approx(8.0 * 0.1, abs=0.5)


def test_without_peers_a_host_is_judged_by_its_own_past(job: Job) -> None:
    verdicts = job.live(30, here=range(3, HOSTS))
    assert all("peers" not in verdict.detectors for verdict in verdicts[-1])
    assert not any(verdict.active for each in verdicts for verdict in each)


def test_what_ails_all_hosts_is_common_and_each_of_them_keeps_its_alarm(job: Job) -> None:
    job.gain = np.exp(0.1 * np.random.default_rng(3).standard_normal((HOSTS, CHANNELS)))
    job.load = np.where(NETWORK, 60.0, 1.0)
    verdicts = job.live(60)
    last = verdicts[-1]
    assert sum(verdict.active for verdict in last) >= 3
    assert all(verdict.common for verdict in last if verdict.active)


def test_host_that_changes_its_group_forgets_the_old_one(job: Job) -> None:
    job.groups = "other job"
    verdicts = job.live(2)
    assert all("peers" not in verdict.detectors for verdict in verdicts[-1])
    assert {state.peers.group for state in job.states} == {"other job"}
    assert all(state.model is not None for state in job.states)


def test_what_was_learned_among_peers_survives_a_restart(job: Job) -> None:
    state = job.states[0]
    header, arrays = to_arrays(state.peers)
    model, restored = state.peers.model, from_arrays(json.loads(json.dumps(header)), arrays, FEATURES).model
    assert model is not None
    assert restored is not None
    x, middle = np.random.default_rng(1).standard_normal((2, 5, CHANNELS))
    z = model.deviations(x, middle)
    assert np.array_equal(restored.deviations(x, middle), z)
    assert np.array_equal(restored.normalised(z), model.normalised(z))
    assert restored.calibration.bound == model.calibration.bound


def test_episode_that_peers_opened_goes_on_after_a_restart_though_none_of_them_is_there(job: Job) -> None:
    job.live(30)
    job.live(25, shift=np.where(NETWORK, 6.0, 0.0))
    state = job.states[-1]
    header, arrays = to_arrays(state.peers)
    job.states[-1] = replace(state, sizes=(), normalised=(), peers=from_arrays(header, arrays, FEATURES))
    (verdict,) = job.live(1, shift=np.where(NETWORK, 6.0, 0.0), here=range(HOSTS - 1, HOSTS))[0]
    assert (verdict.active, verdict.subsystem) == (True, "network")
    assert np.isfinite(list(verdict.shares.values())).all()
    assert job.states[-1].peers.leads
    assert job.states[-1].peers.worst == state.peers.worst


def test_what_alarms_again_by_its_peers_is_compared_with_the_time_before_it_alarmed_by_itself(job: Job) -> None:
    job.live(30)
    job.live(25, shift=np.where(NETWORK, 6.0, 0.0))
    first = job.states[-1]
    while job.states[-1].episode.open and job.now_s < first.last_end_s + 40.0:
        job.live(1)
    over = job.states[-1]
    assert (over.episode.open, over.peers.leads) == (False, True)
    job.states[-1] = replace(over, peers=replace(over.peers, leads=False), before=np.ones(CHANNELS))
    job.live(20, shift=np.where(NETWORK, 6.0, 0.0))
    again = job.states[-1]
    assert (again.episode.open, again.peers.leads, again.episode.onset_s) == (True, True, first.episode.onset_s)
    assert first.before is not None
    assert again.before is not None
    np.testing.assert_array_equal(again.before, first.before)


def test_arrays_of_other_features_are_refused(job: Job) -> None:
    header, arrays = to_arrays(job.states[0].peers)
    with pytest.raises(ValueError, match="do not fit"):
        from_arrays(header, arrays, FEATURES[1:])


def test_gain_is_that_of_what_moves_together_and_one_of_what_does_not() -> None:
    chance = np.random.default_rng(0)
    middle = chance.standard_normal((500, 3))
    x = np.stack([1.3 * middle[:, 0], chance.standard_normal(500), 100.0 * middle[:, 2]], axis=1)
    x[7] = np.nan
    assert fit_gain(x, middle) == pytest.approx([1.3, 1.0, MOST_GAIN], abs=0.05)
    assert fit_gain(np.full((5, 1), np.nan), np.ones((5, 1))) == pytest.approx([1.0])


def test_budget_is_shared_between_the_hosts_past_and_its_peers() -> None:
    whole, half = JUDGE.sudden, JUDGE.sudden.shared(2)
    assert (half.warning_per_day, half.page_per_day) == (whole.warning_per_day / 2, whole.page_per_day / 2)
    assert replace(half, warning_per_day=whole.warning_per_day, page_per_day=whole.page_per_day) == whole

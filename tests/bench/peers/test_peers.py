from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bench.peers.__main__ import figures, main, plans
from bench.peers.job import HOSTS, KINDS, SERIES, Job, Kind
from bench.peers.trial import Found, Outcome


def test_hosts_of_a_job_share_its_phases_and_not_their_noise() -> None:
    one, other = Job(Kind("made", 0.0, 0.0), 1).samples(20_000)[:2]
    assert one.shape == (20_000, SERIES)
    apart = one - other
    assert apart.std() == pytest.approx(math.sqrt(2), rel=0.1)
    assert one.std(axis=0).mean() > 1.5 * apart.std()
    assert np.array_equal(one, Job(Kind("made", 0.0, 0.0), 1).samples(20_000)[0])


def test_gains_and_slow_noise_make_hosts_differ() -> None:
    apart = [np.subtract(*Job(kind, 1).samples(4000)[:2]) for kind in KINDS]
    assert apart[1].std() > apart[0].std()
    after = [np.corrcoef(each[:-9, 0], each[9:, 0])[0, 1] for each in apart]
    assert after[2] > after[0] + 0.2


def test_figures_are_shares_rates_and_middle_delays() -> None:
    found = (Found(2.0, 5.0, math.nan), Found(2.0, math.nan, math.nan), Found(4.0, 4.0, 6.0), Found(8.0, 4.0, 5.0))
    rows = figures([Outcome(4.0, 2, 0, found)])
    assert (rows["host_days"], rows["warning_per_day"], rows["page_per_day"]) == (4.0, 0.5, 0.0)
    assert (rows["shift_2_warned"], rows["shift_2_warned_s"], rows["shift_4_paged_s"]) == (0.5, 5.0, 6.0)
    assert math.isnan(rows["shift_2_paged_s"])


def test_jobs_of_each_kind_fill_the_days() -> None:
    wanted = plans(20.0, 200)
    assert {plan.kind for plan in wanted} == set(KINDS)
    assert len(wanted) % len(KINDS) == 0
    assert len({plan.seed for plan in wanted}) * len(KINDS) == len(wanted)


def test_large_shifts_are_found_at_once_and_told_in_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--host-days=0.01", "--hours=1", "--faults=1", "--jobs=1", "--json"])
    rows = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert list(rows) == [kind.name for kind in KINDS]
    for row in rows.values():
        assert row["host_days"] == pytest.approx(HOSTS * 0.5 / 24, rel=1e-3)
        assert (row["shift_8_warned"], row["shift_8_warned_s"] <= 10) == (1.0, True)

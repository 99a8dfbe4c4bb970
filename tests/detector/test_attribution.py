"""Blame goes to the subsystem that changed most, over what is usual for it, and to none when nothing leads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.signal import JUDGED_SUBSYSTEMS, Role
from detector.attribution import (
    MOST_DEVIATION,
    ROLE_WEIGHT,
    UNKNOWN,
    by_subsystem,
    causes,
    contrast,
    leading,
    shares,
    still,
    weighted,
)
from detector.features import Feature
from detector.pruning import Groups
from tests.detector import naive
from tests.detector.arrays import channel, plain_features
from tests.properties import PROPERTY

CPU, GPU, MEMORY, NETWORK, STORAGE = range(5)
SIZES = st.lists(st.floats(0, 1e6), min_size=5, max_size=5)


def test_contrast_is_what_grew_and_never_negative() -> None:
    assert contrast(np.array([5.0, 2.0, 1.0]), np.array([1.0, 2.0, 9.0])).tolist() == [4.0, 0.0, 0.0]


def test_utilisation_weighs_less_than_what_is_specific() -> None:
    features = tuple(Feature(channel(role=role, subsystem="memory"), "mean") for role in Role)
    evidence = dict(zip(Role, weighted(np.full((1, 4), 9.0), features)[0], strict=True))
    assert evidence[Role.UTILISATION] < min(evidence[role] for role in Role if role is not Role.UTILISATION)
    assert np.allclose([evidence[role] for role in Role], [9.0 * ROLE_WEIGHT[role] for role in Role])


def test_beyond_a_limit_one_channel_says_no_more() -> None:
    features = plain_features(2)
    evidence = weighted(np.array([[1e6, 1.0]]), features)[0]
    assert evidence[0] == MOST_DEVIATION * evidence[1]


def test_the_cpu_leads_only_where_nothing_else_moved_as_much() -> None:
    by_share = shares(np.full(len(JUDGED_SUBSYSTEMS), 5.0), np.ones(len(JUDGED_SUBSYSTEMS)))
    assert by_share["cpu"] < min(share for subsystem, share in by_share.items() if subsystem != "cpu")
    alone = shares(np.array([5.0, 0.0, 0.0, 0.0, 0.0]), np.ones(len(JUDGED_SUBSYSTEMS)))
    assert leading(alone) == "cpu"


def test_what_a_host_does_not_have_has_no_share() -> None:
    without = shares(np.zeros(len(JUDGED_SUBSYSTEMS)), np.ones(len(JUDGED_SUBSYSTEMS)), {"cpu", "memory"})
    assert without == {"cpu": 0.5, "gpu": 0.0, "memory": 0.5, "network": 0.0, "storage": 0.0}


def test_evidence_of_a_subsystem_is_that_of_its_strongest_channels() -> None:
    cells = [
        ("a", "cpu", 5.0),
        ("a", "cpu", 9.0),
        ("b", "cpu", 1.0),
        ("c", "cpu", 2.0),
        ("d", "cpu", 3.0),
        ("e", "network", 6.0),
    ]
    features = tuple(Feature(channel(name, subsystem), "mean") for name, subsystem, _ in cells)
    found = by_subsystem(np.array([[size for *_, size in cells]]), features)[0]
    assert np.isclose(found[CPU], naive.top_mean([9.0, 1.0, 2.0, 3.0], 3))
    assert np.isclose(found[NETWORK], 6.0 / 3)
    assert (found[GPU], found[MEMORY], found[STORAGE]) == (0.0, 0.0, 0.0)


def test_many_features_are_no_evidence_by_themselves() -> None:
    features = (*plain_features(1), *(Feature(channel(f"m{n}", "memory"), "mean") for n in range(300)))
    found = by_subsystem(np.full((1, 301), 2.0), features)[0]
    assert found[MEMORY] == 2.0


@PROPERTY
@given(SIZES, st.lists(st.floats(0.25, 100), min_size=5, max_size=5))
def test_shares_sum_to_one_and_are_none_of_them_negative(evidence: list[float], usual: list[float]) -> None:
    found = shares(np.array(evidence), np.array(usual))
    assert tuple(found) == JUDGED_SUBSYSTEMS
    assert np.isclose(sum(found.values()), 1.0)
    assert min(found.values()) >= 0.0


def test_subsystem_that_is_usually_restless_needs_more_evidence() -> None:
    found = shares(np.array([0.0, 0.0, 4.0, 0.0, 4.0]), np.array([1.0, 1.0, 4.0, 1.0, 1.0]))
    assert found["storage"] > 5 * found["memory"]
    assert leading(found) == "storage"


def test_shares_are_even_where_there_is_little_evidence() -> None:
    little, much = (shares(np.array([0.0, 0.0, size, 0.0, 0.0]), np.ones(5))["memory"] for size in (0.1, 10.0))
    assert little == pytest.approx(0.2, abs=0.01)
    assert much > 0.9


@pytest.mark.parametrize("evidence", [[0.0] * 5, [1.0] * 5, [1.0, 0.0, 1.0, 1.0, 0.9]])
def test_nothing_is_blamed_when_nothing_leads(evidence: list[float]) -> None:
    assert leading(shares(np.array(evidence), np.ones(5))) == UNKNOWN


@pytest.mark.parametrize(
    ("before", "memory", "storage", "blamed"),
    [
        ("storage", 9.0, 9.0, "storage"),
        ("storage", 12.0, 9.0, "storage"),
        ("storage", 20.0, 9.0, "memory"),
        ("storage", 0.0, 0.0, "storage"),
        ("memory", 9.0, 12.0, "memory"),
        (UNKNOWN, 12.0, 9.0, "memory"),
        (UNKNOWN, 0.0, 0.0, UNKNOWN),
    ],
)
def test_what_opens_again_is_blamed_on_another_subsystem_only_where_that_leads_clearly(
    before: str, memory: float, storage: float, blamed: str
) -> None:
    assert still(shares(np.array([0.0, 0.0, memory, 0.0, storage]), np.ones(5)), before) == blamed


def test_causes_name_each_channel_once_with_typical_and_actual_in_its_unit() -> None:
    noisy, quiet = channel("noisy", "storage", floor=10.0), channel("quiet")
    features = (Feature(noisy, "mean"), Feature(noisy, "max"), Feature(quiet, "mean"))
    groups = Groups(np.array([0, 2], dtype=np.intp), np.array([0, 0, 1], dtype=np.intp))
    found = causes(
        np.array([3.0, 5.0, 0.0]), np.array([4.0, 6.0, 0.1]), np.array([7.0, 9.0, 0.0]), np.array([1.0, 2.0, 0.0]),
        features, groups, 8,
    )  # fmt: skip
    assert [(cause.channel, cause.statistic, cause.subsystem, cause.unit) for cause in found] == [
        ("noisy", "max", "storage", "1/s")
    ]
    assert (found[0].typical, found[0].actual, found[0].deviation, found[0].members) == (20.0, 90.0, 6.0, ())


def test_causes_are_ordered_bounded_and_name_what_moves_with_them() -> None:
    features = plain_features(6)
    groups = Groups(np.array([1, 4], dtype=np.intp), np.array([0, 0, 0, -1, 1, 0], dtype=np.intp))
    zeros = np.zeros(6)
    found = causes(np.array([1.0, 9.0, 3.0, 4.0, 5.0, 2.0]), zeros, zeros, zeros, features, groups, 4)
    assert [cause.channel for cause in found] == ["c1", "c4", "c3", "c2"]
    assert [cause.members for cause in found] == [("c0", "c2", "c5"), (), (), ("c1", "c0", "c5")]

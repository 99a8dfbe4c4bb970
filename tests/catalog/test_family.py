"""A family refuses what a Prometheus metric should not be."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from catalog.family import Alias, Family, Kind, Profile, Subsystem, Unit
from catalog.series import Series

GAUGE = Family(
    "hostpulse_test_free_bytes", Kind.GAUGE, Unit.BYTES, "Room.", Subsystem.STORAGE, ("device", "node"), source="/x"
)
COUNTER = replace(GAUGE, name="hostpulse_test_read_bytes_total", kind=Kind.COUNTER)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "hostpulse_Test_bytes"}, "lower-case"),
        ({"name": "hostpulse_test__bytes"}, "single underscores"),
        ({"name": "node_test_bytes"}, "must start with"),
        ({"name": "hostpulse_test_bytes_total"}, "_total if and only if"),
        ({"name": "hostpulse_test_info"}, "_info if and only if"),
        ({"name": "hostpulse_test_kilobytes"}, "must end in its unit"),
        ({"unit": Unit.SECONDS}, "must end in its unit"),
        ({"help": "room."}, "sentence"),
        ({"help": "Room"}, "sentence"),
        ({"source": ""}, "where does"),
        ({"labels": ("device", "device")}, "stands twice"),
    ],
)
def test_family_that_breaks_a_rule_is_refused(changes: dict[str, object], complaint: str) -> None:
    arguments = {name: getattr(GAUGE, name) for name in GAUGE.__dataclass_fields__} | changes
    with pytest.raises(AssertionError, match=complaint):
        Family(**arguments)


def test_counter_ends_in_its_unit_and_total() -> None:
    assert COUNTER.name.endswith("_bytes_total")
    with pytest.raises(AssertionError, match="_total if and only if"):
        replace(COUNTER, name="hostpulse_test_read_bytes")


def test_calling_a_family_makes_a_series_in_the_order_of_its_labels() -> None:
    assert GAUGE("sda", 1) == Series("hostpulse_test_free_bytes", (("device", "sda"), ("node", "1")))


def test_calling_a_family_with_too_few_values_names_the_labels() -> None:
    with pytest.raises(AssertionError, match=r"takes labels \('device', 'node'\)"):
        GAUGE("sda")


def test_profiles_include_the_ones_before() -> None:
    assert [profile.rank for profile in (Profile.CORE, Profile.STANDARD, Profile.FULL)] == [0, 1, 2]


def test_alias_needs_a_name_and_a_positive_factor() -> None:
    with pytest.raises(AssertionError, match="foreign metric's name"):
        Alias("")
    with pytest.raises(AssertionError, match="factor must be positive"):
        Alias("node_x", factor=0.0)


def test_alias_cannot_be_changed_from_outside_and_survives_a_process_boundary() -> None:
    match = {"mode": "idle"}
    alias = Alias("node_x", 1024.0, match, {"resource": "cpu"}, {"device": "disk"})
    match["mode"] = "user"
    assert alias.match == {"mode": "idle"}
    assert pickle.loads(pickle.dumps(alias)) == alias

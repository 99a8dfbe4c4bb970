"""Company: the median of the others of each host, with who is late, flagged or different left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from detector.company import ALONE, LEAST_HOSTS, Company, among, extended, gather
from detector.features import Features
from detector.frame import Floats
from tests.detector.arrays import channel, features_of, plain_features, tables

END_S = 100.0


def _windows(table: Floats) -> dict[str, Features]:
    features = plain_features(table.shape[1])
    return {f"h{row}": Features(np.array([END_S]), table[row : row + 1], features) for row in range(len(table))}


def _middle(windows: Mapping[str, Features], instance: str, flagged: Sequence[str] = ()) -> Floats:
    company = gather("job", windows, frozenset(flagged), len(windows))
    return company.middle(instance, windows[instance].names)


@settings(deadline=None)
@given(tables(rows=(1, 9)))
def test_each_host_is_compared_with_the_median_of_all_but_itself(table: Floats) -> None:
    windows = _windows(table)
    for row, instance in enumerate(windows):
        others = np.delete(table, row, axis=0)
        enough = (~np.isnan(others)).sum(axis=0) >= LEAST_HOSTS - 1
        expected = [np.nanmedian(others[:, n]) if enough[n] else np.nan for n in range(table.shape[1])]
        assert _middle(windows, instance) == pytest.approx(np.array(expected), nan_ok=True)


def test_flagged_host_is_left_out_of_the_others_and_compared_with_them_itself() -> None:
    windows = _windows(np.array([[1.0], [2.0], [3.0], [4.0], [1000.0]]))
    assert _middle(windows, "h0", flagged=["h4"]) == pytest.approx([3.0])
    assert _middle(windows, "h4", flagged=["h4"]) == pytest.approx([2.5])


def test_three_hosts_are_no_company() -> None:
    windows = _windows(np.ones((3, 2)))
    assert np.isnan(_middle(windows, "h0")).all()
    assert np.isnan(_middle(_windows(np.ones((4, 2))), "h0", flagged=["h1"])).all()


def test_device_that_others_do_not_have_is_not_compared() -> None:
    windows = _windows(np.ones((4, 2)))
    features = features_of([channel("c0"), channel("only here")])
    windows["h0"] = Features(np.array([END_S]), np.ones((1, 2)), features)
    assert _middle(windows, "h0") == pytest.approx([1.0, np.nan], nan_ok=True)
    assert _middle(windows, "h1") == pytest.approx([1.0, np.nan], nan_ok=True)


def test_host_alone_has_nobody_to_be_compared_with() -> None:
    assert np.isnan(ALONE.middle("h0", ("a", "b"))).all()
    assert not ALONE.common("h0", active=True)


@pytest.mark.parametrize(
    ("size", "flagged", "common"), [(4, 2, False), (4, 3, True), (30, 3, True), (40, 3, False), (40, 4, True)]
)
def test_cause_is_common_with_three_hosts_and_a_tenth_of_the_group(size: int, flagged: int, common: bool) -> None:
    company = Company("job", flagged=frozenset(f"h{n}" for n in range(flagged)), size=size)
    assert company.common("h0", active=True) is common
    assert not company.common("h0", active=False)


def test_what_is_learned_among_one_group_has_other_names_than_among_another() -> None:
    names = ("a:mean", "b:mean")
    assert extended(names, "one")[:2] == names
    assert not set(among(names, "one")) & set(among(names, "two"))

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.paper import flags, hosts
from bench.paper.recorded import leading
from catalog.signal import JUDGED_SUBSYSTEMS


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, hosts.Shown]:
    """What is shown of Intel, AMD and Arm."""
    return hosts.written(tmp_path_factory.mktemp("hosts"))


def test_most_families_and_most_code_are_common_to_all_architectures(written: dict[str, hosts.Shown]) -> None:
    common, anywhere = hosts.common_share(shown.values for shown in written.values())
    assert 0.91 < common / anywhere < 1
    shared, run = hosts.lines_of_code(shown.collectors for shown in written.values())
    assert 0.91 < shared / run < 1


def test_large_hosts_show_many_more_values_than_families(written: dict[str, hosts.Shown]) -> None:
    for shown in written.values():
        assert sum(shown.values.values()) > 2 * len(shown.values) > 400


def test_values_of_the_exporter_itself_do_not_tell_of_the_host(tmp_path: Path) -> None:
    shown = hosts.here(tmp_path)
    assert len(shown.values) > 100
    assert not any(name.startswith(("process_", "hostpulse_exporter_")) for name in shown.values)
    assert "stat" in shown.collectors


def test_window_is_flagged_where_two_detectors_agree() -> None:
    raw = np.zeros((300, 3))
    raw[7], raw[9] = (5, 5, 0), (0, 0, 5)
    assert np.flatnonzero(flags.majority(raw)).tolist() == [7]


def test_subsystem_leads_where_its_share_is_the_largest() -> None:
    shares = np.full((4, len(JUDGED_SUBSYSTEMS)), 0.1)
    shares[0, 1] = shares[1, 1] = shares[2, 0] = 0.9
    found = leading(shares, np.array([True, True, True, False]))
    assert found == {JUDGED_SUBSYSTEMS[0]: pytest.approx(1 / 3), JUDGED_SUBSYSTEMS[1]: pytest.approx(2 / 3)}

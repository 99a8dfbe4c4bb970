from __future__ import annotations

import pytest

from bench.faults.cases import CASES, Told, described, main, table
from bench.faults.frames import DESCRIBED
from bench.faults.suite import FAULTS
from detector.diagnosis.library import signatures


def test_each_fault_and_case_expects_a_diagnosis_that_there_is() -> None:
    expected = {name for fault in FAULTS.values() for name in fault.signatures}
    expected |= {case.signature for case in CASES.values()}
    assert expected - set(signatures()) == set()


@pytest.mark.parametrize("name", DESCRIBED)
def test_case_made_of_frames_is_blamed_and_diagnosed_as_the_paper_did(name: str) -> None:
    told, case = described(name), CASES[name]
    assert (told.subsystem, told.signature) == (case.subsystem, case.signature)
    assert told.active_s < 10


def test_table_marks_what_is_wrong() -> None:
    text = table({"numa": Told("memory", "numa-placement", 4.0), "packet_loss": Told("cpu", "", 5.0, 0.2, 0.4)})
    assert "numa-placement " in text
    assert "cpu (!)" in text
    assert "- (!)" in text
    assert "0.400" in text
    assert "nan" not in text


def test_unknown_case_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--cases", "numa,gremlins"])
    assert "--cases: 'gremlins' is not allowed; allowed: huge_pages, interrupts" in capsys.readouterr().err

"""``hostpulse-detector explain``: signatures for people."""

from __future__ import annotations

import pytest

from detector.__main__ import main
from detector.diagnosis.library import signatures


def test_explain_lists_all_signatures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(signatures())


@pytest.mark.parametrize("name", signatures())
def test_explain_tells_all_of_a_signature(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    text = capsys.readouterr().out
    signature = signatures()[name]
    told = " ".join(text.split())
    for words in (
        signature.title,
        *(clue.why for clue in (*signature.clues, *signature.doubts)),
        *(check.look_for for check in signature.check),
        *signature.change,
    ):
        assert " ".join(words.split()) in told
    assert all(check.run in text for check in signature.check)
    assert all(one.url in text for one in signature.reference)


def test_unknown_signature_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "huge-page"]) == 2
    assert "there is no signature huge-page, did you mean huge-pages?" in capsys.readouterr().err
    assert main(["explain", "xyzzy"]) == 2
    assert "there is no signature xyzzy; explain without a name lists them" in capsys.readouterr().err

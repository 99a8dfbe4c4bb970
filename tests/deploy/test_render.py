"""What is rendered from the catalog is fresh, and says what the catalog says."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog import FAMILIES, SIGNALS
from deploy import render


def test_rendered_files_are_fresh() -> None:
    assert list(render.stale()) == [], "run python -m deploy.render"


def test_metrics_page_names_every_family_and_signal_once() -> None:
    page = render.metrics_page()
    rows = [line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted([*FAMILIES, *SIGNALS])


def test_metrics_page_is_made_of_whole_tables() -> None:
    for table in render.metrics_page().split("\n## ")[1:]:
        rows = [line.replace("\\|", "") for line in table.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) == 1, table[:60]


def test_a_file_that_differs_is_stale_until_it_is_written(tmp_path: Path) -> None:
    assert list(render.stale(tmp_path)) == list(render.RENDERED)
    for name, text in render.stale(tmp_path).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert render.stale(tmp_path) == {}


def test_check_of_fresh_files_writes_nothing_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert render.main(["--check"]) == 0
    assert capsys.readouterr().out == ""

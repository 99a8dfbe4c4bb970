"""What is left out is left out, and what is shipped is what the detection bench measures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from bench.ablation import VARIANTS, Variant, fit_parts, fused, main, taught
from bench.detection.replay import features_of, learned, scored, shipped_judge
from bench.detection.sets import SETS, load
from detector.features import Features
from detector.frame import Floats
from detector.model import FUSED
from detector.state import HostState
from tests.bench.detection.made import machine_arrays, write_runs

JUDGE = shipped_judge(60.0)


@cache
def _windows() -> tuple[Features, Features, HostState]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "one.npz"
        np.savez(path, **machine_arrays(38, 400, 120, [(60, 80)], moved=12))
        machine = load(path, SETS["smd"])
    train = features_of(machine.train, machine.channels, 60.0, JUDGE)
    return train, features_of(machine.test, machine.channels, 401 * 60.0, JUDGE), learned(train, JUDGE)


def _scores(name: str) -> Floats:
    train, test, _ = _windows()
    return fused(VARIANTS[name], taught(train, JUDGE), [test])[0]


def test_shipped_variant_scores_as_the_shipped_model_does() -> None:
    _, test, state = _windows()
    assert state.model is not None
    assert _scores("shipped") == pytest.approx(scored(state.model, test.x, JUDGE).scores[FUSED])


@pytest.mark.parametrize("name", ["mean alone", "no smoothing", "no forest", "no SPE"])
def test_variant_scores_otherwise_and_sees_the_fault_still(name: str) -> None:
    score = _scores(name)
    assert not np.allclose(score, _scores("shipped"))
    assert np.isfinite(score).all()
    assert np.median(score[65:80]) > np.quantile(score[:55], 0.9)


def test_only_one_of_the_two_statistics_of_the_subspace_is_left() -> None:
    _, test, state = _windows()
    _, x, _ = state.training.table()
    each = [fit_parts(Variant(counts=counts), x, state.features) for counts in ((1, 1), (1, 0), (0, 1))]
    both, t2, spe = (parts.raw(parts.scaler.deviations(test.x)) for parts in each)
    changed = ~np.isclose(both, t2).all(axis=0)
    assert changed.sum() == 1
    assert (t2 + spe)[:, changed] == pytest.approx(both[:, changed])


def test_every_variant_has_a_row_with_each_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "smd").mkdir()
    np.savez(tmp_path / "smd" / "one.npz", **machine_arrays(38, 200, 120, [(60, 80)], moved=12))
    write_runs(tmp_path / "hpas", lost=False)
    wanted = ["shipped", "no forest"]
    assert main([f"--data={tmp_path}", "--sets=smd,hpas", f"--variants={','.join(wanted)}", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.strip().rpartition("\n")[2])
    assert list(rows) == wanted
    assert all(list(row) == ["smd", "hpas", "mean"] for row in rows.values())
    assert rows["shipped"]["hpas"] > 0.8


def test_folder_without_data_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data=/nowhere", "--sets=smd"]) == 2
    assert "--data: /nowhere/smd holds no .npz file" in capsys.readouterr().err

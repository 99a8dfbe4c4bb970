"""What is remembered of a host survives as plain arrays, and only where it still means the same."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detector.recurrence import Pattern
from detector.state import SCHEMA_VERSION, HostState, OtherVersionError, feature_of
from tests.detector.synthetic import INSTANCE, fault_of, synthetic_frame
from tests.detector.watching import Watched, scores, watch
from tests.fresh import imported_by


def _through_a_file(state: HostState) -> HostState:
    header, arrays = state.to_arrays()
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return HostState.from_arrays(json.loads(json.dumps(header)), dict(loaded))


def test_restored_state_judges_as_the_one_that_was_saved(learned: Watched) -> None:
    frame = synthetic_frame(300.0, fault_of("storage", 270.0, 290.0))
    one = watch(frame, state=learned.state, after_s=243.0, fits=False)
    other = watch(frame, state=_through_a_file(learned.state), after_s=243.0, fits=False)
    assert np.array_equal(scores(one), scores(other))
    for before, after in zip(one.verdicts, other.verdicts, strict=True):
        assert replace(before, causes=()) == replace(after, causes=())
        assert [cause.channel for cause in before.causes] == [cause.channel for cause in after.causes]


def test_restored_state_judges_without_what_its_next_fit_imports(learned: Watched, tmp_path: Path) -> None:
    header, arrays = learned.state.to_arrays()
    np.savez(tmp_path / "state.npz", allow_pickle=False, **arrays)
    (tmp_path / "header.json").write_text(json.dumps(header))
    program = """
import json, sys, numpy as np
from detector.learning import fit
from detector.state import HostState
from tests.detector.synthetic import synthetic_frame
from detector.threads import one_thread
from tests.detector.watching import JUDGE, scores, watch
one_thread()
state = HostState.from_arrays(json.load(open("header.json")), dict(np.load("state.npz")))
watched = watch(synthetic_frame(260.0), state=state, after_s=243.0, fits=False)
assert np.isfinite(scores(watched)).all() and len(watched.verdicts) > 10
assert "sklearn" not in sys.modules, "judging needs none of it"
fit(watched.state, JUDGE)
"""
    assert "sklearn" in imported_by(program, folder=tmp_path)


def test_restored_state_goes_on_learning_from_what_it_had(learned: Watched) -> None:
    restored = _through_a_file(learned.state)
    saved = [block.end_s for block in learned.state.training.blocks]
    assert np.array_equal(np.concatenate([block.end_s for block in restored.training.blocks]), np.concatenate(saved))
    assert restored.training.names == learned.state.training.names
    assert restored.features == learned.state.features


def test_restored_state_knows_which_windows_are_of_an_episode(learned: Watched) -> None:
    state = learned.state
    rows = tuple(zip(state.training.table()[0] + 1e4, state.training.table()[1].astype(np.float32), strict=True))
    flagged = replace(state, training=state.training.add_flagged(rows[:70], state.training.names, 1.0))
    assert np.array_equal(_through_a_file(flagged).training.flagged(), flagged.training.flagged())
    assert flagged.training.flagged().sum() == 70


def test_restored_state_goes_on_with_its_open_episode(learned: Watched) -> None:
    frame = synthetic_frame(400.0, fault_of("storage", 260.0, 290.0))
    before = watch(synthetic_frame(275.0, fault_of("storage", 260.0, 290.0)), state=learned.state, after_s=243.0)
    assert before.state.episode.open
    one, other = (
        watch(frame, state=state, after_s=275.0, fits=False) for state in (before.state, _through_a_file(before.state))
    )
    for verdict, same in zip(one.verdicts, other.verdicts, strict=True):
        assert (verdict.active, verdict.page, verdict.subsystem) == (same.active, same.page, same.subsystem)
        assert verdict.score == same.score
    assert other.state.episodes == 1
    (closed,), (same_closed,) = one.state.closed, other.state.closed
    assert closed.onset_s == same_closed.onset_s
    assert closed.like(same_closed)
    assert one.state.maxima.max() == other.state.maxima.max()


def test_restored_state_knows_that_nothing_was_told_of_its_episode() -> None:
    state = HostState.new(INSTANCE)
    assert _through_a_file(replace(state, untold=True)).untold
    assert not _through_a_file(state).untold


def test_restored_state_knows_what_came_before_and_that_it_is_to_be_learned(learned: Watched) -> None:
    model = learned.state.model
    assert model is not None
    known = Pattern(5.0, "memory", model.names, np.eye(len(model.names), dtype=np.float32)[1])
    state = replace(learned.state, closed=(replace(known, names=("gone",)), known), outdated=True)
    restored = _through_a_file(state)
    (closed,) = restored.closed
    assert closed.like(known)
    assert (closed.onset_s, restored.outdated) == (5.0, True)


def test_state_saved_twice_is_the_same(learned: Watched) -> None:
    header, arrays = learned.state.to_arrays()
    again, more = _through_a_file(learned.state).to_arrays()
    assert json.dumps(header) == json.dumps(again)
    assert arrays.keys() == more.keys()
    assert all(np.array_equal(arrays[name], more[name]) for name in arrays)


def test_arrays_are_plain_and_small(learned: Watched) -> None:
    _, arrays = learned.state.to_arrays()
    assert {array.dtype.kind for array in arrays.values()} <= set("fiu")
    assert sum(array.nbytes for array in arrays.values()) < 2_000_000


def test_new_host_can_be_saved_before_it_was_ever_judged() -> None:
    restored = _through_a_file(HostState.new(INSTANCE))
    assert (restored.instance, restored.model, restored.training.rows) == (INSTANCE, None, 0)
    assert np.isnan(restored.baseline_from_s)


def test_window_that_a_host_came_to_is_saved() -> None:
    state = replace(HostState.new(INSTANCE), window_s=7.0, wanted_s=(7.0, 8.0))
    restored = _through_a_file(state)
    assert (restored.window_s, restored.wanted_s) == (7.0, (7.0, 8.0))


def test_host_in_other_windows_keeps_its_counts_and_has_one_more_baseline() -> None:
    state = replace(HostState.new(INSTANCE), episodes=3, pages=1, rebaselines=2, fits=5, wanted_s=(7.0, 7.0))
    other = state.in_windows_of(7.0)
    assert (other.episodes, other.pages, other.rebaselines) == (3, 1, 3)
    assert (other.window_s, other.wanted_s, other.fits, other.model) == (7.0, (), 0, None)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"schema_version": SCHEMA_VERSION + 1},
            f"schema version {SCHEMA_VERSION + 1}, this program reads {SCHEMA_VERSION}",
        ),
        ({"catalog": "x"}, "catalog"),
    ],
)
def test_state_of_another_version_or_catalog_is_refused(change: dict[str, Any], complaint: str) -> None:
    header, arrays = HostState.new(INSTANCE).to_arrays()
    with pytest.raises(OtherVersionError, match=complaint):
        HostState.from_arrays(header | change, arrays)


def test_missing_array_is_named(learned: Watched) -> None:
    header, arrays = learned.state.to_arrays()
    del arrays["scaler/median"]
    with pytest.raises(KeyError, match="scaler/median"):
        HostState.from_arrays(header, arrays)


@pytest.mark.parametrize("name", ["layout/distinct", "layout/independent", "scaler/median", "normaliser/range"])
def test_model_whose_arrays_do_not_fit_each_other_is_refused(learned: Watched, name: str) -> None:
    header, arrays = learned.state.to_arrays()
    array = arrays[name]
    arrays[name] = array + 10_000 if name.startswith("layout/") else array[:-1]
    with pytest.raises(ValueError, match=r"fit|shape|broadcast|subsystem"):
        HostState.from_arrays(header, arrays)


def test_new_baseline_that_is_being_learned_is_not_forgotten(learned: Watched) -> None:
    state = replace(learned.state, rebaselining=True, rebaselines=2)
    restored = _through_a_file(state)
    assert (restored.rebaselining, restored.rebaselines) == (True, 2)


def test_feature_is_found_again_by_its_name(learned: Watched) -> None:
    for feature in learned.state.features:
        assert feature_of(str(feature)) == feature
    with pytest.raises(KeyError):
        feature_of("no_such_signal:mean")

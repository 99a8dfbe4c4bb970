"""A frame refuses what no source may hand over."""

from __future__ import annotations

import numpy as np
import pytest

from catalog.series import Series
from detector.frame import Floats, Frame

ONE = (Series("a"),)


def test_frame_takes_gaps_and_no_rows_at_all() -> None:
    assert np.isnan(Frame("h", np.array([1.0]), np.array([[np.nan]]), ONE).values).all()
    assert Frame("h", np.empty(0), np.empty((0, 1)), ONE).times_s.size == 0


@pytest.mark.parametrize(
    ("instance", "times_s", "values", "complaint"),
    [
        ("", np.array([1.0]), np.array([[1.0]]), "belongs to an instance"),
        ("h", np.array([[1.0]]), np.array([[1.0]]), "one axis"),
        ("h", np.array([1.0]), np.array([[1.0, 2.0]]), "do not fit"),
        ("h", np.array([2.0, 1.0]), np.array([[1.0], [2.0]]), "must increase"),
        ("h", np.array([1.0, 1.0]), np.array([[1.0], [2.0]]), "must increase"),
        ("h", np.array([1.0]), np.array([[np.inf]]), "finite or NaN"),
    ],
)
def test_malformed_frame_is_refused(instance: str, times_s: Floats, values: Floats, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        Frame(instance, times_s, values, ONE)

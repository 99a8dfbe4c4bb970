"""A series and its text form are each other's inverse."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catalog.series import Series, parse_series
from tests.properties import PROPERTY

WORDS = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]*", fullmatch=True)
LABELS = st.lists(st.tuples(WORDS, st.text()), max_size=4, unique_by=lambda pair: pair[0]).map(tuple)


@PROPERTY
@given(st.builds(Series, WORDS, LABELS))
@example(Series("up", (("path", 'C:\\new "folder"\n{a="b",c}'),)))
def test_parsing_the_text_gives_the_series_back(series: Series) -> None:
    assert parse_series(str(series)) == series


@pytest.mark.parametrize(
    "text", ["up{", 'up{job="a"', "up{job=a}", 'up{job="a" instance="b"}', 'up{="a"}', 'up{job="a}', 'up{job="a"}x']
)
def test_what_is_not_a_series_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="not a series: ") as raised:
        parse_series(text)
    assert repr(text) in str(raised.value)


def test_label_gives_the_value_or_the_default() -> None:
    series = Series("up", (("job", "a"), ("instance", "b")))
    assert (series.label("instance"), series.label("mode")) == ("b", "")


def test_series_without_labels_has_no_braces() -> None:
    assert str(Series("up")) == "up"
    assert parse_series("up{}") == Series("up")

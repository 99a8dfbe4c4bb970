from __future__ import annotations

from array import array
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog.family import Family, Kind, Subsystem, Tier, Unit
from catalog.series import Series
from exporter.exposition import Exposition, Format, accepted
from exporter.ring import Schema


def _family(name: str, kind: Kind, unit: Unit = Unit.COUNT, help_text: str = "Made up.") -> Family:
    return Family(name, kind, unit, help_text, Subsystem.CPU, ("cpu",), source="a test")


_TICKS = _family("hostpulse_test_ticks_total", Kind.COUNTER)
_SECONDS = _family("hostpulse_test_busy_seconds_total", Kind.COUNTER, Unit.SECONDS, "Busy \\ 100 %s of it.")
_LEVEL = _family("hostpulse_test_level", Kind.GAUGE)
_INFO = _family("hostpulse_test_info", Kind.INFO, Unit.NONE)
_COLLECTORS = {"first": (_TICKS, _SECONDS), "second": (_LEVEL, _INFO)}

Row = tuple[Schema, "array[float]"]


def _row(values: dict[Series, float], tier: Tier = Tier.FAST) -> Row:
    return Schema(tier, 0.1, tuple(values)), array("d", [1.0, *values.values()])


def _text(*rows: Row, form: Format = Format.TEXT, only: frozenset[str] | None = None) -> str:
    return Exposition(_COLLECTORS).render(rows, form, only).decode()


def test_text_groups_series_by_family_whatever_their_order() -> None:
    row = _row({_TICKS("0"): 1.0, _SECONDS("0"): 2.5, _TICKS("1"): 3.0, _SECONDS("1"): 0.1})
    assert _text(row) == (
        "# HELP hostpulse_test_ticks_total Made up.\n"
        "# TYPE hostpulse_test_ticks_total counter\n"
        'hostpulse_test_ticks_total{cpu="0"} 1\n'
        'hostpulse_test_ticks_total{cpu="1"} 3\n'
        "# HELP hostpulse_test_busy_seconds_total Busy \\\\ 100 %s of it.\n"
        "# TYPE hostpulse_test_busy_seconds_total counter\n"
        'hostpulse_test_busy_seconds_total{cpu="0"} 2.5\n'
        'hostpulse_test_busy_seconds_total{cpu="1"} 0.1\n'
    )


def test_openmetrics_names_families_without_suffix_and_ends() -> None:
    row = _row({_SECONDS("0"): 2.0, _INFO("0"): 1.0})
    assert _text(row, form=Format.OPENMETRICS) == (
        "# HELP hostpulse_test_busy_seconds Busy \\\\ 100 %s of it.\n"
        "# TYPE hostpulse_test_busy_seconds counter\n"
        "# UNIT hostpulse_test_busy_seconds seconds\n"
        'hostpulse_test_busy_seconds_total{cpu="0"} 2\n'
        "# HELP hostpulse_test Made up.\n"
        "# TYPE hostpulse_test info\n"
        'hostpulse_test_info{cpu="0"} 1\n'
        "# EOF\n"
    )


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8),
        st.floats(allow_infinity=False),
        max_size=6,
    )
)
def test_both_formats_parse_to_the_exact_values(values: dict[str, float]) -> None:
    levels = {_LEVEL(label): value for label, value in values.items()}
    expected = {label: value for label, value in values.items() if value == value}
    for form, parse in ((Format.TEXT, parse_text), (Format.OPENMETRICS, parse_openmetrics)):
        samples = [sample for metric in parse(_text(_row(levels), form=form)) for sample in metric.samples]
        assert {sample.labels["cpu"]: sample.value for sample in samples} == expected


@pytest.mark.parametrize("value", [0.0, 3.0, 1e15 + 1, 2.0**53, 1.8e19, 5e-324, 0.1 + 0.2, -2.0])
def test_value_keeps_every_digit_and_a_whole_one_has_no_fraction(value: float) -> None:
    line = _text(_row({_LEVEL("0"): value})).splitlines()[-1].rpartition(" ")[2]
    assert float(line) == value
    assert not line.endswith(".0")


def test_missing_values_are_left_out_and_so_are_families_without_any() -> None:
    exposition = Exposition(_COLLECTORS)
    schema = Schema(Tier.FAST, 0.1, (_TICKS("0"), _LEVEL("0"), _LEVEL("1")))
    gap = exposition.render([(schema, array("d", [1.0, nan, nan, 4.0]))], Format.TEXT).decode()
    assert [line for line in gap.splitlines() if not line.startswith("#")] == ['hostpulse_test_level{cpu="1"} 4']
    assert "ticks" not in gap
    whole = exposition.render([(schema, array("d", [1.0, 2.0, 3.0, 4.0]))], Format.TEXT).decode()
    assert 'hostpulse_test_ticks_total{cpu="0"} 2\n' in whole
    assert 'hostpulse_test_level{cpu="0"} 3\n' in whole
    assert exposition.render([(schema, array("d", [1.0, nan, nan, nan]))], Format.TEXT) == b""


def test_rows_of_all_tiers_come_together_and_a_new_layout_shows_at_once() -> None:
    exposition = Exposition(_COLLECTORS)
    slow = _row({_LEVEL("0"): 1.0}, Tier.SLOW)
    assert exposition.render([_row({_TICKS("0"): 1.0}), slow], Format.TEXT).count(b"\nhostpulse") == 2
    assert exposition.render([_row({_TICKS("0"): 1.0, _TICKS("1"): 1.0}), slow], Format.TEXT).count(b"\nhostpulse") == 3


def test_chosen_collectors_alone_are_rendered() -> None:
    row = _row({_TICKS("0"): 1.0, _LEVEL("0"): 2.0})
    second = _text(row, only=frozenset({"second"}))
    assert "level" in second
    assert "ticks" not in second
    assert _text(row, only=frozenset({"first", "second"})) == _text(row)


def test_many_layouts_do_not_pile_up() -> None:
    exposition = Exposition(_COLLECTORS)
    for _ in range(100):
        exposition.render([_row({_LEVEL("0"): 1.0})], Format.TEXT)
    assert len(exposition._blocks) <= 64


_VALUES = st.sampled_from([nan, 0.0, 1.0, 2.5, 1e300])


@given(st.lists(st.lists(_VALUES, min_size=5, max_size=5), min_size=1, max_size=8))
def test_text_kept_from_earlier_scrapes_does_not_show_in_later_ones(rows: list[list[float]]) -> None:
    columns = (_LEVEL("0"), _TICKS("0"), _LEVEL("1"), _TICKS("1"), _SECONDS("0"))
    schema, kept = Schema(Tier.FAST, 0.1, columns), Exposition(_COLLECTORS)
    for time_s, values in enumerate(rows):
        row = (schema, array("d", [float(time_s), *values]))
        assert kept.render([row], Format.TEXT) == Exposition(_COLLECTORS).render([row], Format.TEXT)


_PROMETHEUS_2 = "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
_PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Format.TEXT),
        ("*/*", Format.TEXT),
        ("text/html", Format.TEXT),
        (_PROMETHEUS_2, Format.TEXT),
        (_PROMETHEUS_3, Format.OPENMETRICS),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ("Application/OpenMetrics-Text; Version=1.0.0; Charset=utf-8", Format.OPENMETRICS),
        ("application/openmetrics-text;q=0.1,text/plain", Format.TEXT),
        ("application/openmetrics-text;q=0", Format.TEXT),
        ("application/openmetrics-text;q=very", Format.TEXT),
        (";;,,=;q", Format.TEXT),
    ],
)
def test_accept_header_chooses_the_format(accept: str, form: Format) -> None:
    assert accepted(accept) is form

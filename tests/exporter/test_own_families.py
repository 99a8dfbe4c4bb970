from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Sequence
from math import nan

import pytest

from catalog.families import exporter as own
from catalog.family import Profile, Subsystem, Tier
from catalog.series import Series
from exporter.collector import Context, Unavailable, discover
from exporter.collectors.build import REVISION_VARIABLE
from exporter.engine import Engine
from exporter.host import Host
from exporter.settings import Settings
from tests.exporter.tiny import START_S, Hands, Script, scripted
from tests.servers.process import wait_until

_OWN = {name: kind for name, kind in discover().items() if kind.__module__.endswith((".self", ".clock", ".build"))}


def _engine(hands: Hands, *scripts: tuple[str, Tier, Script], profile: Profile = Profile.STANDARD) -> Engine:
    kinds = {name: scripted(name, tier, script) for name, tier, script in scripts}
    return Engine(Settings(profile=profile), {**kinds, **_OWN}, hands.clock())


def _values(built: Engine) -> dict[Series, float]:
    """What a scrape would show, NaN left out."""
    rows = [
        (series, value) for schema, row in built.newest() for series, value in zip(schema.columns, row[1:], strict=True)
    ]
    return {series: value for series, value in rows if value == value}


def _tick(built: Engine, hands: Hands, *ticks: int) -> dict[Series, float]:
    for tick in ticks:
        hands.elapsed_s, hands.wall_s = tick / 10, START_S + tick / 10
        built.sampler.tick(tick)
        wait_until(lambda: built.sampler.resting, 60.0, "slow reads are done")
    return _values(built)


def _fail() -> Sequence[float]:
    raise OSError(errno.ENODEV, "gone")


def test_own_families_come_from_three_collectors() -> None:
    assert set(_OWN) == {"self", "clock", "build"}


def test_sample_timestamp_is_that_of_the_rows_beside_it() -> None:
    hands = Hands()
    built = _engine(hands, ("slow", Tier.SLOW, Script()))
    first = _tick(built, hands, 0)
    assert own.SAMPLE_TIMESTAMP_SECONDS("slow") not in first
    values = _tick(built, hands, *range(1, 13))
    stamps = {tier: values[own.SAMPLE_TIMESTAMP_SECONDS(tier)] for tier in ("fast", "medium", "slow")}
    assert stamps == pytest.approx({"fast": START_S + 1.2, "medium": START_S + 1.0, "slow": START_S + 0.1}, abs=1e-6)
    times = {schema.tier: row[0] for schema, row in built.newest()}
    assert stamps["fast"] == times[Tier.FAST]
    assert stamps["medium"] == times[Tier.MEDIUM]


def test_collector_that_fails_shows_as_zero_with_its_errors_and_recovers() -> None:
    hands, script = Hands(), Script()
    built = _engine(hands, ("shaky", Tier.FAST, script))
    assert _tick(built, hands, 0, 10)[own.COLLECTOR_SUCCESS("shaky")] == 1
    script.read = _fail
    values = _tick(built, hands, 19, 20)
    assert values[own.COLLECTOR_SUCCESS("shaky")] == 0
    assert values[own.ERRORS("shaky", "ENODEV")] == 2
    assert values[own.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS("shaky")] == START_S + 1.0
    script.read = Script().read
    values = _tick(built, hands, 30)
    assert values[own.COLLECTOR_SUCCESS("shaky")] == 1
    assert values[own.ERRORS("shaky", "ENODEV")] == 2


def test_returns_are_told_of_collectors_that_were_moved() -> None:
    hands = Hands()
    built = _engine(hands, ("moved", Tier.FAST, Script()))
    assert own.COLLECTOR_RETURNS("moved") not in _tick(built, hands, 0)
    slot = next(slot for slot in built.slots if slot.name == "moved")
    slot.demote(Tier.MEDIUM, 0.01)
    assert _tick(built, hands, 10)[own.COLLECTOR_RETURNS("moved")] == 0, "so that its first return is an increase"
    slot.take_back(Tier.FAST, 0.01)
    values = _tick(built, hands, 20)
    assert values[own.COLLECTOR_RETURNS("moved")] == 1
    assert own.COLLECTOR_RETURNS("self") not in values


def test_collector_that_is_off_has_no_series_at_all() -> None:
    hands = Hands()
    kinds = {"absent": scripted("absent", Tier.FAST, Script()), **_OWN}
    built = Engine(Settings(disabled=frozenset({"absent"})), kinds, hands.clock())
    values = _tick(built, hands, 0, 10, 20)
    assert [series for series in values if series.label("collector") == "absent"] == []
    assert own.COLLECTOR_SUCCESS("self") in values


def test_ticks_overruns_and_ring_are_accounted_for() -> None:
    hands = Hands()
    built = _engine(hands)
    _tick(built, hands, 0, 1, 2, 13)
    values = _tick(built, hands, 20)
    assert values[own.TICKS("fast")] == 5
    assert values[own.TICK_OVERRUNS("fast")] == 10 + 6
    assert values[own.TICK_OVERRUNS("medium")] == 0
    assert values[own.RING_SAMPLES("fast")] == 4, "as of the last time that what was taken was parsed"
    assert values[own.SERIES(Subsystem.EXPORTER)] == pytest.approx(len(values), abs=12)


def test_lateness_is_published_as_largest_and_99th_percentile() -> None:
    hands = Hands()
    built = _engine(hands)
    built.tally.paces[Tier.FAST].lateness_s.extend([0.001] * 98 + [0.25, 0.5])
    values = _tick(built, hands, 0, 10)
    assert values[own.TICK_LATENESS_SECONDS("fast", "max")] == 0.5
    assert values[own.TICK_LATENESS_SECONDS("fast", "p99")] == 0.25
    built.tally.paces[Tier.FAST].lateness_s.extend([0.001] * 200)
    assert _tick(built, hands, 20)[own.TICK_LATENESS_SECONDS("fast", "p99")] == 0.001


def test_process_figures_are_those_of_this_process() -> None:
    hands = Hands()
    values = _tick(_engine(hands), hands, 0, 10)
    assert values[own.PROCESS_CPU_SECONDS()] == pytest.approx(time.process_time(), abs=1.0)
    assert 5e6 < values[own.PROCESS_RESIDENT_MEMORY_BYTES()] < 5e9
    assert 3 <= values[own.PROCESS_OPEN_FDS()] < 1000


def test_core_profile_leaves_out_what_standard_adds() -> None:
    hands = Hands()
    values = _tick(_engine(hands, profile=Profile.CORE), hands, 0, 10)
    names = {series.name for series in values}
    assert own.TICK_OVERRUNS.name in names
    assert names.isdisjoint({own.PROCESS_OPEN_FDS.name, own.TICKS.name, own.TICK_LATENESS_SECONDS.name})


def test_build_names_version_revision_and_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REVISION_VARIABLE, "abc123")
    collector = _OWN["build"](Context(Host()))
    assert [len(collector.read()), collector.series[0].label("revision")] == [1, "abc123"]
    assert collector.series[0].label("version")
    assert collector.series[0].label("python").startswith("3.")


def test_late_is_unknown_before_the_first_tick() -> None:
    built = _engine(Hands())
    assert str(built.tally.paces[Tier.FAST].late_s(0.99)) == str(nan)


def test_collectors_that_are_built_again_and_again_leak_no_descriptor() -> None:
    context = Context(Host(), Profile.FULL)
    before = None
    for _ in range(5):
        for kind in discover().values():
            with contextlib.suppress(Unavailable, OSError, ValueError):
                kind(context).close()
        opened = len(os.listdir("/proc/self/fd"))
        before = opened if before is None else before
        assert opened == before

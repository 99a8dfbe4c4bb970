from __future__ import annotations

import threading
from collections.abc import Sequence
from math import isnan, nan
from threading import Thread

import pytest

from catalog.family import Tier
from exporter.collector import Unavailable
from exporter.engine import Engine
from exporter.settings import Settings, SettingsError
from exporter.steady import Clock
from exporter.tally import State
from tests.exporter.tiny import START_S, Hands, Script, engine, newest, scripted, times_of
from tests.servers.process import wait_until

_LIMIT_S = 60.0


def _run(built: Engine, hands: Hands, until_s: float) -> None:
    """Run the sampler in this thread on the test's clocks until their time."""
    stop = built.sampler.stop
    clock = built.clock
    clock.wait = lambda seconds: stop() if hands.elapsed_s >= until_s else hands.wait(seconds)
    built.sampler.run()


def _settle(built: Engine) -> None:
    """Await the batch of slow reads that is under way."""
    wait_until(lambda: built.sampler.resting, _LIMIT_S, "slow reads are done")


def test_ticks_keep_to_the_grid_and_do_not_drift() -> None:
    hands = Hands(wakes_late_s=0.003)
    built = engine(hands, scripted("tiny", Tier.FAST, Script()))
    _run(built, hands, 60.0)
    offsets = [time_s - START_S for time_s in times_of(built, Tier.FAST)]
    assert len(offsets) == pytest.approx(600, abs=2)
    assert all(
        offset == pytest.approx(tick * 0.1 + 0.003 * (tick > 0), abs=1e-5) for tick, offset in enumerate(offsets)
    )
    assert built.tally.paces[Tier.FAST].overruns == 0
    assert built.tally.paces[Tier.FAST].late_s(0.5) == pytest.approx(0.003)


def test_missed_ticks_are_counted_and_not_made_up() -> None:
    hands = Hands()

    def read() -> Sequence[float]:
        if built.tally.paces[Tier.FAST].ticks == 6:
            hands.move(0.35)
        return (1.0, 2.0)

    built = engine(hands, scripted("tiny", Tier.FAST, Script(read=read)))
    _run(built, hands, 2.0)
    offsets = [round(time_s - START_S, 6) for time_s in times_of(built, Tier.FAST)]
    assert offsets[:9] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.85, 0.9, 1.0])
    assert built.tally.paces[Tier.FAST].overruns == 2
    assert built.tally.paces[Tier.MEDIUM].overruns == 0


def test_values_read_long_after_the_time_of_their_tick_are_a_gap_and_counted() -> None:
    hands, slow = Hands(), Script()

    def read() -> Sequence[float]:
        if hands.elapsed_s == 0.1:
            hands.move(0.06)
        return (1.0, 2.0)

    slow.read = read
    kinds = [scripted(name, Tier.FAST, script) for name, script in (("a", Script()), ("b", slow), ("c", Script()))]
    built = engine(hands, *kinds, scripted("d", Tier.MEDIUM, Script()))
    for tick in range(3):
        hands.elapsed_s = tick / 10
        built.sampler.tick(tick)
    fast = [segment for segment in built.since(0.0) if segment.schema.tier is Tier.FAST]
    rows = [list(fast[0].pieces[0][start : start + 7]) for start in range(0, 21, 7)]
    assert [[isnan(value) for value in row[1:]] for row in rows] == [
        [False] * 6, [False, False, True, True, True, True], [False] * 6,
    ]  # fmt: skip
    late = {name: health.errors["late"] for name, health in built.tally.collectors.items()}
    assert late == {"a": 0, "b": 1, "c": 1, "d": 0}
    assert built.tally.collectors["b"].state is State.ON


def test_lateness_is_measured_by_the_interval_of_the_tier() -> None:
    hands = Hands()

    def read() -> Sequence[float]:
        hands.move(0.3)
        return (3.0, 4.0)

    built = engine(hands, scripted("fast", Tier.FAST, Script(read=read)), scripted("medium", Tier.MEDIUM, Script()))
    built.sampler.tick(0)
    assert all(map(isnan, newest(built, Tier.FAST)[1]))
    assert newest(built, Tier.MEDIUM)[1] == [1.0, 2.0]


def test_medium_tick_that_falls_into_a_hole_is_taken_at_the_next_tick() -> None:
    hands = Hands()
    built = engine(hands, scripted("fast", Tier.FAST, Script()), scripted("medium", Tier.MEDIUM, Script()))
    for tick in (0, 8, 12, 13, 20, 47):
        hands.elapsed_s = tick / 10
        built.sampler.tick(tick)
    assert [round(time_s - START_S, 3) for time_s in times_of(built, Tier.MEDIUM)] == [0.0, 1.2, 2.0, 4.7]
    assert built.tally.paces[Tier.MEDIUM].overruns == 1, "the tick of second 3"


def test_coinciding_ticks_of_tiers_carry_exactly_the_same_time() -> None:
    hands = Hands(elapsed_s=0.0123)
    built = engine(hands, scripted("fast", Tier.FAST, Script()), scripted("medium", Tier.MEDIUM, Script()))
    for tick in range(31):
        hands.elapsed_s = 0.0123 + tick * 0.1 + 0.0007
        built.sampler.tick(tick)
    medium = times_of(built, Tier.MEDIUM)
    assert len(medium) == 4
    assert set(medium) <= set(times_of(built, Tier.FAST))


def test_slow_rows_come_with_a_later_fast_tick_and_share_its_time() -> None:
    hands = Hands()
    built = engine(hands, scripted("fast", Tier.FAST, Script()), scripted("slow", Tier.SLOW, Script()))
    built.sampler.tick(0)
    assert times_of(built, Tier.SLOW) == []
    _settle(built)
    hands.elapsed_s = 0.1
    built.sampler.tick(1)
    assert times_of(built, Tier.SLOW) == [START_S + 0.1]
    assert set(times_of(built, Tier.SLOW)) <= set(times_of(built, Tier.FAST))
    assert newest(built, Tier.SLOW)[1] == [1.0, 2.0]


def test_step_of_the_wall_clock_neither_shifts_nor_reorders_samples() -> None:
    hands = Hands()
    built = engine(hands, scripted("tiny", Tier.FAST, Script()))
    for tick in range(10):
        if tick == 5:
            hands.wall_s -= 3600
        built.sampler.tick(tick)
        hands.move(0.1)
    times = times_of(built, Tier.FAST)
    assert [round(time_s - START_S, 6) for time_s in times] == pytest.approx([tick / 10 for tick in range(10)])
    assert built.tally.paces[Tier.FAST].sampled_at_s == pytest.approx(START_S - 3600 + 0.9)


def test_failing_collector_leaves_a_gap_and_the_others_alone() -> None:
    hands, script = Hands(), Script()
    built = engine(hands, scripted("bad", Tier.FAST, script), scripted("good", Tier.FAST, Script()))
    built.sampler.tick(0)

    def read() -> Sequence[float]:
        raise ValueError("format")

    script.read = read
    hands.move(0.1)
    built.sampler.tick(1)
    values = newest(built, Tier.FAST)[1]
    assert [isnan(value) for value in values] == [True, True, False, False]
    fast = [segment for segment in built.since(0.0) if segment.schema.tier is Tier.FAST]
    assert [segment.rows for segment in fast] == [2], "a failure is no change of layout"
    assert built.tally.collectors["bad"].state is State.FAILING
    assert built.tally.collectors["good"].state is State.ON


def test_new_layout_starts_a_segment_of_its_tier_alone_and_loses_nothing() -> None:
    hands, script = Hands(), Script()
    built = engine(
        hands,
        scripted("changing", Tier.FAST, script),
        scripted("steady", Tier.FAST, Script(read=lambda: (5.0, 6.0))),
        scripted("medium", Tier.MEDIUM, Script()),
    )
    built.sampler.tick(0)
    hands.move(1.0)
    script.devices, script.read = ("a", "b", "c"), lambda: (1.0, 2.0, 3.0)
    built.sampler.tick(10)
    segments = {tier: [s for s in built.since(0.0) if s.schema.tier is tier] for tier in Tier}
    assert [len(segment.schema.columns) for segment in segments[Tier.FAST]] == [4, 5]
    assert [list(segment.pieces[0][1:]) for segment in segments[Tier.FAST]] == [[1, 2, 5, 6], [1, 2, 3, 5, 6]]
    assert [segment.rows for segment in segments[Tier.MEDIUM]] == [2]
    assert sum(built.tally.series.values()) == 7


def test_what_is_read_only_once_is_read_again_after_a_change_of_layout() -> None:
    hands, script, constant = Hands(), Script(), Script()
    built = engine(hands, scripted("changing", Tier.FAST, script), scripted("constant", Tier.STATIC, constant))
    for tick in range(5):
        built.sampler.tick(tick)
        _settle(built)
        hands.move(0.1)
    assert constant.reads == 1
    script.devices, script.read = ("a",), lambda: (1.0,)
    for tick in range(5, 50):
        built.sampler.tick(tick)
        _settle(built)
        hands.move(0.1)
    assert constant.reads == 2


def test_what_is_read_only_once_and_came_late_is_found_with_the_next_change_of_layout() -> None:
    absent = True

    def build() -> None:
        if absent:
            raise Unavailable("not there yet")

    hands, script, constant = Hands(), Script(), Script(build=build)
    script.read = lambda: (1.0,) * len(script.devices)
    built = engine(hands, scripted("changing", Tier.FAST, script), scripted("constant", Tier.STATIC, constant))
    for count in (2, 3, 4):
        absent = count < 4
        script.devices = tuple("abcd"[:count])
        for tick in range(50 * count, 50 * count + 50):
            built.sampler.tick(tick)
            _settle(built)
            hands.move(0.1)
    assert constant.reads == 1, "half a minute has not passed since it was looked for in vain"
    assert newest(built, Tier.STATIC)[1] == [1.0, 2.0]


def test_intervals_are_told_without_what_binary_fractions_add() -> None:
    built = engine(Hands(), scripted("a", Tier.FAST, Script()), settings=Settings(interval_s=0.3))
    assert built.tally.paces[Tier.MEDIUM].interval_s == 0.9


def test_what_is_read_only_once_is_read_on_while_it_fails() -> None:
    faults = iter([OSError("not now")])

    def read() -> Sequence[float]:
        for fault in faults:
            raise fault
        return (1.0, 2.0)

    hands, constant = Hands(), Script(read=read)
    built = engine(hands, scripted("constant", Tier.STATIC, constant))
    for tick in range(0, 450, 10):
        built.sampler.tick(tick)
        _settle(built)
        hands.move(1.0)
    assert constant.reads == 2, "with the next of the slow tier, and not again"
    assert built.tally.collectors["constant"].state is State.ON
    assert newest(built, Tier.STATIC)[1] == [1.0, 2.0]


def test_hanging_slow_collector_stops_neither_the_fast_tier_nor_its_own() -> None:
    release = threading.Event()

    def hang() -> Sequence[float]:
        assert release.wait(_LIMIT_S)
        return (1.0, 2.0)

    settings = Settings(interval_s=0.01, deadline_s=1.0)  # which only the one that hangs may exceed
    built = engine(
        None,
        scripted("bad", Tier.SLOW, Script(read=hang)),
        scripted("good", Tier.SLOW, Script()),
        scripted("fast", Tier.FAST, Script()),
        settings=settings,
    )
    thread = Thread(target=built.sampler.run)
    thread.start()
    wait_until(lambda: times_of(built, Tier.SLOW), _LIMIT_S, "a slow row")
    values = newest(built, Tier.SLOW)[1]
    built.sampler.stop()
    release.set()
    thread.join(_LIMIT_S)
    assert [isnan(value) for value in values] == [True, True, False, False]
    assert len(times_of(built, Tier.FAST)) >= 5


def test_slow_batch_that_outlasts_its_interval_counts_as_overrun() -> None:
    release = threading.Event()

    def read() -> Sequence[float]:
        assert release.wait(_LIMIT_S)
        return (1.0, 2.0)

    hands = Hands()
    built = engine(hands, scripted("slow", Tier.SLOW, Script(read=read)))
    for tick in (0, 150, 300, 301):
        built.sampler.tick(tick)
    assert built.tally.paces[Tier.SLOW].overruns == 2
    release.set()
    _settle(built)
    built.sampler.tick(302)
    assert len(times_of(built, Tier.SLOW)) == 1


def test_settling_samples_every_tier_and_the_quick_ones_twice() -> None:
    scripts = {tier: Script() for tier in Tier}
    built = engine(Hands(), *(scripted(f"c{tier}", tier, script) for tier, script in scripts.items()))
    built.clock.wait = Clock().wait
    built.sampler.settle()
    assert {tier: script.reads for tier, script in scripts.items()} == {
        Tier.FAST: 2, Tier.MEDIUM: 2, Tier.SLOW: 1, Tier.GPU: 1, Tier.STATIC: 1,
    }  # fmt: skip
    assert {schema.tier for schema, _ in built.newest()} == set(Tier)
    assert all(pace.overruns == 0 for pace in built.tally.paces.values())


def test_gpus_are_read_at_their_own_interval_in_a_thread_of_their_own() -> None:
    threads: list[str] = []

    def read() -> Sequence[float]:
        threads.append(threading.current_thread().name)
        return (1.0, 2.0)

    hands = Hands()
    built = engine(hands, scripted("gpu", Tier.GPU, Script(read=read)), settings=Settings(gpu_interval_s=0.3))
    for tick in range(10):
        built.sampler.tick(tick)
        _settle(built)
        hands.move(0.1)
    assert len(threads) == 4
    assert threading.current_thread().name not in threads
    assert [round(time_s - START_S, 6) for time_s in times_of(built, Tier.GPU)] == [0.1, 0.4, 0.7]
    assert built.tally.paces[Tier.GPU].interval_s == pytest.approx(0.3)


def test_host_without_gpus_has_no_rows_of_them_and_looks_for_a_driver_at_times() -> None:
    script = Script()

    def build() -> None:
        if script.builds < 3:
            raise Unavailable("no driver")

    script.build = build
    hands = Hands()
    kind = scripted("gpu", Tier.GPU, script)
    built = engine(hands, kind)
    built.slots[0]._retry_s = built.slots[0]._rebuild_at_s = 0.0
    for tick in range(320):
        built.sampler.tick(tick)
        _settle(built)
        hands.move(0.1)
        if tick == 140:
            assert (script.builds, times_of(built, Tier.GPU)) == (2, [])
    assert len(times_of(built, Tier.GPU)) > 10, "each second once there is one"


def test_long_interval_does_not_delay_stopping() -> None:
    hands = Hands()
    built = engine(hands, scripted("tiny", Tier.FAST, Script()), settings=Settings(interval_s=60.0))
    _run(built, hands, 30.0)
    assert max(hands.waits_s) <= 0.5
    assert built.tally.paces[Tier.MEDIUM].interval_s == 60.0


def test_impossible_values_never_reach_the_ring() -> None:
    built = engine(Hands(), scripted("tiny", Tier.FAST, Script(read=lambda: (float("inf"), nan))))
    built.sampler.tick(0)
    assert all(map(isnan, newest(built, Tier.FAST)[1]))
    assert built.tally.collectors["tiny"].errors == {"impossible_value": 1}


def test_unknown_collector_to_disable_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"'meminf'.*did you mean meminfo.*allowed: meminfo, other"):
        engine(
            None,
            scripted("meminfo", Tier.FAST, Script()),
            scripted("other", Tier.FAST, Script()),
            settings=Settings(disabled=frozenset({"meminf"})),
        )

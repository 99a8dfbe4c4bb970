"""Many spoilt files at once, while the exporter runs: it goes on, what it serves can be read, and all works again."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from catalog.family import Profile
from catalog.series import parse_series
from exporter import samples
from exporter.engine import Engine
from exporter.exposition import Format
from exporter.folding import Granularity
from exporter.host import Host
from exporter.settings import Settings
from exporter.tally import State
from tests.exporter import spoiling
from tests.exporter.tiny import Hands
from tests.hosts import captured_vm
from tests.hosts.hardware import hardware
from tests.servers import wait_until

ROUNDS, SPOILT_AT_ONCE = 25, 4
TICKS = 150  # of the slow tier
LIMIT_S = 60.0
WAYS = (spoiling.cuts, spoiling.shortened, spoiling.impossible, spoiling.misplaced, spoiling.nonsense)


def _files(engine: Engine, host: Host) -> list[Path]:
    """The files that the collectors read which have something to read here."""
    on = (slot.kind for slot in engine.slots if slot.health.state is State.ON)
    paths = chain.from_iterable(host.glob(source) for kind in on for source in kind.sources)
    places = (Path(host.locate(path)) for path in paths)
    return sorted({place.resolve() for place in places if place.is_file()})


@pytest.mark.parametrize("granularity", [Granularity.CORE, Granularity.NUMA])
@pytest.mark.parametrize("make", [captured_vm, hardware])
def test_sampler_goes_on_whatever_is_in_any_file(
    make: Callable[[Path], Host], granularity: Granularity, tmp_path: Path
) -> None:
    host, hands, chance = make(tmp_path), Hands(), random.Random(7)
    engine = Engine(Settings(profile=Profile.FULL, granularity=granularity), clock=hands.clock(), host=host)
    originals = {place: place.read_bytes() for place in _files(engine, host)}
    assert len(originals) >= 30

    def run(number: int) -> None:
        engine.sampler.tick(number * TICKS)
        wait_until(lambda: engine.sampler.resting, LIMIT_S, "the slow tier is read")
        hands.move(15.0)
        _can_be_read(engine)

    run(0)
    for number in range(1, ROUNDS):
        spoilt = {
            place: _spoilt(originals[place], chance) for place in chance.sample(sorted(originals), SPOILT_AT_ONCE)
        }
        for place, original in originals.items():
            place.write_bytes(spoilt.get(place, original))
        run(number)
    for place, original in originals.items():
        place.write_bytes(original)
    run(ROUNDS)
    run(ROUNDS + 1)
    broken = {slot.name: slot.health.reason for slot in engine.slots if slot.health.state not in (State.ON, State.OFF)}
    assert broken == {}


def _spoilt(original: bytes, chance: random.Random) -> bytes:
    return chance.choice(list(chance.choice(WAYS)(original)) or [spoiling.Spoilt("empty", b"")]).data


def _can_be_read(engine: Engine) -> None:
    told = list(parse_text(engine.exposition(Format.TEXT).decode()))
    assert told
    openmetrics = engine.exposition(Format.OPENMETRICS).decode()
    assert list(parse_openmetrics(openmetrics))  # type: ignore[no-untyped-call]
    origin = samples.Origin("boot", "here", 0.0, 0.0)
    assert samples.encode(engine.since(0.0), origin, frozenset()).startswith(b"HPS1")
    for schema, _ in engine.newest():
        assert tuple(map(parse_series, schema.names)) == schema.columns

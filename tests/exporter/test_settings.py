from __future__ import annotations

import argparse
from dataclasses import fields

import pytest

from catalog.family import Profile
from exporter.settings import Settings, SettingsError, add_flags, environment_name, from_arguments


def _settings(*argv: str, **environment: str) -> Settings:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_flags(parser)
    return from_arguments(parser.parse_args(argv), environment)


def test_defaults_are_those_of_the_table() -> None:
    settings = _settings()
    assert settings == Settings()
    assert (settings.profile, settings.interval_s, settings.listen) == (Profile.CORE, 0.1, ("127.0.0.1", 17720))


def test_flag_beats_environment_and_environment_beats_default() -> None:
    variable = {"HOSTPULSE_EXPORTER_SAMPLE_INTERVAL": "2s"}
    assert _settings(**variable).interval_s == 2.0
    assert _settings("--sample.interval=1m", **variable).interval_s == 60.0


@pytest.mark.parametrize(
    ("flag", "value", "field", "expected"),
    [
        ("profile", "standard", "profile", Profile.STANDARD),
        ("sample.interval", "250ms", "interval_s", 0.25),
        ("sample.adaptive", "600ms", "calm_interval_s", 0.6),
        ("sample.adaptive", "", "calm_interval_s", 0.0),
        ("sample.budget", "1.5ms", "budget_s", 0.0015),
        ("sample.deadline", "1m", "deadline_s", 60.0),
        ("gpu.interval", "100ms", "gpu_interval_s", 0.1),
        ("ring.duration", "1h", "ring_duration_s", 3600.0),
        ("ring.size", "64MiB", "ring_bytes", 64 << 20),
        ("ring.size", "2000000", "ring_bytes", 2000000),
        ("collector.disable", "a, b,", "disabled", frozenset({"a", "b"})),
        ("path.procfs", "/host/proc", "procfs", "/host/proc"),
        ("path.sysfs", "/host/sys", "sysfs", "/host/sys"),
        ("path.rootfs", "/host", "rootfs", "/host"),
        ("path.kmsg", "/host/dev/kmsg", "kmsg", "/host/dev/kmsg"),
        ("web.listen-address", ":80", "listen", ("", 80)),
        ("web.listen-address", "[::1]:0", "listen", ("::1", 0)),
        ("web.listen-address", "localhost:1", "listen", ("localhost", 1)),
        ("web.max-connections", "3", "max_connections", 3),
        ("web.timeout", "1s", "timeout_s", 1.0),
        ("log.level", "debug", "log_level", "debug"),
    ],
)
def test_value_is_parsed_from_flag_and_environment_alike(flag: str, value: str, field: str, expected: object) -> None:
    assert getattr(_settings(f"--{flag}={value}"), field) == expected
    assert getattr(_settings(**{environment_name(flag): value}), field) == expected


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("profile", "everything"),
        ("sample.interval", "100"),
        ("sample.interval", "1ms"),
        ("sample.interval", "-1s"),
        ("sample.adaptive", "2s"),
        ("sample.adaptive", "on"),
        ("sample.budget", "10s"),
        ("ring.size", "1KiB"),
        ("ring.size", "lots"),
        ("path.procfs", "proc"),
        ("web.listen-address", "127.0.0.1"),
        ("web.listen-address", "127.0.0.1:65536"),
        ("web.listen-address", "::1:80"),
        ("web.max-connections", "0"),
        ("web.max-connections", "1.5"),
        ("log.level", "loud"),
    ],
)
def test_wrong_value_names_flag_value_and_what_is_allowed(flag: str, value: str) -> None:
    kind = next(entry.metadata["kind"] for entry in fields(Settings) if entry.metadata["flag"] == flag)
    with pytest.raises(SettingsError) as caught:
        _settings(f"--{flag}={value}")
    assert all(part in str(caught.value) for part in (f"--{flag}", repr(value), kind.allowed))
    with pytest.raises(SettingsError, match=environment_name(flag)):
        _settings(**{environment_name(flag): value})


def test_calm_interval_is_at_least_twice_the_other_one() -> None:
    assert _settings("--sample.adaptive=200ms").calm_interval_s == 0.2
    with pytest.raises(SettingsError, match=r"--sample.adaptive: 150ms is not allowed.*twice --sample.interval, 200ms"):
        _settings("--sample.adaptive=150ms")


def test_repeated_flag_of_names_adds_up_and_of_others_the_last_counts() -> None:
    settings = _settings("--collector.disable=a,b", "--collector.disable=c", "--web.timeout=1s", "--web.timeout=2s")
    assert settings.disabled == {"a", "b", "c"}
    assert settings.timeout_s == 2.0


def test_every_setting_has_help_that_is_a_sentence() -> None:
    assert [entry.name for entry in fields(Settings) if not entry.metadata["help"].endswith(".")] == []


def test_bounds_are_shown_as_people_write_them() -> None:
    allowed = {entry.metadata["flag"]: entry.metadata["kind"].allowed for entry in fields(Settings)}
    assert allowed["sample.interval"].endswith("from 10ms to 1m")
    assert allowed["ring.size"].endswith("from 1MiB to 1024GiB")
    assert allowed["profile"] == "core|standard|full"

"""Settings from flags, environment and file: which wins, and what is said about each mistake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.duration import format_duration, parse_duration
from deploy.detector_page import detector_example, detector_page
from detector.config import ConfigError, Watcher, load
from detector.options import parse
from detector.settings import TABLE, Settings, walk
from tests.tree import ROOT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "detector.yml"


def error_of(file: Path | None = None, flags: dict[str, str] | None = None, **environment: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load(file, flags or {}, environment)
    return str(raised.value)


def test_flag_beats_environment_beats_file_beats_default(file: Path) -> None:
    file.write_text("window:\n  duration: 4s\n")
    environment = {"HOSTPULSE_DETECTOR_WINDOW_DURATION": "5s"}
    settings = [
        load(None, {}, {}),
        load(file, {}, {}),
        load(file, {}, environment),
        load(file, {"window.duration": "6s"}, environment),
    ]
    assert [one.window.duration_s for one in settings] == [3, 4, 5, 6]


def test_every_setting_can_be_given_in_three_ways(file: Path) -> None:
    for setting in walk():
        key, value = setting.path[-1], setting.default
        file.write_text(
            "".join(f"{'  ' * depth}{part}:\n" for depth, part in enumerate(setting.path[:-1]))
            + f'{"  " * (len(setting.path) - 1)}{key}: "{value}"\n'
        )
        from_file = load(file, {}, {})
        from_flag = load(None, {setting.flag.removeprefix("--"): value}, {})
        from_environment = load(None, {}, {setting.variable: value})
        assert from_file == from_flag == from_environment, setting.key
        assert from_file.window == load(None, {}, {}).window


def test_defaults_are_those_that_the_documents_promise() -> None:
    defaults = {setting.key: setting.default for setting in walk()}
    assert defaults["window.duration"] == "3s"
    assert defaults["window.stride"] == "1s"
    assert defaults["baseline.duration"] == "10m"
    assert defaults["alarms_per_host_day.warning"] == "0.5"
    assert defaults["alarms_per_host_day.page"] == "0.05"
    assert defaults["web.listen_address"] == "127.0.0.1:17721"
    assert defaults["source.exporter.targets"] == "http://127.0.0.1:17720"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("windw: {duration: 3s}", ":1: unknown key windw, did you mean window?"),
        ("window:\n  duraton: 3s", ":2: unknown key window.duraton, did you mean window.duration?"),
        ("window:\n  duration: soon", ":2: window.duration: must be a duration such as 500ms"),
        ("\n\nwindow:\n  duration: 1ms", ":4: window.duration: Input should be greater than or equal to 0.2"),
        ("window: 3s", ":1: window: keys and values belong here"),
        ("window: {duration: {a: 1}}", ":1: window.duration: a single value or a list belongs here"),
        ("baseline: {duration: 1m}\nbaseline: {duration: 2m}", ":2: baseline stands twice"),
        ("- window", ":1: the file: keys and values belong here"),
        ("window: [", ": not YAML"),
        ("window:\n\tduration: 3s", ":2: not YAML"),
        ("source:\n  exporter:\n    targets: [a]", ":3: source.exporter.targets: must be a URL"),
        ("source:\n  exporter:\n    targets: [http://a:99999]", ":3: source.exporter.targets: must be a URL"),
        ("source:\n  exporter:\n    targets: [http://a:b]", ":3: source.exporter.targets: must be a URL"),
        ("source:\n  exporter:\n    targets: ['http://:80']", ":3: source.exporter.targets: must be a URL"),
        ("source:\n  prometheus:\n    url: http://[::1", ":3: source.prometheus.url: must be a URL"),
        ("log:\n  level: loud", "allowed: debug | info | warning | error"),
        ("state: {directory: '${NOT_THERE}'}", ":1: state.directory: environment variable NOT_THERE is not set"),
        ("alarms_per_host_day:\n  warning: 1\n  page: 2", "page must not be larger than warning"),
        ("window: {duration: 2s, stride: 3s}", "stride must not be longer than duration"),
        ("window: {duration: 1m, stride: 100ms}", "duration must not be longer than 100 strides"),
        ("source: {kind: carrier-pigeon}", "kind must be one of exporter, prometheus, not 'carrier-pigeon'"),
        (
            "source: {exporter: {targets: [http://a:1]}, prometheus: {url: http://b:2}}",
            "there are settings of exporter and prometheus: say which one in kind",
        ),
        ("web: {listen_address: localhost}", ":1: web.listen_address: must be HOST:PORT"),
        ("web: {listen_address: 'localhost:²'}", ":1: web.listen_address: must be HOST:PORT"),
        ("view: always", ":1: view: Input should be 'auto', 'live', 'plain' or 'off'"),
        ("window: {duration: !foo 3s}", ":1: window.duration: a value without a tag belongs here, not one with !foo"),
        ("window: {duration: 1:30}", ":1: window.duration: must be a duration such as 500ms"),
        ("window: {duration: 2020-13-45}", ":1: window.duration: must be a duration such as 500ms"),
        ("web: {max_connections: true}", ":1: web.max_connections: Input should be a valid integer"),
        ("alarms_per_host_day: {warning: yes}", ":1: alarms_per_host_day.warning: Input should be a valid number"),
        ("state:\n  directory:", ':2: state.directory: a value belongs here, "" where it is to be empty'),
        (
            "source: {exporter: {targets: &a [*a]}}",
            ":1: source.exporter.targets: a single value or a list belongs here",
        ),
        ("{a: " * 3000, ": cannot be read: it is nested too deep"),
    ],
)
def test_mistake_in_the_file_is_named_with_its_line(text: str, said: str, file: Path) -> None:
    file.write_text(text)
    message = error_of(file)
    assert message.startswith(str(file))
    assert said in message


@pytest.mark.parametrize("value", ["null", "[[1]]", "{a: 1}", "!foo 3s", "!!binary a", "&a [*a]"])
def test_value_that_fits_nowhere_is_named_with_its_key_wherever_it_stands(value: str, file: Path) -> None:
    for setting in walk():
        file.write_text(
            "".join(f"{'  ' * depth}{key}:\n" for depth, key in enumerate(setting.path))[:-1] + f" {value}\n"
        )
        assert f": {setting.key}: a" in error_of(file), setting.key


def test_words_that_yaml_takes_for_something_else_are_text(file: Path) -> None:
    file.write_text(
        "view: off\nsource: {exporter: {job: 2024-01-02}}\nstate: {directory: no}\nbaseline: {duration: 90}"
    )
    settings = load(file, {}, {})
    given = settings.source.settings.model_dump()["job"], settings.state.directory, settings.baseline.duration_s
    assert (settings.model_dump()["view"], *given) == ("off", "2024-01-02", "no", 90.0)


def test_file_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "nowhere.yml: cannot be read" in error_of(tmp_path / "nowhere.yml")


def test_file_that_is_not_text_is_named(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    assert str(file) in error_of(file)


def test_mistake_in_flag_or_environment_is_named_by_it() -> None:
    message = error_of(flags={"window.duration": "soon"}, HOSTPULSE_DETECTOR_WEB_MAX_CONNECTIONS="many")
    flag, variable = sorted(message.splitlines())
    assert flag.startswith("--window.duration: must be a duration")
    assert variable.startswith("HOSTPULSE_DETECTOR_WEB_MAX_CONNECTIONS: ")
    assert "allowed: whole number, 1 to 10000" in variable


def test_empty_file_means_all_defaults(file: Path) -> None:
    file.write_text("# nothing yet\n")
    assert load(file, {}, {}) == load(None, {}, {})


def test_file_that_was_emptied_is_refused_where_a_comment_is_not(file: Path) -> None:
    file.write_text("\n")
    with pytest.raises(ConfigError, match="is empty; a comment in it says that all defaults are meant"):
        load(file, {}, {}, blank=False)
    file.write_text("# nothing\n")
    assert load(file, {}, {}, blank=False) == load(None, {}, {})


def test_variables_in_the_file_are_replaced(file: Path) -> None:
    file.write_text("source: {prometheus: {url: 'http://${USER_NAME}:${PASS}@p:9090', job: '$$5'}}\n")
    settings = load(file, {}, {"USER_NAME": "me", "PASS": "s$x"})
    assert settings.source.chosen == "prometheus"
    assert settings.source.settings.model_dump()["url"] == "http://me:s$x@p:9090"
    assert settings.source.settings.model_dump()["job"] == ("$5",)


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, "exporter"),
        ({"prometheus": {"url": "http://127.0.0.1:9090"}}, "prometheus"),
        ({"prometheus": {"job": "h"}}, "prometheus"),
        ({"exporter": {"targets": "http://a:1"}}, "exporter"),
        ({"kind": "prometheus"}, "prometheus"),
        ({"kind": "prometheus", "exporter": {"job": "x"}}, "prometheus"),
    ],
)
def test_source_is_the_one_that_has_settings(given: dict[str, object], chosen: str) -> None:
    assert TABLE.model_validate({"source": given}).source.chosen == chosen


@given(st.floats(0.001, 1e6))
def test_duration_is_read_back_as_it_was_written(seconds: float) -> None:
    rounded = round(seconds, 3)
    assert parse_duration(format_duration(rounded)) == pytest.approx(rounded, rel=1e-4)


@pytest.mark.parametrize("text", ["", "s", "-3s", "3 s", "3y", "1e3s", "s3", "3s4", "nan", "inf"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        parse_duration(text)


def test_example_file_holds_the_defaults() -> None:
    example = ROOT / "deploy" / "detector.example.yml"
    assert example.read_text() == detector_example(), "run python -m deploy.render"
    assert load(example, {}, {}) == load(None, {}, {})


def test_document_names_every_setting() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    assert text == detector_page(), "run python -m deploy.render"
    assert [setting.key for setting in walk() if f"`{setting.key}`" not in text] == []


def test_settings_cannot_be_changed() -> None:
    settings: Settings = load(None, {}, {})
    with pytest.raises(ValueError, match="frozen"):
        settings.window.duration_s = 5.0


def test_change_of_contents_is_noticed_once(file: Path) -> None:
    file.write_text("window: {duration: 3s}")
    watcher = Watcher(file)
    assert not watcher.changed()
    file.write_text("window: {duration: 4s}")
    os.utime(file, ns=(1, 1))
    assert watcher.changed()
    assert not watcher.changed()


def test_touching_a_file_is_no_change(file: Path) -> None:
    file.write_text("window: {duration: 3s}")
    watcher = Watcher(file)
    os.utime(file, ns=(1, 1))
    assert not watcher.changed()


def test_swapped_link_is_a_change(tmp_path: Path) -> None:
    for name, text in (("old", "window: {duration: 3s}"), ("new", "window: {duration: 5s}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "detector.yml").write_text(text)
        os.utime(tmp_path / name / "detector.yml", ns=(1, 1))
    data, file = tmp_path / "..data", tmp_path / "detector.yml"
    data.symlink_to("old")
    file.symlink_to("..data/detector.yml")
    watcher = Watcher(file)
    (tmp_path / "next").symlink_to("new")
    (tmp_path / "next").rename(data)
    assert watcher.changed()
    assert load(file, {}, {}).window.duration_s == 5


def test_file_that_vanishes_is_no_change(file: Path) -> None:
    file.write_text("window: {duration: 3s}")
    watcher = Watcher(file)
    file.unlink()
    assert not watcher.changed()


def test_flags_are_taken_as_given() -> None:
    options = parse(
        ["run", "--config.file=f.yml", "--window.duration", "4s", "--window.duration=5s", "--view=off"], environment={}
    )
    assert (options.command, options.file, options.flags) == (
        "run",
        Path("f.yml"),
        {"window.duration": "5s", "view": "off"},
    )


def test_list_flag_may_be_repeated() -> None:
    options = parse(["once", "--source.exporter.targets=http://a:1", "--source.exporter.targets=http://b:2"], {})
    settings = load(None, options.flags, {})
    assert settings.source.settings.model_dump()["targets"] == ("http://a:1", "http://b:2")


def test_file_may_be_named_by_the_environment() -> None:
    assert parse(["run"], {"HOSTPULSE_DETECTOR_CONFIG_FILE": "/etc/h.yml"}).file == Path("/etc/h.yml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["jump"], "invalid choice: 'jump'"),
        (["run", "--windw.duration=3s"], "unknown argument --windw.duration=3s, did you mean --window.duration?"),
        (["run", "--window.dur=3s"], "unknown argument --window.dur=3s"),
        (["run", "--window.duration"], "expected one argument"),
        (["run", "now"], "unknown argument now"),
        (["version", "--view=off"], "unknown argument --view=off\n"),
    ],
)
def test_wrong_command_line_ends_with_two(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse(arguments, {})
    assert raised.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("written", ["/models/\\0", "/models/\\uD800"])
def test_value_that_is_no_text_is_named(written: str, file: Path) -> None:
    file.write_text(f'state:\n  directory: "{written}"\n')
    assert error_of(file) == f"{file}:2: state.directory: must be text in UTF-8, without zero bytes"
    said = error_of(flags={"source.exporter.targets": "http://a:1,http://\udcff:1"})
    assert said == "--source.exporter.targets: must be text in UTF-8, without zero bytes"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "--instance=\udcff"], "hostpulse-detector: instance: '\\udcff' is not text in UTF-8"),
        (["backtest", "--from=\udcff"], "hostpulse-detector: from: '\\udcff' is not text in UTF-8"),
        (["explain", "\udcff"], "hostpulse-detector: signature: '\\udcff' is not text in UTF-8"),
    ],
)
def test_argument_that_is_no_text_is_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments, {})
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_help_names_every_flag_and_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse(["run", "--help"], {})
    text = " ".join(capsys.readouterr().out.split())
    assert raised.value.code == 0
    assert [setting.flag for setting in walk() if setting.flag not in text] == []
    assert "Default: 10m. Allowed: duration, 30s to 7d." in text
    assert "Exit codes" in text

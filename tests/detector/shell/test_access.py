"""How databases are reached: real Prometheus behind TLS and passwords, and answers that only busy stores give."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from detector.access import Access, AccessSettings
from detector.breaker import Breaker
from detector.clock import SystemClock
from detector.config import ConfigError, load
from detector.fetch import Fetcher
from detector.query import QueryApi
from detector.source import SourceError
from detector.sources.prometheus import PrometheusSettings, PrometheusSource
from tests.detector.shell.scripted import Answer, Scripted
from tests.detector.shell.test_command import run
from tests.servers import Prometheus, start_prometheus

USER, PASSWORD = "detector", "s3cret-word"
BCRYPT = "$2b$04$abcdefghijklmnopqrstuuzQDw2v3CQSMowG.sq3X.nH1lfmlmQMW"  # of the password


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=30)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and certificates that it signed for the server and for us."""
    folder = tmp_path_factory.mktemp("keys")
    new = "req", "-newkey", "rsa:2048", "-nodes", "-subj"
    openssl(folder, *new, "/CN=authority", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2")
    for name in ("server", "client"):
        openssl(folder, *new, f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / "extra").write_text("subjectAltName=IP:127.0.0.1\n")
        signing = "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "extra"
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *signing)
    return folder


def guarded(folder: Path, web: str) -> Prometheus:
    """A Prometheus with that web configuration, below a path."""
    file = folder / "web.yml"
    file.write_text(web)
    return start_prometheus(folder, flags=[f"--web.config.file={file}", "--web.route-prefix=/prom"], ready=None)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Iterator[Prometheus]:
    """It wants a certificate and a password."""
    web = (
        f"tls_server_config:\n  cert_file: {keys}/server.pem\n  key_file: {keys}/server.key\n"
        f"  client_ca_file: {keys}/ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n"
        f"basic_auth_users:\n  {USER}: {BCRYPT}\n"
    )
    with guarded(tmp_path_factory.mktemp("closed"), web) as server:
        yield server


def source_of(url: str, **access: object) -> PrometheusSource:
    given = {"url": url, "timeout": "5s", "access": access}
    return PrometheusSource(PrometheusSettings.model_validate(given), 60.0, SystemClock())


def secure(server: Prometheus) -> str:
    return f"https://{server.address}/prom"


def ours(keys: Path, **more: object) -> dict[str, object]:
    files = {"ca_file": "ca.pem", "certificate_file": "client.pem", "key_file": "client.key"}
    return {**{key: str(keys / name) for key, name in files.items()}, "username": USER, "password": PASSWORD, **more}


def test_certificate_and_password_open_a_prometheus_below_a_path(closed: Prometheus, keys: Path) -> None:
    assert source_of(secure(closed), **ours(keys)).hosts() == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"password": "wr0ng-word"}, "status 401, not let in by source.prometheus.access"),
        ({"ca_file": ""}, "certificate verify failed"),
        ({"certificate_file": "", "key_file": ""}, "(?i)certificate required|bad certificate|connection"),
    ],
)
def test_who_is_not_let_in_is_told_why_and_no_secret(
    closed: Prometheus, keys: Path, changed: dict[str, object], said: str
) -> None:
    with pytest.raises(SourceError, match=said) as raised:
        source_of(secure(closed), **ours(keys, **changed)).hosts()
    assert not {"wr0ng-word", PASSWORD} & set(str(raised.value).split())
    assert closed.address in str(raised.value)


def test_password_in_a_file_is_read_again_when_it_changes(closed: Prometheus, keys: Path, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("not yet\n")
    source = source_of(secure(closed), **ours(keys, password="", password_file=str(file)))
    with pytest.raises(SourceError, match="status 401"):
        source.hosts()
    file.write_text(PASSWORD + "\n")
    assert source.hosts() == []
    file.unlink()
    with pytest.raises(SourceError, match=r"password_file: .*cannot be read"):
        source.hosts()


def answering(*answers: Answer) -> Scripted:
    """A store that gives these answers in turn, the last one for ever."""
    left = list(answers)
    return Scripted(lambda path, parameters: left.pop(0) if len(left) > 1 else left[0])


def good(result: Sequence[object] = (), **more: Any) -> Answer:
    return 200, json.dumps({"status": "success", "data": {"result": result}, **more}).encode()


def test_token_tenant_and_headers_are_sent_and_answers_are_not_compressed(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken-one\n")
    more = {"bearer_token_file": str(token), "tenant": "team-a", "headers": ["X-Key: k3y-word", "X-Site: 1, 2"]}
    with answering(good()) as store:
        source = source_of(store.url, **more)
        source.hosts()
        token.write_text("")  # as it is while another one is written
        source.hosts()
        token.write_text("t0ken-number-two\n")
        source.hosts()
        first, meanwhile, second = store.headers
    assert first["Authorization"] == meanwhile["Authorization"] == "Bearer t0ken-one"
    assert second["Authorization"] == "Bearer t0ken-number-two"
    assert (first["X-Scope-OrgID"], first["X-Key"], first["X-Site"]) == ("team-a", "k3y-word", "1, 2")
    assert first["Accept-Encoding"] == "identity"


def test_proxy_is_asked_instead_and_the_environment_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with answering(good()) as proxy:
        assert source_of("http://store.invalid:9090", proxy=proxy.url).hosts() == []
        assert proxy.headers[0]["Host"] == "store.invalid:9090"


def test_secret_that_a_store_repeats_is_not_told() -> None:
    refusal = 403, b'{"status":"error","error":"token t0ken-one is unknown"}'
    with answering(refusal) as store, pytest.raises(SourceError, match="<secret> is unknown") as raised:
        source_of(store.url, bearer_token="t0ken-one").hosts()
    assert "t0ken-one" not in str(raised.value)


def test_large_answer_shows_no_part_of_a_secret_wherever_it_is_cut() -> None:
    fetcher = Fetcher(1.0, 1, Access(AccessSettings(username=USER, password=SecretStr(PASSWORD))))
    quotes = [fetcher.quoted((" " * before + PASSWORD + " é" * 5000).encode(), 100) for before in range(3000, 3600)]
    assert quotes[0].startswith("<secret> é é")
    assert quotes[-1] == "", "what lies behind so many blanks is not shown"
    assert not any("s3" in quote or "word" in quote for quote in quotes)


def test_large_answer_is_quoted_at_once() -> None:
    fetcher = Fetcher(1.0, 1, Access(AccessSettings(username=USER, password=SecretStr(PASSWORD))))
    said = b"\xff " * (16 << 20)
    begun_s = time.process_time()
    assert len(fetcher.quoted(said)) == 300
    assert time.process_time() - begun_s < 1.0


def test_secrets_are_in_no_help_and_no_settings_shown(tmp_path: Path) -> None:
    file = tmp_path / "detector.yml"
    file.write_text(
        "source:\n  prometheus:\n    access:\n      username: me\n      password: ${STORE_PASSWORD}\n"
        '      headers: ["X-Key: k3y-word"]\n      proxy: http://me:pr0xy-word@p:1\n'
    )
    settings = load(file, {}, {"STORE_PASSWORD": PASSWORD})
    assert settings.source.settings.model_dump()["access"]["password"].get_secret_value() == PASSWORD
    shown = run("run", "--help", HOSTPULSE_DETECTOR_SOURCE_PROMETHEUS_ACCESS_PASSWORD=PASSWORD).stdout
    assert "--source.prometheus.access.password" in shown
    for secret in (PASSWORD, "k3y-word", "pr0xy-word"):
        assert secret not in repr(settings) + str(settings) + shown


@pytest.mark.parametrize(
    ("access", "said"),
    [
        ({"password": "p"}, "a password needs a username"),
        ({"username": "u", "bearer_token": "t"}, "a user or a bearer token, not both"),
        ({"bearer_token": "t", "bearer_token_file": "/dev/null"}, "not both"),
        ({"key_file": "/dev/null"}, "key_file needs a certificate_file"),
        ({"ca_file": "/nowhere.pem"}, "ca-file: /nowhere.pem cannot be read"),
        ({"headers": "s3cret-word"}, "header 1 must be NAME: VALUE"),
        ({"proxy": "s3cret-word"}, "must be a URL"),
    ],
)
def test_access_that_cannot_be_is_refused_with_its_key(access: dict[str, str], said: str) -> None:
    flags = {f"source.prometheus.access.{key}".replace("_", "-"): value for key, value in access.items()}
    with pytest.raises(ConfigError, match=said) as raised:
        load(None, flags, {})
    assert "--source.prometheus.access" in str(raised.value)
    assert PASSWORD not in str(raised.value)


def api_of(store: Scripted) -> QueryApi:
    return QueryApi(store.url, Fetcher(2.0, 1 << 20), 2.0, SystemClock())


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_is_asked_again(status: int) -> None:
    with answering((status, b"busy"), good()) as store:
        assert api_of(store).instant("up") == []
        assert len(store.asked) == 2


def limited(refuses: Callable[[float], bool], status: int) -> Callable[[str, dict[str, str]], Answer]:
    """A store with one sample a second that refuses what spans too many."""

    def answer(path: str, parameters: dict[str, str]) -> Answer:
        span_s = float(parameters["query"].rpartition("[")[2].rstrip("s]"))
        if refuses(span_s):
            return status, b'{"status":"error","error":"too many samples"}'
        end_s = float(parameters["time"])
        times_s = [number for number in range(1000, 1100) if end_s - span_s < number <= end_s]
        return good([{"metric": {"__name__": "x"}, "values": [[time_s, "1"] for time_s in times_s]}])

    return answer


@pytest.mark.parametrize(("status", "longest_s"), [(422, 20.0), (413, 20.0), (429, 40.0)])
def test_query_that_is_too_much_is_split(status: int, longest_s: float) -> None:
    with Scripted(limited(lambda span_s: span_s > longest_s, status)) as store:
        entries = api_of(store).samples('{job="a"}', 1020.0, 1090.0)
    times_s = {time_s for entry in entries for time_s, _ in entry["values"]}
    assert times_s >= set(range(1021, 1091))


@pytest.mark.parametrize(("status", "most"), [(422, 7), (429, 6)])
def test_store_that_refuses_even_little_is_not_asked_for_ever(status: int, most: int) -> None:
    with Scripted(limited(lambda span_s: True, status)) as store:
        with pytest.raises(SourceError, match="too many samples"):
            api_of(store).samples('{job="a"}', 1000.0, 1090.0)
        assert len(store.asked) <= most


@pytest.mark.parametrize("more", [{"warnings": ["store-2 is down"]}, {"isPartial": True}])
def test_part_of_an_answer_is_none(more: dict[str, Any]) -> None:
    with answering(good(**more)) as store, pytest.raises(SourceError, match="incomplete"):
        api_of(store).instant("up")


def test_store_that_fails_again_and_again_is_left_alone_for_a_while() -> None:
    with answering((503, b"busy")) as store:
        api = api_of(store)
        for _ in range(5):
            with pytest.raises(SourceError, match="status 503"):
                api.instant("up")
        asked = len(store.asked)
        with pytest.raises(SourceError, match="left alone for"):
            api.instant("up")
        assert len(store.asked) == asked


def test_pauses_grow_and_one_question_ends_them() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker.failed("down", 0.0, 0.5)
    assert breaker.wait_s(0.0) == 0.0
    breaker.failed("down", 0.0, 0.5)
    assert breaker.wait_s(0.0) == pytest.approx(1.0)
    assert breaker.wait_s(1.1) == 0.0
    assert breaker.wait_s(1.1) > 0.0
    breaker.failed("down", 1.2, 0.5)
    assert breaker.wait_s(1.2) == pytest.approx(2.0)
    for _ in range(20):
        breaker.failed("down", 2.0, 1.0)
    assert breaker.wait_s(2.0) <= 10.0
    breaker.succeeded()
    assert breaker.wait_s(2.0) == 0.0

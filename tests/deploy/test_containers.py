"""docker-compose.yml by the real Compose, the Dockerfile by hadolint, and both against the tree and the programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

import compose
import pytest

from tests.tree import ROOT

# The console script of the same name always exits 0; the binary beside it does not.
COMPOSE = Path(compose.__path__[0]) / "docker-compose"
SERVICES = ["alertmanager", "detector", "exporter", "grafana", "prometheus"]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))


def _compose(file: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    *others, last = arguments
    files = [word for other in (file, *others) for word in ("-f", other)]
    return subprocess.run([COMPOSE, *files, "config", last], cwd=ROOT, capture_output=True, text=True, timeout=60)


@lru_cache(maxsize=2)
def _services(*beside: Path) -> dict[str, dict[str, Any]]:
    run = _compose(ROOT / "docker-compose.yml", *beside, "--format=json")
    assert run.returncode == 0, run.stderr
    services: dict[str, dict[str, Any]] = json.loads(run.stdout)["services"]
    return services


def test_compose_accepts_the_file_with_its_five_services() -> None:
    assert sorted(_services()) == SERVICES


def test_compose_would_refuse_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text((ROOT / "docker-compose.yml").read_text().replace("depends_on:", "dependz_on:"))
    run = _compose(broken, "--quiet")
    assert run.returncode != 0
    assert "dependz_on" in run.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_pinned_watched_and_confined(name: str) -> None:
    service = _services()[name]
    image, _, tag = service["image"].rpartition(":")
    assert image
    assert tag.lstrip("v")[0].isdigit()
    assert service["healthcheck"]["test"]
    assert service["restart"] == "unless-stopped"
    assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert {port["host_ip"] for port in service["ports"]} == {"127.0.0.1"}


def test_only_the_exporter_has_capabilities_and_for_them_a_user_who_gets_them() -> None:
    capable = {name: service["cap_add"] for name, service in _services().items() if "cap_add" in service}
    assert capable == {"exporter": ["PERFMON", "SYSLOG", "DAC_READ_SEARCH"]}
    users = {name: service["user"].partition(":")[0] for name, service in _services().items()}
    assert [name for name, user in users.items() if user in {"0", "root"}] == ["exporter"]


def test_gpus_come_with_a_file_beside_the_first() -> None:
    exporter = _services(ROOT / "deploy" / "docker-compose.gpu.yml")["exporter"]
    (device,) = exporter["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["count"]) == ("nvidia", -1)
    assert exporter["deploy"]["resources"]["limits"] == _services()["exporter"]["deploy"]["resources"]["limits"]
    assert exporter["cap_drop"] == ["ALL"]


def test_capabilities_are_those_of_the_unit() -> None:
    unit = (ROOT / "deploy" / "systemd" / "hostpulse-exporter.service").read_text()
    (line,) = re.findall(r"^AmbientCapabilities=(.*)$", unit, flags=re.MULTILINE)
    assert line.replace("CAP_", "").split() == _services()["exporter"]["cap_add"]


@pytest.mark.parametrize("name", SERVICES)
def test_service_mounts_only_what_is_there(name: str) -> None:
    binds = [mount for mount in _services()[name].get("volumes", []) if mount["type"] == "bind"]
    missing = [mount["source"] for mount in binds if not Path(mount["source"]).exists()]
    assert missing == []
    assert all(mount.get("read_only") for mount in binds)


@pytest.mark.parametrize("name", ["exporter", "detector"])
def test_service_uses_flags_that_its_program_has(name: str) -> None:
    assert _unknown_flags(_services()[name]["command"]) == []


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_unit_uses_flags_that_its_program_has(file: Path) -> None:
    (line,) = (line for line in file.read_text().splitlines() if line.startswith("ExecStart="))
    assert _unknown_flags(line.removeprefix("ExecStart=").split()) == []


def test_units_have_no_key_that_systemd_does_not_know(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    for unit in UNITS:
        installed = re.sub(r"/opt/hostpulse/bin/\S+", "/bin/true", unit.read_text())
        (tmp_path / unit.name).write_text(installed)
    run = subprocess.run(
        [analyze, "verify", "--man=no", *tmp_path.iterdir()], capture_output=True, text=True, timeout=60, check=True
    )
    assert [line for line in run.stderr.splitlines() if str(tmp_path) in line] == []


@pytest.mark.parametrize(("name", "most"), [("detector", "20"), ("exporter", "45")])
def test_units_give_away_little(name: str, most: str) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = ROOT / "deploy" / "systemd" / f"hostpulse-{name}.service"
    command: list[str | Path] = [analyze, "security", "--offline=true", "--no-pager", f"--threshold={most}", unit]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def test_exporter_unit_sees_the_mounts_of_the_host() -> None:
    unit = (ROOT / "deploy" / "systemd" / "hostpulse-exporter.service").read_text()
    own_mounts = r"^(Protect(?:System|Home|Kernel\w+|ControlGroups|Proc)|Private\w+|DynamicUser|\w*Paths|Root\w+)="
    assert re.findall(own_mounts, unit, flags=re.MULTILINE) == []


def test_board_and_data_source_are_where_grafana_looks() -> None:
    mounts = {mount["target"]: mount["source"] for mount in _services()["grafana"]["volumes"]}
    provider = (ROOT / "deploy/grafana/provisioning/dashboards/hostpulse.yml").read_text()
    assert f"path: {_target(mounts, ROOT / 'deploy/grafana/dashboards')}\n" in provider
    assert _target(mounts, ROOT / "deploy/grafana/provisioning") == "/etc/grafana/provisioning"


def test_dockerfile_has_no_complaints() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    run = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "")


def _copied() -> set[str]:
    """What of the tree the Dockerfile copies."""
    lines = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY")]
    return {word for words in lines if not words[1].startswith("--") for word in words[1:-1]}


def test_links_in_what_the_dockerfile_copies_lead_to_what_it_copies_too() -> None:
    folders = [ROOT / name for name in _copied() if (ROOT / name).is_dir()]
    links = [path for folder in folders for path in folder.rglob("*") if path.is_symlink()]
    assert links, "the detector's alert rules are some"
    lost = [link for link in links if not any(link.resolve().is_relative_to(folder) for folder in folders)]
    assert lost == [], "no wheel can be built of a link that leads nowhere"


def test_dockerfile_copies_what_the_ignore_file_lets_through() -> None:
    copied = _copied()
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert copied
    assert [name for name in copied if not any(fnmatch(name, pattern) for pattern in allowed)] == []
    assert [name for name in copied if not (ROOT / name).exists()] == []


def _target(mounts: dict[str, str], source: Path) -> str:
    return next(target for target, mounted in mounts.items() if Path(mounted) == source)


def _unknown_flags(command: list[str]) -> list[str]:
    """Flags of a command line that the program's help does not tell of."""
    program = Path(command[0]).name.removeprefix("hostpulse-")
    verbs = [word for word in command[1:] if not word.startswith("-")]
    helped = subprocess.run(
        [sys.executable, "-m", program, *verbs, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert helped.returncode == 0, helped.stderr
    flags = [word.partition("=")[0] for word in command if word.startswith("--")]
    assert flags
    return [flag for flag in flags if f"{flag} " not in f"{helped.stdout} "]

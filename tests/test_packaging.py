"""The wheel: it holds the three packages and nothing else, and its commands run outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from deploy.make_venv import pip
from tests.tree import PRODUCT, ROOT, product


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that has the wheel; its dependencies are borrowed from this one."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _run(*pip(), "--python", folder / "bin" / "python", "install", "--quiet", "--no-deps", "--no-index", wheel)
    return folder / "bin"


def test_wheel_holds_the_packages_and_the_licence_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    metadata = f"hostpulse-{version('hostpulse')}.dist-info"
    assert {name.partition("/")[0] for name in names} == {*PRODUCT, metadata}
    assert f"{metadata}/licenses/LICENSE" in names


def test_wheel_holds_every_module(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert held == {source.name for source in product()}


def test_installed_detector_has_the_alert_rules(installed: Path, tmp_path: Path) -> None:
    assert "alert: HostAnomalyPage" in _run(installed / "hostpulse-detector", "export-rules", cwd=tmp_path)


@pytest.mark.parametrize("program", ["exporter", "detector"])
def test_command_runs_outside_the_checkout(program: str, installed: Path, tmp_path: Path) -> None:
    said = _run(installed / f"hostpulse-{program}", "version", cwd=tmp_path)
    assert version("hostpulse") in said
    where = _run(installed / "python", "-c", f"import {program}; print({program}.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    run = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout

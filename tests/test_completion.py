"""Completion of commands and flags, as a real shell does it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

ASKED = """
source {script}
complete_with=$(complete -p {program} | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=({program} {words})
COMP_CWORD={last}
$complete_with
echo "${{COMPREPLY[@]}}"
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.fixture(scope="module", params=["exporter", "detector"])
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def completed(script: Path, program: str, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    asked = ASKED.format(script=script, program=f"hostpulse-{program}", words=" ".join(words), last=len(words))
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(done.stdout.split())


def test_bash_completes_commands_and_flags(program: str, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    done = run(program, "completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    script.write_text(done.stdout)
    assert completed(script, program, "compl") == ["completion"]
    command = {"exporter": "serve", "detector": "run"}[program]
    assert completed(script, program, command, "--log.") == ["--log.format", "--log.level"]
    assert set(completed(script, program, "rec" if program == "exporter" else "rep")) <= {"record", "replay", "report"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_of_the_program(shell: str, program: str) -> None:
    done = run(program, "completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"hostpulse-{program}" in done.stdout
    assert "log.level" in done.stdout


def test_unknown_shell_is_an_error_that_names_those_there_are(program: str) -> None:
    done = run(program, "completion", "ksh")
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr.replace("bash, zsh, fish", "'bash', 'zsh', 'fish'")


def test_command_that_needs_no_settings_takes_none() -> None:
    done = run("detector", "completion", "bash", "--window.duration=3s")
    assert done.returncode == 2
    assert "unknown argument --window.duration=3s" in done.stderr

"""Debian packages unpacked into a folder of one's own: no root, nothing installed, no maintainer script run.

apt works on lists and archives of its own (https://manpages.debian.org/bookworm/apt/apt.conf.5.en.html), with the
sources that the machine is set up for; ``dpkg-deb -x`` unpacks. Standard library only: it runs before anything else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_STEP_LIMIT_S = 600.0
_APT_CONF = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages {{ "none"; }};
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::Retries "2";
APT::Sandbox::User "root";
Debug::NoLocking "true";
Dir::State "{work}/state";
Dir::State::lists "{work}/state/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "{work}/cache";
Dir::Cache::archives "{work}/cache/archives";
"""


class UnavailableError(RuntimeError):
    """Something that is needed cannot be had on this machine; the text says what and why."""


def unpack(packages: Sequence[str], root: Path) -> None:
    """Make the folder ``root`` of these packages and of the shared libraries they need that the machine lacks.

    ``root`` appears whole or not at all. Raises ``UnavailableError``.
    """
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"{', '.join(packages)}: taken from Debian's packages, but there is no {tool} here")
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="work-", dir=root.parent) as folder:
        work = Path(folder)
        config = _configure(work)
        # A source that does not answer is no reason to stop: what matters is whether the packages can be had.
        update = _apt(config, work, "update")
        wanted = [*packages, *_libraries(config, work, packages)]
        archives = work / "cache" / "archives"
        download = _apt(config, archives, "download", *wanted)
        if download.returncode:
            raise UnavailableError(f"apt-get download: {_tail(download)}; the update before it said: {_tail(update)}")
        for archive in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", archive, work / "root"], check=True, timeout=_STEP_LIMIT_S)
        for unused in ("usr/share/doc", "usr/share/man"):
            shutil.rmtree(work / "root" / unused, ignore_errors=True)
        (work / "root").rename(root)


def _configure(work: Path) -> dict[str, str]:
    """apt's environment: the machine's own configuration (a proxy, say), then ours, which keeps it inside ``work``."""
    parts = work / "conf"
    for folder in (parts, work / "state" / "lists" / "partial", work / "cache" / "archives" / "partial"):
        folder.mkdir(parents=True)
    for source in sorted(Path("/etc/apt/apt.conf.d").glob("*")):
        (parts / source.name).symlink_to(source)
    (parts / "zzz-hostpulse").write_text(_APT_CONF.format(work=work))
    first = work / "apt.conf"
    first.write_text(f'Dir::Etc::Parts "{parts}";\n')
    return {**os.environ, "APT_CONFIG": str(first), "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def _libraries(config: dict[str, str], work: Path, packages: Sequence[str]) -> list[str]:
    """Shared-library packages that the programs need and this machine lacks."""
    plan = _apt(config, work, "install", "--simulate", "--no-install-recommends", *packages)
    if plan.returncode:
        raise UnavailableError(f"apt-get finds no way to provide {', '.join(packages)}: {_tail(plan)}")
    names = re.findall(r"^Inst (\S+)", plan.stdout, flags=re.MULTILINE)
    return sorted(name for name in set(names) - set(packages) if re.match(r"lib(?!js-)", name))


def _apt(config: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["apt-get", "--quiet=2", *arguments],
            env=config,
            cwd=folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_STEP_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"apt-get {arguments[0]} took longer than {_STEP_LIMIT_S:.0f} s") from error


def _tail(run: subprocess.CompletedProcess[str]) -> str:
    return " | ".join(run.stdout.strip().splitlines()[-6:]) or "nothing"

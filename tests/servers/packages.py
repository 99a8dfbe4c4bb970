"""Debian's own servers and load tools, unpacked into a cache of the checkout: no root, nothing installed.

apt works on lists and archives of its own (https://manpages.debian.org/bookworm/apt/apt.conf.5.en.html), with the
sources that the machine is set up for; ``dpkg-deb -x`` unpacks without running any maintainer script.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "servers"
PACKAGES: Mapping[str, tuple[str, ...]] = {  # package -> the programs that tests and benches take from it
    "prometheus": ("prometheus", "promtool"),
    "prometheus-alertmanager": ("prometheus-alertmanager", "amtool"),
    "prometheus-node-exporter": ("prometheus-node-exporter",),
    "victoria-metrics": ("victoria-metrics",),
    "stress-ng": ("stress-ng",),
    "nftables": ("nft",),
    "iperf3": ("iperf3",),
    "iproute2": ("ip", "tc", "ss"),
}
_LAYOUT = 2  # raise when what is unpacked, or how, changes
_STEP_LIMIT_S = 600.0
_FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")
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
    """Something that a test needs cannot be had on this machine; the text says what and why."""


def binary(name: str) -> Path:
    """Where the program ``name`` lies, unpacked on first use. Raises ``UnavailableError``."""
    assert any(name in programs for programs in PACKAGES.values()), f"{name} is in none of {list(PACKAGES)}"
    root = fill()
    for folder in _FOLDERS:
        path = root / folder / name
        if path.is_file():
            return path
    raise UnavailableError(f"{name} is missing in {root}: remove that folder and try again")


@lru_cache(maxsize=1)
def _search_paths(root: Path) -> tuple[list[str], list[str]]:
    """Folders with programs and folders with shared libraries."""
    libraries = {str(path.parent) for path in root.rglob("lib*.so*")}
    return [str(root / folder) for folder in _FOLDERS if (root / folder).is_dir()], sorted(libraries)


def environment() -> dict[str, str]:
    """This process's environment with the unpacked programs on PATH and their libraries on LD_LIBRARY_PATH."""
    programs, libraries = _search_paths(fill())
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join([*libraries, *([inherited] if inherited else [])]),
        "PATH": os.pathsep.join([*programs, os.environ.get("PATH", os.defpath)]),
    }


def fill() -> Path:
    """Unpack all packages unless they are there; returns the folder. Safe to call from several processes at once."""
    root = CACHE / _key()
    if root.is_dir():
        return root
    CACHE.mkdir(parents=True, exist_ok=True)
    with _locked(CACHE / "lock"):
        if not root.is_dir():
            for stale in (path for path in CACHE.iterdir() if path.is_dir()):
                shutil.rmtree(stale)
            _unpack(root)
    return root


def _key() -> str:
    """Changes with the set of packages, the release and the architecture, so that no other machine's files are used."""
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    parts = (_LAYOUT, *sorted(PACKAGES), release.get("ID"), release.get("VERSION_ID"), platform.machine())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _unpack(root: Path) -> None:
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"test servers come from Debian's packages, and this machine has no {tool}")
    with tempfile.TemporaryDirectory(prefix="work-", dir=CACHE) as folder:
        work = Path(folder)
        config = _configure(work)
        # A source that does not answer is no reason to stop: what matters is whether the packages can be had.
        update = _apt(config, work, "update")
        wanted = [*PACKAGES, *_libraries(config, work)]
        archives = work / "cache" / "archives"
        download = _apt(config, archives, "download", *wanted)
        if download.returncode:
            raise UnavailableError(
                f"apt-get download failed: {_tail(download)}; the update before it said: {_tail(update)}"
            )
        target = work / "root"
        for archive in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", archive, target], check=True, timeout=_STEP_LIMIT_S)
        for unused in ("usr/share/doc", "usr/share/man"):
            shutil.rmtree(target / unused, ignore_errors=True)
        _relocate(target)
        target.rename(root)


def _relocate(target: Path) -> None:
    """Let Debian's Alertmanager find its templates, whose place is compiled in, relative to its working folder."""
    program = target / "usr/bin/prometheus-alertmanager"
    program.write_bytes(program.read_bytes().replace(b"/usr/share/prometheus/", b"usr//share/prometheus/"))


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


def _libraries(config: dict[str, str], work: Path) -> list[str]:
    """Shared-library packages that the programs need and this machine lacks."""
    plan = _apt(config, work, "install", "--simulate", "--no-install-recommends", *PACKAGES)
    if plan.returncode:
        raise UnavailableError(f"apt-get finds no way to provide {', '.join(PACKAGES)}: {_tail(plan)}")
    names = re.findall(r"^Inst (\S+)", plan.stdout, flags=re.MULTILINE)
    return sorted(name for name in set(names) - set(PACKAGES) if re.match(r"lib(?!js-)", name))


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

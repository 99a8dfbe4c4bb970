"""The servers and load tools of Debian that tests and benches run, in a cache of the checkout."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from deploy.debian import UnavailableError, unpack

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
_FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")


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
            fresh = CACHE / f"new-{root.name}"
            unpack(tuple(PACKAGES), fresh)
            _relocate(fresh)
            fresh.rename(root)
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


def _relocate(target: Path) -> None:
    """Let Debian's Alertmanager find its templates, whose place is compiled in, relative to its working folder."""
    program = target / "usr/bin/prometheus-alertmanager"
    program.write_bytes(program.read_bytes().replace(b"/usr/share/prometheus/", b"usr//share/prometheus/"))

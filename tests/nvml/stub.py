"""The stub as a test uses it: built once by gcc, loaded into this process or found by a child, and told what to say."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from exporter.nvml import LIBRARY
from tests.servers import UnavailableError

_SOURCE = Path(__file__).with_name("stub.c")
VARIABLE = "NVML_STUB"


def build(folder: Path, *flags: str) -> Path:
    """The folder with a library in it; UnavailableError where there is no C compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise UnavailableError("gcc is not installed: the stand-in for NVIDIA's library cannot be built")
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-O1", "-shared", "-fPIC", *flags, f"-Wl,-soname,{LIBRARY}", "-o", str(folder / LIBRARY)]
    subprocess.run([*command, str(_SOURCE), "-lpthread"], check=True, timeout=60)
    return folder


class Stub:
    """What the library says, changed while it runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state"
        self._events = folder / "state.events"
        self.says: dict[str, str] = {}

    def load(self, library: Path) -> None:
        """Load the library into this process, where the binding finds it by its name."""
        os.environ[VARIABLE] = str(self.path)
        ctypes.CDLL(str(library / LIBRARY))

    def environment(self, library: Path) -> dict[str, str]:
        """For a child that is to find the library."""
        return {**os.environ, "LD_LIBRARY_PATH": str(library), VARIABLE: str(self.path)}

    def say(self, values: Mapping[str, object], gpu: int | str = "") -> None:
        """Add to what is said, of one GPU or of keys as they are."""
        self.says |= {f"{gpu}.{key}" if gpu != "" else key: str(value) for key, value in values.items()}
        self._write()

    def forget(self, *keys: str) -> None:
        """Say no more of these."""
        for key in keys:
            del self.says[key]
        self._write()

    def event(self, gpu: int, xid: int) -> None:
        """Have an error happen."""
        with self._events.open("a") as file:
            file.write(f"{gpu} {xid}\n")

    def clear(self) -> None:
        """Forget everything."""
        self.says = {}
        self._write()

    def _write(self) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text("".join(f"{key} {value}\n" for key, value in self.says.items()))
        fresh.replace(self.path)

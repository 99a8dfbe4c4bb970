"""What resident programs do while they are switched on: the loads of a normal host, and faults of our own.

Each takes a folder of its own and an event that ends it, and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

_MB = 1 << 20
_PAGE = mmap.PAGESIZE
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # else Python shares it, and the kernel counts it with tmpfs

Work = Callable[[Path, Event], None]


def nothing(_folder: Path, off: Event) -> None:
    """The control: a program that is switched on and does nothing."""
    off.wait()


def train(folder: Path, off: Event) -> None:
    """Steps of matrix products, and a checkpoint every twelve seconds that is forced to disk."""
    import numpy as np  # 30 MB that the other programs, of which there are many, do without

    weights, batch = np.ones((512, 512), np.float32), np.ones((256, 512), np.float32)
    checkpoint, step = folder / "checkpoint", 0
    while not off.wait(0.02):
        for _ in range(6):
            batch = np.tanh(batch @ weights / 512)
        step += 1
        if step % 400 == 0:
            _write(checkpoint, 24, off)
    checkpoint.unlink(missing_ok=True)


def build(folder: Path, off: Event) -> None:
    """Compiles Python's own library with two programs, again and again."""
    command = [sys.executable, "-m", "compileall", "-q", "-f", "-j", "2", sysconfig.get_path("stdlib")]
    while not off.is_set():
        # A group of its own, as the two programs do not end with the one that started them.
        with subprocess.Popen(
            command,
            env=os.environ | {"PYTHONPYCACHEPREFIX": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as compiler:
            while compiler.poll() is None and not off.wait(0.2):
                pass
            with contextlib.suppress(ProcessLookupError):
                os.killpg(compiler.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def copy(folder: Path, off: Event) -> None:
    """Copies of a file, twice a second, and bytes through a socket of this host."""
    source, target = folder / "source", folder / "target"
    source.write_bytes(os.urandom(4 * _MB))
    server = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(server.getsockname())
    receiver, _ = server.accept()
    drain = threading.Thread(target=_drain, args=(receiver,), daemon=True)
    drain.start()
    while not off.wait(0.5):
        data = source.read_bytes()
        target.write_bytes(data)
        sender.sendall(data)
    for one in (sender, receiver, server):
        one.close()
    source.unlink()
    target.unlink(missing_ok=True)


def _drain(receiver: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while receiver.recv(_MB):
            pass


def write(folder: Path, off: Event) -> None:
    """A writer that forces each 32 MB to disk."""
    target = folder / "written"
    while not off.is_set():
        _write(target, 32, off)
    target.unlink(missing_ok=True)


def _write(target: Path, megabytes: int, off: Event) -> None:
    block = os.urandom(_MB)
    with target.open("wb") as file:
        for _ in range(megabytes):
            if off.is_set():
                return
            file.write(block)
        file.flush()
        os.fsync(file.fileno())


def burn(_folder: Path, off: Event) -> None:
    """Two threads that want a CPU each; hashing lets both run."""
    block = bytes(8 * _MB)
    threads = [threading.Thread(target=_hash, args=(block, off)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _hash(block: bytes, off: Event) -> None:
    while not off.is_set():
        hashlib.sha256(block).digest()


def hog(_folder: Path, off: Event) -> None:
    """Children that want more memory than their group may have, each of which the kernel ends."""
    program = f"open('/proc/self/oom_score_adj','w').write('1000')\nb = bytearray({512 * _MB})\n" + (
        f"for i in range(0, len(b), {_PAGE}): b[i] = 1"
    )
    while not off.is_set():
        child = subprocess.Popen([sys.executable, "-c", program])
        while child.poll() is None and not off.wait(0.05):
            pass
        child.kill()
        child.wait()


def leak(_folder: Path, off: Event) -> None:
    """Touches another 32 MB ten times a second, up to 6 GB, and gives all back at the end."""
    held: list[mmap.mmap] = []
    while not off.wait(0.1):
        if len(held) < 192:
            held.append(mmap.mmap(-1, 32 * _MB, flags=_PRIVATE))
            _touch(held[-1], off)
    for memory in held:
        memory.close()


def swap(_folder: Path, off: Event) -> None:
    """Touches four times as much memory as its group may keep, again and again."""
    with mmap.mmap(-1, 256 * _MB, flags=_PRIVATE) as memory:
        while not off.is_set():
            _touch(memory, off)


def _touch(memory: mmap.mmap, off: Event) -> None:
    for place in range(0, len(memory), _PAGE):
        memory[place] = 1
        if place % (8 * _MB) == 0 and off.is_set():
            return


def thrash(folder: Path, off: Event) -> None:
    """Reads a file at random places that its group cannot keep in its page cache."""
    target, chance = folder / "thrashed", random.Random(0)
    with target.open("wb") as file:
        for _ in range(256):
            file.write(os.urandom(_MB))
    with target.open("rb", buffering=0) as file:
        while not off.is_set():
            os.pread(file.fileno(), 64 << 10, chance.randrange(256 * _MB))
    target.unlink()


def fill(folder: Path, off: Event) -> None:
    """Fills the filesystem that the folder is on, and keeps it full."""
    target, block = folder / "filler", bytes(4 * _MB)
    with contextlib.suppress(OSError), target.open("wb", buffering=0) as file:
        while not off.is_set() and file.write(block) == len(block):
            pass
    off.wait()
    target.unlink()


def xid(folder: Path, off: Event) -> None:
    """Writes what NVIDIA's driver says of a program that touched wrong memory, once a second, into a log like the
    kernel's."""
    with (folder / "kmsg").open("a", buffering=1) as log:
        while not off.is_set():
            log.write("3,1,1,-;NVRM: Xid (PCI:0000:10:00): 31, pid=1, name=python, MMU Fault.\n")
            off.wait(1.0)


WORKS: Mapping[str, Work] = {
    work.__name__: work for work in (nothing, train, build, copy, write, burn, hog, leak, swap, thrash, fill, xid)
}

"""A serving exporter: HTTP in the main thread's event loop, the sampler in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import resource
import signal
import socket
from threading import Thread

from tornado.netutil import bind_sockets

from exporter.engine import Engine
from exporter.pages import Pages
from exporter.server import Server
from exporter.settings import Settings

_STOP_S = 1.0
_ENOUGH_FILES = 1 << 20
_ENDING = (signal.SIGTERM, signal.SIGINT)
_HEEDED = (*_ENDING, signal.SIGHUP)
_LOG = logging.getLogger("exporter")


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT (0), or until the sampler breaks (1). The exit status is 1, too, for a taken port.

    Raises:
        SettingsError: a setting that only the collectors can judge is wrong.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)  # what comes during the start is heeded after it
    allow_many_files()
    engine = Engine(settings)
    host, port = settings.listen
    try:
        sockets = bind_sockets(port, host)
    except (OSError, UnicodeError) as error:  # the second for what is no name of a host
        reason = getattr(error, "strerror", None) or error
        _LOG.error("cannot listen on %s, given by --web.listen-address: %s", _url(host, port), reason)
        return 1
    return asyncio.run(_run(engine, settings, sockets))


async def _run(engine: Engine, settings: Settings, sockets: list[socket.socket]) -> int:
    server = Server(Pages(engine).by_path(), timeout_s=settings.timeout_s, max_connections=settings.max_connections)
    server.add_sockets(sockets)
    ends: asyncio.Queue[bool] = asyncio.Queue()  # whether it is the sampler, against its purpose, that has ended
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, ends.put_nowait, False)
    loop.add_signal_handler(signal.SIGHUP, _LOG.info, "SIGHUP changes nothing: no file of settings is read")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEEDED)

    def sample() -> None:
        try:
            engine.sampler.run()
        finally:
            loop.call_soon_threadsafe(ends.put_nowait, True)

    _settle_memory()
    thread = Thread(target=sample, name="sampler", daemon=True)
    thread.start()
    for bound in sockets:
        _LOG.info("listening on %s", _url(*bound.getsockname()[:2]))
    broken = await ends.get()
    engine.sampler.stop()
    server.stop()
    await asyncio.gather(
        asyncio.wait_for(server.close_all_connections(), _STOP_S),
        asyncio.to_thread(thread.join, _STOP_S),
        return_exceptions=True,
    )
    if broken:
        _LOG.error("the sampler has ended unexpectedly")
    return int(broken)


def allow_many_files() -> None:
    """Raise the limit of open files towards the hard one: a host of many CPUs and disks has thousands to hold."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _settle_memory() -> None:
    """Give back what only starting up needed, and have the collector of cycles leave alone what stays for good."""
    gc.collect()
    gc.freeze()
    with contextlib.suppress(AttributeError):  # glibc has it: https://man7.org/linux/man-pages/man3/malloc_trim.3.html
        ctypes.CDLL(None).malloc_trim(0)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

"""Collectors of GPUs: tables of what to ask NVML, cut down once for each GPU to what it answers.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlFieldValueQueries.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from math import isfinite, nan
from typing import Any, ClassVar, NamedTuple

from catalog.families import gpu
from catalog.family import Family
from catalog.series import Series
from exporter.collector import Collector, Context, Unavailable
from exporter.nvml import SESSION, Device, Lost

_NOW = "NVML asks the machine that it runs on: no capture holds its answers"
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
CLOCKS = {"graphics": 0, "sm": 1, "memory": 2, "video": 3}
"""Clock domains, NVML_CLOCK_…, by our label."""


class Part(NamedTuple):
    """What of an answer goes where: a family, the labels after ``gpu``, and how to get the value."""

    family: Family
    labels: tuple[str, ...] = ()
    value: Callable[[Any], float] = float


class Ask(NamedTuple):
    """One call with the GPU's handle, and the parts of its answer."""

    call: Callable[[Any], Any]
    parts: tuple[Part, ...]


class Field(NamedTuple):
    """A field value NVML_FI_DEV_``name``, asked for in one call with all others; ``divisor`` of its units are ours.

    ``number`` is its id where a driver has another one than the binding.
    """

    name: str
    family: Family
    labels: tuple[str, ...] = ()
    divisor: float = 1.0
    scope: int = 0
    number: int | None = None


def asking(call: Callable[..., Any], *arguments: int) -> Callable[[Any], Any]:
    """A call with a handle and what comes after it."""
    return lambda handle: call(handle, *arguments)


def divided(divisor: float) -> Callable[[float], float]:
    """A value in units of which so many make one of ours."""
    return lambda value: value / divisor


def hertz(megahertz: float) -> float:
    """A clock in base units."""
    return megahertz * 1e6


def told(nvml: Any, call: Callable[[], str]) -> str:
    """What a call says; empty where NVML does not tell."""
    try:
        return call()
    except nvml.NVMLError:
        return ""


def _number(field: Any) -> float:
    """The value of an answered field, by its type."""
    return float(getattr(field.value, _MEMBERS[field.valueType]))


class NvmlCollector(Collector):
    """A collector of whatever NVML says. A subclass gives the readings of one GPU, which may differ each time.

    Those of a GPU that does not answer any more are what it last had, without a value.
    """

    sources = ()

    def __init__(self, context: Context) -> None:
        if not context.host.live:
            raise Unavailable(_NOW)
        self.series = ()
        self._context = context
        self._last: dict[str, tuple[Series, ...]] = {}
        self._open = False
        SESSION.open()
        self._open = True

    def readings(self, nvml: Any, device: Device) -> Iterator[tuple[Series, float]]:
        """The readings of one GPU that is there; may raise NVMLError."""
        raise NotImplementedError

    def read(self) -> Sequence[float]:
        """The readings of all GPUs."""
        found: dict[Series, float] = {}
        with SESSION.calling() as nvml:
            for device in SESSION.devices:
                try:
                    own = dict(self.readings(nvml, device)) if device.handle is not None else None
                except nvml.NVMLError:
                    own = None
                if own is None:
                    own = dict.fromkeys(self._last.get(device.label, ()), nan)
                self._last[device.label] = tuple(own)
                found.update(own)
        if tuple(found) != self.series:
            self.series = tuple(found)
        return list(found.values())

    def close(self) -> None:
        """Leave NVML."""
        if self._open:
            self._open = False
            SESSION.close()


class _Gpu:
    """One GPU: what it answers, and the series of that. Probed when NVML was opened, and whenever it is anew."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.series: tuple[Series, ...] = ()
        self._fields: list[tuple[tuple[int, int], float]] = []
        self._asks: list[tuple[Callable[[Any], Any], tuple[Callable[[Any], float], ...]]] = []

    def probe(self, nvml: Any, wanted: Callable[[Family], bool], fields: Iterable[Field], asks: Iterable[Ask]) -> None:
        """Find out what there is; of equal series the first counts. ``Lost`` leaves things as they were."""
        label, seen, kept_fields, kept_asks = self.device.label, dict[Series, None](), [], []
        listed = [
            (field, (field.number or getattr(nvml, f"NVML_FI_DEV_{field.name}"), field.scope))
            for field in fields
            if wanted(field.family)
        ]
        answers = self._answer(nvml, lambda handle: _values(nvml, handle, [key for _, key in listed]))
        for (field, key), answer in zip(listed, answers if answers is not None else (), strict=False):
            series = field.family(label, *field.labels)
            if not SESSION.absent(answer.nvmlReturn) and series not in seen:
                seen[series] = None
                kept_fields.append((key, field.divisor))
        for ask in asks:
            parts = [part for part in ask.parts if wanted(part.family)]
            parts = [part for part in parts if part.family(label, *part.labels) not in seen]
            if parts and self._answer(nvml, ask.call) is not None:
                seen.update(dict.fromkeys(part.family(label, *part.labels) for part in parts))
                kept_asks.append((ask.call, tuple(part.value for part in parts)))
        self._fields, self._asks = kept_fields, kept_asks
        self.series = tuple(seen)

    def _answer(self, nvml: Any, call: Callable[[Any], Any]) -> Any:
        """What a call answers; None for what there is not, anything for what there may be another time."""
        try:
            return self._call(nvml, call)
        except nvml.NVMLError as error:
            return None if SESSION.absent(error.value) else ()

    def _call(self, nvml: Any, call: Callable[[Any], Any]) -> Any:
        """What a call answers; ``Lost`` where the GPU is gone, else NVMLError where there is no answer."""
        try:
            return call(self.device.handle)
        except nvml.NVMLError as error:
            if SESSION.lost(error.value):
                raise Lost(str(error)) from None
            raise

    def read(self, nvml: Any) -> list[float]:
        """One value for each of ``series``, NaN for what has none now; ``Lost`` where the GPU is gone."""
        if self.device.handle is None:
            raise Lost
        values: list[float] = []
        if self._fields:
            values += self._read_fields(nvml)
        for call, parts in self._asks:
            try:
                answer = self._call(nvml, call)
            except nvml.NVMLError:
                values += [nan] * len(parts)
            else:
                values += [value(answer) for value in parts]
        if values and not any(map(isfinite, values)):
            raise Lost("nothing is answered")
        return values

    def _read_fields(self, nvml: Any) -> list[float]:
        try:
            answers = self._call(nvml, lambda handle: _values(nvml, handle, [key for key, _ in self._fields]))
        except nvml.NVMLError:
            return [nan] * len(self._fields)
        if any(SESSION.lost(answer.nvmlReturn) for answer in answers if answer.nvmlReturn):
            raise Lost
        return [
            nan if answer.nvmlReturn else _number(answer) / divisor
            for answer, (_, divisor) in zip(answers, self._fields, strict=True)
        ]


def _values(nvml: Any, handle: Any, keys: list[tuple[int, int]]) -> Any:
    return nvml.nvmlDeviceGetFieldValues(handle, keys) if keys else ()


def instances(nvml: Any, handle: Any) -> Iterator[Any]:
    """Handles of the compute instances of a GPU; none where it is whole."""
    try:
        parted = nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE
    except nvml.NVMLError as error:
        if SESSION.lost(error.value):
            raise
        return
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle) if parted else 0):
        try:
            yield nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except nvml.NVMLError:
            continue


class GpuCollector(NvmlCollector):
    """A subclass says which fields and calls there are; each GPU is asked once which of them it has.

    A GPU that is lost keeps its series, without values, and the one that ``tells_up`` says so.
    """

    fields: ClassVar[tuple[Field, ...]] = ()
    tells_up: ClassVar[bool] = False

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._gpus: dict[str, _Gpu] = {}
        self._generation = -1
        with ExitStack() as otherwise:
            otherwise.callback(self.close)
            self._generation, self._gpus = SESSION.patiently(self.name, self._scanned)
            otherwise.pop_all()
        self._lay_out()

    def asks(self, nvml: Any) -> Iterable[Ask]:
        """The calls, each a function of a handle."""
        del nvml
        return ()

    def _scanned(self) -> tuple[int, dict[str, _Gpu]]:
        """All GPUs as they are now. One that is lost keeps what it had."""
        gpus: dict[str, _Gpu] = {}
        asks = tuple(self.asks(SESSION.nvml))
        for device in SESSION.devices:
            gpus[device.label] = one = self._gpus.get(device.label) or _Gpu(device)
            one.device = device
            if device.handle is not None:
                try:
                    one.probe(SESSION.nvml, self._context.wants, self.fields, asks)
                except Lost:
                    continue
        return SESSION.generation, gpus

    def _lay_out(self) -> None:
        ups = [gpu.UP(label) for label in self._gpus] if self.tells_up else []
        series = (*ups, *chain.from_iterable(one.series for one in self._gpus.values()))
        if series != self.series:
            self.series = series

    def read(self) -> Sequence[float]:
        """The values of all GPUs; a lost one is looked for at times."""
        with SESSION.calling() as nvml:
            if self._generation != SESSION.generation:
                self._generation, self._gpus = self._scanned()
                self._lay_out()
            ups, values = [], list[float]()
            for one in self._gpus.values():
                try:
                    own = one.read(nvml)
                except Lost:
                    ups.append(0.0)
                    values += [nan] * len(one.series)
                else:
                    ups.append(1.0)
                    values += own
            if 0.0 in ups:
                SESSION.renew()
        return [*ups, *values] if self.tells_up else values

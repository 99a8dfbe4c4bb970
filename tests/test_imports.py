"""One direction: catalog <- exporter, catalog <- detector; exporter and detector meet only over HTTP."""

from __future__ import annotations

import sys

import pytest

from tests.fresh import HEAVY, imported_by
from tests.tree import PRODUCT, Source, product

OUTSIDE = {
    "catalog": set[str](),
    "exporter": {"catalog", "psutil", "pyarrow", "pynvml", "shtab", "tornado"},
    "detector": {
        *(
            "catalog",
            "cramjam",
            "numpy",
            "orjson",
            "prometheus_client",
            "psutil",
            "pyarrow",
            "pydantic",
            "pydantic_core",
        ),
        *("requests", "rich", "shtab", "sklearn", "threadpoolctl", "tornado", "urllib3", "yaml"),
    },
}
CORE = "detector.pipeline"
CORE_OUTSIDE = {"catalog", "numpy", "sklearn"}
IMPURE = {
    "time",
    "os",
    "socket",
    "random",
    "logging",
    "datetime",
    "threading",
    "subprocess",
    "pathlib",
    "asyncio",
    "secrets",
}
FOREIGN = ("numpy", "sklearn", "requests", "pydantic", "prometheus_client", "pynvml", "pyarrow", "shtab")


def _outside(source: Source) -> set[str]:
    """Top-level names that a file imports and that are neither of the standard library nor of its own package."""
    tops = {name.partition(".")[0] for name in source.imports}
    return tops - sys.stdlib_module_names - {source.package}


@pytest.mark.parametrize("package", PRODUCT)
def test_package_imports_only_what_it_may(package: str) -> None:
    complaints = {
        source.name: extra
        for source in product()
        if source.package == package and (extra := _outside(source) - OUTSIDE[package])
    }
    assert complaints == {}


def test_collectors_do_not_know_each_other() -> None:
    known = [
        f"{source.name}: {name}"
        for source in product()
        if source.module.startswith("exporter.collectors.")
        for name in source.imports
        if name.startswith("exporter.collectors.") and not name.startswith(source.module)
    ]
    assert known == []


def test_core_of_the_detector_sees_no_clock_no_files_and_no_chance() -> None:
    impure = {name: extra for name, source in _core().items() if (extra := _tops(source) & IMPURE)}
    foreign = {name: extra for name, source in _core().items() if (extra := _outside(source) - CORE_OUTSIDE)}
    assert (impure, foreign) == ({}, {})


def test_core_of_the_detector_has_all_its_stages() -> None:
    stages = "frame", "channels", "windows", "features", "pruning", "calibration", "fusion", "episode", "attribution"
    assert {f"detector.{stage}" for stage in stages} <= _core().keys()


def test_exporter_stays_light() -> None:
    assert imported_by("import exporter.__main__", FOREIGN) == []


def test_detector_begins_without_what_only_some_of_its_work_needs() -> None:
    assert imported_by("import detector.commands.with_settings") == []


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["version"], ["explain"]])
def test_command_that_judges_nothing_imports_nothing_that_does(arguments: list[str]) -> None:
    program = """
import contextlib, detector.__main__
with contextlib.suppress(SystemExit):
    detector.__main__.main()"""
    assert imported_by(program, (*HEAVY, "tornado", "detector.commands.with_settings"), arguments) == []


def test_detector_has_its_signals_before_anything_takes_long() -> None:
    assert imported_by("import detector.__main__", ("numpy", "pydantic", "requests", "detector.options")) == []


def _tops(source: Source) -> set[str]:
    return {name.partition(".")[0] for name in source.imports}


def _core() -> dict[str, Source]:
    """What the pipeline is made of: all modules of the detector that it imports, directly or not."""
    modules = {source.module: source for source in product() if source.package == "detector"}
    found: dict[str, Source] = {}
    waiting = [CORE, *(name for name in modules if name.startswith("detector.detectors."))]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in found:
            found[name] = modules[name]
            waiting.extend(modules[name].imports)
    return found

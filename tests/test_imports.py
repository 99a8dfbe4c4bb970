"""One direction: catalog <- exporter, catalog <- detector; exporter and detector meet only over HTTP."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tree import PRODUCT, ROOT, Source, product

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
HEAVY = ("numpy", "sklearn", "requests", "pydantic", "prometheus_client", "pynvml", "pyarrow", "shtab")


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
    program = f"import exporter.__main__, sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == []


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

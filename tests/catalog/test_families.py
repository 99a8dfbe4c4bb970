"""The families as a whole: named alike, told apart, each read by one collector, none claimed by two aliases."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter, defaultdict

import pytest

from catalog import FAMILIES, families
from catalog.family import Family, Kind, Profile, Subsystem
from exporter.collector import discover

DECLARED = [
    (module.name, constant, value)
    for module in pkgutil.iter_modules(families.__path__, "catalog.families.")
    for constant, value in vars(importlib.import_module(module.name)).items()
    if isinstance(value, Family)
]


@pytest.mark.parametrize(("module", "constant", "family"), DECLARED, ids=[name for _, name, _ in DECLARED])
def test_constant_is_named_as_its_family(module: str, constant: str, family: Family) -> None:
    name = family.name.removeprefix(f"hostpulse_{family.subsystem}_").removesuffix("_total").upper()
    assert constant == name
    parts = {"rdma", "perf", "cgroup", "ethtool", "gpuhealth", "memoryerrors", "mig", "nfs", "numa", "pages", "softnet"}
    assert module.rpartition(".")[2] in {str(family.subsystem), *parts}


def test_every_family_is_read_by_a_collector_and_every_collector_reads_families() -> None:
    read = {family.name for kind in discover().values() for family in kind.families}
    assert read == set(FAMILIES)


def test_no_two_families_have_the_same_help() -> None:
    texts = Counter(f"{family.subsystem}: {family.help}" for family in FAMILIES.values())
    # An RDMA port's bytes and packets are told by their family's name.
    assert [text for text, count in texts.items() if count > 1 and "eived." not in text and "sent." not in text] == []


def test_foreign_sample_is_only_one_of_ours() -> None:
    owners = defaultdict(list)
    for family in FAMILIES.values():
        for alias in family.aliases:
            owners[alias.name, tuple(sorted(alias.match.items()))].append(family.name)
    assert {key: names for key, names in owners.items() if len(names) > 1} == {}


def test_aliases_give_labels_that_the_family_has() -> None:
    for family in FAMILIES.values():
        for alias in family.aliases:
            assert {*alias.adds, *alias.renames} <= {*family.labels}, f"{family.name}: {alias.name}"
            assert not {*alias.adds} & {*alias.renames}, f"{family.name}: {alias.name}"


def test_core_profile_spans_the_host() -> None:
    core = [family for family in FAMILIES.values() if family.profile is Profile.CORE]
    assert len(core) >= 90
    counts = Counter(family.subsystem for family in core)
    for subsystem in (Subsystem.CPU, Subsystem.MEMORY, Subsystem.NETWORK, Subsystem.STORAGE):
        assert counts[subsystem] >= 9, f"{subsystem} has {counts[subsystem]}"


def test_seconds_since_boot_and_epoch_are_gauges() -> None:
    for family in FAMILIES.values():
        if "timestamp" in family.name or "boot_time" in family.name:
            assert family.kind is Kind.GAUGE

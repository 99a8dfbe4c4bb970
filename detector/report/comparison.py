"""The report of one stretch of time beside another one: of the same host at another time, or of another host.

No model is needed: what is usual is what the other stretch was like.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from catalog.signal import JUDGED_SUBSYSTEMS, Role
from detector import attribution
from detector.channels import Channel
from detector.diagnosis.diagnose import Moved, diagnose
from detector.diagnosis.finding import Finding
from detector.diagnosis.signature import Signature
from detector.features import from_scale
from detector.frame import Floats
from detector.high import high
from detector.readable import duration, quantity
from detector.report.document import Bars, Block, Chart, Prose, Report, Section, Table, moment
from detector.report.incident import causes_of
from detector.report.levels import Levels, level_features
from detector.scaling import fit_scaler

_LEAST = 2.0  # robust standard deviations; what differs by less may be chance
_MOST_ROWS, _MOST_CHARTS = 20, 8


@dataclass(frozen=True, slots=True)
class _Beside:
    """What differs: ``z`` float64[C], signed; medians in the channels' units; ``typical`` is of the other stretch."""

    channels: tuple[Channel, ...]
    z: Floats
    actual: Floats
    typical: Floats
    shares: Mapping[str, float]

    @property
    def most(self) -> list[int]:
        """Columns that differ, those first that say most."""
        weights = np.array([attribution.ROLE_WEIGHT[channel.role] for channel in self.channels])
        order = np.argsort(-np.abs(self.z) * weights, kind="stable")
        return [int(column) for column in order if abs(self.z[column]) >= _LEAST]


def report_of_comparison(one: Levels, other: Levels, signatures: Mapping[str, Signature]) -> Report:
    """What was different in one stretch of time from another."""
    beside = _compare(one, other)
    moved = [
        Moved(channel, float(z), float(typical), float(actual))
        for channel, z, typical, actual in zip(beside.channels, beside.z, beside.typical, beside.actual, strict=True)
    ]
    findings = diagnose(moved, signatures.values())
    sections = [Section("What is compared", (_stretches(one, other),))]
    if beside.most:
        sections += causes_of(findings, signatures)
        sections.append(Section("What differs", (_table(beside), *_charts(one, beside))))
        sections.append(Section("Subsystems", tuple(_subsystems(beside))))
    return Report(
        f"{one.name}: {_title(one, other)}",
        _lead(beside, findings),
        tuple(sections),
        _data(one, other, beside, findings),
    )


def _compare(one: Levels, other: Levels) -> _Beside:
    """Medians beside medians; of errors, which are rare, the largest."""
    common = tuple(channel for channel in other.channels if channel in set(one.channels))
    features = level_features(common)
    here, there = one.of(common), other.of(common)
    scaler = fit_scaler(there, features)
    z_here, z_there = scaler.deviations(here), scaler.deviations(there)
    errors = np.array([channel.role is Role.ERROR for channel in common], dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a channel that one of them has no value of
        z = np.where(errors, np.nanmax(z_here, axis=0), np.nanmedian(z_here, axis=0)) - np.where(
            errors, np.nanmax(z_there, axis=0), np.nanmedian(z_there, axis=0)
        )
        actual = np.where(errors, np.nanmax(here, axis=0), np.nanmedian(here, axis=0))
        typical = np.nanmedian(there, axis=0)
    evidence = attribution.weighted(np.nan_to_num(np.abs(z))[None, :], features)
    usual = attribution.by_subsystem(attribution.weighted(np.nan_to_num(np.abs(z_there)), features), features)
    shares = attribution.shares(
        attribution.by_subsystem(evidence, features)[0],
        np.maximum(high(usual), attribution.LEAST_EVIDENCE),
        {feature.channel.subsystem for feature in features},
    )
    return _Beside(common, np.nan_to_num(z), from_scale(actual, features), from_scale(typical, features), shares)


def _title(one: Levels, other: Levels) -> str:
    return f"beside {other.name}" if one.name != other.name else f"beside {moment(float(other.end_s[0]))}"


def _lead(beside: _Beside, findings: tuple[Finding, ...]) -> str:
    if not beside.most:
        return "Hardly anything differs."
    leading = attribution.leading(dict(beside.shares))
    text = f"{len(beside.most)} signals differ"
    text += "; no subsystem leads" if leading == attribution.UNKNOWN else f", most of all in {leading}"
    if not findings:
        return f"{text}. No known cause fits."
    return f"{text}. Most likely: {findings[0].title[0].lower()}{findings[0].title[1:]} ({findings[0].confidence:.0%})."


def _stretches(one: Levels, other: Levels) -> Table:
    rows = tuple(
        (
            what,
            levels.name,
            moment(float(levels.end_s[0])),
            duration(float(levels.end_s[-1] - levels.end_s[0])),
            str(len(levels.end_s)),
        )
        for what, levels in (("this", one), ("beside", other))
    )
    return Table(("", "host", "from", "for", "windows"), rows)


def _table(beside: _Beside) -> Table:
    rows = tuple(
        (
            str(channel),
            channel.subsystem,
            quantity(float(beside.actual[column]), channel.unit),
            quantity(float(beside.typical[column]), channel.unit),
            f"{beside.z[column]:+.1f} σ",
        )
        for column in beside.most[:_MOST_ROWS]
        for channel in (beside.channels[column],)
    )
    return Table(("signal", "subsystem", "this", "beside", "difference"), rows)


def _charts(one: Levels, beside: _Beside) -> Iterator[Chart]:
    for column in beside.most[:_MOST_CHARTS]:
        channel = beside.channels[column]
        values = from_scale(one.of((channel,)), level_features((channel,)))[:, 0]
        points = tuple(
            (float(end_s), float(value)) for end_s, value in zip(one.end_s, values, strict=True) if np.isfinite(value)
        )
        yield Chart(str(channel), channel.unit, points, ("beside", float(beside.typical[column])))


def _subsystems(beside: _Beside) -> Iterator[Block]:
    yield Prose("Parts of the difference by subsystem, each by what is usual for it:")
    yield Bars(tuple(sorted(beside.shares.items(), key=lambda pair: -pair[1])))


def _data(one: Levels, other: Levels, beside: _Beside, findings: tuple[Finding, ...]) -> dict[str, object]:
    assert set(beside.shares) == set(JUDGED_SUBSYSTEMS), "each subsystem has a share"
    return {
        "this": {"instance": one.name, "from": float(one.end_s[0]), "to": float(one.end_s[-1])},
        "beside": {"instance": other.name, "from": float(other.end_s[0]), "to": float(other.end_s[-1])},
        "shares": dict(beside.shares),
        "signatures": [finding.model_dump(by_alias=True) for finding in findings],
        "differences": [
            {
                "channel": str(beside.channels[column]),
                "subsystem": beside.channels[column].subsystem,
                "unit": beside.channels[column].unit,
                "this": float(beside.actual[column]),
                "beside": float(beside.typical[column]),
                "deviation": float(beside.z[column]),
            }
            for column in beside.most
        ],
    }

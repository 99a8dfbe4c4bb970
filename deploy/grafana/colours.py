"""Colours that the colour-blind tell apart, and the words that go with those of states.

The palette of Okabe and Ito, https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

from catalog.signal import JUDGED_SUBSYSTEMS

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#999999"
GOOD, WARN, BAD, NEUTRAL = SKY, ORANGE, VERMILION, GREY
CLEAR, TEXT = "transparent", "text"
SERIES = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILION, BLUE, GREY)
SUBSYSTEMS = {**dict(zip(JUDGED_SUBSYSTEMS, SERIES, strict=False)), "unknown": GREY}
DETECTORS = {"fused": VERMILION, "deviation": SKY, "subspace": GREEN, "forest": PURPLE, "peers": YELLOW}


def one_after_another() -> Iterator[str]:
    """The colours of a panel's queries, in order."""
    return cycle(SERIES)


def steps(*bounds: tuple[str, float | None]) -> dashboard.ThresholdsConfig:
    """A colour from each bound on; the first bound is None."""
    thresholds = [models.Threshold(value, colour) for colour, value in bounds]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(thresholds)


def names(**colours: str) -> models.ValueMap:
    """0, 1, 2, … shown as the given words in the given colours."""
    return models.ValueMap(
        {
            str(value): models.ValueMappingResult(text=name.replace("_", ", "), color=colour, index=value)
            for value, (name, colour) in enumerate(colours.items())
        }
    )


def fixed(colour: str, mode: str = "fixed") -> models.DynamicConfigValue:
    """A series of that colour; mode ``shades`` gives the series of one query shades of it."""
    return models.DynamicConfigValue("color", {"mode": mode, "fixedColor": colour})

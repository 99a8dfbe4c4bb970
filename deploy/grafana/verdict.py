"""What the detector says of one host, as panels that several boards share."""

from __future__ import annotations

from collections.abc import Iterator

from grafana_foundation_sdk.builders import stat, statetimeline, timeseries
from grafana_foundation_sdk.models.dashboard import ValueMap

from catalog import outputs
from deploy.grafana import colours
from deploy.grafana.board import link
from deploy.grafana.chosen import of, state
from deploy.grafana.colours import BAD, CLEAR, GOOD, NEUTRAL, WARN
from deploy.grafana.panels import Query, bounded, lines, named_colours, number, stacked, timeline

BOUND = 1.0
_HALF = 12  # of a row
REPORT = "${detector}/report?instance=${__field.labels.instance}&at=${__value.time:date:seconds}"
_OUTLOOK = colours.steps((GOOD, None), (WARN, 0.7), (BAD, BOUND))


def states(quiet: str = GOOD) -> ValueMap:
    """The words for what ``chosen.state`` tells."""
    return colours.names(quiet=quiet, anomaly=WARN, page=BAD)


def figures() -> Iterator[stat.Panel]:
    """The verdict now, in six numbers."""
    score = number("Score", of(outputs.SCORE, 'detector="fused"'), "How unusual the host is; 1 is the bound.")
    yield score.decimals(2).thresholds(_OUTLOOK)
    now = number(
        "State", state("instance"), "Whether an episode of the chosen subsystems is open, and at which budget."
    )
    yield now.mappings([states()]).thresholds(colours.steps((GOOD, None), (WARN, 1.0), (BAD, 2.0)))
    agreement = number("Detectors over their bound", of(outputs.AGREEMENT), "How many detectors find it unusual.")
    yield agreement.thresholds(colours.steps((GOOD, None), (WARN, 1.0), (BAD, 3.0)))
    yield _model()
    covered = number(
        "Features with data", of(outputs.COVERAGE), "Part of what the model knows that has data now.", "percentunit"
    )
    yield covered.thresholds(colours.steps((BAD, None), (WARN, 0.5), (GOOD, 0.8)))
    lag = number("Behind", of(outputs.WINDOW_LAG), "From the end of a window to its verdict.", "s")
    yield lag.decimals(2).thresholds(colours.steps((GOOD, None), (WARN, 2.0), (BAD, 10.0)))


def scores() -> timeseries.Panel:
    """Each detector's score, with the bound; a click leads to the report of that moment."""
    panel = lines(
        "Score of each detector",
        [Query(of(outputs.SCORE), "{{detector}}")],
        "short",
        "The dashed line is the bound, 1 for every detector and every host. A click leads to the report.",
        _HALF,
    )
    panel.axis_soft_max(1.2).min(0).decimals(1).data_links([link("Report of this moment", REPORT)])
    return named_colours(bounded(panel, (BAD, BOUND)), colours.DETECTORS)


def shares() -> timeseries.Panel:
    """What the anomaly is made of, over time."""
    query = Query(of(outputs.SUBSYSTEM_SHARE), "{{subsystem}}")
    panel = lines("Share of each subsystem", [query], "percentunit", "What the anomaly is made of.", _HALF)
    return named_colours(stacked(panel), colours.SUBSYSTEMS)


def episodes() -> statetimeline.Panel:
    """Open episodes by the subsystem that they are blamed on."""
    told = "The subsystem that an open episode is blamed on."
    return timeline("Episodes", Query(state("subsystem"), "{{subsystem}}"), states(CLEAR), told, height=7)


def _model() -> stat.Panel:
    told = "Provisional: the bound still rests on little data. Frozen: an open episode stops learning."
    panel = number("Model", f"{of(outputs.PROVISIONAL)} + 2 * {of(outputs.FROZEN)}", told)
    words = colours.names(calibrated=GOOD, provisional=NEUTRAL, frozen=WARN, provisional_frozen=WARN)
    return panel.mappings([words]).thresholds(colours.steps((GOOD, None)))

"""The page about diagnosis: how signatures are weighed, and which there are."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.signal import JUDGED_SUBSYSTEMS
from detector.diagnosis.diagnose import LEAST_CONFIDENCE, MOST_FINDINGS
from detector.diagnosis.library import signatures
from detector.diagnosis.signature import Clue, Signature

_INTRODUCTION = f"""\
# Diagnosis

Rendered by `python -m deploy.render` from `detector/diagnosis/signatures/`; to change a signature, change its file.

An incident says what moved. A *signature* says what that may mean: one file each, with what speaks for it and against
it, what to check (commands that change nothing), what to change, and where to read more. `hostpulse-detector explain`
lists them, `hostpulse-detector explain NAME` prints one in full. The likely ones are in every incident of
`/api/v1/incidents` and in every report, the most likely first.

## How well a signature fits

Of each signal the deviation of its level counts, in robust standard deviations, as the mean since the onset less the
mean just before it; of errors, where once is enough, the largest. From 1.5 on a deviation has a strength, by its
logarithm, up to 1 at 5 for errors, 6 for states, 8 for saturation and 10 for utilisation, which moves with any load.

1. What is there: the weights of the clues times their strengths, less those of what speaks against it, by all weights.
   Clues of one *group* tell the same, and the strongest of them counts. A clue that the host has no signal for counts
   by half. Without one of the *needed* clues nothing fits.
2. What it explains: up to two fifths are taken off for whatever else moved (utilisation by a quarter). So of two that
   fit, the one comes first that leaves less open.

The confidence is the product, 0 to 1. Below {LEAST_CONFIDENCE:g} nothing is said, and never more than {MOST_FINDINGS}
causes. It is no probability: it orders causes, and `for` and `against` say why.

Some clues are *probes*: signals that are looked at in an incident and not judged by themselves, such as XID errors by
their number, the table of tracked connections and steps of the wall clock (`detector/diagnosis/probes.py`).

## Reports

A report says on one page what happened, where, since when, what to check and what to change. It is one HTML file
without scripts that works offline, on a phone and on paper (`html`), text for a ticket (`md`), or data (`json`).

| the detector serves | what it tells |
| --- | --- |
| `/report?instance=HOST&at=TIME` | the link of alerts: the incident then, or of the hour before, or all of two hours |
| `/report?incident=ID` | one incident |
| `/report?instance=HOST&from=TIME&to=TIME` | all incidents of a period and what dominates them |
| `/report` | the same of all hosts and all that is kept |

`&format=md` and `&format=json` choose another form. Times are seconds since the epoch or such as
`2027-01-15T08:00:00Z`.

| the command prints | what it tells |
| --- | --- |
| `hostpulse-detector report --incident=ID` | one incident, out of `state.directory` |
| `hostpulse-detector report --instance=HOST --at=now-2h` | the same on a terminal |
| `hostpulse-detector report --from=now-7d` | all incidents of a week and what dominates them |
| `… --instance=HOST --from=now-3h --to=now-2h` | the same; without any, samples beside those of the hour before |
| `… --beside=now-27h/now-26h` | the samples beside those of another time |
| `… --beside=OTHER` | the samples beside those of another host |
| `… --recording=PATH` | samples out of a recording instead of the source |

A comparison needs no model: what is usual is what the other stretch of time was like, in medians of up to 300 windows.
Samples come from a source that keeps a past (`source.prometheus.url`) or from a [recording](recording.md). It answers
why a job was slow where no alarm was raised. `--format=html`, `md` (the default) or `json`.

A host may be named without its port, on pages and by `--instance`, where there is only one of that name. An id
goes with nothing but a format, and a moment (`at`) with a host and a format: more is an error that says so.

## To add a signature

One file `detector/diagnosis/signatures/NAME.yml` as those that are there. Unknown keys, signals that the catalog does
not have, labels that a signal does not have and directions that are not judged are errors that name the field. The
tests then ask that the signature comes first where its own evidence is, that it can be told from all others, and that
noise is none. Run `python -m deploy.render` for this page.

## Signatures
"""


def diagnosis_page() -> str:
    """The whole page."""
    return _INTRODUCTION + "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    for subsystem in JUDGED_SUBSYSTEMS:
        own = [signature for signature in signatures().values() if signature.subsystem == subsystem]
        yield from (
            "",
            f"### {subsystem}",
            "",
            "| name | what it is | needs | speaks against it |",
            "| --- | --- | --- | --- |",
        )
        yield from map(_row, own)


def _row(signature: Signature) -> str:
    needed = [clue for clue in signature.clues if clue.needed]
    cells = f"`{signature.name}`", signature.title, _named(needed, " or "), _named(signature.doubts, ", ")
    return f"| {' | '.join(cells)} |"


def _named(clues: tuple[Clue, ...] | list[Clue], between: str) -> str:
    return between.join(dict.fromkeys(f"`{clue.signal}` {clue.direction}" for clue in clues))

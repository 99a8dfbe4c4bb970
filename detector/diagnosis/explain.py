"""What a signature says, as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from detector.config import nearest
from detector.diagnosis.signature import Clue, Signature

_WIDTH = 100


class UnknownSignatureError(Exception):
    """There is no signature of that name; the message names the nearest."""


def explain(name: str, signatures: Mapping[str, Signature]) -> str:
    """One signature in full, or without a name a line for each.

    Raises:
        UnknownSignatureError: there is none of that name.
    """
    if not name:
        widest = max(map(len, signatures))
        return "".join(f"{one.name:<{widest}}  {one.subsystem:<8} {one.title}\n" for one in signatures.values())
    if name not in signatures:
        others = nearest(name, signatures) or "; explain without a name lists them"
        raise UnknownSignatureError(f"explain: there is no signature {name}{others}")
    return "".join(f"{line}\n" for line in _lines(signatures[name]))


def _lines(signature: Signature) -> Iterator[str]:
    yield f"{signature.name}: {signature.title} ({signature.subsystem})"
    yield ""
    yield from _wrapped(signature.cause, "")
    yield from ("", "Speaks for it:", *_clues(signature.clues))
    if signature.doubts:
        yield from ("", "Speaks against it:", *_clues(signature.doubts))
    yield from ("", "To check:")
    for check in signature.check:
        yield f"  {check.run}"
        yield from _wrapped(check.look_for, "      ")
    yield from ("", "To change:")
    for change in signature.change:
        yield from _wrapped(change, "  - ", "    ")
    yield from ("", "To read:", *(f"  {one.title}\n    {one.url}" for one in signature.reference))


def _clues(clues: Sequence[Clue]) -> Iterator[str]:
    for clue in clues:
        labels = "".join(f" {label}={value}" for label, value in clue.labels.items())
        needed = ", needed" if clue.needed else ""
        yield f"  {clue.signal}{labels} {clue.direction} (weight {clue.weight:g}{needed})"
        yield from _wrapped(clue.why, "      ")


def _wrapped(text: str, first: str, later: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=later or first, break_on_hyphens=False)

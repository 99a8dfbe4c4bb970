"""Comparison: one window of a host against its peers, and whose evidence tells what ails the host."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from detector.company import Company
from detector.frame import Floats
from detector.judge import Judge
from detector.peers import PeerState
from detector.state import HostState


@dataclass(frozen=True, slots=True)
class Compared:
    """``score`` with its bound at 1, ``apart`` that it was calibrated from, its tail probability ``p_value``; ``z`` and
    ``typical`` float64[F]: how far the host is from its peers, and what they make one expect of it."""

    score: float
    apart: float
    p_value: float
    z: Floats
    typical: Floats


def joined(state: HostState, company: Company) -> HostState:
    """The state of a host that is in this company; what it learned among another group counts no more."""
    if company.group == state.peers.group:
        return state
    # What waits to be learned has the old columns.
    return replace(state, peers=PeerState(company.group), pending=(), flagged=())


def compare(
    state: HostState, x: Floats, middle: Floats, end_s: float, judge_by: Judge
) -> tuple[HostState, Compared | None]:
    """Compare features ``x`` float64[F] with the others' ``middle`` float64[F], in the columns of the host's model.

    None without a model of the peers, and where too few of them are there.
    """
    peers = state.peers
    model = peers.model
    if model is None:
        return state, None
    z = model.deviations(x[None, :], middle[None, :])
    newest = float(model.normalised(z)[0])
    if np.isnan(newest):
        return state, None
    since_s = judge_by.since_s(end_s, judge_by.smoothing.windows)
    recent = (*(item for item in peers.normalised if item[0] > since_s), (end_s, newest))
    apart = judge_by.smoothing.newest(np.array([[value] for _, value in recent]))
    size = (end_s, np.abs(np.nan_to_num(z[0])).astype(np.float32))
    peers = replace(peers, normalised=recent, sizes=(*peers.sizes, size)[-judge_by.sizes_kept :])
    score, p_value = model.calibration.score(apart), model.calibration.p_value(apart)
    typical = model.typical(middle[None, :])[0]
    return replace(state, peers=peers), Compared(float(score[0]), float(apart[0]), float(p_value[0]), z[0], typical)


def lead(state: HostState) -> bool:
    """Whether the peers tell more of the newest window than the host's own past; of an episode, what opened it."""
    if not state.peers.sizes:
        return False
    if state.episode.open:
        return state.peers.leads
    newest = state.scores[-1]
    return newest.peers > newest.score  # False while there is no such score


def page(state: HostState, sudden: float, lasting: float, apart: float) -> bool:
    """Whether any alarm rule's level is beyond its own page score: of the host's past, or of the comparison."""
    assert state.model is not None, "a host without a model has no episodes"
    found = [(sudden, state.model.fused), (lasting, state.model.lasting)]
    if state.peers.model is not None:
        found.append((apart, state.peers.model.calibration))
    return any(calibration is not None and level > calibration.page_score() for level, calibration in found)

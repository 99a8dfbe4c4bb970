"""What a past teaches: which windows are learned from, when a model is fitted, what becomes of an episode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from detector.calibration import MARGIN
from detector.company import among
from detector.episode import Episode
from detector.features import names_of
from detector.frame import Floats
from detector.judge import DAY_S, Judge
from detector.model import FUSED, LASTING, Model, fit_model
from detector.paper import fit_paper
from detector.peers import PeerState, fit_peers
from detector.recurrence import Pattern, shape_of, usual
from detector.state import NO_LEVELS, HostState, Levels, Scored
from detector.timescale import time_scale_s, window_for
from detector.training import FULL_ROWS, Float32s, align

MOST_FLAGGED, MOST_CLOSED = 200, 50  # windows of an episode that are kept, and episodes


def due(state: HostState, end_s: float, judge_by: Judge) -> bool:
    """Whether a fit is due: after the first baseline, at each doubling of it, then every ``refit_s``, and once what was
    flagged is usual."""
    if state.training.calm_rows < judge_by.least_rows or np.isnan(state.baseline_from_s):
        return False
    span_s = end_s - state.baseline_from_s
    if state.model is None or state.rebaselining:
        return span_s >= judge_by.baseline_s
    if state.episode.open or (state.scores and state.scores[-1].exceeds):
        return False  # windows that a fit disturbs are not judged: not while an episode may begin
    if state.flagged:
        return False  # an episode is compared with others, and counts, by the model that it was judged by
    doubled = state.training.rows >= min(2 * state.model.rows, FULL_ROWS)
    return state.outdated or end_s - state.fitted_s >= judge_by.refit_s or (_growing(state) and doubled)


def _growing(state: HostState) -> bool:
    """Whether the model in use, if any, saw clearly less than the training memory can hold."""
    return state.model is None or state.model.rows < FULL_ROWS


def fit(state: HostState, judge_by: Judge) -> HostState:
    """The state with a model of all that was learned so far; takes about a second."""
    ends_s, x, names = state.training.table()
    x = align(x, names, names_of(state.features))
    # Scores of a model of minutes and of one of hours are not of one kind: the maxima start over while it grows.
    growing = _growing(state)
    maxima, lasting_maxima = (np.empty(0) if growing else each for each in (state.maxima, state.lasting_maxima))
    per_day = DAY_S / judge_by.maxima_period_s
    rules = judge_by.rules(bool(state.peers.group))
    peers = _fit_peers(state, judge_by, rules)
    past = {FUSED: (judge_by.sudden.shared(rules), maxima)}
    if judge_by.lasting is not None:
        past[LASTING] = (judge_by.lasting.shared(rules), lasting_maxima)
    flagged = state.training.flagged()
    model = fit_model(ends_s, x, flagged, state.features, judge_by.window_s, past, per_day, judge_by.smoothing)
    if judge_by.window_bounds_s is not None:
        wanted_s = judge_by.window_bounds_s[0]  # of a host with peers, who are compared in windows of one length
        if not state.peers.group:
            wanted_s = window_wanted_s(model, ends_s, x, judge_by)
        newest = state.wanted_s if np.isnan(wanted_s) else (*state.wanted_s, wanted_s)[-2:]
        state = replace(state, window_s=judge_by.window_s, wanted_s=newest)
    state = replace(
        state,
        model=model,
        peers=peers,
        paper=fit_paper(x, names_of(state.features)) if judge_by.paper else None,
        maxima=maxima,
        lasting_maxima=lasting_maxima,
        scores=tuple(replace(scored, fused=np.nan) for scored in state.scores),  # of another scale
        outdated=False,
        fits=state.fits + 1,
        fitted_s=state.last_end_s,
        normalised=(),
        sizes=(),
        past_size=None,
        past_count=0,
        before=None,
    )
    if state.rebaselining:
        state = replace(state, rebaselining=False, episode=Episode(), scores=(), pending=())
    return state


def window_wanted_s(model: Model, ends_s: Floats, x: Floats, judge_by: Judge) -> float:
    """How long windows ought to be by those that a model was fitted on, ends float64[N] and features [N, F]; NaN where
    they do not tell."""
    assert judge_by.window_bounds_s is not None, "only asked where windows are adaptive"
    means = [column for column, feature in enumerate(model.features) if feature.statistic == "mean"]
    scale_s = time_scale_s(ends_s, model.parts.scaler.deviations(x)[:, means], judge_by.window_s)
    return window_for(scale_s, judge_by.window_bounds_s, judge_by.stride_s)


def _fit_peers(state: HostState, judge_by: Judge, rules: int) -> PeerState:
    """The host among its peers, with a model where enough was learned while they were there, one of so many rules."""
    peers = state.peers
    if not peers.group:
        return peers
    ends_s, rows, names = state.training.table()
    own = names_of(state.features)
    x, middle = align(rows, names, own), align(rows, names, among(own, peers.group))
    there = ~np.isnan(middle).all(axis=1) & ~state.training.flagged()
    peers = replace(peers, model=None, normalised=(), sizes=(), maxima=np.empty(0) if _growing(state) else peers.maxima)
    if there.sum() < judge_by.least_rows:
        return peers
    model = fit_peers(
        ends_s[there],
        x[there],
        middle[there],
        state.features,
        judge_by.window_s,
        peers.maxima,
        DAY_S / judge_by.maxima_period_s,
        judge_by.sudden.shared(rules),
        judge_by.smoothing,
    )
    return replace(peers, model=model)


def learn(state: HostState, end_s: float, x: Float32s, names: tuple[str, ...], judge_by: Judge) -> HostState:
    """The state after learning from a window; from none of them while an episode is open or just over."""
    episode = state.episode
    if episode.open and not state.rebaselining and _outlasts_what_is_known(state, end_s, judge_by):
        training = state.training
        for each_s, each in state.flagged:
            training = training.add(each_s, each, names, judge_by.stride_s)
        peers = replace(state.peers, worst=-np.inf)
        state = replace(state, training=training, pending=(), flagged=(), worst=NO_LEVELS, peers=peers)
        rebaselines = state.rebaselines + (not judge_by.again)
        state = replace(state, rebaselining=True, rebaselines=rebaselines, baseline_from_s=end_s)
    if state.rebaselining:
        return replace(state, training=state.training.add(end_s, x, names, judge_by.stride_s))
    now = levels(state, end_s, judge_by)
    apart = judge_by.sudden.level([scored.apart for scored in recent(state, end_s, judge_by)])
    if episode.open or end_s - episode.closed_s <= judge_by.merge_s:
        flagged = (*state.flagged, *state.pending, (end_s, x))[-MOST_FLAGGED:]
        peers = replace(state.peers, worst=max(state.peers.worst, apart))
        return replace(state, pending=(), flagged=flagged, worst=largest(state.worst, now), peers=peers)
    if state.flagged:
        state = _settle(state, names, judge_by)
    if state.model is not None:
        now = _capped(now, state.model)  # beyond the bound without an episode is what was expected
    state = _count_period(state, end_s, now, apart, judge_by)
    pending = (*state.pending, (end_s, x))
    training = state.training
    if len(pending) > (judge_by.lasting_of if state.model and state.model.lasting else judge_by.of):
        training = training.add(*pending[0], names, judge_by.stride_s)
        pending = pending[1:]
    return replace(state, training=training, pending=pending)


def _outlasts_what_is_known(state: HostState, end_s: float, judge_by: Judge) -> bool:
    """Whether the open episode has lasted for so long that it is the new normal."""
    onset_s = state.episode.onset_s
    return end_s - onset_s > judge_by.freeze_s(onset_s - state.training.oldest_s)


def settle_earlier(state: HostState, onset_s: float, names: tuple[str, ...], judge_by: Judge) -> HostState:
    """The state as an episode opens that began at ``onset_s``: one that is just over is settled at once."""
    over = tuple(row for row in state.flagged if row[0] < onset_s)
    if not over:
        return state
    settled = _settle(replace(state, flagged=over), names, judge_by)
    return replace(settled, flagged=state.flagged[len(over) :])


def _settle(state: HostState, names: tuple[str, ...], judge_by: Judge) -> HostState:
    """The state when an episode is surely over.

    It counts among the maxima, or these would end at the bound and the budget be kept by none; but as one just beyond
    the bound, since a single severe fault must not make the host deaf. What comes again and again is usual.
    """
    model, episode = state.model, state.episode
    assert model is not None, "an episode was judged by a model"
    newest = Pattern(episode.onset_s, episode.subsystem, model.names, _shape(state, model, names))
    if usual(newest, state.closed):
        training = state.training.add_flagged(state.flagged, names, judge_by.stride_s)
        state = replace(state, training=training, outdated=True)
    sudden, lasting = _capped(state.worst, model)
    peers = state.peers
    if peers.model is not None:
        counted = min(peers.worst, MARGIN * peers.model.calibration.bound)
        peers = replace(peers, maxima=_with(peers.maxima, counted, judge_by))
    peers = replace(peers, worst=-np.inf)
    return replace(
        state,
        maxima=_with(state.maxima, sudden, judge_by),
        lasting_maxima=_with(state.lasting_maxima, lasting, judge_by),
        peers=peers,
        closed=(*state.closed, newest)[-MOST_CLOSED:],
        flagged=(),
        worst=NO_LEVELS,
    )


def _capped(some: Levels, model: Model) -> Levels:
    """No more than just beyond the bounds of a model."""
    bounds = (model.fused.bound, model.lasting.bound if model.lasting else np.inf)
    sudden, lasting = (min(level, MARGIN * bound) for level, bound in zip(some, bounds, strict=True))
    return sudden, lasting


def _shape(state: HostState, model: Model, names: tuple[str, ...]) -> Float32s:
    """Of the episode that is just over."""
    z = model.parts.scaler.deviations(align(np.stack([x for _, x in state.flagged]), names, model.names))
    return shape_of(z, np.zeros(z.shape[1]) if state.before is None else state.before)


def _count_period(state: HostState, end_s: float, now: Levels, apart: float, judge_by: Judge) -> HostState:
    """The state with all alarm statistics counted, each on the scale that its calibration is made on."""
    sudden, lasting = now
    maxima, period = _counted(state.maxima, state.period, end_s, sudden, judge_by)
    lasting_maxima, lasting_period = _counted(state.lasting_maxima, state.lasting_period, end_s, lasting, judge_by)
    among_peers = _counted(state.peers.maxima, state.peers.period, end_s, apart, judge_by)
    return replace(
        state,
        maxima=maxima,
        period=period,
        lasting_maxima=lasting_maxima,
        lasting_period=lasting_period,
        peers=replace(state.peers, maxima=among_peers[0], period=among_peers[1]),
    )


def _counted(
    maxima: Floats, period: tuple[float, float], end_s: float, level: float, judge_by: Judge
) -> tuple[Floats, tuple[float, float]]:
    """``maxima`` float64[M] and the running period's start and largest alarm statistic; a past one is among them."""
    start_s, so_far = period
    if end_s - start_s < judge_by.maxima_period_s:
        return maxima, (start_s, max(so_far, level))
    if end_s - start_s < 2 * judge_by.maxima_period_s:
        maxima = _with(maxima, so_far, judge_by)
    return maxima, (end_s, level)


def _with(maxima: Floats, level: float, judge_by: Judge) -> Floats:
    """``maxima`` float64[M] and one more, unless too few windows voted to tell it."""
    return np.append(maxima, level)[-judge_by.maxima_kept :] if np.isfinite(level) else maxima


def levels(state: HostState, end_s: float, judge_by: Judge) -> Levels:
    """What the two alarm rules hold of the newest windows, on the fused scale."""
    sudden = judge_by.sudden.level([scored.fused for scored in recent(state, end_s, judge_by)])
    if judge_by.lasting is None:
        return sudden, -np.inf
    # What came with an episode and is over does not last; NaN, no episode yet, keeps all.
    since = [scored.fused for scored in state.scores if not scored.end_s <= state.episode.closed_s]
    return sudden, min(sudden, judge_by.lasting.level(since)) if since else -np.inf


def largest(some: Levels, others: Levels) -> Levels:
    """The larger one of each."""
    return max(some[0], others[0]), max(some[1], others[1])


def recent(state: HostState, end_s: float, judge_by: Judge) -> tuple[Scored, ...]:
    """The windows of the last ``of`` strides: who votes on what is sudden."""
    since_s = judge_by.since_s(end_s, judge_by.of)
    return tuple(scored for scored in state.scores if scored.end_s > since_s)

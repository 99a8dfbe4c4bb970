"""The pipeline: what one more window of a host means, as a pure function of frame, state and time.

Frame -> channels -> features -> deviations -> three detectors -> fused score -> episode -> attribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from detector import attribution
from detector.channels import evaluate
from detector.company import ALONE, Company, extended
from detector.comparison import Compared, compare, joined, lead, page
from detector.episode import CLOSE_AT, Episode, advance
from detector.features import Features, extract
from detector.frame import Floats, Frame
from detector.judge import BEFORE_KEPT, Judge
from detector.learning import learn, levels, recent, settle_earlier
from detector.model import FUSED, Judgement, Model, Rating, covered_by, judge, rate
from detector.peers import PEERS
from detector.recurrence import SAME_TIME_S, Pattern, expected, shape_of
from detector.state import NEVER, HostState, Scored
from detector.training import Float32s, align
from detector.verdict import Cause, Deviations, Phase, Verdict

Sizes = tuple[tuple[float, Float32s], ...]

MOST_CAUSES = 8
RECENT_WINDOWS = 5
PAST_WINDOWS = 600  # that the mean of older windows remembers
NEWEST = 2  # windows that are blamed on: by the time of an alarm what came with the onset and went is in none of them


@dataclass(frozen=True, slots=True)
class Opening:
    """An alarm in the window that ends at ``end_s``: of what ``lasts`` or is sudden, beside the host's own past or its
    peers."""

    end_s: float
    onset_s: float
    lasts: bool
    by_peers: bool


def features_at(frame: Frame, ends_s: Floats, judge_by: Judge) -> Features:
    """The features of the windows that end at ``ends_s`` float64[N]."""
    first_row = int(np.searchsorted(frame.times_s, ends_s[0] - judge_by.window_s, side="right")) if len(ends_s) else 0
    return extract(evaluate(frame, first_row=first_row), ends_s, judge_by.window_s)


def window_at(frame: Frame, end_s: float, judge_by: Judge) -> Features:
    """The features of the one window that ends at ``end_s``."""
    return features_at(frame, np.array([end_s]), judge_by)


def step(frame: Frame, state: HostState, end_s: float, judge_by: Judge) -> tuple[HostState, Verdict]:
    """Judge the window that ends at ``end_s``. ``frame`` must cover the ``lookback_s`` before it."""
    assert frame.instance == state.instance, f"frame of {frame.instance} for the state of {state.instance}"
    assert not end_s <= state.last_end_s, "a window is judged once, in order of time"
    return judge_window(window_at(frame, end_s, judge_by), state, judge_by)


def judge_window(
    window: Features, state: HostState, judge_by: Judge, company: Company = ALONE
) -> tuple[HostState, Verdict]:
    """As ``step``, from the features of that one window and of those that the host's peers show at the same time."""
    end_s, x, names = float(window.end_s[0]), window.x.astype(np.float32)[0], window.names
    middle = np.empty(0)
    state = joined(replace(state, last_end_s=end_s), company)
    if company.group:
        middle = company.middle(state.instance, names)
        x, names = np.concatenate([x, middle.astype(np.float32)]), extended(names, company.group)
    disturbed_from_s, disturbed_until_s = state.disturbed_s
    at_work = disturbed_from_s < end_s <= disturbed_until_s and not state.episode.open  # one that is open goes on
    model, coverage = state.model, 0.0
    if np.isnan(window.x).all() or at_work:
        if model is not None:
            # A quiet vote: an episode that is open ends when the rule says so, not with the first such window.
            scored = _with_score(state, Scored(end_s, NEVER, NEVER), judge_by)
            state = _episode(scored, model, end_s, names, judge_by)
            coverage = float(covered_by(model, align(window.x, window.names, model.names))[0])
        return state, _verdict_without_score(state, coverage, judge_by)
    if window.features is not state.features:
        if window.features != state.features:  # what waits to be learned has the old columns
            state = replace(state, pending=(), flagged=())
        state = replace(state, features=window.features)  # the same object next time, which is equal at a glance
    if np.isnan(state.baseline_from_s):
        state = replace(state, baseline_from_s=end_s)
    if model is None:
        if end_s - state.baseline_from_s >= judge_by.settling_s and not judge_by.maintained:
            state = replace(state, training=state.training.add(end_s, x, names, judge_by.stride_s))
        return state, _verdict_without_score(state, coverage, judge_by)
    judgement = judge(model, align(window.x, window.names, model.names))
    state, normalised = _smoothed(state, end_s, judgement.normalised[0], judge_by)
    rating = rate(model, normalised[None, :])
    compared = None
    if company.group:
        among_peers = align(np.stack([window.x[0], middle]), window.names, model.names)
        state, compared = compare(state, among_peers[0], among_peers[1], end_s, judge_by)
    state = _remember(state, judgement, rating, compared, end_s, judge_by)
    state = _episode(state, model, end_s, names, judge_by)
    if not judge_by.maintained:
        state = learn(state, end_s, x, names, judge_by)
    return state, _verdict(state, model, judgement, rating, compared, window, company, judge_by)


def disturbed(state: HostState, work_s: float, last_end_s: float, judge_by: Judge) -> HostState:
    """The state, so that no episode opens by windows that show the ``work_s`` seconds of work, a fit or the start of
    the program, which ended after ``last_end_s``.

    A detector may run on the host that it judges, where that is not how the host usually is.
    """
    from_s = last_end_s - work_s - judge_by.stride_s
    until_s = last_end_s + judge_by.window_s + judge_by.stride_s
    before_from_s, before_until_s = state.disturbed_s
    if before_until_s >= from_s and before_from_s <= until_s:  # one follows the other
        from_s, until_s = min(from_s, before_from_s), max(until_s, before_until_s)
    return replace(state, disturbed_s=(from_s, until_s))


def _smoothed(state: HostState, end_s: float, newest: Floats, judge_by: Judge) -> tuple[HostState, Floats]:
    """The normalised scores float64[D] smoothed over the last strides, and the state that remembers them.

    A window without scores has none, and does not enter those of later ones.
    """
    since_s = judge_by.since_s(end_s, judge_by.smoothing.windows)
    recent = tuple(item for item in state.normalised if item[0] > since_s)
    if np.isnan(newest).any():
        return replace(state, normalised=recent), newest
    recent = (*recent, (end_s, newest))
    return replace(state, normalised=recent), judge_by.smoothing.newest(np.array([scores for _, scores in recent]))


def _remember(
    state: HostState,
    judgement: Judgement,
    rating: Rating,
    compared: Compared | None,
    end_s: float,
    judge_by: Judge,
) -> HostState:
    """With this window's scores, which are quiet votes in maintenance, and its deviations."""
    quiet = judge_by.maintained
    scored = Scored(end_s, *((NEVER, NEVER) if quiet else (float(rating.scores[FUSED][0]), float(rating.fused[0]))))
    if compared is not None and not quiet:
        scored = replace(scored, peers=compared.score, apart=compared.apart)
    size = np.abs(np.nan_to_num(judgement.z[0])).astype(np.float32)
    state = replace(_with_score(state, scored, judge_by), sizes=(*state.sizes, (end_s, size)))
    if len(state.sizes) <= judge_by.sizes_kept:
        return state
    (_, oldest), *kept = state.sizes
    if state.episode.open:
        return replace(state, sizes=tuple(kept))
    count = min(state.past_count + 1, PAST_WINDOWS)
    past = np.zeros(len(oldest)) if state.past_size is None else state.past_size
    return replace(state, sizes=tuple(kept), past_size=past + (oldest - past) / count, past_count=count)


def _with_score(state: HostState, newest: Scored, judge_by: Judge) -> HostState:
    """Only windows of the last ``lasting_of`` strides can vote."""
    since_s = judge_by.since_s(newest.end_s, judge_by.lasting_of)
    return replace(state, scores=(*(item for item in state.scores if item.end_s > since_s), newest))


def _episode(state: HostState, model: Model, end_s: float, names: tuple[str, ...], judge_by: Judge) -> HostState:
    """The state with its episode advanced by the newest window; what is remembered of windows has these ``names``."""
    sudden, apart = (
        judge_by.sudden.level(scores)
        for scores in zip(*((each.score, each.peers) for each in recent(state, end_s, judge_by)), strict=True)
    )
    lasting = lasting_score(state, model, end_s, judge_by)
    own = max(sudden, lasting)
    level = max(own, apart)
    newest = state.scores[-1]
    if np.isnan(newest.score) and np.isnan(newest.peers):
        level = min(level, 1.0)  # what does not vote opens nothing: there may be no deviations to blame it on
    onset_s = _onset(state, max(sudden, apart), end_s, judge_by)
    subsystem = state.episode.subsystem
    goes_on = level >= CLOSE_AT and end_s - state.expected_s <= SAME_TIME_S  # what was expected as it began
    expected_s = state.expected_s if goes_on else NEVER
    if state.episode.opens(level):
        opening = Opening(end_s, onset_s, max(sudden, apart) <= 1.0, apart > own)
        before = _before(state, opening, judge_by)
        opened = _opened(state, opening, before)
        if apart <= 1.0 and (goes_on or _expected(opened, model, opening, judge_by)):
            level, expected_s = 0.0, state.expected_s if goes_on else onset_s
        else:
            subsystem = _blamed(opened, model, opening, judge_by)
            if not state.episode.resumes(end_s, subsystem, judge_by.merge_s):
                opened = _opened(settle_earlier(state, onset_s, names, judge_by), opening, before)
            state = opened
    pages = page(state, sudden, lasting, apart)
    episode = advance(state.episode, level, pages, end_s, onset_s, subsystem, judge_by.merge_s)
    counts = not judge_by.again
    known = Episode() if state.untold else state.episode  # what opened in a past judged again counts once it is told
    return replace(
        state,
        episode=episode,
        expected_s=expected_s,
        lasts=state.lasts and episode.open,
        # What was told after the save that this is out of was judged as it is now, and counted.
        untold=judge_by.again and not end_s > state.told_s,
        episodes=state.episodes + (counts and episode.open and episode.onset_s != known.onset_s),
        pages=state.pages + (counts and episode.page and not known.page),
    )


def _opened(state: HostState, opening: Opening, before: Floats) -> HostState:
    """The state as an episode opens: by what, and what was usual ``before``."""
    return replace(state, before=before, lasts=opening.lasts, peers=replace(state.peers, leads=opening.by_peers))


def _before(state: HostState, opening: Opening, judge_by: Judge) -> Floats:
    """Mean |deviation| float64[F] before what opens; before one that is just over, where that is compared alike."""
    near = state.episode.is_near(opening.end_s, judge_by.merge_s)
    if near and state.before is not None and opening.by_peers == state.peers.leads:
        return state.before
    if opening.lasts and state.past_size is not None:  # what comes slowly has begun long before it alarms
        return state.past_size
    # What is just over, as the other of past and peers told, is not what was usual before.
    onset_s = min(opening.onset_s, state.episode.onset_s) if near else opening.onset_s
    return size_before(_sizes(state, opening.by_peers), onset_s - judge_by.window_s)


def _blamed(state: HostState, model: Model, opening: Opening, judge_by: Judge) -> str:
    """The subsystem to blame for an episode as it opens."""
    assert state.before is not None, "as an episode opens it is set"
    evidence = _evidence(model, _during(state, opening.by_peers, judge_by), state.before)
    shares = _shares(state, model, evidence, opening.by_peers)
    if state.episode.is_near(opening.end_s, judge_by.merge_s):
        return attribution.still(shares, state.episode.subsystem)
    return attribution.leading(shares)


def _expected(state: HostState, model: Model, opening: Opening, judge_by: Judge) -> bool:
    """Whether what opens has come at this time of other days, when it was told."""
    assert state.before is not None, "as an episode opens it is set"
    sizes = np.stack([size for _, size in state.sizes[-judge_by.votes :]]).astype(np.float64)
    newest = Pattern(opening.onset_s, "", model.names, shape_of(sizes, state.before))
    return expected(newest, state.closed)


def lasting_score(state: HostState, model: Model, end_s: float, judge_by: Judge) -> float:
    """How far the level of what lasts is beyond its own bound, which is at 1; 0 where it cannot be told."""
    level = levels(state, end_s, judge_by)[1]
    if model.lasting is None or not np.isfinite(level):
        return 0.0
    return float(model.lasting.score(np.array([level]))[0])


def _onset(state: HostState, sudden: float, end_s: float, judge_by: Judge) -> float:
    """The first window beyond the bound among those that vote or, of what lasts, the first as far out as half are; of
    those since the last episode."""
    closed_s = state.episode.closed_s
    if sudden > 1.0:
        votes = (scored.end_s for scored in recent(state, end_s, judge_by) if scored.exceeds)
    else:
        level = levels(state, end_s, judge_by)[1]
        votes = (scored.end_s for scored in state.scores if scored.fused >= level)
    return next((each_s for each_s in votes if not each_s <= closed_s), end_s)  # NaN, no episode yet, keeps all


def _sizes(state: HostState, by_peers: bool) -> Sizes:
    """The newest windows' |deviations|, from the host's past or from its peers."""
    return state.peers.sizes if by_peers else state.sizes


def size_before(sizes: Sizes, until_s: float) -> Floats:
    """Mean |deviation| float64[F] of the last remembered windows that end by then; zeros where there are none."""
    chosen = [size for end_s, size in sizes if end_s <= until_s][-BEFORE_KEPT:]
    if not chosen:
        return np.zeros(len(sizes[-1][1]))
    mean: Floats = np.mean(chosen, axis=0, dtype=np.float64)
    return mean


def newest_size(sizes: Sizes, windows: int = NEWEST) -> Floats:
    """Mean |deviation| float64[F] of the newest windows."""
    newest: Floats = np.mean([size for _, size in sizes[-windows:]], axis=0, dtype=np.float64)
    return newest


def evidence_now(state: HostState, model: Model, judge_by: Judge) -> Floats:
    """Evidence of each feature, float64[F]: the newest windows against those before, or before the open episode."""
    sizes = _sizes(state, lead(state))
    recent_s = sizes[-1][0] - RECENT_WINDOWS * judge_by.stride_s
    before = state.before if state.episode.open else None
    if before is None:
        before = size_before(sizes, recent_s - judge_by.window_s)
    return _evidence(model, _during(state, lead(state), judge_by), before)


def _during(state: HostState, by_peers: bool, judge_by: Judge) -> Floats:
    """Mean |deviation| float64[F] of the newest windows; of what lasts, of as many as must have lasted."""
    return newest_size(_sizes(state, by_peers), judge_by.lasting_votes if state.lasts else NEWEST)


def _evidence(model: Model, during: Floats, before: Floats) -> Floats:
    """Evidence of each feature, float64[F]."""
    evidence: Floats = attribution.weighted(attribution.contrast(during, before)[None, :], model.features)[0]
    return evidence


def _shares(state: HostState, model: Model, evidence: Floats, by_peers: bool) -> dict[str, float]:
    usual = model.usual_lasting if state.lasts else model.usual_evidence
    if by_peers and state.peers.model:
        usual = state.peers.model.usual_evidence
    layout = model.parts.layout  # numbers: to ask each of a thousand features for its name would be done every window
    there = {layout.subsystems[number] for number in np.unique(layout.subsystem)}
    return attribution.shares(attribution.by_subsystem(evidence[None, :], model.features)[0], usual, there)


def _verdict_without_score(state: HostState, coverage: float, judge_by: Judge) -> Verdict:
    model, episode = state.model, Episode() if judge_by.again else state.episode
    phase = Phase.LEARNING if model is None else Phase.PROVISIONAL if model.fused.provisional else Phase.CALIBRATED
    return Verdict(
        instance=state.instance,
        end_s=state.last_end_s,
        phase=phase,
        active=episode.open,
        page=episode.page,
        subsystem=episode.subsystem if episode.open else "",
        coverage=coverage,
        frozen=state.episode.open and not state.rebaselining,
        progress=_progress(state, judge_by) if model is None else 1.0,
        episodes=state.episodes,
        pages=state.pages,
        rebaselines=state.rebaselines,
        onset_s=episode.onset_s if episode.open else NEVER,
        fitted_s=state.fitted_s,
        maintained=judge_by.maintained,
    )


def _progress(state: HostState, judge_by: Judge) -> float:
    """Of the first baseline, 0 to 1."""
    elapsed_s = 0.0 if np.isnan(state.baseline_from_s) else state.last_end_s - state.baseline_from_s
    settling = judge_by.settling_s / judge_by.stride_s  # windows that are not learned, and take their time all the same
    learned = (state.training.rows + settling) / (judge_by.least_rows + settling)
    return min(1.0, elapsed_s / judge_by.baseline_s, learned)


def _verdict(
    state: HostState,
    model: Model,
    judgement: Judgement,
    rating: Rating,
    compared: Compared | None,
    window: Features,
    company: Company,
    judge_by: Judge,
) -> Verdict:
    evidence, by_peers = evidence_now(state, model, judge_by), lead(state)
    deviations = _deviations(model, judgement, compared if by_peers else None)
    scores = {name: float(values[0]) for name, values in rating.scores.items()}
    score, p_value = scores.pop(FUSED), float(rating.p_value[0])
    score = max(score, lasting_score(state, model, state.last_end_s, judge_by))
    if compared is not None:
        scores[PEERS] = compared.score
        if not compared.score <= score:
            score, p_value = compared.score, compared.p_value
    verdict = _verdict_without_score(state, float(judgement.coverage[0]), judge_by)
    return replace(
        verdict,
        score=score,
        p_value=p_value,
        detectors=scores,
        agreement=sum(value > 1.0 for value in scores.values()),
        shares=_shares(state, model, evidence, by_peers),
        causes=_causes(model, deviations, evidence),
        common=company.common(state.instance, verdict.active),
        deviations=deviations,
        paper=state.paper.flags(window.x[0], window.names) if state.paper else {},
    )


def _deviations(model: Model, judgement: Judgement, compared: Compared | None) -> Deviations:
    """The window beside the host's own past or, where it is ``compared``, beside its peers."""
    x, median = judgement.x[0], model.parts.scaler.median
    if compared is None:
        return Deviations(model.features, judgement.z[0], x, median)
    typical = np.where(np.isnan(compared.typical), median, compared.typical)
    return Deviations(model.features, compared.z, x, typical)


def _causes(model: Model, deviations: Deviations, evidence: Floats) -> tuple[Cause, ...]:
    x = np.where(np.isnan(deviations.x), deviations.median, deviations.x)
    return attribution.causes(
        evidence,
        np.nan_to_num(deviations.z),
        x,
        deviations.median,
        model.features,
        model.parts.groups,
        MOST_CAUSES,
    )

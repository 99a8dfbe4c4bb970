"""What the detector costs and how soon it tells: a step, a fit, a saved host, and from sample to score, live.

    python -m bench.latency --json

Medians of several measurements count, and what is compared is measured row by row in turn: what the same work costs on
a virtual machine changes severalfold within minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event

import numpy as np
from sklearn.ensemble import IsolationForest
from threadpoolctl import threadpool_limits

from bench.arguments import within
from bench.detection.replay import learned
from bench.process import Watched
from bench.quiet.host import PROFILES, START_S, Recorder, SimulatedHost
from bench.quiet.series import lines
from catalog import outputs
from catalog.family import Tier
from detector.detectors.forest import ROWS_PER_TREE, TREES, Forest, excess, summaries
from detector.features import Features
from detector.frame import Floats, Frame
from detector.judge import Judge
from detector.learning import MOST_CLOSED, MOST_FLAGGED, fit
from detector.model import FUSED
from detector.pipeline import features_at, step
from detector.recurrence import Pattern
from detector.samples import decode
from detector.settings import TABLE
from detector.source import Host
from detector.state import HostState
from detector.store import Store
from detector.training import MOST_ROWS
from detector.watch import config_hash, judge_for
from tests.servers.process import wait_until
from tests.servers.programs import start_detector, start_exporter

SERIES, FEATURES, FEATURES_SAVED = 700, 700, 200
_INTERVAL_S = 0.1
_STEPS, _FITS, _ROWS = 60, 3, 60
_ALIKE = 0.15
_LIVE_BASELINE_S = 60
_POLL_S, _WINDOW_LIMIT_S = 0.005, 10.0
_MOST_WINDOWS = 240  # one a second: samples are read at the end, and are kept for five minutes
_WINDOW_END = re.compile(rf"^{outputs.WINDOW_END.name}{{[^}}]*}} (\S+)", re.M)
_SCORE = re.compile(rf'^{outputs.SCORE.name}{{[^}}]*detector="{FUSED}"[^}}]*}} ', re.M)


def simulated(judge_by: Judge) -> tuple[Frame, Features]:
    """A host of ``SERIES`` series at 10 Hz, and its windows: as many as are learned from and are to be judged."""
    wide = lines(cpus=48, disks=8, interfaces=8, gpus=8)[:SERIES]
    seconds = judge_by.lookback_s + judge_by.stride_s * (MOST_ROWS + _STEPS)
    host = SimulatedHost(wide, PROFILES[0], 0, _INTERVAL_S, 1.0)
    frame = Recorder("simulated", wide, _INTERVAL_S).frame(host.next(round(seconds / _INTERVAL_S)))
    first_s = START_S + np.ceil(judge_by.lookback_s)
    ends_s = first_s + judge_by.stride_s * np.arange(MOST_ROWS + _STEPS)
    return frame, features_at(frame, ends_s, judge_by)


def chosen(windows: Features, rows: slice, count: int) -> Features:
    """So many features, spread over all of them."""
    columns = np.unique(np.linspace(0, len(windows.features) - 1, count).astype(np.intp))
    features = tuple(windows.features[column] for column in columns)
    return Features(windows.end_s[rows], windows.x[rows][:, columns], features)


def cpu_s(call: Callable[[], object]) -> float:
    """CPU time of a call, all threads of this process together."""
    started_s = time.process_time()
    call()
    return time.process_time() - started_s


def _each(frame: Frame, windows: Features, judge_by: Judge) -> Iterator[tuple[float, Frame]]:
    """The end of each window that is to be judged, and the samples that this takes."""
    for end_s in windows.end_s[MOST_ROWS:]:
        first, last = frame.times_s.searchsorted((end_s - judge_by.lookback_s, end_s), side="right")
        yield float(end_s), Frame(frame.instance, frame.times_s[first:last], frame.values[first:last], frame.columns)


def features_cpu_ms(frame: Frame, windows: Features, judge_by: Judge) -> float:
    """CPU of making the features of one window from its samples."""
    parts = list(_each(frame, windows, judge_by))
    return 1000 * median(cpu_s(partial(features_at, part, np.array([end_s]), judge_by)) for end_s, part in parts)


def step_cpu_ms(frame: Frame, windows: Features, judge_by: Judge) -> float:
    """CPU of judging one window from its samples."""
    learned_from = Features(windows.end_s[:MOST_ROWS], windows.x[:MOST_ROWS], windows.features)
    state, taken_s = replace(learned(learned_from, judge_by), instance=frame.instance), []
    for end_s, part in _each(frame, windows, judge_by):
        started_s = time.process_time()
        state, verdict = step(part, state, end_s, judge_by)
        taken_s.append(time.process_time() - started_s)
        assert np.isfinite(verdict.score), "a window with samples has a score"
    return 1000 * median(taken_s)


def state_kb(windows: Features, judge_by: Judge, folder: Path) -> float:
    """Size of the file of a host of ``FEATURES_SAVED`` features whose memory is full, that of episodes too."""
    saved = chosen(windows, slice(0, MOST_ROWS), FEATURES_SAVED)
    rows = list(zip(saved.end_s.tolist(), saved.x.astype(np.float32), strict=True))
    closed = tuple(Pattern(end_s, "memory", saved.names, x) for end_s, x in rows[:MOST_CLOSED])
    state = replace(learned(saved, judge_by), flagged=tuple(rows[:MOST_FLAGGED]), closed=closed)
    header, arrays = replace(state, maxima=np.ones(judge_by.maxima_kept)).to_arrays()
    Store(folder, 1).save(
        Host("simulated", "job"), config_hash(judge_by), header, arrays, state.last_end_s, state.last_end_s
    )
    return sum(file.stat().st_size for file in folder.iterdir()) / 1000


def forest_row_ms(state: HostState, x: Floats) -> tuple[float, float]:
    """CPU of scoring rows one by one with scikit-learn's forest and with ours, grown from the same windows."""
    model = state.model
    assert model is not None, "a fitted host has a model"
    ours = next(detector for detector in model.parts.detectors if isinstance(detector, Forest))
    learned_z = model.parts.scaler.deviations(state.training.table()[1])
    theirs = IsolationForest(n_estimators=TREES, max_samples=min(ROWS_PER_TREE, len(learned_z)), random_state=0)
    theirs.fit(excess(summaries(learned_z, ours.layout), ours.typical))
    taken_s = []
    for row in model.parts.scaler.deviations(x)[:_ROWS, None]:
        begun_s = time.process_time()
        theirs_score = -float(theirs.score_samples(excess(summaries(row, ours.layout), ours.typical))[0])
        between_s = time.process_time()
        ours_score = float(ours.rate(row)[0])
        taken_s.append((between_s - begun_s, time.process_time() - between_s))
        assert abs(theirs_score - ours_score) < _ALIKE, "both forests are of the same windows"
    theirs_s, ours_s = zip(*taken_s, strict=True)
    return 1000 * median(theirs_s), 1000 * median(ours_s)


def seen_s(detector: Watched, windows: int, stride_s: float) -> Iterator[tuple[float, float]]:
    """End of each of so many windows, and the wall time at which its score could be read on ``/metrics``.

    Asked often only from the end of a window on: asking is work for the detector.
    """
    never, last_s = Event(), 0.0
    for _ in range(windows):
        deadline_s, found = time.monotonic() + _WINDOW_LIMIT_S, _newer(detector, last_s)
        while found is None:
            assert time.monotonic() < deadline_s, f"no score of a window after {last_s} within {_WINDOW_LIMIT_S:g} s"
            never.wait(_POLL_S)
            found = _newer(detector, last_s)
        last_s = found[0]
        yield found
        never.wait(max(0.0, last_s + stride_s - time.time()))


def _newer(detector: Watched, than_s: float) -> tuple[float, float] | None:
    text, now_s = detector.get("/metrics").decode(), time.time()
    end_s = scored_end_s(text)
    return (end_s, now_s) if end_s > than_s else None


def scored_end_s(exposition: str) -> float:
    """End of the newest window in an exposition; 0 without one, or where that window has no score.

    >>> scored_end_s('hostpulse_anomaly_window_end_timestamp_seconds{instance="a"} 1.8e+09')
    0.0
    """
    end = _WINDOW_END.search(exposition)
    return float(end[1]) if end is not None and _SCORE.search(exposition) is not None else 0.0


def end_to_end_s(windows: int, stride_s: float, folder: Path) -> list[float]:
    """From the last sample of each window to its score on the detector's ``/metrics``; both programs as shipped."""
    flags = (f"--baseline.duration={_LIVE_BASELINE_S}s", "--state.directory=")
    with start_exporter(folder, f"--sample.interval={1000 * _INTERVAL_S:g}ms") as exporter_server:
        source = f"--source.exporter.targets={exporter_server.url}"
        with start_detector(folder, source, *flags) as server, Watched(server) as detector:
            wait_until(lambda: _newer(detector, 0.0), 3 * _LIVE_BASELINE_S, "a score")
            # The first was there before it was asked for.
            seen = list(seen_s(detector, windows + 1, stride_s))[1:]
        with Watched(exporter_server) as exporter:
            header, tables = decode(exporter.get("/api/v1/samples?since=0.0"), {})
    times_s = [times for segment, (times, _) in zip(header.segments, tables, strict=True) if segment.tier == Tier.FAST]
    sampled_s = np.sort(np.concatenate(times_s))
    last = sampled_s.searchsorted([end_s for end_s, _ in seen], side="right") - 1
    return [now_s - header.wall_offset_s - float(sampled_s[row]) for row, (_, now_s) in zip(last, seen, strict=True)]


def measure(windows: int, folder: Path) -> dict[str, float]:
    """All figures; the live ones first, before this process has warmed the machine up."""
    judge_by = judge_for(TABLE(), _INTERVAL_S)
    live_s = end_to_end_s(windows, judge_by.stride_s, folder / "live")
    with threadpool_limits(1):  # as the detector does
        frame, simulated_windows = simulated(judge_by)
        state = learned(chosen(simulated_windows, slice(0, MOST_ROWS), FEATURES), judge_by)
        newest = chosen(simulated_windows, slice(MOST_ROWS, None), FEATURES)
        theirs_ms, ours_ms = forest_row_ms(state, newest.x)
        return {
            "features_cpu_ms": features_cpu_ms(frame, simulated_windows, judge_by),
            "step_cpu_ms": step_cpu_ms(frame, simulated_windows, judge_by),
            "fit_s": median(cpu_s(lambda: fit(state, judge_by)) for _ in range(_FITS)),
            "state_kb": state_kb(simulated_windows, judge_by, folder / "saved"),
            "end_to_end_s_p50": median(live_s),
            "end_to_end_s_p99": float(np.quantile(live_s, 0.99, method="higher")),
            "sklearn_row_ms": theirs_ms,
            "flat_row_ms": ours_ms,
        }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table and, where asked to, one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--windows", type=within(int, 1, _MOST_WINDOWS), default=60, help="windows that are watched live"
    )
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="hostpulse-bench-") as folder:
        figures = measure(arguments.windows, Path(folder))
    for name, figure in figures.items():
        print(f"{name:<28} {figure:>10.3f}")
    if arguments.json:
        print(json.dumps({name: round(figure, 4) for name, figure in figures.items()}))


if __name__ == "__main__":
    main()

"""All that is remembered of one host between two windows; immutable, and convertible to plain arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from catalog import SIGNALS
from catalog.series import parse_series
from catalog.signal import JUDGED_SUBSYSTEMS
from detector.calibration import Calibration
from detector.channels import channel_of
from detector.detectors.protocol import Layout
from detector.detectors.registry import registered
from detector.episode import Episode
from detector.features import Feature
from detector.frame import Floats
from detector.fusion import Normaliser
from detector.judge import Judge
from detector.model import Model, Parts, judge, rate
from detector.paper import PaperModel
from detector.peers import PeerState
from detector.peers import from_arrays as peers_from_arrays
from detector.peers import to_arrays as peers_to_arrays
from detector.pruning import Groups
from detector.recurrence import Pattern
from detector.scaling import Scaler
from detector.timescale import followed
from detector.training import Block, Float32s, Training

SCHEMA_VERSION = 5
NEVER = float("nan")
Levels = tuple[float, float]  # alarm statistics of what is sudden and of what lasts
NO_LEVELS = (-np.inf, -np.inf)

Arrays = dict[str, npt.NDArray[Any]]


class OtherVersionError(ValueError):
    """What was saved is whole, but of a version of this program that remembers other things of a host."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A window's fused score with its bound at 1 and the normalised value that it was calibrated from, and both of the
    comparison with its peers, NaN without."""

    end_s: float
    score: float
    fused: float
    peers: float = NEVER
    apart: float = NEVER

    @property
    def exceeds(self) -> bool:
        """Whether either score is over its bound."""
        return self.score > 1.0 or self.peers > 1.0


@dataclass(frozen=True, slots=True)
class HostState:
    """What is known of a host; times in seconds since the epoch.

    ``normalised``, ``scores`` and ``sizes`` are the newest windows' normalised scores float64[D], fused scores and
    |deviations| float32[F], and ``past_size`` float64[F] the mean of ``past_count`` older ones, forgetting; ``before``
    float64[F] is the mean |deviation| before the open episode, which was opened by what ``lasts`` or by what is sudden;
    ``pending`` are windows that are not trained on until it is sure that no episode began with them; ``flagged`` are
    the newest windows of the episode that is open or just over, and ``worst`` its largest alarm statistics; ``closed``
    are the last episodes, and a model is ``outdated`` once one of them is learned; what is expected and raises nothing
    began at ``expected_s``;
    ``maxima`` and ``lasting_maxima`` float64[M] are the largest alarm statistics of past periods; windows that end in
    ``disturbed_s`` (from, until] show the detector at work; ``episodes`` and ``pages`` count, but none of what is
    ``untold``, as the newest window was judged again and otherwise: no later than ``told_s``, up to which the host had
    been told of when this was saved, NaN if it is not out of a file. ``window_s`` is how long the windows are that it
    was learned from, NaN before the first fit, and ``wanted_s`` what the newest fits asked for, where windows are
    adaptive."""

    instance: str
    features: tuple[Feature, ...] = ()
    training: Training = field(default_factory=Training)
    pending: tuple[tuple[float, Float32s], ...] = ()
    flagged: tuple[tuple[float, Float32s], ...] = ()
    worst: Levels = NO_LEVELS
    closed: tuple[Pattern, ...] = ()
    expected_s: float = NEVER
    outdated: bool = False
    model: Model | None = None
    window_s: float = NEVER
    wanted_s: tuple[float, ...] = ()
    normalised: tuple[tuple[float, Floats], ...] = ()
    scores: tuple[Scored, ...] = ()
    sizes: tuple[tuple[float, Float32s], ...] = ()
    past_size: Floats | None = None
    past_count: int = 0
    before: Floats | None = None
    lasts: bool = False
    untold: bool = False
    told_s: float = NEVER
    episode: Episode = field(default_factory=Episode)
    peers: PeerState = field(default_factory=PeerState)
    paper: PaperModel | None = None  # made anew at each fit, and not saved
    maxima: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    period: tuple[float, float] = (NEVER, -np.inf)  # start of the running one and its largest alarm statistic
    lasting_maxima: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    lasting_period: tuple[float, float] = (NEVER, -np.inf)
    disturbed_s: tuple[float, float] = (NEVER, NEVER)
    baseline_from_s: float = NEVER
    rebaselining: bool = False
    rebaselines: int = 0
    episodes: int = 0
    pages: int = 0
    fits: int = 0
    fitted_s: float = NEVER
    last_end_s: float = NEVER

    @classmethod
    def new(cls, instance: str) -> HostState:
        """A host never seen before."""
        return cls(instance)

    def next_window_s(self, judge_by: Judge) -> float:
        """How long its windows ought to be."""
        return judge_by.window_s if judge_by.window_bounds_s is None else followed(judge_by.window_s, self.wanted_s)

    def in_windows_of(self, window_s: float) -> HostState:
        """The host before it is learned anew in other windows, which counts as a new baseline."""
        return HostState(
            self.instance,
            window_s=window_s,
            rebaselines=self.rebaselines + 1,
            episodes=self.episodes,
            pages=self.pages,
        )

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """A header that fits JSON and plain arrays; what only the next seconds need is left out."""
        header: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "catalog": catalog_hash(),
            "instance": self.instance,
            "names": [str(feature) for feature in self.features],
            "baseline_from_s": self.baseline_from_s,
            "rebaselining": self.rebaselining,
            "rebaselines": self.rebaselines,
            "episodes": self.episodes,
            "pages": self.pages,
            "fits": self.fits,
            "fitted_s": self.fitted_s,
            "window_s": self.window_s,
            "wanted_s": list(self.wanted_s),
            "blocks": [{"names": list(block.names), "flagged": block.flagged} for block in self.training.blocks],
            "model": None,
            "peers": None,
            "episode": asdict(self.episode),
            "lasts": self.lasts,
            "untold": self.untold,
            "outdated": self.outdated,
        }
        arrays: Arrays = {"maxima": self.maxima, "lasting_maxima": self.lasting_maxima} | self._of_episodes(header)
        for number, block in enumerate(self.training.blocks):
            arrays[f"block/{number}/end_s"], arrays[f"block/{number}/x"] = block.end_s, block.x
        if self.model is not None:
            header["model"] = _model_to_arrays(self.model, arrays)
        if self.peers.group:
            header["peers"], more = peers_to_arrays(self.peers)
            arrays |= more
        return header, arrays

    def _of_episodes(self, header: dict[str, Any]) -> Arrays:
        """What tells after a restart that an episode goes on, and that one came before; the rest into the header."""
        # Others cannot be like any that the model judges.
        closed = [each for each in self.closed if self.model is not None and each.names == self.model.names]
        header["closed"] = [[each.onset_s, each.subsystem] for each in closed]
        arrays: Arrays = {
            "scores": np.array([astuple(scored) for scored in self.scores]),
            "worst": np.array(self.worst),
            "closed/shape": np.array([each.shape for each in closed], dtype=np.float32),
            "flagged/end_s": np.array([end_s for end_s, _ in self.flagged]),
            "flagged/x": np.array([x for _, x in self.flagged], dtype=np.float32),
        }
        return arrays if self.before is None else arrays | {"before": self.before}

    @classmethod
    def from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> HostState:
        """The inverse of ``to_arrays``.

        Raises OtherVersionError where another version saved it, ValueError or KeyError where the parts do not fit.
        """
        if header["schema_version"] != SCHEMA_VERSION:
            raise OtherVersionError(
                f"state of schema version {header['schema_version']}, this program reads {SCHEMA_VERSION}"
            )
        if header["catalog"] != catalog_hash():
            raise OtherVersionError("state was made with another catalog of signals")
        blocks = tuple(
            Block(arrays[f"block/{number}/end_s"], arrays[f"block/{number}/x"], tuple(entry["names"]), entry["flagged"])
            for number, entry in enumerate(header["blocks"])
        )
        training = Training(blocks=blocks, names=tuple(header["names"]))
        model = None if header["model"] is None else _model_from_arrays(header["model"], arrays)
        names = model.names if model else ()
        closed = zip(header["closed"], arrays["closed/shape"], strict=True)
        sudden, lasting = map(float, arrays["worst"])
        compared = header["peers"]
        peers = peers_from_arrays(compared, arrays, model.features if model else ()) if compared else PeerState()
        return cls(
            instance=header["instance"],
            features=tuple(map(feature_of, header["names"])),
            training=training,
            model=model,
            peers=peers,
            maxima=arrays["maxima"],
            lasting_maxima=arrays["lasting_maxima"],
            baseline_from_s=header["baseline_from_s"],
            rebaselining=header["rebaselining"],
            rebaselines=header["rebaselines"],
            episodes=header["episodes"],
            pages=header["pages"],
            fits=header["fits"],
            fitted_s=header["fitted_s"],
            window_s=header["window_s"],
            wanted_s=tuple(header["wanted_s"]),
            episode=Episode(**header["episode"]),
            lasts=header["lasts"],
            untold=header["untold"],
            outdated=header["outdated"],
            closed=tuple(Pattern(onset_s, subsystem, names, shape) for (onset_s, subsystem), shape in closed),
            scores=tuple(Scored(*map(float, row)) for row in arrays["scores"]),
            worst=(sudden, lasting),
            flagged=tuple(zip(map(float, arrays["flagged/end_s"]), arrays["flagged/x"], strict=True)),
            before=arrays.get("before"),
        )


def catalog_hash() -> str:
    """Changes with anything in the catalog that changes the meaning of a feature's number."""
    text = "\n".join(f"{s.name} {s.promql()} {s.floor} {s.scale} {s.worse} {s.subsystem}" for s in SIGNALS.values())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def feature_of(name: str) -> Feature:
    """The feature that is called so; raises KeyError where the catalog has no such signal."""
    series, _, statistic = name.rpartition(":")
    parsed = parse_series(series)
    return Feature(channel_of(SIGNALS[parsed.name], parsed.labels), statistic)


def _model_to_arrays(model: Model, arrays: Arrays) -> dict[str, Any]:
    parts = model.parts
    arrays |= {
        "scaler/median": parts.scaler.median,
        "scaler/spread": parts.scaler.spread,
        "scaler/sign": parts.scaler.sign,
        "groups/representatives": parts.groups.representatives,
        "groups/group": parts.groups.group,
        "layout/subsystem": parts.layout.subsystem,
        "layout/independent": parts.layout.independent,
        "layout/distinct": parts.layout.distinct,
        "normaliser/median": model.normaliser.median,
        "normaliser/range": model.normaliser.range,
        "usual_evidence": model.usual_evidence,
        "usual_lasting": model.usual_lasting,
    }
    for detector in parts.detectors:
        arrays |= {f"detector/{detector.name}/{name}": array for name, array in detector.to_arrays().items()}
    for name, calibration in model.calibrations.items():
        arrays[f"calibration/{name}/sample"] = calibration.sample
    return {
        "names": list(model.names),
        "rows": model.rows,
        "calibrations": {name: calibration.to_header() for name, calibration in model.calibrations.items()},
    }


def _model_from_arrays(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Model:
    layout = Layout(
        arrays["layout/subsystem"], JUDGED_SUBSYSTEMS, arrays["layout/independent"], arrays["layout/distinct"]
    )
    detectors = tuple(
        detector.from_arrays(
            {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}, layout
        )
        for name, detector in registered().items()
        for prefix in (f"detector/{name}/",)
    )
    parts = Parts(
        Scaler(arrays["scaler/median"], arrays["scaler/spread"], arrays["scaler/sign"]),
        Groups(arrays["groups/representatives"], arrays["groups/group"]),
        layout,
        detectors,
    )
    calibrations = {
        name: Calibration.from_header(entry, arrays[f"calibration/{name}/sample"])
        for name, entry in header["calibrations"].items()
    }
    names = tuple(header["names"])
    model = Model(
        features=tuple(map(feature_of, names)),
        names=names,
        parts=parts,
        normaliser=Normaliser(arrays["normaliser/median"], arrays["normaliser/range"]),
        calibrations=calibrations,
        usual_evidence=arrays["usual_evidence"],
        usual_lasting=arrays["usual_lasting"],
        rows=header["rows"],
    )
    _try(model)
    return model


def _try(model: Model) -> None:
    """Judge a typical window, for a model whose arrays do not fit each other would fail in each; raises ValueError."""
    try:
        rate(model, judge(model, model.parts.scaler.median[None, :]).normalised)
        model.features[len(model.parts.groups.group) - 1]
    except (IndexError, TypeError, KeyError) as error:
        raise ValueError(f"the arrays of its model do not fit each other: {error}") from error

"""All workloads by name."""

from __future__ import annotations

from importlib.util import find_spec

from bench.workloads import classic, networks
from bench.workloads.job import Kind, Workload

_PAUSE_S = 0.02
TORCH = "torch"

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("perceptron", Kind.TRAINING, classic.train_perceptron),
        Workload("forest", Kind.TRAINING, classic.train_forest),
        Workload("clusters", Kind.TRAINING, classic.stream_clusters),
        Workload("forest_requests", Kind.INFERENCE, classic.ask_forest, _PAUSE_S),
        Workload("nearest_requests", Kind.INFERENCE, classic.rank_embeddings, _PAUSE_S),
        Workload("resnet", Kind.TRAINING, networks.training(networks.resnet), needs=TORCH),
        Workload("vit", Kind.TRAINING, networks.training(networks.vit), needs=TORCH),
        Workload("bert", Kind.TRAINING, networks.training(networks.bert), needs=TORCH),
        Workload("resnet_requests", Kind.INFERENCE, networks.inference(networks.resnet), _PAUSE_S, TORCH),
        Workload("vit_requests", Kind.INFERENCE, networks.inference(networks.vit), _PAUSE_S, TORCH),
        Workload("bert_requests", Kind.INFERENCE, networks.inference(networks.bert), _PAUSE_S, TORCH),
        Workload("gloo", Kind.TRAINING, networks.distributed, needs=TORCH, ranks=2),
    )
}


def lacking(workload: Workload, may_join: bool) -> str:
    """Why a workload cannot run here; empty where it can. ``may_join``: whether network namespaces may be made."""
    if workload.needs and find_spec(workload.needs) is None:
        return f"needs {workload.needs}: install '.[bench]'"
    if workload.ranks > 1 and not may_join:
        return "needs root, for a network namespace of its own"
    return ""

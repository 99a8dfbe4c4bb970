"""Small networks of the shapes of ResNet, ViT and BERT with random weights, by torch, which is asked for by name.

https://arxiv.org/abs/1512.03385, https://arxiv.org/abs/2010.11929, https://arxiv.org/abs/1810.04805
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.workloads.job import Job

RANK, RANKS, MEETING = "RANK", "WORLD_SIZE", "HOSTPULSE_MEETING"  # the first two as torch's own launcher has them
_SEED, _RATE, _CLASSES = 0, 1e-3, 10
_PIXELS, _PATCH, _WIDTH, _WORDS, _LENGTH = 32, 4, 128, 1000, 64
_TRAINED, _ASKED = 8, 2  # examples at once


def torch() -> Any:
    """The library; ModuleNotFoundError without it."""
    return importlib.import_module("torch")


class _Block:
    """Two convolutions beside which what came in goes on; a plain function of layers that a network holds."""

    def __init__(self, nn: Any, width: int) -> None:
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width),
        )  # fmt: skip

    def __call__(self, x: Any) -> Any:
        return (x + self.layers(x)).relu()


Network = tuple[Any, Callable[[Any], Any], Callable[[int], Any]]  # layers, what they make of a batch, and one of those


def resnet() -> Network:
    """Convolutions in residual blocks."""
    nn = torch().nn
    stem, blocks = nn.Conv2d(3, 32, 3, stride=2, padding=1), [_Block(nn, 32) for _ in range(3)]
    head = nn.Linear(32, _CLASSES)

    def forward(x: Any) -> Any:
        x = stem(x).relu()
        for block in blocks:
            x = block(x)
        return head(x.mean(dim=(2, 3)))

    return nn.ModuleList([stem, *(block.layers for block in blocks), head]), forward, _images


def vit() -> Network:
    """Attention over the patches of a picture."""
    nn = torch().nn
    patches, encoder, head = nn.Conv2d(3, _WIDTH, _PATCH, stride=_PATCH), _encoder(nn), nn.Linear(_WIDTH, _CLASSES)

    def forward(x: Any) -> Any:
        return head(encoder(patches(x).flatten(2).transpose(1, 2)).mean(dim=1))

    return nn.ModuleList([patches, encoder, head]), forward, _images


def bert() -> Network:
    """Attention over words."""
    nn = torch().nn
    words, encoder, head = nn.Embedding(_WORDS, _WIDTH), _encoder(nn), nn.Linear(_WIDTH, _CLASSES)

    def forward(x: Any) -> Any:
        return head(encoder(words(x))[:, 0])

    return nn.ModuleList([words, encoder, head]), forward, _texts


def _encoder(nn: Any) -> Any:
    layer = nn.TransformerEncoderLayer(_WIDTH, 4, 4 * _WIDTH, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _images(count: int) -> Any:
    return torch().randn(count, 3, _PIXELS, _PIXELS)


def _texts(count: int) -> Any:
    return torch().randint(_WORDS, (count, _LENGTH))


def training(make: Callable[[], Network]) -> Callable[[Path], Job]:
    """Gradient steps on made-up examples."""

    def set_up(folder: Path) -> Job:
        del folder
        return Job(training_step(make))

    return set_up


def training_step(make: Callable[[], Network], share: Callable[[Any], None] | None = None) -> Callable[[], None]:
    """One step; ``share`` is given the layers between their gradients and their change."""
    library = torch()
    library.manual_seed(_SEED)
    layers, forward, examples = make()
    layers.train()

    def step() -> None:
        truth = library.randint(_CLASSES, (_TRAINED,))
        library.nn.functional.cross_entropy(forward(examples(_TRAINED)), truth).backward()
        if share is not None:
            share(layers)
        with library.no_grad():  # by hand, as torch's optimisers load its compiler, which takes many seconds
            for parameter in layers.parameters():
                parameter -= _RATE * parameter.grad
                parameter.grad = None

    return step


def inference(make: Callable[[], Network]) -> Callable[[Path], Job]:
    """Requests of a few examples."""

    def set_up(folder: Path) -> Job:
        del folder
        library = torch()
        library.manual_seed(_SEED)
        layers, forward, examples = make()
        layers.eval()

        def step() -> None:
            with library.inference_mode():
                forward(examples(_ASKED))

        return Job(step)

    return set_up


def distributed(folder: Path) -> Job:
    """One rank of a training whose gradients gloo averages; which one, and where they meet, the environment says.

    https://docs.pytorch.org/docs/stable/distributed.html
    """
    del folder
    library = torch()
    ranks = importlib.import_module("torch.distributed")
    rank, count = int(os.environ[RANK]), int(os.environ[RANKS])
    ranks.init_process_group("gloo", init_method=f"file://{os.environ[MEETING]}", rank=rank, world_size=count)

    def average(layers: Any) -> None:
        for parameter in layers.parameters():
            ranks.all_reduce(parameter.grad)
            parameter.grad /= count

    def agree(goes_on: bool) -> bool:
        word = library.tensor([int(goes_on)])
        ranks.broadcast(word, 0)
        return bool(word.item())

    return Job(training_step(resnet, average), agree)

"""A small distributed training job: two ranks of PyTorch that average their gradients over gloo in each step.

    python -m bench.faults.job RANK HOST PORT STEPS

Rank 0 writes the wall time of each step's end to the file STEPS. SIGUSR1 lets both exchange much more in each step,
SIGUSR2 what they did before. https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from threading import Event

import torch
import torch.distributed as dist

_WIDTH, _BATCH = 512, 64
_MORE, _MORE_FLOATS = 8, 1 << 20
_PAUSE_S, _RATE = 0.1, 0.01


def main() -> None:
    """Train until told to stop."""
    rank, host, port, steps = int(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
    more, never = Event(), Event()
    signal.signal(signal.SIGUSR1, lambda *_: more.set())
    signal.signal(signal.SIGUSR2, lambda *_: more.clear())
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method=f"tcp://{host}:{port}", rank=rank, world_size=2)
    model = torch.nn.Sequential(torch.nn.Linear(_WIDTH, _WIDTH), torch.nn.ReLU(), torch.nn.Linear(_WIDTH, _WIDTH))
    buffers = [torch.zeros(_MORE_FLOATS) for _ in range(_MORE)]
    with steps.open("a", buffering=1) as told:
        while True:
            _step(model)
            if _agreed(rank, more):
                for buffer in buffers:
                    dist.all_reduce(buffer)
            if rank == 0:
                told.write(f"{time.time():.4f}\n")
            never.wait(_PAUSE_S)


def _step(model: torch.nn.Module) -> None:
    batch = torch.randn(_BATCH, _WIDTH)
    loss = torch.nn.functional.mse_loss(model(batch), batch)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():  # by hand: to import the optimisers takes longer than all else
        for parameter in model.parameters():
            assert parameter.grad is not None, "each parameter has a gradient after the backward pass"
            dist.all_reduce(parameter.grad)
            parameter -= _RATE / 2 * parameter.grad


def _agreed(rank: int, more: Event) -> bool:
    """Whether rank 0 wants more to be exchanged in this step."""
    word = torch.tensor([float(more.is_set() and rank == 0)])
    dist.broadcast(word, src=0)
    return bool(word.item() > 0)


if __name__ == "__main__":
    main()

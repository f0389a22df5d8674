"""Accelerate's loop: `prepare`, `accumulate`, `backward`, `clip_grad_norm_`.

Accelerate owns autocast, scaling and accumulation here, so the whole step is a callable of yours;
returned beside its model, only the model is compiled.

    python -m profiler_core capture docs/examples/accelerate_loop.py:build --option size=large \
        --variants eager,default,default+target=blocks --out runs/

`--option mixed_precision=bf16` lets Accelerate cast.
"""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.functional import cross_entropy

SIZES = {"tiny": (32, 2), "large": (2048, 8)}  # width, layers


def build(size="tiny", batch_size=16, device="cpu", mixed_precision="no"):
    """One call is one step of the optimizer, over two batches."""
    width, n_layers = SIZES[size]
    layers = [nn.TransformerEncoderLayer(width, 4, batch_first=True) for _ in range(n_layers)]
    accelerator = Accelerator(
        cpu=device == "cpu", gradient_accumulation_steps=2, mixed_precision=mixed_precision
    )
    model = nn.Sequential(nn.Sequential(*layers), nn.Linear(width, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    batches = [
        (
            torch.randn(batch_size, 8, width, device=accelerator.device),
            torch.randint(0, 10, (batch_size,), device=accelerator.device),
        )
        for _ in range(2)
    ]

    def step():
        for x, y in batches:
            with accelerator.accumulate(model):
                loss = cross_entropy(model(x).mean(dim=1), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        return loss.detach()

    return step, model

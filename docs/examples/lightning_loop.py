"""A LightningModule: its own `training_step` and `configure_optimizers`, without the Trainer.

    python -m profiler_core capture docs/examples/lightning_loop.py:build --option size=large \
        --variants eager+bf16-autocast,default+bf16-autocast --out runs/
"""

import pytorch_lightning as lightning
import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu

SIZES = {"tiny": (32, 2), "large": (4096, 8)}  # width, layers


class Block(nn.Module):
    """A layer with what goes around it."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + gelu(self.linear(self.norm(x)))


class Classifier(lightning.LightningModule):
    """As one writes it."""

    def __init__(self, width, n_layers):
        super().__init__()
        blocks = [Block(width) for _ in range(n_layers)]
        self.net = nn.Sequential(*blocks, nn.Linear(width, 10))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def build(size="tiny", batch_size=16):
    """`training_step` calls the module, `self(x)`, and that is what is compiled."""
    width, n_layers = SIZES[size]
    module = Classifier(width, n_layers)
    return {
        "model": module,
        "batches": [
            (torch.randn(batch_size, width), torch.randint(0, 10, (batch_size,))) for _ in range(2)
        ],
        "training_step": lambda batch: module.training_step(batch, 0),
        "optimizer": module.configure_optimizers(),
        "clip": 1.0,  # Trainer(gradient_clip_val=1.0)
    }

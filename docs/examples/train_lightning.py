"""Lightning's Trainer records itself: accumulated batches, a validation every twenty batches.

fusionscope run -- python docs/examples/train_lightning.py eager
fusionscope run -- python docs/examples/train_lightning.py default
"""

import sys

import pytorch_lightning as lightning
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from fusionscope.integrations.lightning import FusionscopeCallback

variant = sys.argv[1]
directory = sys.argv[2] if len(sys.argv) > 2 else "runs"


class Classifier(lightning.LightningModule):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))

    def training_step(self, batch, batch_idx):
        return cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        self.log("loss", cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


module = Classifier()
if variant != "eager":
    module = torch.compile(module, mode=variant)
data = TensorDataset(torch.randn(1600, 64), torch.randint(0, 10, (1600,)))
recording = FusionscopeCallback(
    directory, rounds=8, round_steps=3, round_seconds=0, telemetry_seconds=0, steps=3
)
trainer = lightning.Trainer(
    max_epochs=1,
    accumulate_grad_batches=2,
    val_check_interval=20,
    callbacks=[recording],
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
)
trainer.fit(module, DataLoader(data, batch_size=8), DataLoader(data, batch_size=480))

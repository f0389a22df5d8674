"""A vision transformer trained with AdamW, a warm-up of the learning rate, accumulation, clipping
and an average of the weights.

    python -m profiler_core capture docs/examples/vit_training.py:build --option size=large \
        --variants eager+bf16-autocast,default+bf16-autocast,default+bf16-autocast+target=blocks \
        --out runs/
"""

from types import SimpleNamespace

import torch
from torch.nn.functional import cross_entropy
from torchvision.models import VisionTransformer

SIZES = {
    "tiny": {"image_size": 32, "patch_size": 8, "num_layers": 2, "num_heads": 2,
             "hidden_dim": 32, "mlp_dim": 64},
    "large": {"image_size": 224, "patch_size": 16, "num_layers": 12, "num_heads": 12,
              "hidden_dim": 768, "mlp_dim": 3072},
}  # fmt: skip


def build(size="tiny", batch_size=4, accumulate=2):
    """One step is one step of AdamW over `accumulate` batches."""
    model = VisionTransformer(**SIZES[size], num_classes=100, dropout=0.1)
    pixels = SIZES[size]["image_size"]
    batches = [
        (torch.randn(batch_size, 3, pixels, pixels), torch.randint(0, 100, (batch_size,)))
        for _ in range(2 * accumulate)
    ]
    return SimpleNamespace(
        model=model,
        batches=batches,
        loss=lambda output, batch: cross_entropy(output, batch[1], label_smoothing=0.1),
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.05),
        scheduler=lambda optimizer: torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, 1.0, 100),
        accumulate=accumulate,
        clip=1.0,
        ema=torch.optim.swa_utils.AveragedModel(
            model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)
        ),
    )

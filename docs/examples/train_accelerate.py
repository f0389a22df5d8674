"""Accelerate's loop records itself: accumulated batches, an evaluation every ten steps.

fusionscope run -- python docs/examples/train_accelerate.py eager
fusionscope run -- python docs/examples/train_accelerate.py default
"""

import sys

import torch
from accelerate import Accelerator
from accelerate.utils import TorchDynamoPlugin
from torch import nn
from torch.nn.functional import cross_entropy

from fusionscope.integrations.accelerate import record

variant = sys.argv[1]
directory = sys.argv[2] if len(sys.argv) > 2 else "runs"

plugin = TorchDynamoPlugin(backend="no" if variant == "eager" else "inductor", mode=variant)
accelerator = Accelerator(
    cpu=not torch.cuda.is_available(), gradient_accumulation_steps=2, dynamo_plugin=plugin
)
model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
measured = {"rounds": 8, "round_steps": 3, "round_seconds": 0, "telemetry_seconds": 0, "steps": 3}

with record(accelerator, optimizer, directory, workload="mlp", batch_size=16, **measured) as run:
    for n in range(200):
        x = torch.randn(8, 64, device=accelerator.device)
        y = torch.randint(0, 10, (8,), device=accelerator.device)
        with accelerator.accumulate(model):
            accelerator.backward(cross_entropy(model(x), y))
            optimizer.step()
            optimizer.zero_grad()
        if n % 20 == 19:
            with run.paused(), torch.no_grad():
                model(x)
        if run.is_done:
            break

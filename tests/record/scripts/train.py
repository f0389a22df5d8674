"""A training script that knows nothing of Fusionscope but the Recorder.

python train.py OUT VARIANT [--backend NAME] [--ddp] [--steps N] [--die HOW]
"""

import argparse
import os
import signal
import sys

import torch
from torch import nn

from profiler_core.record import Recorder

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("variant")
parser.add_argument("--backend", default="inductor")
parser.add_argument("--ddp", action="store_true")
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--die-at", type=int)
parser.add_argument("--die", choices=("kill", "wait", "raise"))
arguments = parser.parse_args()

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
if arguments.ddp:
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
forward = model
if arguments.variant != "eager":
    forward = torch.compile(model, backend=arguments.backend)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def train_step(batch):
    optimizer.zero_grad()
    forward(batch).square().mean().backward()
    optimizer.step()


with Recorder(
    arguments.out,
    workload="tiny",
    variant=arguments.variant,
    batch_size=16,
    warm_up_floor=10,
    warm_up_ceiling=10,
    rounds=10,
    round_steps=3,
    round_seconds=0.0,
    telemetry_seconds=0.1,
    steps=2,
) as recorder:
    for number in range(arguments.steps):
        train_step(torch.randn(16, 32))
        recorder.step()
        if number == arguments.die_at:
            if arguments.die == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if arguments.die == "raise":
                raise ValueError("the loss is not a number")
            print("waiting", flush=True)
            while True:
                signal.pause()
        if recorder.is_done and arguments.die is None and number > 80:
            break
print("numpy" in sys.modules, flush=True)
if arguments.ddp:
    torch.distributed.destroy_process_group()
    # Without any Recorder, too, one exit in ten to thirty under gloo aborts after Python's own end
    # ("terminate called without an active exception", torch 2.15): that is not what is tested.
    sys.stdout.flush()
    os._exit(0)
